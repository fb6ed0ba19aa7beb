// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs group operations over host memory, by plain loops that compilers vectorise; done when it returns.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/buffer/memory_space.hpp>
#include <ragged/group/block_update.hpp>
#include <ragged/group/exact_bands.hpp>
#include <ragged/group/exact_sum.hpp>
#include <ragged/group/executor.hpp>
#include <ragged/group/fold_order.hpp>
#include <ragged/group/operations.hpp>
#include <ragged/group/piece_table.hpp>
#include <ragged/group/run_table.hpp>

namespace ragged {

namespace detail {

/// Call body(i) for [0, count) in steps that ask for the memory of a later step first.
template <class Body, class... T>
void for_each_index(std::size_t count, const Body& body, const T*... streams) {
    constexpr std::size_t step = 256;
    std::size_t start = 0;
    for (; start + step <= count; start += step) {
        (prefetch_ahead(streams + start, step * sizeof(T)), ...);
        for (std::size_t i = start; i < start + step; ++i)
            body(i);
    }
    for (; start < count; ++start)
        body(start);
}

/// op(array[i]...) on references. Arrays do not overlap, which compilers are told and need not find out.
template <class Op, class... T>
void update_each(Op op, std::int64_t count, T* __restrict... arrays) {
    for (std::int64_t i = 0; i < count; ++i)
        op(arrays[i]...);
}

/// The same for the first walk of a block.
template <class Block, int N, class... T>
void measure_each(Block of, Largest<N>& largest, std::int64_t count, const T* __restrict... arrays) {
    Largest<N> row = largest; // in registers
    for (std::int64_t i = 0; i < count; ++i)
        of.measure(row, arrays[i]...);
    largest = row;
}

/// One chunk in the order of fold_order. 1 <= length <= chunk
template <class Op, class T>
auto fold_chunk(const Op& op, const T* from, std::int64_t length) {
    constexpr std::int64_t lanes = fold_order::lanes;
    typename Op::value_type running[lanes]{};
    std::int64_t i = 0;
    for (; i + lanes <= length; i += lanes) {
        prefetch_ahead(from + i, fold_order::lanes * sizeof(T));
        for (std::int64_t lane = 0; lane < lanes; ++lane)
            running[lane] = op.add(running[lane], from[i + lane]);
    }
    for (std::int64_t lane = 0; i + lane < length; ++lane)
        running[lane] = op.add(running[lane], from[i + lane]);
    fold_order::fold_by_halving(op, running, fold_order::lanes, fold_order::lanes);
    return running[0];
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

/// The first and the last word of [0, bytes), which may overlap. @pre sizeof(Word) <= bytes
template <class Word>
void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) {
    Word first, last;
    std::memcpy(&first, from, sizeof(Word));
    std::memcpy(&last, from + bytes - sizeof(Word), sizeof(Word));
    std::memcpy(to, &first, sizeof(Word));
    std::memcpy(to + bytes - sizeof(Word), &last, sizeof(Word));
}

/// memcpy, but lengths up to two words, which the call would dominate, cost none. Measured: 1 ns instead of 5
/// where they vary.
inline void copy_run(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes > 2 * sizeof(std::uint64_t))
        std::memcpy(to, from, bytes);
    else if (bytes >= sizeof(std::uint64_t))
        copy_ends<std::uint64_t>(to, from, bytes);
    else if (bytes >= sizeof(std::uint32_t))
        copy_ends<std::uint32_t>(to, from, bytes);
    else
        for (std::size_t i = 0; i < bytes; ++i)
            to[i] = from[i];
}

} // namespace detail

/// See group_executor for what each member does.
struct HostExecutor {
    using table_type = PieceTable;
    using run_table_type = RunTable;

    static constexpr MemorySpace space() { return host_space; }

    void zero(void* to, std::size_t bytes) const { std::memset(to, 0, bytes); }
    void copy(void* to, const void* from, std::size_t bytes) const { std::memmove(to, from, bytes); }

