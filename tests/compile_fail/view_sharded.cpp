// expect: call gather(std::move(buffer), mesh).wait() first
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

void use(const Buffer<state::Sharded>& sharded, const Buffer<state::Gathered>& gathered) {
#ifdef RAGGED_MUST_FAIL
    ragged::view(sharded, "w");
#else
    ragged::view(gathered, "w");
    static_cast<void>(sharded);
#endif
}
