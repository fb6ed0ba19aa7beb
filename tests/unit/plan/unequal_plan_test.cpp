// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Regions of unequal sizes: every region start is a legal, aligned cut, and no other cuts leave a smaller
// largest region.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <ragged/plan/unequal_plan.hpp>

#include "support/random_group.hpp"
#include "support/segment_oracle.hpp"

namespace {

using ragged::DType;
using ragged::GroupSpec;
using ragged::UnequalPlan;

/// Whether a region may start at each position of the plan's order of tensors.
std::vector<bool> legal_starts(const UnequalPlan& plan, const std::vector<oracle::Run>& runs,
                               std::int64_t end) {
    std::vector<bool> legal(static_cast<std::size_t>(end) + 1, true);
    for (std::size_t i = 0; i < runs.size(); ++i)
        for (std::int64_t p = 1; p < runs[i].elements; ++p)
            if (!runs[i].legal[static_cast<std::size_t>(p)])
                legal[static_cast<std::size_t>(plan.tensors[i].offset + p)] = false;
    for (std::int64_t p = 0; p <= end; ++p)
        if (p % plan.alignment_elems != 0)
            legal[static_cast<std::size_t>(p)] = false;
    return legal;
}

/// The smallest largest region over all ways to cut, by dynamic programming over positions and devices.
std::int64_t smallest_largest(const std::vector<bool>& legal, std::int64_t devices) {
    const auto end = static_cast<std::int64_t>(legal.size()) - 1;
    std::vector<std::int64_t> best(legal.size(), INT64_MAX);
    best[0] = 0;
    for (std::int64_t device = 0; device < devices; ++device) {
        std::vector<std::int64_t> next(legal.size(), INT64_MAX);
        for (std::int64_t from = 0; from <= end; ++from)
            for (std::int64_t to = from; to <= end && best[static_cast<std::size_t>(from)] != INT64_MAX; ++to)
                if (legal[static_cast<std::size_t>(to)])
                    next[static_cast<std::size_t>(to)] =
                        std::min(next[static_cast<std::size_t>(to)],
                                 std::max(best[static_cast<std::size_t>(from)], to - from));
        best = next;
    }
    return best[static_cast<std::size_t>(end)];
}

} // namespace

TEST_CASE("regions are cut legally, and the largest is as small as any cuts allow") {
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        GroupSpec group = support::random_group(seed);
        for (ragged::TensorSpec& tensor : group.tensors) {
            tensor.dtype = DType::u8, tensor.align_bytes = 0;
            // small enough for the oracle
            if (tensor.shape.elements() > 60)
                tensor.shape = {tensor.shape.elements() % 60}, tensor.block = ragged::elements(7),
                tensor.sliced = false;
        }
        const std::int64_t alignment = std::int64_t{1} << seed % 3;
        for (std::int64_t devices : {1, 2, 3, 4, 5, 8}) {
            const UnequalPlan plan =
                ragged::make_unequal_plan(group, devices, {.alignment_bytes = alignment});
            const std::vector<oracle::Run> runs = oracle::runs_of(group, alignment);
            CAPTURE(seed);
            CAPTURE(devices);
            REQUIRE(plan.segments.size() == 1);
            const std::vector<std::int64_t>& begins = plan.segments[0].begins;
            REQUIRE(begins.size() == static_cast<std::size_t>(devices) + 1);
            CHECK(begins.front() == 0);
            std::int64_t end = 0;
            REQUIRE(plan.tensors.size() == runs.size());
            for (std::size_t i = 0; i < runs.size(); ++i) {
                CHECK(plan.tensors[i].offset == end); // registration order, no gap but the alignment
                end = (end + runs[i].elements + alignment - 1) / alignment * alignment;
            }
            CHECK(begins.back() == end);
            CHECK(plan.padded_elements() == end);
            const std::vector<bool> legal = legal_starts(plan, runs, end);
            for (std::size_t rank = 1; rank < begins.size(); ++rank) {
                CHECK(begins[rank - 1] <= begins[rank]);
                CHECK(legal[static_cast<std::size_t>(begins[rank])]);
            }
            CHECK(plan.region_elems() == smallest_largest(legal, devices));
        }
    }
}

