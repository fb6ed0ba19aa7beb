// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Which tensors go into which segment. One matrix with an odd row length multiplies its granularity into
// every shard of its segment; in a segment of its own it cannot. The search chooses shard sizes first
// (segment_sizes.hpp) and tensors second: sizes are tried with real tensors, cheapest first.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <ragged/plan/segment_sizes.hpp>

namespace ragged::detail {

class SegmentSearch {
  public:
    /// @param price_elems  what one more segment costs, in elements of padding of the gathered group
    constexpr SegmentSearch(const std::vector<Item>& items, std::int64_t num_devices,
                            std::int64_t alignment_elems, std::int64_t price_elems, policy::Order order)
        : kinds_(kinds_of(items))
        , num_devices_(num_devices)
        , alignment_(alignment_elems)
        , price_(std::min(price_elems, max_count / 32)) // a few together fit 64 bits
        , order_(order)
        , exact_(order == policy::Order::search && EveryOrder::num_states(kinds_) > 0)
        , fair_(round_up(ceil_div(elements_of(items), num_devices), alignment_elems))
        , num_tensors_(items.size()) {
        best_.push_back(pack(items, num_devices, alignment_elems, order));
        best_cost_ = cost(best_.front().shard.shard_elems, 1);
    }

    /// The cheapest plan found with at most `limit` segments, largest shards first.
    constexpr std::vector<Packing> run(std::size_t limit) {
        limit = std::min({limit, num_tensors_, max_segments});
        if (limit > 1 && may_improve(2)) {
            SizeSearch sizes(kinds_, num_devices_, alignment_, fair_, best_.front().shard.shard_elems,
                             exact_);
            for (std::size_t count = 2; count <= limit && may_improve(count); ++count)
                try_all(sizes.find(count, limit_sum(count)));
        }
        std::sort(best_.begin(), best_.end(), [](const Packing& a, const Packing& b) {
            return a.shard.shard_elems != b.shard.shard_elems
                       ? a.shard.shard_elems > b.shard.shard_elems
                       : a.order.front().tensor < b.order.front().tensor;
        });
        if (order_ == policy::Order::search)
            number_copies();
        return best_;
    }

  private:
    // Bounds on the work for one group and number of segments.
    static constexpr int num_exact = 1024;              // combinations of sizes tried exactly,
    static constexpr std::int64_t num_placed = 1 << 19; // or by filling, placing as many tensors

    constexpr std::int64_t cost(std::int64_t sum, std::size_t count) const {
        return num_devices_ * sum + price_ * static_cast<std::int64_t>(count - 1);
    }
    constexpr bool may_improve(std::size_t count) const { return cost(fair_, count) < best_cost_; }
    /// Sums of shard sizes from here on cost as much as the best plan.
    constexpr std::int64_t limit_sum(std::size_t count) const {
        return ceil_div(best_cost_ - price_ * static_cast<std::int64_t>(count - 1), num_devices_);
    }

    constexpr void try_all(const std::vector<SegmentSizes>& combinations) {
        int exact = 0;
        std::int64_t placed = 0;
        for (const SegmentSizes& sizes : combinations) {
            if (sizes.sum >= limit_sum(sizes.count))
                return;
            const std::vector<std::int64_t> shards(
                sizes.shards.begin(), sizes.shards.begin() + static_cast<std::ptrdiff_t>(sizes.count));
            if (!exact_ && placed < num_placed)
                placed += fill_all(shards);
            else if (exact_ && exact++ < num_exact)
                accept(EveryOrder::solve(kinds_, shards, num_devices_));
        }
    }

    /// Fill the segments one after another, in every sequence of them: first what fits nowhere else.
    /// @return tensors placed
    constexpr std::int64_t fill_all(const std::vector<std::int64_t>& sizes) {
        std::int64_t placed = 0;
        std::vector<std::size_t> sequence;
        for (std::size_t i = 0; i < sizes.size(); ++i)
            sequence.push_back(i);
        do {
            std::vector<Kind> left = kinds_;
            std::vector<std::vector<Item>> orders(sizes.size(), std::vector<Item>{});
            for (std::size_t at = 0; at < sequence.size(); ++at) {
                const std::int64_t shard = sizes[sequence[at]];
                std::vector<Kind> bound, free, elsewhere;
                for (Kind& kind : left) {
                    if (kind.copies.empty())
                        continue;
                    bool later = false;
                    for (std::size_t next = at + 1; next < sequence.size(); ++next)
                        later = later || kind.item().fits_alone(sizes[sequence[next]]);
                    if (!kind.item().fits_alone(shard))
                        elsewhere.push_back(std::move(kind));
                    else
                        (later ? free : bound).push_back(std::move(kind));
                }
                const std::size_t num_bound = bound.size();
                bound.insert(bound.end(), free.begin(), free.end());
                orders[sequence[at]] = fill(bound, num_bound, shard, num_devices_);
                placed += static_cast<std::int64_t>(orders[sequence[at]].size());
                left = std::move(elsewhere);
                left.insert(left.end(), bound.begin(), bound.end());
            }
            bool complete = true;
            for (const Kind& kind : left)
                complete = complete && kind.copies.empty();
            if (complete)
                accept(orders);
        } while (std::next_permutation(sequence.begin(), sequence.end()));
        return placed;
    }

    /// Tensors that are alike may change places: let them follow one another as they were registered, so that
    /// slices of a stack keep their order and mostly their distance.
    constexpr void number_copies() {
        std::vector<std::size_t> next(kinds_.size(), 0);
        for (Packing& packing : best_) {
            const std::int64_t blamed = packing.shard.set_by;
            for (Item& item : packing.order) {
                std::size_t kind = 0;
                while (!kinds_[kind].item().alike(item))
                    ++kind;
                const Item& copy = kinds_[kind].copies[next[kind]++];
                if (item.tensor == blamed)
                    packing.shard.set_by = copy.tensor; // stays in its segment
                item = copy;
            }
        }
    }

    /// Take an assignment when it is cheaper: segments without tensors are dropped, S is what the tensors
    /// need.
    constexpr void accept(std::vector<std::vector<Item>> orders) {
        std::vector<Packing> found;
        std::int64_t sum = 0;
        for (std::vector<Item>& order : orders) {
            if (order.empty())
                continue;
            if (order_ == policy::Order::as_given)
                std::sort(order.begin(), order.end(),
                          [](const Item& a, const Item& b) { return a.tensor < b.tensor; });
            found.push_back(pack(order, num_devices_, alignment_, policy::Order::as_given));
            sum += found.back().shard.shard_elems;
            if (sum >= limit_sum(found.size())) // also before a sum could leave 64 bits
                return;
        }
        if (found.empty())
            return;
        best_ = std::move(found);
        best_cost_ = cost(sum, best_.size());
    }

    std::vector<Kind> kinds_;
    std::int64_t num_devices_, alignment_, price_;
    policy::Order order_;
    bool exact_; // every order of the tensors is tried at once
    std::int64_t fair_;
    std::size_t num_tensors_;
    std::vector<Packing> best_;
    std::int64_t best_cost_ = 0;
};

} // namespace ragged::detail
