// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs group operations on a CUDA stream: each is one launch per segment, or one per group where it walks a
// table; reductions take two per segment. None of them allocates, waits, or looks at a value of the
// device, so they may be captured into a graph. For units that nvcc compiles.
//
//     ragged::CudaExecutor executor(stream, memory);
//     ragged::cast(master, weights, 1.0, executor);
#pragma once

#include <algorithm> // std::min, std::max
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include <ragged/group/cuda_kernels.cuh>
#include <ragged/group/executor.hpp>

namespace ragged {

/// See group_executor for what each member does. All but run_table and fetch enqueue on the stream and
/// return. The first launch of a kernel loads it: run a step once before it is captured. Holds the workspace
/// of its reductions: one executor per stream. Movable.
/// @throws CudaError from every member: a launch was refused
class CudaExecutor {
  public:
    using table_type = CudaPieceTable;
    using run_table_type = CudaRunTable;

    /// @param resource  of the stream's device, outlives the executor: 64 KiB are taken from it
    /// @throws BufferError  a resource of another space
    template <memory_resource R>
    CudaExecutor(const CudaStream& stream, R& resource)
        : stream_(stream) {
        if (resource.space() != space())
            throw BufferError(
                concat("an executor in ", to_string(space()), " is given ", to_string(resource.space())));
        workspace_ = Memory(resource, (fold_order::rows + 1) * sizeof(double));
        check(cudaDeviceGetAttribute(&processors_, cudaDevAttrMultiProcessorCount, stream.device()),
              "asking for the size of a device");
    }

    const CudaStream& stream() const noexcept { return stream_; }
    MemorySpace space() const noexcept { return MemorySpace::of_device(stream_.device()); }

