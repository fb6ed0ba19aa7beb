// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What one of many threads does in a block operation. A **team** of 1 to 32 threads, or a whole thread block
// where blocks are large, shares a block of a tensor: it walks the block's rows in packs, twice where the
// second walk needs the largest value.
#pragma once

#include <cstdint>

#include <ragged/group/device_pieces.hpp>
#include <ragged/group/executor.hpp>
#include <ragged/group/flat_body.hpp>

namespace ragged::body {

/// One block as rows of neighbouring elements, clipped at the edges of the tensor.
struct BlockRows {
    std::int64_t first; // flat element of the tensor
    int rows;
    std::int64_t length; // elements of a row
    bool spaced;         // rows lie one row of the tensor apart
};

RAGGED_HOST_DEVICE inline BlockRows rows_of(const BlockGeometry& grid, std::int64_t index) {
    BlockRows block{0, 1, 1, true};
    std::int64_t stride = 1;
    RAGGED_ROLL
    for (int dim = grid.rank - 1; dim >= 0; --dim) {
        const std::int64_t size = grid.shape[dim], thick = grid.block[dim];
        const std::int64_t outer = index / grid.along[dim], start = (index - outer * grid.along[dim]) * thick;
        const std::int64_t extent = thick < size - start ? thick : size - start;
        index = outer;
        block.first += start * stride;
        stride *= size;
        if (dim == grid.rank - 1)
            block.length = extent;
        else
            block.rows *= static_cast<int>(extent);
        if (dim < grid.rank - 2 && extent > 1)
            block.spaced = false;
    }
    return block;
}

/// Where a row of the block starts, from the block's first element.
RAGGED_HOST_DEVICE inline std::int64_t row_offset(const BlockGeometry& grid, const BlockRows& block,
                                                  int row) {
    std::int64_t stride = grid.shape[grid.rank - 1];
    if (block.spaced)
        return std::int64_t{row} * stride;
    std::int64_t offset = 0, start = block.first / stride; // thick in three dimensions or more
    RAGGED_ROLL
    for (int dim = grid.rank - 2; dim >= 0; --dim) {
        const std::int64_t size = grid.shape[dim], next = start / size, rest = size - (start - next * size);
        const int extent = static_cast<int>(grid.block[dim] < rest ? grid.block[dim] : rest);
        const int above = row / extent;
        offset += (row - above * extent) * stride;
        row = above;
        start = next;
        stride *= size;
    }
    return offset;
}

/// The packs of a block that one thread of a team takes, in turns: up to Elems neighbouring elements each.
template <int Elems>
class PackWalk {
  public:
    RAGGED_HOST_DEVICE PackWalk(const BlockGeometry& grid, const BlockRows& block, int thread, int team)
        : grid_(grid)
        , block_(block)
        , packs_(static_cast<int>((block.length + Elems - 1) / Elems))
        , row_step_(team / packs_)
        , pack_step_(team % packs_)
        , row_(thread / packs_)
        , pack_(thread % packs_) {}

    RAGGED_HOST_DEVICE bool more() const { return row_ < block_.rows; }
    /// Of the pack's first element, from the block's.
    RAGGED_HOST_DEVICE std::int64_t offset() const {
        return row_offset(grid_, block_, row_) + std::int64_t{Elems} * pack_;
    }
    RAGGED_HOST_DEVICE int count() const {
        const std::int64_t rest = block_.length - std::int64_t{Elems} * pack_;
        return rest < Elems ? static_cast<int>(rest) : Elems;
    }
    RAGGED_HOST_DEVICE void next() {
        row_ += row_step_;
        pack_ += pack_step_;
        if (pack_ >= packs_) {
            pack_ -= packs_;
            ++row_;
        }
    }