    template <class Op, class Out, class... In>
    void map(const Op& op, Values<Out> out, const In*... in) const {
        Out* const to = out.data;
        detail::for_each_index(
            static_cast<std::size_t>(out.count), [=](std::size_t i) { to[i] = op(in[i]...); }, to, in...);
    }

    template <class Op, class... T>
    void update(const Op& op, std::int64_t count, T*... arrays) const {
        constexpr std::int64_t step = 256;
        for (std::int64_t start = 0; start < count; start += step) {
            (prefetch_ahead(arrays + start, step * sizeof(T)), ...);
            detail::update_each(op, std::min(step, count - start), arrays + start...);
        }
    }

    /// The elements as one value, in the order of fold_order; value_type{} when there are none.
    template <class Op, class T>
    static auto fold(const Op& op, Values<const T> in) {
        constexpr std::int64_t chunk = fold_order::chunk, rows = fold_order::rows;
        typename Op::value_type row[rows]; // 64 KiB at most; as many are written as are read
        row[0] = {};
        for (std::int64_t start = 0; start < in.count; start += chunk) {
            const auto value = detail::fold_chunk(op, in.data + start, std::min(chunk, in.count - start));
            const std::int64_t index = start / chunk;
            row[index % rows] = index < rows ? value : op.fold(row[index % rows], value);
        }
        fold_order::fold_by_halving(op, row, fold_order::num_rows(in.count), fold_order::rows);
        return row[0];
    }

    template <class Op, class Values, class Result>
    void reduce(const Op& op, std::int64_t num_segments, const Values& values, Result* result) const {
        typename Op::value_type total{};
        for (std::int64_t segment = 0; segment < num_segments; ++segment)
            total = op.fold(total, fold(op, values(segment)));
        *result = static_cast<Result>(op.result(total));
    }

    template <class ValuesOf>
    void exact_sum_of_squares(std::int64_t num_segments, const ValuesOf& values_of, double* digits) const {
        for (std::int64_t segment = 0; segment < num_segments; ++segment) {
            std::int64_t sum[exact_sum::num_digits]{};
            exact_sum::add_squares({sum}, values_of(segment));
            exact_sum::publish({sum}, digits);
        }
    }

    void fetch(void* to, const void* from, std::size_t bytes) const { copy(to, from, bytes); }

    template <class T>
    void fill(const PieceTable& table, const Regions<T>& to, T value) const {
        for (const PieceEntry& entry : table.entries())
            std::fill_n(to.piece(entry), entry.elements, value);
    }

    template <class Op, class T, class Result>
    void reduce_per_tensor(const Op& op, const PieceTable& table, const Regions<const T>& in,
                           Result* results) const {
        std::fill_n(results, table.num_tensors(), static_cast<Result>(op.result({})));
        for (const PieceEntry& entry : table.entries())
            results[entry.tensor] =
                static_cast<Result>(op.result(fold(op, Values<const T>{in.piece(entry), entry.elements})));
    }

    template <class T>
    void absmax(const PieceTable& table, const Regions<const T>& in, float* largest) const {
        for (const PieceEntry& entry : table.entries())
            absmax(table, entry, in.piece(entry), largest + entry.local_block);
    }

    template <class T, class Code>
    void quantize(const PieceTable& table, const Regions<const T>& in, const Regions<Code>& out,
                  float* scales) const {
        for (const PieceEntry& entry : table.entries()) {
            float* const scale = scales + entry.local_block;
            absmax(table, entry, in.piece(entry), scale);
            for (std::int64_t block = 0; block < entry.num_blocks; ++block)
                scale[block] = block_scale<Code>(bit_cast<std::uint32_t>(scale[block]));
            map_runs(
                table, entry,
                [=](std::int64_t block) { return op::Quantize<Code>{inverse_scale(scale[block])}; },
                out.piece(entry), in.piece(entry));
        }
    }

