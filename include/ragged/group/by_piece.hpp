// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Group operations that know tensors or blocks: they walk the piece table of this rank's regions. All are
// local; where they run and when they are done is as for the flat operations, and the executor says which
// table it walks. Padding is never touched: it belongs to no piece.
//
//     ragged::PieceTable table(plan, master.shard_rank());
//     std::vector<float> largest(table.num_blocks());
//     ragged::absmax_per_block(table, master, largest);
//     ragged::quantize_per_block(table, master, codes, scales);    // codes: a buffer of f8e4m3, f8e5m2 or i8
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include <ragged/buffer/dbuffer.hpp>
#include <ragged/group/flat.hpp>
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

/// Where the pieces of a buffer are. @throws BufferError when it has more segments than that can say
template <class Access, class Buffer>
Regions<Access> regions_of(const Buffer& buffer) {
    if (buffer.num_segments() > Regions<Access>::max_segments)
        throw BufferError(concat("group '", buffer.plan().name, "' has ", buffer.num_segments(),
                                 " segments, operations on blocks and tensors take ",
                                 Regions<Access>::max_segments));
    Regions<Access> regions;
    for (std::int64_t segment = 0; segment < buffer.num_segments(); ++segment)
        regions.of_segment[segment] = buffer.region(segment).data();
    return regions;
}

} // namespace detail

/// Assign `value` to every element of every tensor in this rank's regions; padding stays zero.
/// @throws BufferError  a table of another plan or rank, or a buffer out of the executor's space (so do all
///         operations here)
template <element T, class Topology, class State, class PlanType, group_executor E = HostExecutor>
void fill(const typename E::table_type& table, DBuffer<T, Topology, State, PlanType>& buffer, T value,
          const E& executor = {}) {
    detail::require_writable<State>();
    detail::require_table(table, buffer);
    detail::require_executor(executor, buffer);
    executor.fill(table, detail::regions_of<T>(buffer), value);
}

/// largest[local block] = max |x| over the block; NaN when the block has one.
/// @param largest  in the executor's space, [table.num_blocks()]; piece p's blocks start at its `local_block`
/// @throws BufferError  another length
template <element T, class Topology, class State, class PlanType, group_executor E = HostExecutor>
void absmax_per_block(const typename E::table_type& table,
                      const DBuffer<T, Topology, State, PlanType>& buffer, std::span<float> largest,
                      const E& executor = {}) {
    detail::require_table(table, buffer);
    detail::require_length(largest.size(), table.num_blocks(), "blocks");
    detail::require_executor(executor, buffer);
    executor.absmax(table, detail::regions_of<const T>(buffer), largest.data());
}

/// results[tensor] = op folded over this rank's piece of the tensor; op.result of zero where the piece is
/// empty.
/// @param op       a reduction of operations.hpp, or one like them
/// @param results  in the executor's space, [table.num_tensors()]
/// @throws BufferError  another length
template <class Op, element T, class Topology, class State, class Result, class PlanType,
          group_executor E = HostExecutor>
void reduce_per_tensor(const Op& op, const typename E::table_type& table,
                       const DBuffer<T, Topology, State, PlanType>& buffer, std::span<Result> results,
                       const E& executor = {}) {
    detail::require_table(table, buffer);
    detail::require_length(results.size(), table.num_tensors(), "tensors");
    detail::require_executor(executor, buffer);
    executor.reduce_per_tensor(op, table, detail::regions_of<const T>(buffer), results.data());
}

/// dst = codes of src, scales[local block] = absmax of the block / largest code; see block_scale for blocks
/// of zeros (scale 1) and blocks that are not finite (scale NaN, codes zero). Padding of dst stays zero.
/// @param scales  in the executor's space, [table.num_blocks()]
/// @throws BufferError  another length, or buffers over different plans
template <floating_element T, code_element Code, class Topology, class From, class To, class PlanType,
          group_executor E = HostExecutor>
void quantize_per_block(const typename E::table_type& table, const DBuffer<T, Topology, From, PlanType>& src,
                        DBuffer<Code, Topology, To, PlanType>& dst, std::span<float> scales,
                        const E& executor = {}) {
    detail::require_writable<To>();
    detail::require_table(table, src);
    detail::require_table(table, dst);
    detail::require_length(scales.size(), table.num_blocks(), "blocks");
    detail::require_executor(executor, src, dst);
    executor.quantize(table, detail::regions_of<const T>(src), detail::regions_of<Code>(dst), scales.data());
}

/// dst = code * scales[local block].
/// @param scales  in the executor's space, [table.num_blocks()]
/// @throws BufferError  another length, or buffers over different plans
template <code_element Code, floating_element T, class Topology, class From, class To, class PlanType,
          group_executor E = HostExecutor>
void dequantize_per_block(const typename E::table_type& table,
                          const DBuffer<Code, Topology, From, PlanType>& src, std::span<const float> scales,
                          DBuffer<T, Topology, To, PlanType>& dst, const E& executor = {}) {
    detail::require_writable<To>();
    detail::require_table(table, src);
    detail::require_table(table, dst);
    detail::require_length(scales.size(), table.num_blocks(), "blocks");
    detail::require_executor(executor, src, dst);
    executor.dequantize(table, detail::regions_of<const Code>(src), scales.data(),
                        detail::regions_of<T>(dst));
}

} // namespace ragged
