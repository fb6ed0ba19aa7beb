// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A lower bound on S that holds for every order: each tensor must be placeable when it is alone.
#pragma once

#include <algorithm>
#include <vector>

#include <ragged/plan/item.hpp>

namespace ragged::detail {

/// A shard size, and the tensor that is to blame that it is not smaller (-1: none).
struct Candidate {
    std::int64_t shard_elems = 0;
    std::int64_t set_by = -1;
};

/// Conditions on S from each tensor alone. A tensor larger than 2S covers a whole shard, so its granularity
/// divides S. One in (S, 2S] may instead lie in two shards, with a legal cut between them. Where cuts are not
/// uniform, Item::next_covering says which S may be covered.
class AloneBound {
  public:
    constexpr AloneBound(std::vector<Item> items, std::int64_t alignment_elems)
        : alignment_(alignment_elems)
        , distinct_(std::move(items)) {
        std::sort(distinct_.begin(), distinct_.end(), [](const Item& a, const Item& b) {
            if (a.elements() != b.elements())
                return a.elements() > b.elements();
            if (a.cuts.step != b.cuts.step)
                return a.cuts.step > b.cuts.step;
            if (a.cuts.period != b.cuts.period)
                return a.cuts.period > b.cuts.period;
            return a.align != b.align ? a.align > b.align : a.tensor < b.tensor;
        });
        const auto alike = [](const Item& a, const Item& b) { return a.alike(b); };
        distinct_.erase(std::unique(distinct_.begin(), distinct_.end(), alike), distinct_.end());
    }

    /// The smallest multiple of the alignment not below `from` at which every tensor alone is placeable.
    constexpr Candidate next(Candidate from) const {
        Candidate at{round_up(from.shard_elems, alignment_), from.set_by};
        for (;;) {
            const Candidate both = next_one_by_one(next_forced(at));
            if (both.shard_elems == at.shard_elems)
                return both;
            at = both;
        }
    }

  private:
    constexpr Candidate next_forced(Candidate at) const {
        for (;;) {
            std::int64_t step = alignment_, smallest = 0, blame = -1;
            for (const Item& item : distinct_) {
                if (item.elements() - at.shard_elems <= at.shard_elems)
                    break;
                if (!item.uniform)
                    continue;
                const std::int64_t with = saturating_lcm(step, item.cuts.step);
                if (with != step && round_up(at.shard_elems, with) != round_up(at.shard_elems, step))
                    blame = item.tensor;
                step = with;
                smallest = item.elements();
            }
            const std::int64_t next = round_up(at.shard_elems, step);
            const std::int64_t release =
                round_up(ceil_div(smallest, 2), alignment_); // the smallest is free here
            if (smallest == 0 || next < release || next == at.shard_elems)
                return {next, next == at.shard_elems ? at.set_by : blame};
            at = {release, blame};
        }
    }

    constexpr Candidate next_one_by_one(Candidate at) const {
        for (const Item& item : distinct_) {
            if (item.elements() <= at.shard_elems)
                break;
            while (!item.fits_alone(at.shard_elems)) {
                // whole shards become possible, or one boundary is enough, now or behind the next cut
                const std::int64_t head = item.cut_below(at.shard_elems);
                std::int64_t next = std::min(item.next_covering(at.shard_elems), item.cut_above(head));
                if (item.elements() - head > at.shard_elems)
                    next = std::min(next, item.elements() - head);
                at = {round_up(next, alignment_), item.tensor};
                if (item.uniform)
                    break; // next_forced is quicker where many shards are covered
            }
        }
        return at;
    }

    std::int64_t alignment_;
    std::vector<Item> distinct_; // by falling size
};

} // namespace ragged::detail
