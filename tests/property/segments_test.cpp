// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Plans of several segments against the exhaustive oracle: groups with tails in every period, slices, whole
// tensors, tensors with an alignment of their own, empty ones.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <ragged/plan/make_plan.hpp>
#include <ragged/spec/inventory.hpp>

#include "support/segment_oracle.hpp"

#ifndef RAGGED_MODELS_DIR
#define RAGGED_MODELS_DIR "examples/models"
#endif

namespace {

using ragged::DType;
using ragged::TensorSpec;

struct Instance {
    ragged::GroupSpec group;
    std::int64_t devices, alignment, segments, price;
};

Instance random_instance(std::uint32_t seed) {
    std::mt19937 random(seed);
    const auto draw = [&](std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
    };
    Instance instance{{"random", {}}, draw(1, 8), std::int64_t{1} << draw(0, 2), draw(1, 3), 0};
    instance.price = draw(0, 1) * draw(0, 12);
    std::int64_t runs = 0;
    for (std::int64_t i = draw(1, 6); i > 0; --i) {
        TensorSpec tensor{"t" + std::to_string(i), {}, {}, DType::u8};
        switch (draw(0, 6)) {
        case 0: // a period with a short last block
            tensor.shape = {draw(1, 3), draw(2, 5), draw(1, 3)};
            tensor.block = ragged::tile({1, draw(1, tensor.shape[1]), draw(1, tensor.shape[2])});
            break;
        case 1: // the same, a period further in
            tensor.shape = {draw(1, 2), draw(1, 2), draw(2, 7)};
            tensor.block = ragged::tile({1, 1, draw(1, tensor.shape[2])});
            break;
        case 2:
            tensor.shape = {draw(2, 3), draw(1, 4), draw(1, 3)};
            tensor.block = ragged::rows(draw(1, 4));
            tensor.sliced = runs + tensor.shape[0] + i <= 9;
            break;
        case 3:
            tensor.shape = {draw(0, 12)}, tensor.block = ragged::whole();
            break;
        case 4:
            tensor.shape = {draw(1, 6), draw(1, 6)}, tensor.block = ragged::rows(draw(1, 4));
            break;
        default:
            tensor.shape = {draw(0, 20)}, tensor.block = ragged::elements(draw(1, 7));
            break;
        }
        if (draw(0, 4) == 0)
            tensor.align_bytes = std::int64_t{1} << draw(0, 3);
        runs += ragged::num_runs(tensor);
        instance.group.tensors.push_back(tensor);
    }
    return instance;
}

ragged::Plan plan_of(const Instance& instance, ragged::policy::Order order) {
    return ragged::make_plan(
        instance.group, instance.devices,
        ragged::policy::Exact{order, instance.segments, {.latency_ns = 1000, .bytes_per_us = instance.price}},
        {.alignment_bytes = instance.alignment});
}

/// Law 2 by the oracle's own runs; "" when it holds.
std::string broken_law(const ragged::Plan& plan, const std::vector<oracle::Run>& runs,
                       std::int64_t alignment) {
    if (plan.tensors.size() != runs.size())
        return "number of runs";
    for (const ragged::Segment& segment : plan.segments)
        if (segment.shard_elems % alignment != 0 || segment.lower_bound_elems > segment.shard_elems)
            return "shard";
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const ragged::PlacedTensor& tensor = plan.tensors[i];
        if (tensor.segment < 0 || tensor.segment >= static_cast<std::int64_t>(plan.segments.size()))
            return "segment";
        const std::int64_t shard = plan.segments[static_cast<std::size_t>(tensor.segment)].shard_elems;
        if (tensor.elements() != runs[i].elements || tensor.offset < 0 ||
            !oracle::may_start(runs[i], tensor.offset, shard, plan.num_devices))
            return "place of run " + std::to_string(i);
        const std::int64_t start = plan.segment_offset(tensor.segment) + tensor.offset;
        if (runs[i].elements > 0)
            ranges.emplace_back(start, start + runs[i].elements);
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
        if (ranges[i].first < ranges[i - 1].second)
            return "overlap";
    return "";
}

std::int64_t strictest(const Instance& instance) {
    std::int64_t result = instance.alignment;
    for (const TensorSpec& tensor : instance.group.tensors)
        result = std::max(result, tensor.align_bytes);
    return result;
}

std::int64_t cost_of(const ragged::Plan& plan, std::int64_t price) {
    return plan.padded_elements() + price * (static_cast<std::int64_t>(plan.segments.size()) - 1);
}

} // namespace

TEST_CASE("with search, 10000 random small groups cost what the exhaustive optimum costs") {
    std::int64_t equal = 0, total = 0, beyond = 0;
    for (std::uint32_t seed = 0; seed < 10000; ++seed) {
        const Instance instance = random_instance(seed);
        const std::int64_t alignment = strictest(instance);
        const std::vector<oracle::Run> runs = oracle::runs_of(instance.group, instance.alignment);
        const ragged::Plan plan = plan_of(instance, ragged::policy::Order::search);
        const std::string broken = broken_law(plan, runs, alignment);
        const std::int64_t cost = cost_of(plan, instance.price);
        const std::int64_t lowest = oracle::lowest_cost(runs, instance.devices, alignment,
                                                        static_cast<int>(instance.segments), instance.price);
        CAPTURE(seed);
        if (!broken.empty())
            FAIL_CHECK(broken);
        REQUIRE(cost >= lowest);
        ++total;
        equal += cost == lowest ? 1 : 0;
        beyond += 100 * cost > 105 * lowest ? 1 : 0;
        if (cost != lowest)
            MESSAGE("seed ", seed, ": cost ", cost, ", the lowest is ", lowest);
    }
    MESSAGE(equal, " of ", total, " equal, ", beyond, " above 1.05 x");
    CHECK(beyond == 0);
    CHECK(100 * equal >= 95 * total);
}

