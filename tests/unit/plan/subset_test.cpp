// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Subsets of plans: the pieces are those of the plan, regions are laws of their own, and nothing is left
// between pieces but alignment. All subsets of small random groups.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <ragged/buffer/dbuffer.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/policy/comparison.hpp>
#include <ragged/plan/subset.hpp>

#include "support/expect.hpp"
#include "support/random_group.hpp"

namespace {

using ragged::PlacedTensor;
using ragged::UnequalPlan;
using support::expect;
using Line = ragged::Topology<ragged::Axis<"shard">>;

/// The law of regions: on the alignment, ascending, no block cut, tensors apart and on their own alignment.
void check_law(const UnequalPlan& plan) {
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        const ragged::UnequalSegment& segment = plan.segments[s];
        expect(segment.begins.size() == static_cast<std::size_t>(plan.num_devices) + 1, "a region per rank");
        expect(segment.begins.front() == 0, "regions start at 0");
        for (std::int64_t rank = 0; rank < plan.num_devices; ++rank)
            expect(segment.region_begin(rank + 1) % plan.alignment_elems == 0 &&
                       segment.region_elems(rank) >= 0,
                   "regions are aligned");
        std::int64_t elements = 0;
        std::vector<std::pair<std::int64_t, std::int64_t>> places;
        for (const PlacedTensor& tensor : plan.tensors) {
            if (tensor.segment != static_cast<std::int64_t>(s))
                continue;
            elements += tensor.elements();
            if (tensor.elements() > 0)
                places.emplace_back(tensor.offset, tensor.offset + tensor.elements());
            for (const std::int64_t begin : segment.begins)
                if (tensor.offset < begin && begin < tensor.offset + tensor.elements())
                    expect(tensor.cuts.is_cut(begin - tensor.offset), "no block is cut");
        }
        std::sort(places.begin(), places.end());
        for (std::size_t i = 1; i < places.size(); ++i)
            expect(places[i - 1].second <= places[i].first, "tensors lie apart");
        if (!places.empty())
            expect(0 <= places.front().first && places.back().second <= segment.begins.back(), "inside");
        expect(segment.elements == elements, "elements are counted");
    }
}

/// What a region has to hold: its pieces in the order of the plan, each as far off the alignment as there.
template <class PlanType>
std::int64_t closed_up(const PlanType& plan, const std::vector<bool>& wanted, std::int64_t segment,
                       std::int64_t rank) {
    std::vector<std::pair<std::int64_t, std::int64_t>> pieces;
    for (std::size_t t = 0; t < plan.tensors.size(); ++t)
        if (const auto piece = ragged::piece_of(plan, plan.tensors[t], rank);
            wanted[t] && plan.tensors[t].segment == segment && piece.elements > 0)
            pieces.emplace_back(piece.region_offset, piece.elements);
    std::sort(pieces.begin(), pieces.end());
    const std::int64_t a = plan.alignment_elems;
    std::int64_t end = 0;
    for (const auto& [offset, elements] : pieces) {
        while (end % a != offset % a)
            ++end;
        end += elements;
    }
    return (end + a - 1) / a * a;
}

