// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A piece table as a device walks it: plain structs, so that a device copy is a copy of the arrays, and each
// piece knows which of the thread blocks of a launch are its own. Integers only; nothing here needs a device.
#pragma once

#include <algorithm> // std::min, std::max
#include <cstdint>
#include <vector>

#include <ragged/group/fold_order.hpp>
#include <ragged/group/piece_table.hpp>
#include <ragged/layout/block_grid.hpp>

namespace ragged::body {

/// A grid of blocks with as few dimensions as say the same: blocks keep their numbers and their elements.
struct BlockGeometry {
    int rank = 0;
    std::int64_t shape[max_rank]{};
    std::int64_t block[max_rank]{};
    std::int64_t along[max_rank]{}; // blocks along each dimension

    /// Host. Neighbouring dimensions are one where blocks are whole along the inner one, or are one element
    /// thick along the outer one and divide the inner one.
    static constexpr BlockGeometry of(const BlockGrid& grid) {
        BlockGeometry result;
        for (int dim = 0; dim < grid.shape().rank(); ++dim) {
            const std::int64_t size = grid.shape()[dim], thick = std::min(grid.block()[dim], size);
            const int outer = result.rank - 1;
            if (outer >= 0 && thick == size) {
                result.shape[outer] *= size;
                result.block[outer] *= size;
            } else if (outer >= 0 && result.block[outer] == 1 && size % thick == 0) {
                result.shape[outer] *= size;
                result.block[outer] = thick;
            } else {
                result.shape[result.rank] = size;
                result.block[result.rank++] = thick;
            }
        }
        if (result.rank == 0) // a scalar
            result.shape[0] = result.block[0] = result.rank = 1;
        for (int dim = 0; dim < result.rank; ++dim)
            result.along[dim] = result.block[dim] == 0 ? 0 : ceil_div(result.shape[dim], result.block[dim]);
        return result;
    }

    /// Elements of a block that is not at an edge, and of its rows.
    constexpr std::int64_t block_elems() const {
        std::int64_t product = 1;
        for (int dim = 0; dim < rank; ++dim)
            product *= block[dim];
        return product;
    }
    RAGGED_HOST_DEVICE constexpr std::int64_t row_elems() const { return block[rank - 1]; }
};

/// A piece, for a device. A **task** is a run of its blocks, the work of one thread block; a **row** is one
/// of fold_order.
struct DevicePiece {
    PieceEntry entry;
    BlockGeometry grid;
    std::int64_t blocks_per_task;
    std::int64_t first_task;
    std::int64_t first_row;
};

/// Elements of a task, as far as blocks allow.
inline constexpr std::int64_t task_elems = 16384;

/// The last entry whose `first` is not above `index`. @pre count >= 1, and the first entry's is 0
template <class Entry>
RAGGED_HOST_DEVICE const Entry& entry_at(const Entry* entries, std::int64_t count, std::int64_t index,
                                         std::int64_t Entry::*first) {
    std::int64_t low = 0, high = count;
    while (high - low > 1) {
        const std::int64_t middle = low + (high - low) / 2;
        (entries[middle].*first <= index ? low : high) = middle;
    }
    return entries[low];
}

/// Rows of a block, and packs of a row, are counted in 32 bits.
inline constexpr std::int64_t max_block_rows = std::int64_t{1} << 30;

/// Host.
struct DevicePieces {
    std::vector<DevicePiece> pieces;
    std::vector<std::int64_t> piece_of_tensor; // [tensors]; -1 where this rank has none
    std::int64_t num_tasks = 0;
    std::int64_t num_rows = 0;

    /// @throws BufferError  a block of more than 2^30 rows, or with more than 2^30 elements in one
    explicit DevicePieces(const PieceTable& table)
        : piece_of_tensor(static_cast<std::size_t>(table.num_tensors()), -1) {
        for (const PieceEntry& entry : table.entries()) {
            const auto grid = BlockGeometry::of(table.grid(entry.tensor));
            if (grid.block_elems() / grid.row_elems() > max_block_rows || grid.row_elems() > max_block_rows)
                throw BufferError(concat("group '", table.group_name(), "': tensor ", entry.tensor,
                                         " has blocks of ", grid.block_elems() / grid.row_elems(),
                                         " rows of ", grid.row_elems(), " elements, a device takes up to ",
                                         max_block_rows, " of each"));
            const std::int64_t per_task = std::max<std::int64_t>(1, task_elems / grid.block_elems());
            piece_of_tensor[static_cast<std::size_t>(entry.tensor)] =
                static_cast<std::int64_t>(pieces.size());
            pieces.push_back({entry, grid, per_task, num_tasks, num_rows});
            num_tasks += ceil_div(entry.num_blocks, per_task);
            num_rows += fold_order::num_rows(entry.elements);
        }
    }
};

} // namespace ragged::body
