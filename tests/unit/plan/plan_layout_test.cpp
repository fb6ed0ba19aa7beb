// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The layout of a plan says of every rank what the pieces of a buffer over that plan say.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ragged/buffer/dbuffer.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/plan_layout.hpp>
#include <ragged/plan/unequal_plan.hpp>
#include <ragged/view/shard_view.hpp>

#include "support/random_group.hpp"

using ragged::Axis;
using ragged::RegionStorage;
namespace state = ragged::state;

namespace {

using Plane = ragged::Topology<Axis<"shard">, Axis<"replica", 2>>;

template <class State, class PlanType>
void check_pieces(const PlanType& plan, RegionStorage storage) {
    const Plane topology(plan.num_devices);
    const ragged::PlanLayout layout(plan, topology, storage);
    ragged::HostResource memory;
    for (std::int64_t rank = 0; rank < topology.num_ranks(); ++rank) {
        const ragged::Place<Plane> place(topology, rank);
        const ragged::DBuffer<ragged::bf16, Plane, State, PlanType> buffer(plan, place, memory);
        const std::vector<std::int64_t> offsets = layout.offsets(rank);
        CHECK(layout.storage_elems(rank) * 2 == static_cast<std::int64_t>(buffer.bytes()));
        for (std::int64_t t = 0; t < layout.num_tensors(); ++t) {
            const auto piece = ragged::shard(buffer, static_cast<std::size_t>(t));
            const ragged::Portion portion = layout.portion(t, rank);
            CHECK(portion.elements == piece.elements());
            CHECK(layout.portion(t, rank, 0).is_whole());
            if (piece.elements() == 0)
                continue;
            CHECK(portion.first == piece.first());
            CHECK(buffer.segment_data(0) + offsets[static_cast<std::size_t>(t)] == &piece[0]);
            const ragged::Holders holders = layout.holders(t);
            CHECK((holders.first <= buffer.shard_rank() && buffer.shard_rank() < holders.end));
        }
    }
}

} // namespace

TEST_CASE("portions, offsets and holders are those of the pieces of a buffer") {
    for (std::uint32_t seed = 0; seed < 20; ++seed)
        for (const std::int64_t devices : {1, 3, 5}) {
            CAPTURE(seed);
            const ragged::GroupSpec group = support::random_group(seed);
            const ragged::PlanOptions options{.alignment_bytes = 16, .planes = {ragged::DType::bf16}};
            const ragged::policy::Exact policy{ragged::policy::Order::search, 3, {.latency_ns = 0}};
            const auto plan = ragged::make_plan(group, devices, policy, options);
            const auto unequal = ragged::make_unequal_plan(group, devices, options);
            check_pieces<state::Resident>(plan, RegionStorage::alone);
            check_pieces<state::Sharded>(plan, RegionStorage::in_place);
            check_pieces<state::Resident>(unequal, RegionStorage::alone);
            check_pieces<state::Sharded>(unequal, RegionStorage::in_place);
        }
}

TEST_CASE("errors: another number of ranks, and the rule without its plan") {
    const ragged::Plan plan = ragged::make_plan({"layer", {{"w", {8, 4}}}}, 3);
    CHECK_THROWS_WITH_AS(ragged::PlanLayout(plan, Plane(4)),
                         "group 'layer' is planned for 3 devices, axis 'shard' has 4 ranks",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(ragged::RaggedByPlan()({4, 1, 4}, 2),
                         "a plan places whole groups; take its runs with ragged_shard(plan, tensor)",
                         ragged::PlanError);
}