TEST_CASE(
    "as given, one segment: S is the exhaustive optimum of the order, tails and own alignments included") {
    for (std::uint32_t seed = 0; seed < 20000; ++seed) {
        Instance instance = random_instance(seed + 900000);
        instance.segments = 1;
        const std::int64_t alignment = strictest(instance);
        const std::vector<oracle::Run> runs = oracle::runs_of(instance.group, instance.alignment);
        const ragged::Plan plan = plan_of(instance, ragged::policy::Order::as_given);
        CAPTURE(seed);
        REQUIRE(plan.segments[0].shard_elems == oracle::smallest_in_order(runs, instance.devices, alignment));
        const std::string broken = broken_law(plan, runs, alignment);
        if (!broken.empty())
            FAIL_CHECK(broken);
    }
}

TEST_CASE("as given, with segments: the laws, and never dearer than one segment") {
    for (std::uint32_t seed = 0; seed < 2000; ++seed) {
        Instance instance = random_instance(seed + 500000);
        const std::vector<oracle::Run> runs = oracle::runs_of(instance.group, instance.alignment);
        const ragged::Plan plan = plan_of(instance, ragged::policy::Order::as_given);
        const std::int64_t cost = cost_of(plan, instance.price);
        CAPTURE(seed);
        const std::string broken = broken_law(plan, runs, strictest(instance));
        if (!broken.empty())
            FAIL_CHECK(broken);
        // registration order inside each segment
        for (std::size_t i = 1; i < plan.tensors.size(); ++i)
            for (std::size_t j = 0; j < i; ++j)
                if (plan.tensors[i].segment == plan.tensors[j].segment && runs[i].elements > 0)
                    CHECK(plan.tensors[j].offset <= plan.tensors[i].offset);
        instance.segments = 1;
        CHECK(cost <= cost_of(plan_of(instance, ragged::policy::Order::as_given), 0));
    }
}

namespace {

/// A sum of shard sizes that no assignment of the group to three segments can go below, whatever the order:
/// each segment needs the bound of its matrices alone. Vectors fit anywhere and only count for the sum.
std::int64_t least_sum(const ragged::GroupSpec& group, std::int64_t devices) {
    const ragged::detail::Prepared prepared = ragged::detail::prepare(group.tensors, {});
    const ragged::PlanInput input = prepared.input(devices);
    std::vector<ragged::detail::Item> matrices;
    for (const ragged::detail::Item& item : ragged::detail::make_items(input))
        if (input.tensors[static_cast<std::size_t>(item.tensor)].spec.shape.rank() > 1)
            matrices.push_back(item);
    const std::size_t subsets = std::size_t{1} << matrices.size();
    std::vector<std::int64_t> one(subsets, 0), two(subsets, 0);
    for (std::size_t subset = 1; subset < subsets; ++subset) {
        std::vector<ragged::detail::Item> items;
        for (std::size_t i = 0; i < matrices.size(); ++i)
            if ((subset >> i & 1) != 0)
                items.push_back(matrices[i]);
        const std::int64_t fair = ragged::ceil_div(ragged::detail::elements_of(items), devices);
        one[subset] = ragged::detail::AloneBound(items, input.alignment_elems).next({fair, -1}).shard_elems;
    }
    const auto split = [&](const std::vector<std::int64_t>& rest, std::size_t subset) {
        std::int64_t best = rest[subset];
        for (std::size_t part = subset; part > 0; part = (part - 1) & subset)
            best = std::min(best, one[part] + rest[subset & ~part]);
        return best;
    };
    for (std::size_t subset = 0; subset < subsets; ++subset)
        two[subset] = split(one, subset);
    const std::int64_t fair = ragged::ceil_div(input.elements(), devices);
    return std::max(split(two, subsets - 1), ragged::round_up(fair, input.alignment_elems));
}

} // namespace

TEST_CASE("layers of llama-3-70b and gpt-oss-120b: no three segments of any tensors in any order take less") {
    struct Case {
        const char* model;
        std::int64_t rows, devices;
    };
    for (const Case& each : {Case{"llama-3-70b", 16, 256},
                             {"llama-3-70b", 16, 1024},
                             {"llama-3-70b", 128, 128},
                             {"llama-3-70b", 128, 256},
                             {"llama-3-70b", 128, 1024},
                             {"gpt-oss-120b", 16, 512},
                             {"gpt-oss-120b", 16, 1024},
                             {"gpt-oss-120b", 16, 2048},
                             {"gpt-oss-120b", 128, 256},
                             {"gpt-oss-120b", 128, 512},
                             {"gpt-oss-120b", 128, 1024},
                             {"gpt-oss-120b", 1, 4096}}) {
        ragged::ModelSpec model = ragged::read_inventory(std::filesystem::path(RAGGED_MODELS_DIR) /
                                                         (std::string(each.model) + ".tsv"));
        for (ragged::GroupSpec& group : model.groups)
            for (TensorSpec& tensor : group.tensors)
                if (tensor.shape.rank() > 1)
                    tensor.block = ragged::rows(each.rows);
        const ragged::GroupSpec& layer = model.groups[1];
        const ragged::Plan plan = ragged::make_plan(
            layer, each.devices, ragged::policy::Exact{ragged::policy::Order::search, 3, {.latency_ns = 0}});
        CAPTURE(each.model);
        CAPTURE(each.rows);
        CAPTURE(each.devices);
        CHECK(plan.region_elems() == least_sum(layer, each.devices));
    }
}
