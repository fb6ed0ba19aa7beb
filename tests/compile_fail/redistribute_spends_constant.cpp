// expect: this redistribution reduces in its source array, whose values are spent
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/local_communicator.hpp>
#include <ragged/redistribute/redistribution.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;
using World = ragged::Mesh<Line, ragged::LocalCommunicator>;

void use(const ragged::TensorSpec& spec, World& mesh, ragged::HostResource& memory, const float* source,
         float* destination) {
    const auto whole = ragged::place<"shard">(ragged::Replicate{});
#ifdef RAGGED_MUST_FAIL
    const auto held = ragged::place<"shard">(ragged::Partial<>{});
#else
    const auto held = ragged::place<"shard">(ragged::Shard<0>{});
#endif
    const Line& line = mesh.place().topology;
    const ragged::GroupLayout from(ragged::TensorLayout(spec, line, held));
    const ragged::GroupLayout to(ragged::TensorLayout(spec, line, whole));
    ragged::redistribute(from, source, to, destination, mesh, memory).wait();
}
