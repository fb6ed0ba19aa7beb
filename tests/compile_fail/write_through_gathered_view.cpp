// expect: assignment of read-only location|cannot assign to return value
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>
#include <ragged/view/tensor_view.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;
using World = ragged::Mesh<Line, ragged::LocalCommunicator>;
namespace state = ragged::state;
template <class State>
using Buffer = ragged::DBuffer<float, Line, State>;

void use(const Buffer<state::Gathered>& gathered, const Buffer<state::Partial>& partial) {
#ifdef RAGGED_MUST_FAIL
    ragged::view(gathered, 0)(0) = 1.0f;
    static_cast<void>(partial);
#else
    ragged::view(partial, 0)(0) = 1.0f;
    static_cast<void>(gathered);
#endif
}
