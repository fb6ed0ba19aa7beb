// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The library's own planner: the smallest S for the order as given, or for the best order found, in one
// segment or in the cheapest number of them.
//
//     auto plan = ragged::make_plan(group, 1024, ragged::policy::Exact{ragged::policy::Order::search});
//     auto split = ragged::make_plan(group, 1024, ragged::policy::Exact{.max_segments = 3});
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ragged/plan/options.hpp>
#include <ragged/plan/segment_search.hpp>

namespace ragged::policy {

/// Source: planning problem of the veScale-FSDP paper, section 4; the exact walk, tails and segments are this
/// library's.
struct Exact {
    static constexpr std::string_view name = "exact";

    Order order = Order::as_given;
    std::int64_t max_segments = 1; // at most 4 are used
    CollectivePrice price{};       // a further segment must save more padding than that

    constexpr bool operator==(const Exact&) const = default;

    /// @throws PlanError  max_segments < 1, a negative price, or counts beyond 64 bits
    constexpr Arrangement operator()(const PlanInput& input) const {
        if (max_segments < 1)
            throw PlanError(concat("a plan needs at least 1 segment, got ", max_segments));
        const std::vector<detail::Item> items = detail::make_items(input);
        detail::SegmentSearch search(items, input.num_devices, input.alignment_elems,
                                     price.bytes() / input.element_bytes, order);
        Arrangement result;
        result.starts.assign(items.size(), Arrangement::Start{});
        for (const detail::Packing& packing : search.run(static_cast<std::size_t>(max_segments))) {
            const detail::AloneBound alone(packing.order, input.alignment_elems);
            const detail::FixedOrder fixed(packing.order, alone, input.num_devices);
            const std::vector<std::int64_t> starts = fixed.starts(packing.shard.shard_elems);
            for (std::size_t i = 0; i < starts.size(); ++i)
                result.starts[static_cast<std::size_t>(packing.order[i].tensor)] = {
                    static_cast<std::int64_t>(result.segments.size()), starts[i]};
            result.segments.push_back({packing.shard.shard_elems, to_blame(packing, input)});
        }
        return result;
    }

  private:
    static constexpr std::size_t max_suspects = 16;

    /// The tensor that forces S: of the kinds of tensors with the largest granularities, the one without
    /// whose blocks the lower bound would be smallest. Where the bound is not to blame, the tensor that ruled
    /// out the last smaller S. -1 when S is the fair share.
    static constexpr std::int64_t to_blame(const detail::Packing& packing, const PlanInput& input) {
        const std::int64_t fair =
            round_up(ceil_div(detail::elements_of(packing.order), input.num_devices), input.alignment_elems);
        if (packing.shard.shard_elems == fair)
            return -1;
        std::vector<detail::Item> suspects;
        for (const detail::Kind& kind : detail::kinds_of(packing.order))
            suspects.push_back(kind.item());
        detail::Candidate without{packing.bound, packing.shard.set_by};
        for (std::size_t i = 0; i < std::min<std::size_t>(suspects.size(), max_suspects); ++i) {
            std::vector<detail::Item> relaxed = suspects;
            relaxed[i] = {{relaxed[i].elements(), 1, 1}, relaxed[i].align, relaxed[i].tensor};
            const auto found = detail::AloneBound(relaxed, input.alignment_elems).next({fair, -1});
            if (found.shard_elems < without.shard_elems)
                without = {found.shard_elems, suspects[i].tensor};
        }
        return without.set_by;
    }
};

static_assert(planner_policy<Exact>);

} // namespace ragged::policy
