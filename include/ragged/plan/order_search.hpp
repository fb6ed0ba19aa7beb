// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The order of the tensors of one segment: the one given, or the best that is found. Few kinds of tensors are
// solved exactly by dynamic programming; many by filling shards greedily, by sorts, and by moving tensors.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator> // std::ssize
#include <vector>

#include <ragged/plan/fixed_order.hpp>

namespace ragged {

namespace policy {

enum class Order : std::uint8_t {
    as_given, // registration order; S is the exact optimum for it
    search,   // the exact optimum over all orders for few kinds of tensors, else never worse than as_given
};

} // namespace policy

namespace detail {

/// Tensors that the planner cannot tell apart, in registration order.
struct Kind {
    std::vector<Item> copies;

    constexpr const Item& item() const { return copies.front(); }
    constexpr std::int64_t count() const { return static_cast<std::int64_t>(copies.size()); }
};

/// The kinds of `items`, those that are hardest to place first: large steps, then many elements.
constexpr std::vector<Kind> kinds_of(std::vector<Item> items) {
    std::sort(items.begin(), items.end(), [](const Item& a, const Item& b) {
        if (a.cuts.step != b.cuts.step)
            return a.cuts.step > b.cuts.step;
        if (a.elements() != b.elements())
            return a.elements() > b.elements();
        if (a.cuts.period != b.cuts.period)
            return a.cuts.period > b.cuts.period;
        return a.align != b.align ? a.align > b.align : a.tensor < b.tensor;
    });
    std::vector<Kind> kinds;
    for (const Item& item : items) {
        if (kinds.empty() || !kinds.back().item().alike(item))
            kinds.emplace_back();
        kinds.back().copies.push_back(item);
    }
    return kinds;
}

/// Every order of few kinds of tensors at once, over one or several segments of given shard sizes: for each
/// multiset of tensors the earliest end of any order of them. An earlier end never hurts, so this is exact.
class EveryOrder {
  public:
    /// Multisets of more kinds than this are not tried.
    static constexpr std::int64_t max_states = 512;

    /// @return 0 when there are more than max_states
    static constexpr std::int64_t num_states(const std::vector<Kind>& kinds) {
        std::int64_t states = 1;
        for (const Kind& kind : kinds)
            if ((states *= kind.count() + 1) > max_states)
                return 0;
        return states;
    }

    /// The tensors of each segment in an order that fits, or nothing when no order of any assignment does.
    /// @param shards  S of each segment
    /// @pre num_states(kinds) > 0
    static constexpr std::vector<std::vector<Item>>
    solve(const std::vector<Kind>& kinds, const std::vector<std::int64_t>& shards, std::int64_t num_devices) {
        struct End {
            std::size_t segment = 0;
            std::int64_t offset = 0;
            std::size_t last = 0; // kind that was placed last

            constexpr bool before(const End& other) const {
                return segment != other.segment ? segment < other.segment : offset < other.offset;
            }
        };
        const std::size_t states = static_cast<std::size_t>(num_states(kinds));
        std::vector<End> ends(states, End{shards.size(), 0, 0}); // behind the last segment: impossible
        ends[0] = {};
        for (std::size_t state = 1; state < states; ++state) {
            std::size_t stride = 1;
            for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
                const std::size_t radix = kinds[kind].copies.size() + 1;
                if (state / stride % radix != 0) {
                    End end = ends[state - stride];
                    const Item& item = kinds[kind].item();
                    // here, or in the first segment behind that has room for it
                    for (; end.segment < shards.size(); ++end.segment, end.offset = 0) {
                        const std::int64_t shard = shards[end.segment];
                        const std::int64_t start = item.earliest_start(shard, end.offset);
                        if (start >= 0 && start + item.elements() <= shard * num_devices) {
                            end.offset = start + item.elements(), end.last = kind;
                            break;
                        }
                    }
                    if (end.before(ends[state]))
                        ends[state] = end;
                }
                stride *= radix;
            }
        }
        if (ends[states - 1].segment == shards.size())
            return {};
        // The way back from all tensors to none.
        std::vector<std::vector<Item>> orders(shards.size(), std::vector<Item>{});
        std::vector<std::size_t> taken(kinds.size(), 0);
        for (std::size_t state = states - 1; state > 0;) {
            const End& end = ends[state];
            orders[end.segment].push_back(kinds[end.last].copies[taken[end.last]++]);
            std::size_t stride = 1;
            for (std::size_t kind = 0; kind < end.last; ++kind)
                stride *= kinds[kind].copies.size() + 1;
            state -= stride;
        }
        for (std::vector<Item>& order : orders)
            std::reverse(order.begin(), order.end());
        return orders;
    }
};

/// Fill a segment from what is left of `kinds`, and take what was placed out of them: always the first kind
/// that leaves no gap, else the one that leaves the smallest. While tensors of `reserved` elements are left
/// that have no other place (kinds [0, num_bound)), others leave them room.
constexpr std::vector<Item> fill(std::vector<Kind>& kinds, std::size_t num_bound, std::int64_t shard,
                                 std::int64_t num_devices) {
    std::vector<Item> order;
    const std::int64_t space = shard * num_devices;
    std::int64_t end = 0, reserved = 0;
    for (std::size_t i = 0; i < num_bound; ++i)
        reserved += kinds[i].count() == 0 ? 0 : kinds[i].count() * kinds[i].item().elements();
    for (;;) {
        std::size_t best = kinds.size();
        std::int64_t best_gap = max_count, best_start = 0;
        for (std::size_t i = 0; i < kinds.size() && best_gap > 0; ++i) {
            if (kinds[i].copies.empty())
                continue;
            const Item& item = kinds[i].item();
            const std::int64_t start = item.earliest_start(shard, end);
            if (start < 0 || space - start < item.elements() + (i < num_bound ? 0 : reserved))
                continue;
            const std::int64_t gap = start - round_up(end, item.align);
            if (gap < best_gap)
                best = i, best_gap = gap, best_start = start;
        }
        if (best == kinds.size())
            return order;
        order.push_back(kinds[best].copies.back());
        kinds[best].copies.pop_back();
        end = best_start + order.back().elements();
        if (best < num_bound)
            reserved -= order.back().elements();
    }
}

/// The tensors of one segment in their order, the smallest S that fits them, and the bound on it.
struct Packing {
    std::vector<Item> order;
    Candidate shard;
    std::int64_t bound = 0;
};

/// By size, by granularity or by what the last block leaves, each falling and rising.
constexpr std::vector<Item> sorted(std::vector<Item> items, int which) {
    const auto key = [which](const Item& item) {
        return which / 2 == 0   ? item.elements()
               : which / 2 == 1 ? item.cuts.step
                                : item.elements() % item.cuts.step;
    };
    std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
        return key(a) != key(b) ? (key(a) > key(b)) == (which % 2 == 0) : a.tensor < b.tensor;
    });
    return items;
}

