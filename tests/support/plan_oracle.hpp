// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The planning problem by exhaustion, written from law 2 alone: every start is tried, every boundary is
// looked at, every S is tried from the fair share upwards. Shares no code with the planner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace oracle {

struct Item {
    std::int64_t elements;
    std::int64_t granularity;
};

/// Whether a tensor may start at `start`: aligned, inside the buffer, cut only on multiples of its
/// granularity.
inline bool may_start(const Item& item, std::int64_t start, std::int64_t shard, std::int64_t devices,
                      std::int64_t alignment) {
    if (start % alignment != 0 || start + item.elements > shard * devices)
        return false;
    for (std::int64_t device = 1; device < devices; ++device) {
        const std::int64_t boundary = device * shard;
        if (boundary > start && boundary < start + item.elements &&
            (boundary - start) % item.granularity != 0)
            return false;
    }
    return true;
}

/// Whether the items can be placed in this order: keeps the set of all reachable end positions.
inline bool feasible(const std::vector<Item>& items, std::int64_t shard, std::int64_t devices,
                     std::int64_t alignment) {
    const std::int64_t space = shard * devices;
    std::vector<bool> reachable(static_cast<std::size_t>(space) + 1, false);
    reachable[0] = true;
    for (const Item& item : items) {
        std::vector<bool> after(reachable.size(), false);
        bool from_here = false;
        for (std::int64_t start = 0; start <= space; ++start) {
            from_here = from_here || reachable[static_cast<std::size_t>(start)];
            if (from_here && may_start(item, start, shard, devices, alignment))
                after[static_cast<std::size_t>(start + item.elements)] = true;
        }
        reachable = after;
    }
    return std::find(reachable.begin(), reachable.end(), true) != reachable.end();
}

/// The smallest S for the order as given.
inline std::int64_t smallest_shard(const std::vector<Item>& items, std::int64_t devices,
                                   std::int64_t alignment) {
    std::int64_t elements = 0;
    for (const Item& item : items)
        elements += item.elements;
    std::int64_t shard = (elements + devices - 1) / devices;
    shard = (shard + alignment - 1) / alignment * alignment;
    while (!feasible(items, shard, devices, alignment))
        shard += alignment;
    return shard;
}

/// The smallest S over all orders.
inline std::int64_t smallest_shard_any_order(const std::vector<Item>& items, std::int64_t devices,
                                             std::int64_t alignment) {
    std::vector<std::size_t> order(items.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::int64_t best = INT64_MAX;
    do {
        std::vector<Item> ordered;
        for (std::size_t i : order)
            ordered.push_back(items[i]);
        best = std::min(best, smallest_shard(ordered, devices, alignment));
    } while (std::next_permutation(order.begin(), order.end()));
    return best;
}

} // namespace oracle
