// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The library's own planner: the smallest S for the order as given, or for the best order found.
//
//     auto plan = ragged::make_plan(group, 1024, ragged::policy::Exact{ragged::policy::Order::search});
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include <ragged/plan/placement.hpp>

namespace ragged::policy {

enum class Order : std::uint8_t {
    as_given, // registration order; S is the exact optimum for it
    search,   // sensible sorts, then a bounded local search; never worse than as_given
};

/// Source: planning problem of the veScale-FSDP paper, section 4; the exact walk is this library's.
struct Exact {
    static constexpr std::string_view name = "exact";

    Order order = Order::as_given;

    constexpr bool operator==(const Exact&) const = default;

    /// @throws PlanError  short blocks in the middle of a tensor, or counts beyond 64 bits
    constexpr Arrangement operator()(const PlanInput& input) const {
        const std::vector<detail::Item> items = detail::make_items(input);
        const detail::AloneBound alone(items, input.alignment_elems);
        const detail::Candidate bound = alone.next({ceil_div(input.elements(), input.num_devices), -1});

        std::vector<detail::Item> best_items = items;
        detail::Candidate best = detail::FixedOrder(items, alone, input).smallest(bound);
        if (order == Order::search)
            for (int trial = 0; trial < num_sorts + num_moves && best.shard_elems > bound.shard_elems;
                 ++trial) {
                const std::vector<detail::Item> ordered =
                    trial < num_sorts ? sorted(items, trial) : moved(best_items, trial);
                const auto found =
                    detail::FixedOrder(ordered, alone, input).smallest(bound, best.shard_elems);
                if (found.shard_elems < best.shard_elems) {
                    best = found;
                    best_items = ordered;
                }
            }
        return {best.shard_elems, detail::FixedOrder(best_items, alone, input).offsets(best.shard_elems),
                to_blame(items, best, bound.shard_elems, input), false};
    }

  private:
    static constexpr int num_sorts = 6;
    static constexpr int num_moves = 64;
    static constexpr std::size_t max_suspects = 16;

    /// The tensor that forces S: of the kinds of tensors with the largest granularities, the one without
    /// whose blocks the lower bound would be smallest. Where the bound is not to blame, the tensor that ruled
    /// out the last smaller S. -1 when S is the fair share.
    static constexpr std::int64_t to_blame(const std::vector<detail::Item>& items,
                                           const detail::Candidate& best, std::int64_t bound,
                                           const PlanInput& input) {
        const std::int64_t fair =
            round_up(ceil_div(input.elements(), input.num_devices), input.alignment_elems);
        if (best.shard_elems == fair)
            return -1;
        std::vector<detail::Item> suspects = items;
        std::sort(suspects.begin(), suspects.end(), [](const detail::Item& a, const detail::Item& b) {
            if (a.granularity != b.granularity)
                return a.granularity > b.granularity;
            return a.elements != b.elements ? a.elements > b.elements : a.tensor < b.tensor;
        });
        const auto alike = [](const detail::Item& a, const detail::Item& b) {
            return a.elements == b.elements && a.granularity == b.granularity;
        };
        suspects.erase(std::unique(suspects.begin(), suspects.end(), alike), suspects.end());
        detail::Candidate without{bound, best.set_by};
        for (std::size_t i = 0; i < std::min<std::size_t>(suspects.size(), max_suspects); ++i) {
            std::vector<detail::Item> relaxed = suspects;
            relaxed[i].granularity = 1, relaxed[i].head_step = input.alignment_elems;
            const auto found = detail::AloneBound(relaxed, input.alignment_elems).next({fair, -1});
            if (found.shard_elems < without.shard_elems)
                without = {found.shard_elems, suspects[i].tensor};
        }
        return without.set_by;
    }

    /// By size, by granularity or by what the last block leaves, each falling and rising.
    static constexpr std::vector<detail::Item> sorted(std::vector<detail::Item> items, int which) {
        const auto key = [which](const detail::Item& item) {
            return which / 2 == 0   ? item.elements
                   : which / 2 == 1 ? item.granularity
                                    : item.elements % item.granularity;
        };
        std::sort(items.begin(), items.end(), [&](const detail::Item& a, const detail::Item& b) {
            return key(a) != key(b) ? (key(a) > key(b)) == (which % 2 == 0) : a.tensor < b.tensor;
        });
        return items;
    }

    /// The same order with one tensor moved. Which one is drawn from a fixed sequence (splitmix64), so every
    /// machine finds the same plan.
    static constexpr std::vector<detail::Item> moved(std::vector<detail::Item> items, int trial) {
        std::uint64_t state = static_cast<std::uint64_t>(trial) * 0x9e3779b97f4a7c15u;
        state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
        state = (state ^ (state >> 27)) * 0x94d049bb133111ebu;
        const auto from = items.begin() + static_cast<std::ptrdiff_t>((state >> 32) % items.size());
        const auto to = items.begin() + static_cast<std::ptrdiff_t>((state & 0xffffffffu) % items.size());
        if (from < to)
            std::rotate(from, from + 1, to + 1);
        else
            std::rotate(to, from, from + 1);
        return items;
    }
};

static_assert(planner_policy<Exact>);

} // namespace ragged::policy