template <class PlanType>
void check_subset(const PlanType& plan, const std::vector<bool>& wanted) {
    const UnequalPlan some = ragged::subset(plan, [&](const PlacedTensor& tensor) {
        return wanted[static_cast<std::size_t>(&tensor - plan.tensors.data())];
    });
    check_law(some);
    expect(some.name == plan.name && some.segments.size() == plan.segments.size(), "the group");
    std::size_t next = 0;
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        if (!wanted[t])
            continue;
        PlacedTensor moved = plan.tensors[t];
        expect(next < some.tensors.size(), "all that are wanted");
        const PlacedTensor& found = some.tensors[next++];
        expect(found.offset % plan.alignment_elems == moved.offset % plan.alignment_elems,
               "a start is as far off the alignment as in the plan");
        for (std::int64_t rank = 0; rank < plan.num_devices; ++rank) {
            const ragged::Piece a = ragged::piece_of(plan, moved, rank),
                                b = ragged::piece_of(some, found, rank);
            expect(a.elements == b.elements && (a.elements == 0 || a.first == b.first),
                   "the piece is that of the plan");
        }
        moved.offset = found.offset;
        expect(found == moved, "nothing else of a tensor changes");
    }
    expect(next == some.tensors.size(), "none that is not wanted");
    for (std::int64_t rank = 0; rank < plan.num_devices; ++rank)
        for (std::size_t s = 0; s < plan.segments.size(); ++s)
            expect(some.segments[s].region_elems(rank) ==
                       closed_up(plan, wanted, static_cast<std::int64_t>(s), rank),
                   "a region is its pieces, closed up");
    if (plan.num_devices <= 5) // buffers take it
        for (std::int64_t rank = 0; rank < plan.num_devices; ++rank) {
            ragged::CountingResource<> memory;
            const ragged::DBuffer<float, Line, ragged::state::Resident, UnequalPlan> buffer(
                some, ragged::Place<Line>(Line(plan.num_devices), rank), memory);
            expect(memory.live_bytes() == static_cast<std::size_t>(4 * some.region_elems(rank)), "bytes");
        }
}

template <class PlanType>
void check_all_subsets(const PlanType& plan) {
    const std::size_t count = plan.tensors.size();
    for (std::uint32_t bits = 0; bits < (1u << std::min<std::size_t>(count, 5)); ++bits) {
        std::vector<bool> wanted(count);
        for (std::size_t t = 0; t < count; ++t)
            wanted[t] = (bits >> t % 5 & 1) != 0;
        check_subset(plan, wanted);
    }
}

} // namespace

TEST_CASE("every subset of random plans is cut where the plan is, for one and several segments") {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        const ragged::GroupSpec group = support::random_group(seed);
        for (const std::int64_t devices : {1, 2, 3, 4, 5, 8}) {
            CAPTURE(devices);
            const ragged::PlanOptions options{.alignment_bytes = 16, .planes = {ragged::DType::bf16}};
            CHECK_NOTHROW(check_all_subsets(ragged::make_plan(
                group, devices,
                ragged::policy::Exact{ragged::policy::Order::search, 1 + seed % 3, {.latency_ns = 0}},
                options)));
            CHECK_NOTHROW(check_all_subsets(ragged::make_unequal_plan(group, devices, options)));
        }
    }
}

TEST_CASE("a subset of a subset is that of the plan; of everything, nothing moves but the padding") {
    const ragged::GroupSpec group{"layer",
                                  {{"a", {8, 8}, ragged::rows(2)},
                                   {"norm", {8}},
                                   {"b", {40, 8}, ragged::rows(4)},
                                   {"experts", {3, 4, 8}, ragged::rows(2), ragged::DType::bf16, 0, true}}};
    for (const std::int64_t devices : {1, 3, 4}) {
        const ragged::Plan plan = ragged::make_plan(group, devices, {}, {.alignment_bytes = 16});
        const auto matrices = [](const PlacedTensor& tensor) { return tensor.spec.shape.rank() >= 2; };
        const auto b = [](const PlacedTensor& tensor) { return tensor.spec.name == "b"; };
        CHECK(ragged::subset(ragged::subset(plan, matrices), b) == ragged::subset(plan, b));
        CHECK(ragged::subset(plan, matrices).slices_of("experts").count == 3);
        const auto all = ragged::subset(plan, [](const PlacedTensor&) { return true; });
        CHECK(ragged::subset(all, [](const PlacedTensor&) { return true; }) == all);
        const auto none = ragged::subset(plan, [](const PlacedTensor&) { return false; });
        CHECK(none.padded_elements() == 0);
        CHECK(none.tensors.empty());
    }
}

TEST_CASE("plans that break a law have no subsets") {
    const ragged::GroupSpec group{"layer", {{"a", {7, 8}, ragged::rows(4)}}};
    const ragged::Plan plan = ragged::make_plan(group, 2, ragged::policy::EvenRows{});
    REQUIRE(plan.violations.any());
    CHECK_THROWS_WITH_AS(ragged::subset(plan, [](const PlacedTensor&) { return true; }),
                         doctest::Contains("breaks a law; subsets are of plans that keep them"),
                         ragged::PlanError);
}
