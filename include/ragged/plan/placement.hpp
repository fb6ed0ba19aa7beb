// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The integer mathematics of the exact planner: for one order of the tensors, the smallest shard size S at
// which all of them can be placed, found by proof and not by search.
//
// For fixed S each tensor is placed at its earliest legal start; an earlier end never hurts, so this is
// exact. Feasibility is not monotone in S, so S is walked upwards. The walk does not try every multiple of
// the alignment: while a placement is computed, every decision in it ("fits", "largest legal head", "shards
// covered", "divisible") also says at which larger S it would come out differently. Below the smallest of
// those the tensors end in the same shard, so an infeasible S rules out everything up to there.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include <ragged/plan/planner.hpp>

namespace ragged {

namespace detail {

/// Sums of three counts below stay in 64 bits.
inline constexpr std::int64_t max_elements = max_count / 4;

/// A shard size, and the tensor that is to blame that it is not smaller (-1: none).
struct Candidate {
    std::int64_t shard_elems = 0;
    std::int64_t set_by = -1;
};

/// One tensor in the planner's units.
struct Item {
    std::int64_t elements = 0;
    std::int64_t granularity = 1; // of cuts
    std::int64_t head_step = 1;   // lcm(granularity, alignment): a head of this tensor ends on an aligned cut
    std::int64_t tensor = 0;      // index in PlanInput
};

/// @throws PlanError  a tensor's cuts have a short last step in every period
constexpr std::vector<Item> make_items(const PlanInput& input) {
    std::vector<Item> items;
    items.reserve(input.tensors.size());
    for (std::size_t i = 0; i < input.tensors.size(); ++i) {
        const PlanTensor& tensor = input.tensors[i];
        if (!tensor.cuts.uniform())
            throw PlanError(concat("tensor '", tensor.spec.name, "': ", to_string(tensor.spec.block), " on ",
                                   to_string(tensor.spec.shape), " cuts every ", tensor.cuts.step,
                                   " elements, which does not divide the period of ", tensor.cuts.period,
                                   "; short blocks in the middle of a tensor cannot be planned yet"));
        items.push_back({tensor.elements(), tensor.cuts.step,
                         std::min(saturating_lcm(tensor.cuts.step, input.alignment_elems), max_elements + 1),
                         static_cast<std::int64_t>(i)});
    }
    return items;
}

/// Conditions on S from each tensor alone, whatever the order. A tensor larger than 2S covers a whole shard,
/// so its granularity divides S. One in (S, 2S] may instead lie in two shards, with a legal cut between them.
class AloneBound {
  public:
    constexpr AloneBound(const std::vector<Item>& items, std::int64_t alignment_elems)
        : alignment_(alignment_elems) {
        for (const Item& item : items)
            distinct_.push_back(item);
        std::sort(distinct_.begin(), distinct_.end(), [](const Item& a, const Item& b) {
            if (a.elements != b.elements)
                return a.elements > b.elements;
            if (a.granularity != b.granularity)
                return a.granularity > b.granularity;
            return a.tensor < b.tensor;
        });
        distinct_.erase(std::unique(distinct_.begin(), distinct_.end(),
                                    [](const Item& a, const Item& b) {
                                        return a.elements == b.elements && a.granularity == b.granularity;
                                    }),
                        distinct_.end());
    }

    /// The smallest multiple of the alignment not below `from` at which every tensor alone is placeable.
    constexpr Candidate next(Candidate from) const {
        Candidate at{round_up(from.shard_elems, alignment_), from.set_by};
        for (;;) {
            const Candidate forced = next_forced(at);
            const Candidate both = next_two_shard(forced);
            if (both.shard_elems == at.shard_elems)
                return both;
            at = both;
        }
    }

    /// lcm of the alignment and the granularities of all tensors larger than 2 * S.
    constexpr std::int64_t forced_step(std::int64_t shard) const {
        std::int64_t step = alignment_;
        for (const Item& item : distinct_) {
            if (item.elements - shard <= shard)
                break;
            step = saturating_lcm(step, item.granularity);
        }
        return step;
    }

  private:
    constexpr Candidate next_forced(Candidate at) const {
        for (;;) {
            std::int64_t step = alignment_, smallest = 0, blame = -1;
            for (const Item& item : distinct_) {
                if (item.elements - at.shard_elems <= at.shard_elems)
                    break;
                const std::int64_t with = saturating_lcm(step, item.granularity);
                if (with != step && round_up(at.shard_elems, with) != round_up(at.shard_elems, step))
                    blame = item.tensor;
                step = with;
                smallest = item.elements;
            }
            const std::int64_t next = round_up(at.shard_elems, step);
            const std::int64_t release =
                round_up(ceil_div(smallest, 2), alignment_); // the smallest is free here
            if (smallest == 0 || next < release || next == at.shard_elems)
                return {next, next == at.shard_elems ? at.set_by : blame};
            at = {release, blame};
        }
    }

    constexpr Candidate next_two_shard(Candidate at) const {
        for (const Item& item : distinct_) {
            const std::int64_t shard = at.shard_elems;
            if (item.elements <= shard)
                break;
            if (item.elements - shard > shard || shard % item.granularity == 0)
                continue;
            const std::int64_t head = round_down(shard, item.head_step);
            if (item.elements - head <= shard)
                continue;
            // The next multiple of the granularity, or the first S at which head and rest fit two shards.
            std::int64_t next = round_up(shard, item.head_step);
            const std::int64_t fits = round_up(item.elements - head, alignment_);
            if (fits < next)
                next = fits;
            at = {next, item.tensor};
        }
        return at;
    }

