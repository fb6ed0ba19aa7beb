// expect: gathered values are read only
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

void use(Buffer<state::Gathered>& gathered, Buffer<state::Sharded>& sharded) {
#ifdef RAGGED_MUST_FAIL
    ragged::scale(gathered, 2.0);
#else
    ragged::scale(sharded, 2.0);
    static_cast<void>(gathered);
#endif
}
