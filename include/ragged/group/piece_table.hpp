// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The pieces of a rank's regions, for operations that need to know tensors or blocks. Blocks are whole on one
// rank, so each piece holds a run of its tensor's blocks, numbered from logical coordinates: the same for any
// number of ranks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ragged/plan/plan.hpp>

namespace ragged {

/// One non-empty piece. Plain numbers: a device copy of the table is a copy of the array.
struct PieceEntry {
    std::int64_t tensor; // index in the plan
    std::int64_t segment;
    std::int64_t region_offset; // elements from the start of this rank's region of the segment
    std::int64_t first;         // flat element of the tensor
    std::int64_t elements;
    std::int64_t first_block; // of the tensor's blocks
    std::int64_t num_blocks;
    std::int64_t local_block; // where this piece's blocks start in a per-block array of this rank

    bool operator==(const PieceEntry&) const = default;
};

class PieceTable {
  public:
    /// The pieces of `shard_rank`, in plan order. Local. The plan, of any kind, must outlive the table.
    /// @throws PlanError when the rank is not one of the plan's devices
    template <class SegmentType>
    PieceTable(const BasicPlan<SegmentType>& plan, std::int64_t shard_rank)
        : plan_(&plan)
        , fingerprint_(fingerprint(plan))
        , name_(plan.name)
        , shard_rank_(shard_rank) {
        if (shard_rank < 0 || shard_rank >= plan.num_devices)
            throw PlanError(concat("group '", plan.name, "': rank ", shard_rank, " is not in [0, ",
                                   plan.num_devices, ")"));
        for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
            const PlacedTensor& tensor = plan.tensors[i];
            grids_.emplace_back(tensor.spec.shape, tensor.spec.block);
            const Piece piece = piece_of(plan, tensor, shard_rank);
            if (piece.elements == 0)
                continue;
            const std::int64_t first_block = grids_[i].block_of(piece.first);
            const std::int64_t last_block = grids_[i].block_of(piece.first + piece.elements - 1);
            entries_.push_back({static_cast<std::int64_t>(i), tensor.segment, piece.region_offset,
                                piece.first, piece.elements, first_block, last_block - first_block + 1,
                                num_blocks_});
            num_blocks_ += entries_.back().num_blocks;
        }
    }
    template <class SegmentType>
    PieceTable(const BasicPlan<SegmentType>&&, std::int64_t) = delete;

    /// Whether the pieces are of this plan, or of an equal one.
    template <class SegmentType>
    bool is_of(const BasicPlan<SegmentType>& plan) const {
        return &plan == plan_ || fingerprint(plan) == fingerprint_;
    }
    const std::string& group_name() const { return name_; }
    std::int64_t shard_rank() const { return shard_rank_; }
    const std::vector<PieceEntry>& entries() const { return entries_; }
    /// Blocks on this rank: the length of a per-block array.
    std::int64_t num_blocks() const { return num_blocks_; }
    /// Tensors of the plan, slices apart.
    std::int64_t num_tensors() const { return static_cast<std::int64_t>(grids_.size()); }
    /// Taken from a memory resource; see CudaPieceTable.
    static constexpr std::int64_t memory_bytes() { return 0; }
    const BlockGrid& grid(std::int64_t tensor) const { return grids_[static_cast<std::size_t>(tensor)]; }

  private:
    const void* plan_;
    std::uint64_t fingerprint_;
    std::string name_;
    std::int64_t shard_rank_;
    std::vector<BlockGrid> grids_; // by tensor
    std::vector<PieceEntry> entries_;
    std::int64_t num_blocks_ = 0;
};

} // namespace ragged
