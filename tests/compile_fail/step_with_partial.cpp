// expect: one buffer holds this rank's regions here
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

void use(Buffer<state::Partial>& partial, Buffer<state::Reduced>& reduced, Buffer<state::Resident>& master) {
#ifdef RAGGED_MUST_FAIL
    ragged::axpy(-0.1, partial, master);
#else
    ragged::axpy(-0.1, reduced, master);
    static_cast<void>(partial);
#endif
}
