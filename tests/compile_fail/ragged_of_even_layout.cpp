// expect: no axis of this layout is ragged
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/layout/static_layout.hpp>

using Plane = ragged::Topology<ragged::Axis<"replica">, ragged::Axis<"shard">>;

void use(const ragged::TensorSpec& spec, const Plane& plane) {
#ifdef RAGGED_MUST_FAIL
    const auto placements = ragged::place<"shard">(ragged::Shard<0>{}).then<"replica">(ragged::Replicate{});
#else
    const auto placements =
        ragged::place<"shard">(ragged::RaggedEvenly{}).then<"replica">(ragged::Replicate{});
#endif
    ragged::TensorLayout(spec, plane, placements).ragged();
}
