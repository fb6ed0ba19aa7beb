// expect: use of deleted function|call to deleted constructor
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;
using World = ragged::Mesh<Line, ragged::LocalCommunicator>;
namespace state = ragged::state;
template <class State>
using Buffer = ragged::DBuffer<float, Line, State>;

void use(const ragged::GroupSpec& group, ragged::HostResource& memory) {
#ifdef RAGGED_MUST_FAIL
    const Buffer<state::Sharded> buffer(ragged::make_plan(group, 2), ragged::Place<Line>(Line(2), 0), memory);
#else
    const ragged::Plan plan = ragged::make_plan(group, 2);
    const Buffer<state::Sharded> buffer(plan, ragged::Place<Line>(Line(2), 0), memory);
#endif
}
