// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels of the group operations: each thread finds its place and calls a body. Launches are in
// cuda_executor.cuh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <cub/block/block_reduce.cuh>

#include <ragged/group/block_body.hpp>
#include <ragged/group/block_update.hpp>
#include <ragged/group/cuda_piece_table.hpp>
#include <ragged/group/cuda_run_table.hpp>
#include <ragged/group/exact_body.hpp>
#include <ragged/group/flat_body.hpp>
#include <ragged/group/fold_body.hpp>
#include <ragged/group/run_body.hpp>

namespace ragged::kernel {

inline constexpr int flat_threads = 256;
inline constexpr int row_threads = 128;
inline constexpr int run_threads = 256;
// Blocks that a processor should hold at least: up to 64, 80 and 128 registers a thread. Left to itself,
// ptxas aims at more blocks and spills.
inline constexpr int row_residents = 8, task_residents = 3, update_residents = 2;
inline constexpr int fold_threads = body::fold_columns;
inline constexpr int exact_total_threads = 32 * exact_sum::num_digits; // a warp per digit

__device__ inline std::int64_t global_thread() {
    return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// out[i] = op(in[i]...), [count]. Any grid.
template <class Op, class Out, class... In>
__global__ void __launch_bounds__(flat_threads) map(Op op, Out* out, std::int64_t count, const In*... in) {
    body::map(op, out, count, global_thread(), static_cast<std::int64_t>(gridDim.x) * blockDim.x, in...);
}

/// op(array[i]...) on references, [count]. Any grid.
template <class Op, class... T>
__global__ void __launch_bounds__(flat_threads) update(Op op, std::int64_t count, T*... arrays) {
    body::update(op, count, global_thread(), static_cast<std::int64_t>(gridDim.x) * blockDim.x, arrays...);
}

/// What elements of so many bytes are copied as.
template <std::size_t Bytes>
using Bits =
    std::conditional_t<Bytes == 1, std::uint8_t,
                       std::conditional_t<Bytes == 2, std::uint16_t,
                                          std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>>;

/// to[run.to + i] = from[run.from + i] for every run. A grid with a team of threads per share. Takes the size
/// of the elements, not their type: one kernel for all types of a size, and nvcc can name it, see Values.
template <std::size_t ElemBytes>
__global__ void __launch_bounds__(run_threads)
    copy_runs(CudaRunTable::View table, int team, void* to, const void* from) {
    static_assert(sizeof(Bits<ElemBytes>) == ElemBytes);
    const int thread = static_cast<int>(threadIdx.x);
    const std::int64_t share = static_cast<std::int64_t>(blockIdx.x) * (run_threads / team) + thread / team;
    body::copy_share(table.runs, table.num_runs, table.elements, share, thread % team, team,
                     static_cast<Bits<ElemBytes>*>(to), static_cast<const Bits<ElemBytes>*>(from));
}

/// Lanes of this warp that are in the caller's group of `width` neighbours, a power of two up to 32.
__device__ inline unsigned group_mask(int width) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    return width == 32 ? 0xffffffffu : ((1u << width) - 1u) << (lane / width * width);
}

/// One row of fold_order by the team of this thread; valid in its first thread.
template <class Op, class T>
__device__ typename Op::value_type fold_row(const Op& op, const T* in, std::int64_t count, std::int64_t row) {
    constexpr int team = body::team_threads<T>;
    const int thread = static_cast<int>(threadIdx.x) % team;
    const unsigned mask = group_mask(team);
    typename Op::value_type total{};
    RAGGED_ROLL
    for (std::int64_t start = row * fold_order::chunk; start < count;
         start += std::int64_t{fold_order::chunk} * fold_order::rows) {
        const std::int64_t rest = count - start;
        auto lanes =
            body::add_chunk(op, in + start, rest < fold_order::chunk ? rest : fold_order::chunk, thread);
        RAGGED_UNROLL
        for (int distance = team / 2; distance > 0; distance /= 2) {
            auto other = lanes;
            RAGGED_UNROLL
            for (int i = 0; i < lanes.count; ++i)
                other.values[i] = __shfl_down_sync(mask, lanes.values[i], distance, team);
            body::fold_lanes(op, lanes, other);
        }
        const auto value = body::fold_own_lanes(op, lanes);
        total = start < std::int64_t{fold_order::chunk} * fold_order::rows ? value : op.fold(total, value);
    }
    return total;
}

/// rows[row] for the rows of one span. One team per row.
template <class Op, class T>
__global__ void __launch_bounds__(row_threads, row_residents)
    fold_rows(Op op, const T* in, std::int64_t count, typename Op::value_type* rows) {
    constexpr int team = body::team_threads<T>;
    const std::int64_t row = global_thread() / team;
    if (row >= fold_order::num_rows(count))
        return;
    const auto value = fold_row(op, in, count, row);
    if (threadIdx.x % team == 0)
        rows[row] = value;
}

/// The same for the rows of every piece.
template <class Op, class T>
__global__ void __launch_bounds__(row_threads, row_residents)
    fold_piece_rows(Op op, CudaPieceTable::View table, const __grid_constant__ Regions<const T> in) {
    constexpr int team = body::team_threads<T>;
    const std::int64_t row = global_thread() / team;
    if (row >= table.num_rows)
        return;
    const body::DevicePiece& piece =
        body::entry_at(table.pieces, table.num_pieces, row, &body::DevicePiece::first_row);
    const auto value = fold_row(op, in.piece(piece.entry), piece.entry.elements, row - piece.first_row);
    if (threadIdx.x % team == 0)
        static_cast<typename Op::value_type*>(table.rows)[row] = value;
}

/// All rows of a span by this thread block of fold_threads; valid in thread 0. count >= 1
template <class Op>
__device__ typename Op::value_type fold_columns(const Op& op, const typename Op::value_type* rows,
                                                int count) {
    __shared__ typename Op::value_type columns[body::fold_columns];
    const int thread = static_cast<int>(threadIdx.x);
    if (thread < count)
        columns[thread] = body::fold_column(op, rows, count, thread);
    for (int half = body::fold_columns / 2; half > 0; half /= 2) {
        __syncthreads();
        if (thread < half && thread + half < count)
            columns[thread] = op.fold(columns[thread], columns[thread + half]);
    }
    return columns[thread]; // its own: another's may be written still
}

/// *total = the rows, folded into what it held unless `first`; *result from it where there is one. One block.
template <class Op, class Result>
__global__ void __launch_bounds__(fold_threads)
    fold_total(Op op, const typename Op::value_type* rows, int num_rows, bool first,
               typename Op::value_type* total, Result* result) {
    typename Op::value_type value{};
    if (num_rows > 0)
        value = fold_columns(op, rows, num_rows);
    if (threadIdx.x == 0) {
        *total = op.fold(first ? typename Op::value_type{} : *total, value);
        if (result != nullptr)
            *result = static_cast<Result>(op.result(*total));
    }
}

/// results[tensor] from the rows of its piece. One block per tensor.
template <class Op, class Result>
__global__ void __launch_bounds__(fold_threads)
    fold_pieces(Op op, CudaPieceTable::View table, Result* results) {
    const std::int64_t index = table.piece_of_tensor[blockIdx.x];
    typename Op::value_type value{};
    if (index >= 0) {
        const body::DevicePiece& piece = table.pieces[index];
        value = fold_columns(op, static_cast<const typename Op::value_type*>(table.rows) + piece.first_row,
                             fold_order::num_rows(piece.entry.elements));
    }
    if (threadIdx.x == 0)
        results[blockIdx.x] = static_cast<Result>(op.result(value));
}

/// The sum of what the threads of a warp have; valid in its first.
__device__ inline std::int64_t add_warp(std::int64_t value) {
    RAGGED_UNROLL
    for (int distance = 16; distance > 0; distance /= 2)
        value += __shfl_down_sync(0xffffffffu, value, distance);
    return value;
}

/// A row of digits per thread block: rows[block + digit * body::exact_rows], of an exact sum of squares.
template <class T>
__global__ void __launch_bounds__(body::exact_threads)
    exact_rows(const T* in, std::int64_t count, std::int64_t* rows) {
    __shared__ std::int64_t columns[exact_sum::num_digits * body::exact_threads];
    const int thread = static_cast<int>(threadIdx.x);
    const exact_sum::Column sum{columns + thread, body::exact_threads};
    RAGGED_UNROLL
    for (int digit = 0; digit < exact_sum::num_digits; ++digit)
        sum[digit] = 0;
    body::add_squares(sum, in, count, global_thread(),
                      static_cast<std::int64_t>(gridDim.x) * body::exact_threads);
    __syncthreads();
    RAGGED_ROLL
    for (int digit = thread / 32; digit < exact_sum::num_digits; digit += body::exact_threads / 32) {
        const std::int64_t total = add_warp(
            body::add_strided(columns + digit * body::exact_threads, thread % 32, 32, body::exact_threads));
        if (thread % 32 == 0)
            rows[blockIdx.x + digit * body::exact_rows] = total;
    }
}

/// digits[] += the rows. One block with a warp per digit. (A template so that many units may have it.)
template <class Digit>
__global__ void __launch_bounds__(exact_total_threads)
    exact_total(const Digit* rows, int num_rows, double* digits) {
    __shared__ Digit sum[exact_sum::num_digits];
    const int digit = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
    const std::int64_t total =
        add_warp(body::add_strided(rows + digit * body::exact_rows, lane, 32, num_rows));
    if (lane == 0)
        sum[digit] = total;
    __syncthreads();
    if (threadIdx.x == 0)
        exact_sum::publish({sum}, digits);
}

struct LargerBits {
    __device__ std::uint32_t operator()(std::uint32_t a, std::uint32_t b) const {
        return op::AbsMax::fold(a, b);
    }
};

/// The largest of a team's values, in every thread of it. A team of up to a warp has its own width, which CUB
/// takes as a constant only; a team that is the thread block is CUB's.
/// @pre all threads of the team call
__device__ inline std::uint32_t largest_of_team(std::uint32_t bits, int team) {
    using Reduce = cub::BlockReduce<std::uint32_t, body::task_threads>;
    __shared__ typename Reduce::TempStorage storage;
    __shared__ std::uint32_t largest;
    if (team <= 32) {
        const unsigned mask = group_mask(team);
        for (int distance = team / 2; distance > 0; distance /= 2)
            bits = op::AbsMax::fold(bits, __shfl_xor_sync(mask, bits, distance, team));
        return bits;
    }
    bits = Reduce(storage).Reduce(bits, LargerBits{});
    if (threadIdx.x == 0)
        largest = bits;
    __syncthreads();
    bits = largest;
    __syncthreads(); // before either is written again
    return bits;
}

/// One task per thread block: each team takes blocks in turns. use(piece, rows, local block, thread, team)
template <int Elems, class Use>
__device__ void for_each_block(const CudaPieceTable::View& table, const Use& use) {
    const body::DevicePiece& piece =
        body::entry_at(table.pieces, table.num_pieces, blockIdx.x, &body::DevicePiece::first_task);
    const int team = body::team_of<Elems>(piece.grid);
    const int thread = static_cast<int>(threadIdx.x) % team;
    const std::int64_t start = (blockIdx.x - piece.first_task) * piece.blocks_per_task;
    const std::int64_t rest = piece.entry.num_blocks - start;
    const std::int64_t end = start + (rest < piece.blocks_per_task ? rest : piece.blocks_per_task);
    RAGGED_ROLL
    for (std::int64_t block = start + threadIdx.x / team; block < end; block += body::task_threads / team)
        use(piece, body::rows_of(piece.grid, piece.entry.first_block + block),
            piece.entry.local_block + block, thread, team);
}

template <class BlockOp>
__global__ void __launch_bounds__(body::task_threads, task_residents)
    blocks(CudaPieceTable::View table, const __grid_constant__ BlockOp op) {
    for_each_block<BlockOp::elems>(table, [&](const body::DevicePiece& piece, const body::BlockRows& rows,
                                              std::int64_t local_block, int thread, int team) {
        std::uint32_t bits = 0;
        if constexpr (BlockOp::needs_absmax)
            bits = largest_of_team(op.absmax(piece, rows, thread, team), team);
        op.apply(piece, rows, local_block, thread, team, bits);
    });
}

/// Both walks of a block update.
template <class Op, class... T>
__global__ void __launch_bounds__(body::task_threads, update_residents)
    update_blocks(CudaPieceTable::View table, const __grid_constant__ Op op,
                  const __grid_constant__ body::RegionList<T...> arrays) {
    for_each_block<body::update_elems<T...>>(table, [&](const body::DevicePiece& piece,
                                                        const body::BlockRows& rows, std::int64_t local_block,
                                                        int thread, int team) {
        const auto of = op.block(local_block); // before its first thread finishes the block
        arrays.with_pieces(piece.entry, [&](T*... pieces) {
            const std::int64_t start = rows.first - piece.entry.first;
            Largest<Op::num_largest> largest;
            body::measure_block(piece.grid, rows, thread, team, of, largest,
                                static_cast<const T*>(pieces + start)...);
            RAGGED_UNROLL
            for (int i = 0; i < Op::num_largest; ++i)
                largest.bits[i] = largest_of_team(largest.bits[i], team);
            body::update_block(piece.grid, rows, thread, team, of.update(largest), pieces + start...);
            if (thread == 0)
                op.finish(local_block, largest);
        });
    });
}

} // namespace ragged::kernel
