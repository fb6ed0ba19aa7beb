// expect: no matching function for call to
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>
#include <ragged/group/flat.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;
using World = ragged::Mesh<Line, ragged::LocalCommunicator>;
namespace state = ragged::state;
template <class State>
using Buffer = ragged::DBuffer<float, Line, State>;

void use(ragged::DBuffer<std::int8_t, Line>& bytes, Buffer<state::Sharded>& floats) {
#ifdef RAGGED_MUST_FAIL
    ragged::scale(bytes, 2.0);
#else
    ragged::scale(floats, 2.0);
    static_cast<void>(bytes);
#endif
}