    void zero(void* to, std::size_t bytes) const {
        check(cudaMemsetAsync(to, 0, bytes, stream_.native()), "zero");
    }
    void copy(void* to, const void* from, std::size_t bytes) const {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_.native()), "copy");
    }

    template <class Op, class Out, class... In>
    void map(const Op& op, Values<Out> out, const In*... in) const {
        const auto kernel = kernel::map<Op, Out, In...>;
        static const int blocks_at_once = processors_ * resident_blocks(kernel, kernel::flat_threads);
        launch("a flat operation", kernel, flat_blocks<Out, In...>(out.count, blocks_at_once),
               kernel::flat_threads, op, out.data, out.count, in...);
    }
    template <class Op, class... T>
    void update(const Op& op, std::int64_t count, T*... arrays) const {
        const auto kernel = kernel::update<Op, T...>;
        static const int blocks_at_once = processors_ * resident_blocks(kernel, kernel::flat_threads);
        launch("an update", kernel, flat_blocks<T...>(count, blocks_at_once), kernel::flat_threads, op, count,
               arrays...);
    }

    template <class Op, class Values, class Result>
    void reduce(const Op& op, std::int64_t num_segments, const Values& values, Result* result) const {
        using Value = typename Op::value_type;
        static_assert(sizeof(Value) <= sizeof(double), "ragged: values of a reduction have up to 8 bytes");
        Value* const rows = static_cast<Value*>(workspace_.data());
        Value* const total = rows + fold_order::rows;
        if (num_segments == 0)
            launch("a reduction", kernel::fold_total<Op, Result>, 1, kernel::fold_threads, op, rows, 0, true,
                   total, result);
        for (std::int64_t segment = 0; segment < num_segments; ++segment) {
            fold_rows(op, values(segment), rows);
            const int num_rows = fold_order::num_rows(values(segment).count);
            launch("a reduction", kernel::fold_total<Op, Result>, 1, kernel::fold_threads, op, rows, num_rows,
                   segment == 0, total, segment + 1 == num_segments ? result : nullptr);
        }
    }

    template <class ValuesOf>
    void exact_sum_of_squares(std::int64_t num_segments, const ValuesOf& values_of, double* digits) const {
        std::int64_t* const rows = static_cast<std::int64_t*>(workspace_.data());
        static_assert(body::exact_rows * exact_sum::num_digits <= fold_order::rows);
        for (std::int64_t segment = 0; segment < num_segments; ++segment)
            exact_sum_of(values_of(segment), rows, digits);
    }

    /// Blocks the host. Not for what is captured.
    void fetch(void* to, const void* from, std::size_t bytes) const {
        check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream_.native()), "fetch");
        stream_.synchronise();
    }

    template <class T>
    void fill(const CudaPieceTable& table, const Regions<T>& to, T value) const {
        run_blocks("fill", table, body::FillBlocks<T>{to, value});
    }
    template <class T>
    void absmax(const CudaPieceTable& table, const Regions<const T>& in, float* largest) const {
        run_blocks("absmax of blocks", table, body::AbsMaxBlocks<T>{in, largest});
    }
    template <class T, class Code>
    void quantize(const CudaPieceTable& table, const Regions<const T>& in, const Regions<Code>& out,
                  float* scales) const {
        run_blocks("quantize", table, body::QuantizeBlocks<T, Code>{in, out, scales});
    }
    template <class Code, class T>
    void dequantize(const CudaPieceTable& table, const Regions<const Code>& in, const float* scales,
                    const Regions<T>& out) const {
        run_blocks("dequantize", table, body::DequantizeBlocks<Code, T>{in, scales, out});
    }

    template <class Op, class... T>
    void update_blocks(const Op& op, const CudaPieceTable& table, const Regions<T>&... arrays) const {
        require(table);
        launch("an update of blocks", kernel::update_blocks<Op, T...>, table.device().num_tasks,
               body::task_threads, table.device(), op, body::RegionList<T...>::of(arrays...));
    }

    template <class Op, class T, class Result>
    void reduce_per_tensor(const Op& op, const CudaPieceTable& table, const Regions<const T>& in,
                           Result* results) const {
        static_assert(sizeof(typename Op::value_type) <= sizeof(double),
                      "ragged: values of a reduction have up to 8 bytes");
        require(table);
        launch("a reduction per tensor", kernel::fold_piece_rows<Op, T>,
               blocks_of_rows<T>(table.device().num_rows), kernel::row_threads, op, table.device(), in);
        launch("a reduction per tensor", kernel::fold_pieces<Op, Result>, table.num_tensors(),
               kernel::fold_threads, op, table.device(), results);
    }

    /// Blocks the host until the pieces are on the device.
    /// @param resource  ready for work on the stream
    /// @throws PlanError, BufferError  see CudaPieceTable
    template <class PlanType, memory_resource R>
    CudaPieceTable piece_table(const PlanType& plan, std::int64_t shard_rank, R& resource) const {
        return CudaPieceTable(plan, shard_rank, resource, stream_);
    }
    /// Blocks the host until the runs are on the device.
    /// @param resource  ready for work on the stream
    /// @throws BufferError  see CudaRunTable
    template <memory_resource R>
    CudaRunTable run_table(std::span<const CopyRun> runs, R& resource) const {
        return CudaRunTable(runs, resource, stream_);
    }
    template <class T>
    void copy_runs(const CudaRunTable& table, T* to, const T* from) const {
        require(table);
        const CudaRunTable::View& view = table.device();
        const int team = body::run_team<T>(view.elements, view.num_runs);
        const std::int64_t shares = ceil_div(view.elements, body::share_elems<T>(team));
        launch("copying runs", kernel::copy_runs<sizeof(T)>, ceil_div(shares, kernel::run_threads / team),
               kernel::run_threads, view, team, to, from);
    }

  private:
    /// Thread blocks of a flat operation: one grid at most, a pack per thread where that is less.
    template <class... T>
    static std::int64_t flat_blocks(std::int64_t count, int blocks_at_once) {
        return std::min<std::int64_t>(ceil_div(ceil_div(count, body::pack_elems<T...>), kernel::flat_threads),
                                      blocks_at_once);
    }

    template <class Op, class T>
    void fold_rows(const Op& op, Values<const T> in, typename Op::value_type* rows) const {
        launch("a reduction", kernel::fold_rows<Op, T>, blocks_of_rows<T>(fold_order::num_rows(in.count)),
               kernel::row_threads, op, in.data, in.count, rows);
    }

    template <class T>
    void exact_sum_of(Values<const T> in, std::int64_t* rows, double* digits) const {
        if (in.count == 0)
            return;
        const std::int64_t words = ceil_div(in.count, body::Word<T>::elems);
        const auto num_rows =
            static_cast<int>(std::min<std::int64_t>(ceil_div(words, body::exact_threads), body::exact_rows));
        launch("an exact sum", kernel::exact_rows<T>, num_rows, body::exact_threads, in.data, in.count, rows);
        launch("an exact sum", kernel::exact_total<std::int64_t>, 1, kernel::exact_total_threads, rows,
               num_rows, digits);
    }

    template <class T>
    static std::int64_t blocks_of_rows(std::int64_t rows) {
        return ceil_div(rows * body::team_threads<T>, kernel::row_threads);
    }

    void require(const CudaPieceTable& table) const {
        if (table.space() != space())
            throw BufferError(concat("group '", table.group_name(), "': the piece table is in ",
                                     to_string(table.space()), ", the executor works in ",
                                     to_string(space())));
    }

    void require(const CudaRunTable& table) const {
        if (table.space() != space())
            throw BufferError(concat("the run table is in ", to_string(table.space()),
                                     ", the executor works in ", to_string(space())));
    }

    template <class BlockOp>
    void run_blocks(std::string_view what, const CudaPieceTable& table, const BlockOp& op) const {
        require(table);
        launch(what, kernel::blocks<BlockOp>, table.device().num_tasks, body::task_threads, table.device(),
               op);
    }

    /// Thread blocks of a kernel that a processor holds at once.
    template <class Kernel>
    int resident_blocks(Kernel kernel, int threads) const {
        const CudaDeviceGuard guard(stream_.device());
        int count = 0;
        check(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, threads, 0), "sizing a launch");
        return std::max(count, 1);
    }

    template <class... Parameters, class... Arguments>
    void launch(std::string_view what, void (*kernel)(Parameters...), std::int64_t blocks, int threads,
                const Arguments&... arguments) const {
        if (blocks == 0)
            return;
        if (blocks > std::numeric_limits<int>::max())
            throw BufferError(concat(what, " over ", blocks, " thread blocks: a launch has up to ",
                                     std::numeric_limits<int>::max()));
        const CudaDeviceGuard guard(stream_.device());
        kernel<<<static_cast<unsigned>(blocks), static_cast<unsigned>(threads), 0, stream_.native()>>>(
            arguments...);
        check_launch(what);
    }

    CudaStream stream_;
    Memory workspace_;
    int processors_ = 0;
};

static_assert(group_executor<CudaExecutor>);

} // namespace ragged