  private:
    const BlockGeometry& grid_;
    const BlockRows& block_;
    int packs_; // of a row
    int row_step_;
    int pack_step_;
    int row_;
    int pack_;
};

/// Loads of a thread that wait for memory together, where little else is done.
inline constexpr int packs_in_flight = 2;

/// op::AbsMax over the elements of a block that are this thread's. @param from  the block's first element
template <class T>
RAGGED_HOST_DEVICE std::uint32_t absmax(const BlockGeometry& grid, const BlockRows& block, int thread,
                                        int team, const T* from) {
    constexpr int elems = pack_elems<T>;
    std::uint32_t largest = 0;
    PackWalk<elems> walk(grid, block, thread, team);
    RAGGED_ROLL
    while (walk.more()) {
        Pack<elems, T> packs[packs_in_flight]{}; // zeros do not count
        RAGGED_UNROLL
        for (int i = 0; i < packs_in_flight; ++i) {
            if (!walk.more())
                continue;
            const T* const at = from + walk.offset();
            const int count = walk.count();
            walk.next();
            if (count == elems && are_aligned<elems>(at)) {
                packs[i] = load<elems>(at);
            } else {
                RAGGED_ROLL
                for (int j = 0; j < count; ++j)
                    largest = op::AbsMax::add(largest, at[j]);
            }
        }
        RAGGED_UNROLL
        for (int i = 0; i < packs_in_flight; ++i) {
            RAGGED_UNROLL
            for (int j = 0; j < elems; ++j)
                largest = op::AbsMax::add(largest, packs[i][j]);
        }
    }
    return largest;
}

/// out[i] = op(in[i]) over the elements of a block that are this thread's.
template <class Op, class Out, class In>
RAGGED_HOST_DEVICE void map_block(const BlockGeometry& grid, const BlockRows& block, int thread, int team,
                                  const Op& op, Out* out, const In* in) {
    constexpr int elems = pack_elems<Out, In>;
    RAGGED_ROLL
    for (PackWalk<elems> walk(grid, block, thread, team); walk.more(); walk.next()) {
        const std::int64_t offset = walk.offset();
        const int count = walk.count();
        if (count == elems && are_aligned<elems>(out + offset, in + offset)) {
            map_pack<elems>(op, out + offset, load<elems>(in + offset));
        } else {
            RAGGED_ROLL
            for (int i = 0; i < count; ++i)
                out[offset + i] = op(in[offset + i]);
        }
    }
}

/// Threads of a thread block of a block operation.
inline constexpr int task_threads = 256;
/// Blocks above this have a whole thread block as their team.
inline constexpr std::int64_t large_block_elems = 2048;

/// Threads that share a block of this grid: a power of two up to a warp, or the whole thread block.
template <int Elems>
RAGGED_HOST_DEVICE int team_of(const BlockGeometry& grid) {
    std::int64_t packs = (grid.row_elems() + Elems - 1) / Elems;
    for (int dim = 0; dim + 1 < grid.rank; ++dim)
        packs *= grid.block[dim];
    if (packs * Elems > large_block_elems)
        return task_threads;
    int team = 1;
    while (team < packs && team < 32)
        team *= 2;
    return team;
}

// The block operations: a walk for the largest value (or none), then what a team does with it. `elems` is
// what a thread should have to do.

template <class T>
struct AbsMaxBlocks {
    static constexpr int elems = packs_in_flight * pack_elems<T>;
    static constexpr bool needs_absmax = true;
    Regions<const T> in;
    float* largest;

    RAGGED_HOST_DEVICE std::uint32_t absmax(const DevicePiece& piece, const BlockRows& block, int thread,
                                            int team) const {
        return body::absmax(piece.grid, block, thread, team,
                            in.piece(piece.entry) + (block.first - piece.entry.first));
    }
    RAGGED_HOST_DEVICE void apply(const DevicePiece&, const BlockRows&, std::int64_t local_block, int thread,
                                  int, std::uint32_t bits) const {
        if (thread == 0)
            largest[local_block] = op::AbsMax::result(bits);
    }
};

template <class T, class Code>
struct QuantizeBlocks {
    static constexpr int elems = pack_elems<T, Code>;
    static constexpr bool needs_absmax = true;
    Regions<const T> in;
    Regions<Code> out;
    float* scales;

    RAGGED_HOST_DEVICE std::uint32_t absmax(const DevicePiece& piece, const BlockRows& block, int thread,
                                            int team) const {
        return body::absmax(piece.grid, block, thread, team,
                            in.piece(piece.entry) + (block.first - piece.entry.first));
    }
    RAGGED_HOST_DEVICE void apply(const DevicePiece& piece, const BlockRows& block, std::int64_t local_block,
                                  int thread, int team, std::uint32_t bits) const {
        const float scale = block_scale<Code>(bits);
        if (thread == 0)
            scales[local_block] = scale;
        const std::int64_t start = block.first - piece.entry.first;
        map_block(piece.grid, block, thread, team, op::Quantize<Code>{inverse_scale(scale)},
                  out.piece(piece.entry) + start, in.piece(piece.entry) + start);
    }
};

template <class Code, class T>
struct DequantizeBlocks {
    static constexpr int elems = pack_elems<T, Code>;
    static constexpr bool needs_absmax = false;
    Regions<const Code> in;
    const float* scales;
    Regions<T> out;

    RAGGED_HOST_DEVICE void apply(const DevicePiece& piece, const BlockRows& block, std::int64_t local_block,
                                  int thread, int team, std::uint32_t) const {
        const std::int64_t start = block.first - piece.entry.first;
        map_block(piece.grid, block, thread, team, op::Cast<T>{static_cast<double>(scales[local_block])},
                  out.piece(piece.entry) + start, in.piece(piece.entry) + start);
    }
};

/// op: any element becomes `value`.
template <class T>
struct Constant {
    T value;
    RAGGED_HOST_DEVICE T operator()(T) const { return value; }
};

template <class T>
struct FillBlocks {
    static constexpr int elems = pack_elems<T>;
    static constexpr bool needs_absmax = false;
    Regions<T> out;
    T value;

    RAGGED_HOST_DEVICE void apply(const DevicePiece& piece, const BlockRows& block, std::int64_t, int thread,
                                  int team, std::uint32_t) const {
        T* const to = out.piece(piece.entry) + (block.first - piece.entry.first);
        map_block(piece.grid, block, thread, team, Constant<T>{value}, to, static_cast<const T*>(to));
    }
};

} // namespace ragged::body
