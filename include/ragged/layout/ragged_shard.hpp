// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// RaggedShard: which run of units of one tensor each rank holds. Runs are in rank order, may be empty and may
// differ. However it was built, it is the list of its cuts, so two that cut alike compare equal.
//
//     auto shard = ragged::RaggedShard::from_weights(cuts, {1, 1, 2});
//     shard.offset(2), shard.size(2);       // this rank's run, in flat elements of the tensor
#pragma once

#include <algorithm> // std::upper_bound
#include <numeric>   // std::gcd
#include <span>
#include <vector>

#include <ragged/layout/block_grid.hpp>

namespace ragged {

/// Source: RaggedShard of the veScale-FSDP paper, section 3; the tails are this library's.
class RaggedShard {
  public:
    /// counts[r] units for rank r; a unit is the run between two legal cuts.
    /// @throws PlanError  a negative count, or counts that do not add up to the tensor's units
    static constexpr RaggedShard from_counts(const CutPattern& cuts, std::span<const std::int64_t> counts) {
        check_num_ranks(counts.size());
        std::vector<std::int64_t> starts{0};
        for (std::int64_t count : counts) {
            if (count < 0)
                throw PlanError(
                    concat("rank ", starts.size() - 1, " has a negative count of units: ", count));
            starts.push_back(checked_add(starts.back(), count, "units of a ragged shard"));
        }
        if (starts.back() != cuts.num_units())
            throw PlanError(
                concat("counts add up to ", starts.back(), " units, the tensor has ", cuts.num_units()));
        for (std::int64_t& start : starts)
            start = cuts.cut(start);
        return RaggedShard(std::move(starts));
    }

    /// offsets[r] is the flat element at which rank r starts; rank r ends where r + 1 starts.
    /// @throws PlanError  the first is not 0, one is below its predecessor, beyond the tensor, or cuts a
    /// block
    static constexpr RaggedShard from_offsets(const CutPattern& cuts, std::span<const std::int64_t> offsets) {
        check_num_ranks(offsets.size());
        if (offsets[0] != 0)
            throw PlanError(concat("rank 0 starts at ", offsets[0], ", it must start at 0"));
        for (std::size_t rank = 0; rank < offsets.size(); ++rank) {
            if (rank > 0 && offsets[rank] < offsets[rank - 1])
                throw PlanError(concat("rank ", rank, " starts at ", offsets[rank], ", before rank ",
                                       rank - 1, " at ", offsets[rank - 1]));
            if (!cuts.is_cut(offsets[rank]))
                throw PlanError(concat("rank ", rank, " starts at ", offsets[rank],
                                       ", which is no legal cut: ", cuts.elements, " elements in steps of ",
                                       cuts.step, " per period of ", cuts.period));
        }
        std::vector<std::int64_t> starts(offsets.begin(), offsets.end());
        starts.push_back(cuts.elements);
        return RaggedShard(std::move(starts));
    }

    /// Units in proportion to the weights: rank r ends at floor(units * (w0 + ... + wr) / sum).
    /// Weights that mean the same ({1, 2} and {50, 100}) cut alike.
    /// @throws PlanError  no rank, a negative weight, all weights 0, or products beyond 64 bits
    static constexpr RaggedShard from_weights(const CutPattern& cuts, std::span<const std::int64_t> weights) {
        check_num_ranks(weights.size());
        std::int64_t total = 0, factor = 0;
        for (std::size_t rank = 0; rank < weights.size(); ++rank) {
            if (weights[rank] < 0)
                throw PlanError(concat("rank ", rank, " has a negative weight: ", weights[rank]));
            factor = std::gcd(factor, weights[rank]);
            total = checked_add(total, weights[rank], "weights of a ragged shard");
        }
        if (total == 0)
            throw PlanError("all weights of a ragged shard are 0");
        total /= factor;
        const std::int64_t units = cuts.num_units();
        std::vector<std::int64_t> starts{0};
        std::int64_t cumulative = 0;
        for (std::int64_t weight : weights) {
            cumulative += weight / factor;
            const std::int64_t rest = checked_mul(units % total, cumulative, "weights of a ragged shard");
            starts.push_back(cuts.cut(units / total * cumulative + rest / total));
        }
        return RaggedShard(std::move(starts));
    }

    /// The whole tensor on rank `owner` of `num_ranks`. @throws PlanError when there is no such rank
    static constexpr RaggedShard on_rank(const CutPattern& cuts, std::int64_t num_ranks, std::int64_t owner) {
        if (owner < 0 || owner >= num_ranks)
            throw PlanError(concat("owner ", owner, " is not in [0, ", num_ranks, ")"));
        std::vector<std::int64_t> starts(static_cast<std::size_t>(num_ranks) + 1, 0);
        for (std::size_t rank = static_cast<std::size_t>(owner) + 1; rank < starts.size(); ++rank)
            starts[rank] = cuts.elements;
        return RaggedShard(std::move(starts));
    }

    constexpr std::int64_t num_ranks() const { return static_cast<std::int64_t>(starts_.size()) - 1; }
    constexpr std::int64_t elements() const { return starts_.back(); }

    /// First flat element of the rank's run; where it would start, when the run is empty.
    constexpr std::int64_t offset(std::int64_t rank) const { return starts_[static_cast<std::size_t>(rank)]; }
    /// Elements of the rank's run, possibly 0.
    constexpr std::int64_t size(std::int64_t rank) const { return offset(rank + 1) - offset(rank); }
    /// The rank that holds flat element `position`.
    constexpr std::int64_t owner(std::int64_t position) const {
        return std::upper_bound(starts_.begin(), starts_.end(), position) - starts_.begin() - 1;
    }

    /// As a placement a ragged shard is the rule that gives itself.
    constexpr RaggedShard operator()(const CutPattern&, std::int64_t) const { return *this; }

    constexpr bool operator==(const RaggedShard&) const = default;

  private:
    constexpr explicit RaggedShard(std::vector<std::int64_t> starts)
        : starts_(std::move(starts)) {}

    static constexpr void check_num_ranks(std::size_t count) {
        if (count == 0)
            throw PlanError("a ragged shard needs at least one rank");
    }

    std::vector<std::int64_t> starts_; // [num_ranks + 1], non-decreasing, last = elements
};

} // namespace ragged