TEST_CASE("pieces of all ranks are the tensor, and layouts can be taken from the plan") {
    const GroupSpec group{"g", {{"w", {10, 7}, ragged::rows(3), DType::u8}, {"b", {5}, {}, DType::u8}}};
    const UnequalPlan plan = ragged::make_unequal_plan(group, 4, {.alignment_bytes = 1});
    // runs of 3 rows: 21, 21, 21, and 7 with the 5 elements of b
    CHECK(plan.segments[0].begins == std::vector<std::int64_t>{0, 21, 42, 63, 75});
    CHECK(plan.region_elems() == 21);
    CHECK(plan.region_elems(3) == 12);
    CHECK(plan.padded_elements() == 75);
    CHECK(plan.padding_ratio() == 0.0);
    CHECK(ragged::piece_of(plan, plan.tensors[0], 3) == ragged::Piece{63, 7, 0});
    CHECK(ragged::piece_of(plan, plan.tensors[1], 3) == ragged::Piece{0, 5, 7});
    CHECK(ragged::ragged_shard(plan, plan.tensors[0]).size(3) == 7);
    CHECK(ragged::describe(plan)[2] == "segment 0 with regions that start at 0 21 42 63 75");

    UnequalPlan other = plan;
    other.segments[0].begins[1] = 0;
    CHECK(ragged::fingerprint(other) != ragged::fingerprint(plan));
    CHECK_FALSE(other == plan);
}

TEST_CASE("nothing to place, and bad input") {
    CHECK(ragged::make_unequal_plan(GroupSpec{"g", {}}, 3).segments[0].begins ==
          std::vector<std::int64_t>(4, 0));
    CHECK(ragged::make_unequal_plan(GroupSpec{"g", {{"a", {0, 4}}}}, 2).padded_elements() == 0);
    CHECK_THROWS_WITH_AS(ragged::make_unequal_plan(GroupSpec{"g", {}}, 0),
                         "a plan needs at least 1 device, got 0", ragged::PlanError);
    CHECK_THROWS_WITH_AS(ragged::make_unequal_plan(GroupSpec{"g", {}}, (1 << 20) + 1),
                         "unequal regions are listed per device: 1048577 devices are above 1048576",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(ragged::make_unequal_plan(GroupSpec{"g", {{"a", {1}}, {"a", {1}}}}, 1),
                         "group 'g': duplicate tensor 'a'", ragged::SpecError);
    CHECK_THROWS_WITH_AS(ragged::make_unequal_plan(GroupSpec{"g", {{"a", {1}}}}, 1, {.alignment_bytes = 3}),
                         "group 'g': alignment of 3 bytes is not a power of two", ragged::PlanError);
    CHECK_THROWS_WITH_AS(ragged::make_unequal_plan(GroupSpec{"g", {{"a", {4, 4}, ragged::tile({5, 1})}}}, 1),
                         "group 'g': tensor 'a': block:5x1 is larger than shape 4x4 in dimension 0",
                         ragged::SpecError);
    CHECK_THROWS_AS(ragged::make_unequal_plan(GroupSpec{"g", {{"a", {ragged::max_count / 2}}}}, 2),
                    ragged::PlanError);
}

TEST_CASE("the cheaper plan is named, with what each costs") {
    // one block of 128 rows on each of 2 devices, 6 devices have none: equal shards pad those
    const GroupSpec group{"g", {{"w", {256, 1024}, ragged::rows(128)}}};
    const ragged::Plan equal = ragged::make_plan(group, 8);
    const UnequalPlan unequal = ragged::make_unequal_plan(group, 8);
    const ragged::CollectivePrice cheap{.latency_ns = 1000, .bytes_per_us = 1000};
    const ragged::Comparison wins = ragged::compare(equal, unequal, cheap);
    CHECK(wins.equal_bytes == 8 * 131'072 * 2);
    CHECK(wins.equal_price == 0);
    CHECK(wins.unequal_bytes == 2 * 131'072 * 2);
    CHECK(wins.unequal_price == 7 * 1000);
    CHECK(wins.unequal_wins());
    CHECK(ragged::to_string(wins) ==
          "unequal regions cost less: equal shards gather 2097152 bytes and pay for collectives as for 0, "
          "unequal regions gather 524288 and pay as for 7000");
    const ragged::Comparison loses = ragged::compare(equal, unequal); // 500,000 bytes for each rank but one
    CHECK_FALSE(loses.unequal_wins());
    CHECK(ragged::to_string(loses).starts_with("equal shards cost less: "));
    CHECK_THROWS_AS(ragged::compare(equal, unequal, {.latency_ns = -1}), ragged::PlanError);
}
