// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Group operations that know tensors or blocks: they walk the piece table of this rank's regions. All are
// local and run on the host before they return. Padding is never touched: it belongs to no piece.
//
//     ragged::PieceTable table(plan, master.shard_rank());
//     std::vector<float> largest(table.num_blocks());
//     ragged::absmax_per_block(table, master, largest);
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <ragged/buffer/dbuffer.hpp>
#include <ragged/group/host_executor.hpp>
#include <ragged/group/piece_table.hpp>

namespace ragged {

namespace detail {

template <class T, class Topology, class State, class PlanType>
void require_table(const PieceTable& table, const DBuffer<T, Topology, State, PlanType>& buffer) {
    static_assert(!std::is_same_v<State, state::Partial>,
                  "ragged: pieces are this rank's; call reduce(std::move(buffer), mesh).wait() first");
    if (!table.is_of(buffer.plan()))
        throw BufferError(concat("the piece table is of group '", table.group_name(),
                                 "', the buffer of group '", buffer.plan().name, "' over another plan"));
    if (table.shard_rank() != buffer.shard_rank())
        throw BufferError(concat("group '", buffer.plan().name, "': the piece table is of rank ",
                                 table.shard_rank(), ", the buffer of rank ", buffer.shard_rank()));
}

inline void require_length(std::size_t found, std::int64_t wanted, std::string_view what) {
    if (found != static_cast<std::size_t>(wanted))
        throw BufferError(concat("the result has room for ", found, " ", what, ", there are ", wanted));
}

template <class Buffer>
auto piece_span(const Buffer& buffer, const PieceEntry& entry) {
    return buffer.region(entry.segment)
        .subspan(static_cast<std::size_t>(entry.region_offset), static_cast<std::size_t>(entry.elements));
}

/// Calls run(block, offset, length) for the runs of a piece that are contiguous and inside one block: along
/// the last dimension of the grid. `block` counts from the piece's first, `offset` from its first element.
template <class Run>
void for_each_run(const PieceEntry& entry, const BlockGrid& grid, Run run) {
    const int last = grid.shape().rank() - 1;
    if (last < 0)
        return run(std::int64_t{0}, std::int64_t{0}, entry.elements);
    const std::int64_t row = grid.shape()[last], width = grid.block()[last];
    for (std::int64_t done = 0; done < entry.elements;) {
        const std::int64_t position = entry.first + done;
        const std::int64_t row_end = std::min(entry.elements, done + row - position % row);
        // a piece starts on a legal cut, so every block of the row starts here or further on
        for (std::int64_t block = grid.block_of(position) - entry.first_block; done < row_end; ++block) {
            const std::int64_t length = std::min(width, row_end - done);
            run(block, done, length);
            done += length;
        }
    }
}

} // namespace detail

/// Assign `value` to every element of every tensor in this rank's regions; padding stays zero.
template <element T, class Topology, class State, class PlanType>
void fill(const PieceTable& table, DBuffer<T, Topology, State, PlanType>& buffer, T value) {
    static_assert(!std::is_same_v<State, state::Gathered>,
                  "ragged: gathered values are read only; release the buffer and write this rank's region");
    detail::require_table(table, buffer);
    for (const PieceEntry& entry : table.entries()) {
        const auto piece = detail::piece_span(buffer, entry);
        std::fill(piece.begin(), piece.end(), value);
    }
}

/// largest[local block] = max |x| over the block; NaN when the block has one.
/// @param largest  host, [table.num_blocks()]; piece p's blocks start at its `local_block`
/// @throws BufferError  another length, or a table of another plan or rank
template <element T, class Topology, class State, class PlanType>
void absmax_per_block(const PieceTable& table, const DBuffer<T, Topology, State, PlanType>& buffer,
                      std::span<float> largest) {
    detail::require_table(table, buffer);
    detail::require_length(largest.size(), table.num_blocks(), "blocks");
    std::fill(largest.begin(), largest.end(), 0.0f);
    for (const PieceEntry& entry : table.entries()) {
        const T* const piece = detail::piece_span(buffer, entry).data();
        float* const of_piece = largest.data() + entry.local_block;
        detail::for_each_run(entry, table.grid(entry.tensor),
                             [&](std::int64_t block, std::int64_t offset, std::int64_t length) {
                                 prefetch_ahead(piece + offset, static_cast<std::size_t>(length) * sizeof(T));
                                 std::uint32_t bits = op::AbsMax::value(of_piece[block]);
                                 for (std::int64_t i = offset; i < offset + length; ++i)
                                     bits = op::AbsMax::fold(bits, op::AbsMax::value(piece[i]));
                                 of_piece[block] = op::AbsMax::result(bits);
                             });
    }
}

/// results[tensor] = op folded over this rank's piece of the tensor; op.result of zero where the piece is
/// empty.
/// @param op       a reduction of operations.hpp, or one like them
/// @param results  host, [plan.tensors]
/// @throws BufferError  another length, or a table of another plan or rank
template <class Op, element T, class Topology, class State, class Result, class PlanType>
void reduce_per_tensor(const Op& op, const PieceTable& table,
                       const DBuffer<T, Topology, State, PlanType>& buffer, std::span<Result> results) {
    detail::require_table(table, buffer);
    detail::require_length(results.size(), table.num_tensors(), "tensors");
    std::fill(results.begin(), results.end(), static_cast<Result>(op.result({})));
    for (const PieceEntry& entry : table.entries()) {
        const std::span<const T> piece = detail::piece_span(buffer, entry);
        results[static_cast<std::size_t>(entry.tensor)] = static_cast<Result>(host::reduce(op, piece));
    }
}

} // namespace ragged