    std::int64_t alignment_;
    std::vector<Item> distinct_; // by falling size
};

/// Tensors in a fixed order over shards of any size.
class FixedOrder {
  public:
    constexpr FixedOrder(std::vector<Item> ordered, const AloneBound& alone, const PlanInput& input)
        : items_(std::move(ordered))
        , alone_(&alone)
        , num_devices_(input.num_devices)
        , alignment_(input.alignment_elems) {
        aligned_before_.reserve(items_.size() + 1);
        aligned_before_.push_back(0);
        for (const Item& item : items_)
            aligned_before_.push_back(checked_add(aligned_before_.back(), aligned(item), "aligned tensors"));
        if (aligned_before_.back() > max_elements)
            throw PlanError(concat("a group of ", aligned_before_.back(), " elements is above the limit of ",
                                   max_elements));
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

    /// Offsets by tensor index. @pre S is feasible
    constexpr std::vector<std::int64_t> offsets(std::int64_t shard) const {
        std::vector<std::int64_t> result(items_.size(), 0);
        Candidate unused{max_count, -1};
        walk(shard, unused, result.data());
        return result;
    }

  private:
    constexpr std::int64_t aligned(const Item& item) const { return round_up(item.elements, alignment_); }

    /// Place every tensor at its earliest legal start, and write the starts by tensor index unless `offsets`
    /// is null. Lowers `change` to the smallest larger S at which a decision made here differs. The position
    /// is (shard k, offset c inside it); as a function of S, c = beta - spanned * S.
    constexpr bool walk(std::int64_t shard, Candidate& change, std::int64_t* offsets) const {
        const auto place = [&](std::size_t first, std::size_t last, std::int64_t start) {
            if (offsets != nullptr)
                for (std::size_t i = first; i < last; ++i)
                    offsets[items_[i].tensor] = start + aligned_before_[i] - aligned_before_[first];
        };
        const auto differs_at = [&change](std::int64_t at, const Item& item) {
            if (at < change.shard_elems)
                change = {at, item.tensor};
        };
        std::int64_t k = 0, beta = 0, spanned = 0;
        const std::size_t count = items_.size();
        for (std::size_t i = 0; i < count;) {
            const std::int64_t rate = spanned + 1; // room = rate * S - beta grows by this with S
            const std::int64_t room = rate * shard - beta;

            // The longest run of tensors that fit whole.
            const auto begin = aligned_before_.begin();
            const auto past = std::upper_bound(begin + static_cast<std::ptrdiff_t>(i) + 1,
                                               aligned_before_.end(), aligned_before_[i] + room);
            const std::size_t end = static_cast<std::size_t>(past - begin) - 1;
            place(i, end, (k + 1) * shard - room);
            if (end == count)
                return true;
            const std::int64_t run = aligned_before_[end] - aligned_before_[i];
            const Item& item = items_[end];
            i = end + 1;
            beta += run;
            const std::int64_t left = room - run;
            differs_at(ceil_div(beta + aligned(item), rate), item); // it fits whole

            // A head in this shard, as large as a legal cut on the boundary allows.
            const bool divides = shard % item.granularity == 0;
            std::int64_t head = round_down(left, item.head_step);
            differs_at(ceil_div(beta + head + item.head_step, rate), item);
            if (head > 0 && (divides || item.elements - head <= shard)) {
                place(end, end + 1, (k + 1) * shard - head);
            } else {
                if (head > 0) { // not divisible: this head waits for a divisible or a larger S
                    differs_at(item.elements - head, item);
                    differs_at(next_multiple(shard, item), item);
                }
                ++k;
                if (item.elements <= shard) {
                    if (k >= num_devices_)
                        return false;
                    place(end, end + 1, k * shard);
                    beta = aligned(item), spanned = 0;
                    continue;
                }
                differs_at(item.elements, item);
                head = divides ? 0 : round_down(shard, item.head_step);
                if (!divides) {
                    differs_at(next_multiple(shard, item), item);
                    differs_at(head + item.head_step, item);
                    if (item.elements - head > shard) {
                        differs_at(item.elements - head, item);
                        return false;
                    }
                }
                place(end, end + 1, (divides ? k : k + 1) * shard - head);
                if (divides)
                    --k; // spans from the start of shard k: the same as a head of 0 in the shard before
            }

            // After the head: `full` whole shards, then a rest in (0, S].
            const std::int64_t rest = aligned(item) - head;
            const std::int64_t full = ceil_div(rest, shard) - 1;
            if (full > 0)
                differs_at(ceil_div(rest, full), item);
            k += 1 + full;
            beta = rest, spanned = full;
            if (k >= num_devices_)
                return false;
        }
        return true;
    }

    /// The next aligned S that the item's granularity divides.
    static constexpr std::int64_t next_multiple(std::int64_t shard, const Item& item) {
        return round_down(shard, item.head_step) + item.head_step;
    }

    std::vector<Item> items_;
    std::vector<std::int64_t> aligned_before_; // [items + 1]
    const AloneBound* alone_;
    std::int64_t num_devices_;
    std::int64_t alignment_;
};

} // namespace detail

} // namespace ragged
