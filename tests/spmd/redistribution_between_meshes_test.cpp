// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// From a layout to one on other ranks, from plans to roots and back, and between plans.
#include <doctest/doctest.h>

#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/plan_layout.hpp>
#include <ragged/plan/unequal_plan.hpp>

#include "support/random_group.hpp"
#include "support/redistribution_suite.hpp"

using namespace ragged;
using support::layout_of;
using support::On;

namespace {

using Line = Topology<Axis<"shard">>;
using Plane = Topology<Axis<"replica">, Axis<"shard">>;

template <class From, class To>
support::Mover<float> mover(const From& from, const To& to, LocalCommunicator& world,
                            CountingResource<>& memory) {
    return support::mover_of(make_redistribution<float>(from, to, world, memory));
}

/// Both directions, in a world of as many ranks as the larger layout has, or more.
template <class From, class To>
void check(const From& from, const To& to, std::int64_t more_ranks = 0) {
    const support::LayoutFacts source = support::facts_of(from), destination = support::facts_of(to);
    support::check_partition(source);
    support::check_partition(destination);
    const std::int64_t ranks = std::max(source.num_ranks(), destination.num_ranks()) + more_ranks;
    const auto received = [](const TransferCost& cost, int rank) {
        const auto at = static_cast<std::size_t>(rank);
        return at < cost.received_bytes.size() ? cost.received_bytes[at] : 0;
    };
    run_ranks(static_cast<int>(ranks),
              [&](LocalCommunicator world) {
                  const std::vector<LocalCommunicator*> communicators{&world};
                  CountingResource<> memory;
                  const support::Mover<float> there = mover(from, to, world, memory);
                  const support::Mover<float> back = mover(to, from, world, memory);
                  const support::RedistributionOracle<float> forward(source, destination, world.rank(),
                                                                     communicators);
                  const support::RedistributionOracle<float> backward(destination, source, world.rank(),
                                                                      communicators);
                  forward.check(there, received(cost(from, to, DType::f32), world.rank()), memory);
                  backward.check(back, received(cost(to, from, DType::f32), world.rank()), memory);
                  forward.check_back(there, back);
              },
              {.timeout = std::chrono::seconds(20)});
}

/// The tensors of a planned group, slices apart, each whole on a root of its own.
template <class PlanType, class Topology>
auto on_roots(const PlanLayout<PlanType, Topology>& planned, const Topology& topology) {
    std::vector<TensorSpec> specs;
    for (std::int64_t t = 0; t < planned.num_tensors(); ++t) {
        TensorSpec spec = planned.plan().tensors[static_cast<std::size_t>(t)].spec;
        spec.name = planned.name(t);
        spec.sliced = false;
        specs.push_back(std::move(spec));
    }
    return layout_of<On<"shard", RaggedOnRank>>(specs, topology);
}

Plan plan_for(std::uint32_t seed, std::int64_t devices, std::int64_t alignment_bytes = 16) {
    return make_plan(support::random_group(seed), devices,
                     policy::Exact{policy::Order::search, 3, {.latency_ns = 0}},
                     {.alignment_bytes = alignment_bytes, .planes = {}});
}

struct Drawn {
    std::uint32_t seed;
    std::int64_t devices;
};
/// Some groups as they come, and those whose plans have more than one segment.
std::vector<Drawn> drawn_plans() {
    std::vector<Drawn> result;
    for (std::uint32_t seed = 0; seed < 60; ++seed)
        for (std::int64_t devices = 1; devices <= 6; ++devices)
            if ((seed < 24 && devices == 1 + seed % 6) || plan_for(seed, devices).segments.size() > 1)
                result.push_back({seed, devices});
    return result;
}

} // namespace

