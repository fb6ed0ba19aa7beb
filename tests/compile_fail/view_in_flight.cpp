// expect: no matching function for call to
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

void use(Buffer<state::Sharded> sharded, World& mesh) {
#ifdef RAGGED_MUST_FAIL
    auto flight = ragged::gather(std::move(sharded), mesh);
    ragged::view(flight, "w");
#else
    auto flight = ragged::gather(std::move(sharded), mesh);
    auto gathered = flight.wait();
    ragged::view(gathered, "w");
#endif
}
