// expect: ragged: Shampoo works on blocks in host memory; on a device train with Muon or AdamW
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/ragged.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;

struct Device : ragged::HostExecutor {
    static ragged::MemorySpace space() { return ragged::MemorySpace::of_device(0); }
};

void use(const ragged::ModelPlan& model, const ragged::Place<Line>& place, ragged::HostResource& memory) {
#ifdef RAGGED_MUST_FAIL
    const Device executor;
#else
    const ragged::HostExecutor executor;
#endif
    const ragged::Shampoo optimizer(model, place, memory, {}, ragged::PlainGemm{}, ragged::ShampooRule{},
                                    executor);
    static_cast<void>(optimizer);
}
