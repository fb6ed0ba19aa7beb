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
    std::int64_t rows;
    std::int64_t length; // elements of a row
    bool spaced;         // rows lie one row of the tensor apart
};

RAGGED_HOST_DEVICE inline BlockRows rows_of(const BlockGeometry& grid, std::int64_t index) {
    BlockRows block{0, 1, 1, true};
    std::int64_t stride = 1;
    for (int dim = grid.rank - 1; dim >= 0; --dim) {
        const std::int64_t size = grid.shape[dim], thick = grid.block[dim];
        const std::int64_t along = (size + thick - 1) / thick, start = index % along * thick;
        const std::int64_t extent = thick < size - start ? thick : size - start;
        index /= along;
        block.first += start * stride;
        stride *= size;
        if (dim == grid.rank - 1)
            block.length = extent;
        else
            block.rows *= extent;
        if (dim < grid.rank - 2 && extent > 1)
            block.spaced = false;
    }
    return block;
}

/// Where a row of the block starts, from the block's first element.
RAGGED_HOST_DEVICE inline std::int64_t row_offset(const BlockGeometry& grid, const BlockRows& block,
                                                  std::int64_t row) {
    std::int64_t stride = grid.shape[grid.rank - 1];
    if (block.spaced)
        return row * stride;
    std::int64_t offset = 0, outer = block.first / stride; // thick in three dimensions or more
    for (int dim = grid.rank - 2; dim >= 0; --dim) {
        const std::int64_t size = grid.shape[dim], rest = size - outer % size;
        const std::int64_t extent = grid.block[dim] < rest ? grid.block[dim] : rest;
        offset += row % extent * stride;
        row /= extent;
        outer /= size;
        stride *= size;
    }
    return offset;
}

/// Calls visit(offset, count) for the packs of a block that thread `thread` of a team takes: up to Elems
/// neighbouring elements, `offset` from the block's first one.
template <int Elems, class Visit>
RAGGED_HOST_DEVICE void for_each_pack(const BlockGeometry& grid, const BlockRows& block, int thread, int team,
                                      const Visit& visit) {
    const std::int64_t packs = (block.length + Elems - 1) / Elems; // of a row
    const std::int64_t row_step = team / packs, pack_step = team % packs;
    std::int64_t row = thread / packs, pack = thread % packs;
    while (row < block.rows) {
        const std::int64_t column = pack * Elems, rest = block.length - column;
        visit(row_offset(grid, block, row) + column, rest < Elems ? static_cast<int>(rest) : Elems);
        row += row_step;
        pack += pack_step;
        if (pack >= packs) {
            pack -= packs;
            ++row;
        }
    }
}

/// op::AbsMax over the elements of a block that are this thread's. @param from  the block's first element
template <class T>
RAGGED_HOST_DEVICE std::uint32_t absmax(const BlockGeometry& grid, const BlockRows& block, int thread,
                                        int team, const T* from) {
    constexpr int elems = pack_elems<T>;
    std::uint32_t largest = 0;
    for_each_pack<elems>(grid, block, thread, team, [&](std::int64_t offset, int count) {
        const T* const at = from + offset;
        if (count == elems && are_aligned(at)) {
            const auto pack = load<elems>(at);
            RAGGED_UNROLL
            for (int i = 0; i < elems; ++i)
                largest = op::AbsMax::add(largest, pack[i]);
        } else {
            for (int i = 0; i < count; ++i)
                largest = op::AbsMax::add(largest, at[i]);
        }
    });
    return largest;
}

/// out[i] = op(in[i]) over the elements of a block that are this thread's.
template <class Op, class Out, class In>
RAGGED_HOST_DEVICE void map_block(const BlockGeometry& grid, const BlockRows& block, int thread, int team,
                                  const Op& op, Out* out, const In* in) {
    constexpr int elems = pack_elems<Out, In>;
    for_each_pack<elems>(grid, block, thread, team, [&](std::int64_t offset, int count) {
        if (count == elems && are_aligned(out + offset, in + offset))
            map_pack<elems>(op, out + offset, load<elems>(in + offset));
        else
            for (int i = 0; i < count; ++i)
                out[offset + i] = op(in[offset + i]);
    });
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

// The block operations: a walk for the largest value (or none), then what a team does with it.

template <class T>
struct AbsMaxBlocks {
    static constexpr int elems = pack_elems<T>;
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