    template <class Code, class T>
    void dequantize(const PieceTable& table, const Regions<const Code>& in, const float* scales,
                    const Regions<T>& out) const {
        for (const PieceEntry& entry : table.entries()) {
            const float* const scale = scales + entry.local_block;
            map_runs(
                table, entry,
                [=](std::int64_t block) { return op::Cast<T>{static_cast<double>(scale[block])}; },
                out.piece(entry), in.piece(entry));
        }
    }

    template <class Op, class... T>
    void update_blocks(const Op& op, const PieceTable& table, const Regions<T>&... arrays) const {
        for (const PieceEntry& entry : table.entries()) {
            const auto grid = body::BlockGeometry::of(table.grid(entry.tensor));
            for (std::int64_t block = 0; block < entry.num_blocks; ++block)
                update_block(op, grid, body::rows_of(grid, entry.first_block + block), entry.first,
                             entry.local_block + block, arrays.piece(entry)...);
        }
    }

    /// Takes nothing from the resource. @throws PlanError  see PieceTable
    template <class PlanType, memory_resource R>
    PieceTable piece_table(const PlanType& plan, std::int64_t shard_rank, R&) const {
        return PieceTable(plan, shard_rank);
    }
    /// Takes nothing from the resource. @throws BufferError  see RunTable
    template <memory_resource R>
    RunTable run_table(std::span<const CopyRun> runs, R&) const {
        return RunTable(runs);
    }
    template <class T>
    void copy_runs(const RunTable& table, T* to, const T* from) const {
        for (const CopyRun& run : table.runs())
            detail::copy_run(reinterpret_cast<std::byte*>(to + run.to),
                             reinterpret_cast<const std::byte*>(from + run.from),
                             static_cast<std::size_t>(run.elements) * sizeof(T));
    }

  private:
    template <class T>
    static void absmax(const PieceTable& table, const PieceEntry& entry, const T* piece, float* largest) {
        std::fill_n(largest, entry.num_blocks, 0.0f);
        detail::for_each_run(entry, table.grid(entry.tensor),
                             [=](std::int64_t block, std::int64_t offset, std::int64_t length) {
                                 prefetch_ahead(piece + offset, static_cast<std::size_t>(length) * sizeof(T));
                                 std::uint32_t bits = bit_cast<std::uint32_t>(largest[block]);
                                 for (std::int64_t i = offset; i < offset + length; ++i)
                                     bits = op::AbsMax::add(bits, piece[i]);
                                 largest[block] = op::AbsMax::result(bits);
                             });
    }

    template <class Op, class... T>
    static void update_block(const Op& op, const body::BlockGeometry& grid, const body::BlockRows& block,
                             std::int64_t first_of_piece, std::int64_t local_block, T*... piece) {
        const std::int64_t start = block.first - first_of_piece;
        const auto of = op.block(local_block);
        Largest<Op::num_largest> largest;
        for (int row = 0; row < block.rows; ++row)
            detail::measure_each(of, largest, block.length,
                                 static_cast<const T*>(piece + start + row_offset(grid, block, row))...);
        const auto update = of.update(largest);
        for (int row = 0; row < block.rows; ++row)
            detail::update_each(update, block.length, piece + start + row_offset(grid, block, row)...);
        op.finish(local_block, largest);
    }

    template <class OpOf, class Out, class In>
    static void map_runs(const PieceTable& table, const PieceEntry& entry, const OpOf& op_of, Out* out,
                         const In* in) {
        detail::for_each_run(entry, table.grid(entry.tensor),
                             [=](std::int64_t block, std::int64_t offset, std::int64_t length) {
                                 const auto op = op_of(block);
                                 for (std::int64_t i = offset; i < offset + length; ++i)
                                     out[i] = op(in[i]);
                             });
    }
};

static_assert(group_executor<HostExecutor>);

namespace detail {

/// What is kept by reference where no executor is given.
inline constexpr HostExecutor host_executor{};

} // namespace detail

} // namespace ragged
