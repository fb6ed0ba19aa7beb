// expect: a partial buffer has no shard yet
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>
#include <ragged/view/shard_view.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;
using World = ragged::Mesh<Line, ragged::LocalCommunicator>;
namespace state = ragged::state;
template <class State>
using Buffer = ragged::DBuffer<float, Line, State>;

void use(const Buffer<state::Partial>& partial, const Buffer<state::Reduced>& reduced) {
#ifdef RAGGED_MUST_FAIL
    ragged::shard(partial, "w");
#else
    ragged::shard(reduced, "w");
    static_cast<void>(partial);
#endif
}