/// The same order with one tensor moved. Which one is drawn from a fixed sequence (splitmix64), so every
/// machine finds the same plan.
constexpr std::vector<Item> moved(std::vector<Item> items, int trial) {
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

/// The smallest S for the items as they are, or in the best order found.
constexpr Packing pack(const std::vector<Item>& items, std::int64_t num_devices, std::int64_t alignment_elems,
                       policy::Order order) {
    constexpr int num_sorts = 6, num_fills = 32, num_exact = 4096;
    // moves are tried as often as a few million tensors can be placed
    const int num_moves =
        static_cast<int>(std::clamp<std::int64_t>((1 << 22) / (std::ssize(items) + 1), 1, 64));
    const AloneBound alone(items, alignment_elems);
    const Candidate bound = alone.next({ceil_div(elements_of(items), num_devices), -1});
    Packing best{items, FixedOrder(items, alone, num_devices).smallest(bound), bound.shard_elems};
    const auto improve = [&](const std::vector<Item>& ordered) {
        const Candidate found =
            FixedOrder(ordered, alone, num_devices).smallest(bound, best.shard.shard_elems);
        if (found.shard_elems < best.shard.shard_elems)
            best.order = ordered, best.shard = found;
    };
    if (order == policy::Order::as_given || best.shard.shard_elems == best.bound)
        return best;

    const std::vector<Kind> kinds = kinds_of(items);
    if (EveryOrder::num_states(kinds) > 0) {
        Candidate at = bound;
        for (int trial = 0; trial < num_exact && at.shard_elems < best.shard.shard_elems; ++trial) {
            auto orders = EveryOrder::solve(kinds, {at.shard_elems}, num_devices);
            if (!orders.empty())
                return {std::move(orders.front()), at, best.bound};
            at = alone.next({at.shard_elems + alignment_elems, best.shard.set_by});
        }
        if (at.shard_elems >= best.shard.shard_elems)
            return best;
    }
    Candidate at = bound;
    for (int trial = 0; trial < num_fills && at.shard_elems < best.shard.shard_elems; ++trial) {
        std::vector<Kind> left = kinds;
        const std::vector<Item> ordered = fill(left, 0, at.shard_elems, num_devices);
        if (ordered.size() == items.size())
            improve(ordered);
        at = alone.next({at.shard_elems + alignment_elems, -1});
    }
    for (int which = 0; which < num_sorts && best.shard.shard_elems > best.bound; ++which)
        improve(sorted(items, which));
    for (int trial = num_sorts; trial < num_sorts + num_moves && best.shard.shard_elems > best.bound; ++trial)
        improve(moved(best.order, trial));
    return best;
}

} // namespace detail

} // namespace ragged
