// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// StridedRaggedShard: the RaggedShard of each part that other axes left of a tensor, with where the parts lie
// in it. Part p of an axis that cut dimension 0 in two, each cut in three by blocks:
//
//     [8, 4]: rows 0..3 | rows 4..7      rank (p, r) holds run r of part p
#pragma once

#include <vector>

#include <ragged/layout/portion.hpp>
#include <ragged/layout/ragged_shard.hpp>

namespace ragged {

/// Source: StridedRaggedShard of the veScale-FSDP paper, section 3; parts of different sizes are this
/// library's.
class StridedRaggedShard {
  public:
    struct Part {
        Portion portion; // a whole box: what the axes applied before left to the ranks of this part
        RaggedShard shard;

        constexpr bool operator==(const Part&) const = default;
    };

    /// Parts in row-major order of the coordinates along the axes applied before.
    /// @throws PlanError  no part, or parts over different numbers of ranks; a shard of another number of
    /// elements than its portion
    constexpr explicit StridedRaggedShard(std::vector<Part> parts)
        : parts_(std::move(parts)) {
        if (parts_.empty())
            throw PlanError("a strided ragged shard needs at least one part");
        for (std::size_t p = 0; p < parts_.size(); ++p) {
            const RaggedShard& shard = parts_[p].shard;
            if (shard.num_ranks() != num_ranks())
                throw PlanError(concat("part ", p, " is cut over ", shard.num_ranks(), " ranks, part 0 over ",
                                       num_ranks()));
            if (shard.elements() != parts_[p].portion.elements)
                throw PlanError(concat("part ", p, " has ", parts_[p].portion.elements,
                                       " elements, its ragged shard ", shard.elements()));
        }
    }

    constexpr std::int64_t num_parts() const { return static_cast<std::int64_t>(parts_.size()); }
    constexpr std::int64_t num_ranks() const { return parts_.front().shard.num_ranks(); }
    constexpr const Part& part(std::int64_t index) const { return parts_[static_cast<std::size_t>(index)]; }

    /// What rank `rank` holds of part `index`.
    constexpr Portion portion(std::int64_t index, std::int64_t rank) const {
        Portion result = part(index).portion;
        result.keep_run(part(index).shard.offset(rank), part(index).shard.size(rank));
        return result;
    }

    /// Who holds flat element `global` of the tensor, and where.
    struct Owner {
        std::int64_t part, rank, local;

        constexpr bool operator==(const Owner&) const = default;
    };
    /// @pre 0 <= global < the tensor's elements
    constexpr Owner owner(std::int64_t global) const {
        for (std::int64_t index = 0; index < num_parts(); ++index)
            if (const std::int64_t inside = part(index).portion.local(global); inside >= 0) {
                const std::int64_t rank = part(index).shard.owner(inside);
                return {index, rank, inside - part(index).shard.offset(rank)};
            }
        return {-1, -1, -1};
    }

    /// As a placement it is the rule that gives each part its own ragged shard: that of a plan for each
    /// coordinate of a tensor-parallel axis, say.
    /// @throws PlanError  there is no such part
    constexpr RaggedShard operator()(std::int64_t index, const CutPattern&, std::int64_t) const {
        if (index >= num_parts())
            throw PlanError(concat("part ", index, " is asked for, there are ", num_parts()));
        return part(index).shard;
    }

    constexpr bool operator==(const StridedRaggedShard&) const = default;

  private:
    std::vector<Part> parts_;
};

} // namespace ragged
