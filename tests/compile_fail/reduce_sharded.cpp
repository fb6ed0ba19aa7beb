// expect: only a partial buffer can be reduced
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;
using World = ragged::Mesh<Line, ragged::LocalCommunicator>;
namespace state = ragged::state;
template <class State>
using Buffer = ragged::DBuffer<float, Line, State>;

void use(Buffer<state::Sharded> weights, Buffer<state::Partial> gradients, World& mesh) {
#ifdef RAGGED_MUST_FAIL
    ragged::reduce(std::move(weights), mesh).wait();
#else
    ragged::reduce(std::move(gradients), mesh).wait();
    static_cast<void>(weights);
#endif
}
