// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The integer mathematics of the exact planner: for one order of the tensors, the smallest shard size S at
// which all of them can be placed, found by proof and not by search.
//
// For fixed S each tensor is placed at its earliest legal start; an earlier end never hurts, so this is
// exact. Feasibility is not monotone in S, so S is walked upwards. The walk does not try every multiple of
// the alignment: while a placement is computed, every decision in it ("fits", "largest legal head", "shards
// covered", "may cover") also says at which larger S it would come out better. Below the smallest of those
// no tensor ends in an earlier shard, so an infeasible S rules out everything up to there.
#pragma once

#include <algorithm>
#include <vector>

#include <ragged/plan/alone_bound.hpp>

namespace ragged::detail {

class FixedOrder {
  public:
    /// @pre alone outlives this and is the bound of the same items
    constexpr FixedOrder(std::vector<Item> ordered, const AloneBound& alone, std::int64_t num_devices)
        : items_(std::move(ordered))
        , alone_(&alone)
        , num_devices_(num_devices) {
        aligned_before_.reserve(items_.size() + 1);
        aligned_before_.push_back(0);
        for (const Item& item : items_)
            aligned_before_.push_back(
                checked_add(aligned_before_.back(), item.aligned_elems(), "aligned tensors"));
        if (aligned_before_.back() > max_elements)
            throw PlanError(concat("a group of ", aligned_before_.back(), " elements is above the limit of ",
                                   max_elements));
        run_end_.assign(items_.size(), 0);
        for (std::size_t i = items_.size(); i-- > 0;)
            run_end_[i] =
                i + 1 < items_.size() && items_[i + 1].align == items_[i].align ? run_end_[i + 1] : i + 1;
    }

    /// The smallest feasible S not below `from`, or the first candidate >= `limit` when there is none below
    /// it.
    /// @pre from was returned by alone.next
    constexpr Candidate smallest(Candidate from, std::int64_t limit = max_count) const {
        Candidate at = from;
        while (at.shard_elems < limit) {
            if (at.shard_elems > max_count / 2 / num_devices_)
                throw PlanError(concat("shards of ", at.shard_elems, " elements on ", num_devices_,
                                       " devices do not fit 64 bits"));
            Candidate change{max_count, -1};
            if (walk(at.shard_elems, change, nullptr))
                return at;
            at = alone_->next(change);
        }
        return at;
    }

    constexpr bool feasible(std::int64_t shard) const {
        Candidate unused{max_count, -1};
        return walk(shard, unused, nullptr);
    }

    /// Starts in the order of the items. @pre S is feasible
    constexpr std::vector<std::int64_t> starts(std::int64_t shard) const {
        std::vector<std::int64_t> result(items_.size(), 0);
        Candidate unused{max_count, -1};
        walk(shard, unused, result.data());
        return result;
    }

    constexpr const std::vector<Item>& items() const { return items_; }

  private:
    /// Place every item at its earliest legal start, and write the starts unless `starts` is null. Lowers
    /// `change` to the smallest larger S at which a decision made here may come out better. The position is
    /// (shard k, offset c inside it); as a function of S, c = beta - spanned * S.
    constexpr bool walk(std::int64_t shard, Candidate& change, std::int64_t* starts) const {
        const auto place = [&](std::size_t first, std::size_t last, std::int64_t start) {
            if (starts != nullptr)
                for (std::size_t i = first; i < last; ++i)
                    starts[i] = start + aligned_before_[i] - aligned_before_[first];
        };
        const auto better_at = [&change](std::int64_t at, const Item& item) {
            if (at < change.shard_elems)
                change = {at, item.tensor};
        };
        // When the largest aligned cut is no legal head now: where one boundary is enough for it, or where
        // shards may be covered again.
        const auto larger_head_at = [&](std::int64_t cut, const Item& item) {
            if (item.elements() - cut > shard)
                better_at(item.elements() - cut, item);
            better_at(item.next_covering(shard), item);
        };
        std::int64_t k = 0, beta = 0, spanned = 0;
        const std::size_t count = items_.size();
        for (std::size_t i = 0; i < count;) {
            const std::int64_t rate = spanned + 1; // room = rate * S - beta grows by this with S
            beta = round_up(beta, items_[i].align);
            const std::int64_t room = rate * shard - beta;

            // The longest run of equally aligned tensors that fit whole.
            const auto begin = aligned_before_.begin();
            const auto past = std::upper_bound(begin + static_cast<std::ptrdiff_t>(i) + 1,
                                               begin + static_cast<std::ptrdiff_t>(run_end_[i]) + 1,
                                               aligned_before_[i] + room);
            const std::size_t end = static_cast<std::size_t>(past - begin) - 1;
            const std::int64_t run = aligned_before_[end] - aligned_before_[i];
            place(i, end, (k + 1) * shard - room);
            beta += run;
            const bool all_fit = end == run_end_[i];
            i = all_fit ? end : end + 1;
            if (all_fit) { // the next alignment may be looser
                beta -= items_[end - 1].aligned_elems() - items_[end - 1].elements();
                continue;
            }
            const Item& item = items_[end];
            const std::int64_t left = room - run;
            better_at(ceil_div(beta + item.aligned_elems(), rate), item); // it fits whole

            // A head in this shard, as large as the legal cuts allow.
            const std::int64_t cut = item.cut_below(left);
            std::int64_t head = item.head(shard, left);
            better_at(ceil_div(beta + item.cut_above(cut), rate), item);
            if (head < cut)
                larger_head_at(cut, item);
            if (head == 0) {
                ++k;
                if (item.elements() <= shard) {
                    if (k >= num_devices_)
                        return false;
                    place(end, end + 1, k * shard);
                    beta = item.elements(), spanned = 0;
                    continue;
                }
                better_at(item.elements(), item);
                const std::int64_t whole_cut = item.cut_below(shard);
                head = item.head(shard, shard);
                if (head < shard)
                    better_at(item.cut_above(whole_cut), item);
                if (head < whole_cut)
                    larger_head_at(whole_cut, item);
                if (head == 0)
                    return false;
                if (head == shard) // a head of a whole shard grows with S: count from the shard's start
                    head = 0, --k;
            }
            place(end, end + 1, (k + 1) * shard - head);

            // After the head: `full` whole shards, then a rest in (0, S].
            const std::int64_t rest = item.elements() - head;
            const std::int64_t full = ceil_div(rest, shard) - 1;
            if (full > 0)
                better_at(ceil_div(rest, full), item);
            k += 1 + full;
            beta = rest, spanned = full;
            if (k >= num_devices_)
                return false;
        }
        return true;
    }

    std::vector<Item> items_;
    std::vector<std::int64_t> aligned_before_; // [items + 1]
    std::vector<std::size_t> run_end_;         // [items], behind the last neighbour of the same alignment
    const AloneBound* alone_;
    std::int64_t num_devices_;
};

} // namespace ragged::detail
