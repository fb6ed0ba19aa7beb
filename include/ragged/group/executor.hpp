// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Who runs group operations: a type that works in one memory space. The operations check buffers and tables,
// then hand over plain pointers; the host's and a device's executor run the same ops over them.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/buffer/memory_space.hpp>
#include <ragged/group/operations.hpp>
#include <ragged/group/piece_table.hpp>
#include <ragged/layout/copy_run.hpp>

namespace ragged {

/// Elements in a row: a span that kernels take, and that nvcc can name. (It writes the type of a kernel's
/// arguments back into C++ as it was first spelled, and cannot where that was inside a buffer over named
/// axes.)
template <class T>
struct Values {
    T* data;
    std::int64_t count;
};

/// Where this rank's region of each segment starts. Plain pointers, so that kernels take it by value.
template <class T>
struct Regions {
    /// Plans that split groups use up to 4 segments.
    static constexpr std::int64_t max_segments = 8;

    T* of_segment[max_segments]{};

    RAGGED_HOST_DEVICE constexpr T* piece(const PieceEntry& entry) const {
        return of_segment[entry.segment] + entry.region_offset;
    }
};

// clang-format off
/// All pointers below are into memory of the executor's space; elements, lengths and tables were checked.
///
/// | expression                                  | meaning                                                 |
/// | ------------------------------------------- | ------------------------------------------------------- |
/// | typename E::table_type                      | the piece table that it walks                           |
/// | typename E::run_table_type                  | the runs that it copies, see RunTable                   |
/// | e.space() -> MemorySpace                    | where it works                                          |
/// | e.zero(to, bytes)                           | zero bytes                                              |
/// | e.copy(to, from, bytes)                     | copy bytes                                              |
/// | e.map(op, out, in...)                       | out[i] = op(in[i]...); in may be out                    |
/// | e.update(op, count, arrays...)              | op(array[i]...) on references; arrays do not overlap,   |
/// |                                             | those of const elements are only read. Pointers from    |
/// |                                             | Values, not from spans of a buffer: see there           |
/// | e.reduce(op, n, values, result)             | *result = op over the spans values(0..n), by fold_order |
/// | e.exact_sum_of_squares(n, values, digits)   | digits[] += those of an exact_sum over the same spans   |
/// | e.fetch(to, from, bytes)                    | copy bytes into host memory, behind all earlier work;   |
/// |                                             | blocks until they are there                             |
/// | e.fill(table, to, value)                    | value into every element of every piece                 |
/// | e.reduce_per_tensor(op, table, in, results) | results[tensor] = op over the piece, by fold_order      |
/// | e.absmax(table, in, largest)                | largest[local block] = op::AbsMax over the block        |
/// | e.quantize(table, in, out, scales)          | op::Quantize and block_scale, per local block           |
/// | e.dequantize(table, in, scales, out)        | op::Cast by scales[local block]                         |
/// | e.update_blocks(op, table, arrays...)       | Regions of several arrays, block by block, in two       |
/// |                                             | walks: see block_update.hpp                             |
/// | e.piece_table(plan, shard_rank, resource)   | a table_type, for any resource of the space, which      |
/// |                                             | outlives it as the plan does; may block                 |
/// | e.run_table(runs, resource)                 | a run_table_type, for any resource of the space, which  |
/// |                                             | outlives it; may block                                  |
/// | e.copy_runs(run_table, to, from)            | to[run.to + i] = from[run.from + i] for every run, for  |
/// |                                             | arrays that do not overlap                              |
// clang-format on
template <class E>
concept group_executor = requires(const E& e, const typename E::table_type& table,
                                  const typename E::run_table_type& run_table, std::span<const CopyRun> runs,
                                  const Plan& plan, HostResource& resource, Values<float> values,
                                  float* pointer, const float* constant, double* digits,
                                  const Regions<float>& regions, const Regions<const float>& in,
                                  const Regions<std::int8_t>& codes,
                                  const Regions<const std::int8_t>& code_in, std::size_t bytes,
                                  Values<const float> (*values_of)(std::int64_t)) {
    { e.space() } -> std::same_as<MemorySpace>;
    e.zero(pointer, bytes);
    e.copy(pointer, pointer, bytes);
    e.map(op::Add{}, values, pointer, pointer);
    e.update(op::Add{}, std::int64_t{1}, pointer, constant);
    e.reduce(op::AbsMax{}, std::int64_t{1}, values_of, pointer);
    e.exact_sum_of_squares(std::int64_t{1}, values_of, digits);
    e.fetch(pointer, pointer, bytes);
    e.fill(table, regions, 0.0f);
    e.reduce_per_tensor(op::AbsMax{}, table, in, pointer);
    e.absmax(table, in, pointer);
    e.quantize(table, in, codes, pointer);
    e.dequantize(table, code_in, pointer, regions);
    e.update_blocks(op::Add{}, table, regions, in);
    { e.piece_table(plan, std::int64_t{0}, resource) } -> std::same_as<typename E::table_type>;
    { e.run_table(runs, resource) } -> std::same_as<typename E::run_table_type>;
    e.copy_runs(run_table, pointer, pointer);
};

} // namespace ragged
