// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ragged/plan/make_plan.hpp>
#include <ragged/view/shard_view.hpp>

#include "support/expect.hpp"
#include "support/random_group.hpp"

using Line = ragged::Topology<ragged::Axis<"shard">>;

TEST_CASE("the shards of all ranks are the tensor, once, in order, inside their regions") {
    for (std::uint32_t seed = 0; seed < 60; ++seed)
        for (std::int64_t ranks : {1, 2, 3, 4, 5, 8}) {
            const ragged::Plan plan = ragged::make_plan(support::random_group(seed), ranks);
            for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
                std::int64_t next = 0;
                for (std::int64_t rank = 0; rank < ranks; ++rank) {
                    ragged::HostResource memory;
                    const ragged::Place<Line> place(Line(ranks), rank);
                    const ragged::DBuffer<float, Line> sharded(plan, place, memory);
                    const ragged::DBuffer<float, Line, ragged::state::Resident> resident(plan, place, memory);
                    const auto piece = plan.tensors[t].slice < 0
                                           ? ragged::shard(sharded, plan.tensors[t].spec.name)
                                           : ragged::shard(sharded, t);
                    CHECK(piece.shape() == plan.tensors[t].spec.shape);
                    CHECK(piece.elements() == ragged::shard(resident, t).elements());
                    if (piece.elements() == 0)
                        continue;
                    CHECK(piece.first() == next);
                    next += piece.elements();
                    // where the gathered buffer has the same elements
                    CHECK(piece.data() == sharded.segment_data(0) + plan.tensors[t].offset + piece.first());
                    CHECK(ragged::shard(resident, t).data() - resident.segment_data(0) ==
                          piece.data() - sharded.region(0).data());
                    CHECK(&piece[piece.elements() - 1] <= &sharded.region(0).back());
                }
                CHECK(next == plan.tensors[t].elements());
            }
        }
}

TEST_CASE("a tensor that is not there is refused") {
    const ragged::Plan plan = ragged::make_plan(ragged::GroupSpec{"layer", {{"w", {4}}}}, 2);
    ragged::HostResource memory;
    const ragged::DBuffer<float, Line> sharded(plan, ragged::Place<Line>(Line(2), 0), memory);
    CHECK(support::message_of([&] { static_cast<void>(ragged::shard(sharded, 1)); }) ==
          "group 'layer' has no tensor 1, it has 1");
    CHECK(support::message_of([&] { static_cast<void>(ragged::shard(sharded, "v")); }) ==
          "group 'layer' has no tensor 'v'");
}
