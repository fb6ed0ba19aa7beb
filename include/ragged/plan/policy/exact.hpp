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
                best.set_by, false};
    }

  private:
    static constexpr int num_sorts = 6;
    static constexpr int num_moves = 64;

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
