// expect: use of deleted function|call to deleted function
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>
#include <ragged/view/shard_view.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;
using World = ragged::Mesh<Line, ragged::LocalCommunicator>;

float use(ragged::DBuffer<float, Line, ragged::state::Partial> gradients, World& mesh) {
#ifdef RAGGED_MUST_FAIL
    return ragged::shard(ragged::reduce(std::move(gradients), mesh).wait(), "wq")[0];
#else
    const auto reduced = ragged::reduce(std::move(gradients), mesh).wait();
    return ragged::shard(reduced, "wq")[0];
#endif
}
