// expect: use of deleted function|call to deleted function
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>
#include <ragged/view/slice_views.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;
using World = ragged::Mesh<Line, ragged::LocalCommunicator>;

float use(ragged::DBuffer<float, Line> weights, World& mesh) {
#ifdef RAGGED_MUST_FAIL
    return ragged::slices(ragged::gather(std::move(weights), mesh).wait(), "wq")[0](0, 0);
#else
    const auto gathered = ragged::gather(std::move(weights), mesh).wait();
    return ragged::slices(gathered, "wq")[0](0, 0);
#endif
}
