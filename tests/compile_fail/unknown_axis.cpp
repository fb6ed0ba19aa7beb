// expect: the topology has no axis of this name
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;
using World = ragged::Mesh<Line, ragged::LocalCommunicator>;
namespace state = ragged::state;
template <class State>
using Buffer = ragged::DBuffer<float, Line, State>;

void use(const Line& line) {
#ifdef RAGGED_MUST_FAIL
    line.size<"replica">();
#else
    static_cast<void>(line.size<"shard">());
#endif
}