TEST_CASE("other numbers of ranks, with ranks that have nothing in one layout") {
    const std::vector<TensorSpec> specs = support::awkward_matrices();
    const auto strided = [&](int rows, int columns) {
        return layout_of<On<"replica", Shard<1>>, On<"shard", RaggedEvenly>>(specs, Plane(rows, columns));
    };
    const auto replicas = [&](int rows, int columns) {
        return layout_of<On<"replica", Replicate>, On<"shard", RaggedByWeights>>(specs, Plane(rows, columns),
                                                                                 1);
    };
    const auto line = [&](int ranks) { return layout_of<On<"shard", RaggedByWeights>>(specs, Line(ranks)); };
    CHECK_NOTHROW(check(strided(2, 3), line(5)));
    CHECK_NOTHROW(check(replicas(2, 3), line(5)));
    CHECK_NOTHROW(check(line(4), line(6)));
    CHECK_NOTHROW(check(line(1), strided(3, 2), 2));
    CHECK_NOTHROW(check(strided(2, 2), replicas(3, 2)));
    CHECK_NOTHROW(check(replicas(3, 1), replicas(1, 8)));
    CHECK_NOTHROW(check(replicas(4, 2), strided(2, 1)));
}

TEST_CASE("one layout has fewer tensors") {
    const std::vector<TensorSpec> specs = support::awkward_matrices();
    const std::vector<TensorSpec> some{specs[4], specs[0], specs[6]};
    CHECK_NOTHROW(check(layout_of<On<"shard", RaggedByWeights>>(specs, Line(4)),
                        layout_of<On<"shard", RaggedByWeights>>(some, Line(3))));
}

TEST_CASE("plans of random groups to whole tensors on roots and back") {
    std::size_t most_segments = 0;
    for (const Drawn& drawn : drawn_plans()) {
        const std::uint32_t seed = drawn.seed;
        const std::int64_t devices = drawn.devices;
        CAPTURE(seed);
        CAPTURE(devices);
        const Plan plan = plan_for(seed, devices);
        most_segments = std::max(most_segments, plan.segments.size());
        for (const RegionStorage storage : {RegionStorage::alone, RegionStorage::in_place}) {
            const PlanLayout layout(plan, Line(devices), storage);
            CHECK_NOTHROW(check(layout, on_roots(layout, Line(devices))));
            CHECK_NOTHROW(check(layout, on_roots(layout, Line(7 - devices))));
        }
        const UnequalPlan unequal = make_unequal_plan(support::random_group(seed), devices);
        const PlanLayout layout(unequal, Line(devices));
        CHECK_NOTHROW(check(layout, on_roots(layout, Line(devices))));
    }
    CHECK(most_segments >= 3);
}

TEST_CASE("between plans of one group: devices, segments, equal and unequal regions, replicas") {
    for (const Drawn& drawn : drawn_plans()) {
        const std::uint32_t seed = drawn.seed;
        const std::int64_t devices = drawn.devices;
        CAPTURE(seed);
        CAPTURE(devices);
        const std::int64_t others = std::int64_t{1} + seed * 5 % 7;
        const Plan plan = plan_for(seed, devices), other = plan_for(seed, others, 128);
        const UnequalPlan unequal = make_unequal_plan(support::random_group(seed), others);
        const PlanLayout layout(plan, Line(devices));
        CHECK_NOTHROW(check(layout, PlanLayout(other, Line(others), RegionStorage::in_place)));
        CHECK_NOTHROW(check(layout, PlanLayout(unequal, Line(others))));
        if (others <= 4)
            CHECK_NOTHROW(check(PlanLayout(other, Plane(2, others)), layout));
    }
}

TEST_CASE("ranks that plan for other topologies are told") {
    const Plan plan = plan_for(3, 2);
    const std::string message = support::message_of([&] {
        run_ranks(4, [&](LocalCommunicator world) {
            HostResource memory;
            const PlanLayout layout(plan, Plane(world.rank() == 2 ? 1 : 2, 2));
            make_redistribution<float>(layout, layout, world, memory);
        });
    });
    CHECK(message == "layouts differ: rank 2 has plan over 'replica' of 1, 'shard' of 2, rank 0 has plan "
                     "over 'replica' of 2, 'shard' of 2");
}
