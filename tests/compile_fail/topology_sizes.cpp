// expect: give one size for each axis whose size is not in its type
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;
using World = ragged::Mesh<Line, ragged::LocalCommunicator>;
namespace state = ragged::state;
template <class State>
using Buffer = ragged::DBuffer<float, Line, State>;

void use() {
#ifdef RAGGED_MUST_FAIL
    Line line(2, 3);
#else
    Line line(2);
    static_cast<void>(line);
#endif
}
