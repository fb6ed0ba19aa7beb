// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The exact planner against the exhaustive oracle: fixed order, bound over all orders, order search.
#include <doctest/doctest.h>

#include <random>

#include <ragged/plan/make_plan.hpp>

#include "support/plan_oracle.hpp"

namespace {

struct Instance {
    std::vector<oracle::Item> items;
    std::int64_t devices;
    std::int64_t alignment;
};

Instance random_instance(std::uint32_t seed, std::size_t max_items) {
    std::mt19937 random(seed);
    const auto draw = [&](std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
    };
    Instance instance{{}, draw(1, 8), std::int64_t{1} << draw(0, 2)};
    const std::int64_t count = draw(0, static_cast<std::int64_t>(max_items)), largest = draw(1, 40);
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t granularity = draw(1, 12);
        // whole blocks or a tail, sometimes nothing, sometimes less than a block
        const std::int64_t elements = draw(0, 4) == 0 ? draw(0, largest) : granularity * draw(0, 5);
        instance.items.push_back({elements, granularity});
    }
    return instance;
}

ragged::GroupSpec spec_of(const Instance& instance) {
    ragged::GroupSpec group{"g", {}};
    for (std::size_t i = 0; i < instance.items.size(); ++i)
        group.tensors.push_back({"t" + std::to_string(i), ragged::Shape{instance.items[i].elements},
                                 ragged::elements(instance.items[i].granularity), ragged::DType::u8});
    return group;
}

ragged::Plan plan_of(const Instance& instance, ragged::policy::Order order) {
    return ragged::make_plan(spec_of(instance), instance.devices, ragged::policy::Exact{order},
                             {.alignment_bytes = instance.alignment});
}

void check_legal(const ragged::Plan& plan, const Instance& instance) {
    const std::int64_t shard = plan.segments[0].shard_elems;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (std::size_t i = 0; i < instance.items.size(); ++i) {
        const std::int64_t offset = plan.tensors[i].offset;
        CHECK(oracle::may_start(instance.items[i], offset, shard, instance.devices, instance.alignment));
        if (instance.items[i].elements > 0)
            ranges.emplace_back(offset, offset + instance.items[i].elements);
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
        CHECK(ranges[i - 1].second <= ranges[i].first);
}

} // namespace

TEST_CASE("as given, S is the exhaustive optimum of the order, on 12000 random groups") {
    for (std::uint32_t seed = 0; seed < 12000; ++seed) {
        const Instance instance = random_instance(seed, 7);
        const ragged::Plan plan = plan_of(instance, ragged::policy::Order::as_given);
        CAPTURE(seed);
        REQUIRE(plan.segments[0].shard_elems ==
                oracle::smallest_shard(instance.items, instance.devices, instance.alignment));
        check_legal(plan, instance);
    }
}

TEST_CASE("the lower bound holds for every order, and search lies between it and as given") {
    for (std::uint32_t seed = 0; seed < 3000; ++seed) {
        const Instance instance = random_instance(seed + 1000000, 5);
        const ragged::Plan given = plan_of(instance, ragged::policy::Order::as_given);
        const ragged::Plan search = plan_of(instance, ragged::policy::Order::search);
        const std::int64_t best =
            oracle::smallest_shard_any_order(instance.items, instance.devices, instance.alignment);
        CAPTURE(seed);
        REQUIRE(given.segments[0].lower_bound_elems <= best);
        REQUIRE(best <= search.segments[0].shard_elems);
        REQUIRE(search.segments[0].shard_elems <= given.segments[0].shard_elems);
        check_legal(search, instance);
    }
}
