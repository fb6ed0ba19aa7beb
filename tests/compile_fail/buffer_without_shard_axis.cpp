// expect: needs a topology with an axis named
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
    using Ring = ragged::Topology<ragged::Axis<"ring">>;
    static_cast<void>(sizeof(ragged::DBuffer<float, Ring>));
#else
    static_cast<void>(sizeof(ragged::DBuffer<float, Line>));
#endif
}
