// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A piece table with a copy on a device, for the CUDA executor: made once, then no operation allocates,
// copies or waits.
//
//     ragged::CudaPieceTable table(plan, master.shard_rank(), memory, stream);
//     ragged::absmax_per_block(table, master, largest_on_device, executor);
#pragma once

#include <cstdint>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/core/cuda_stream.hpp>
#include <ragged/group/device_pieces.hpp>
#include <ragged/group/piece_table.hpp>

namespace ragged {

/// The table and a workspace for the operations that reduce per tensor: one operation at a time, in the order
/// of one stream.
class CudaPieceTable : public PieceTable {
  public:
    /// What kernels take: plain pointers into device memory.
    struct View {
        const body::DevicePiece* pieces;
        std::int64_t num_pieces;
        const std::int64_t* piece_of_tensor; // [tensors]; -1 where this rank has none
        std::int64_t num_tasks;
        std::int64_t num_rows;
        void* rows; // [num_rows] values of 8 bytes or less, workspace
    };

    /// The pieces of `shard_rank`. Local. Blocks the host until they are on the device. The plan and the
    /// resource must outlive the table.
    /// @throws PlanError    the rank is not one of the plan's devices
    /// @throws BufferError  the resource is not of the stream's device
    template <class SegmentType, memory_resource R>
    CudaPieceTable(const BasicPlan<SegmentType>& plan, std::int64_t shard_rank, R& resource,
                   const CudaStream& stream)
        : PieceTable(plan, shard_rank)
        , device_(stream.device()) {
        if (resource.space() != space())
            throw BufferError(concat("group '", plan.name, "': a piece table for ", to_string(space()),
                                     " is given ", to_string(resource.space())));
        const body::DevicePieces host(*this);
        const std::size_t piece_bytes = host.pieces.size() * sizeof(body::DevicePiece);
        const std::size_t tensor_bytes = host.piece_of_tensor.size() * sizeof(std::int64_t);
        pieces_ = Memory(resource, piece_bytes);
        tensors_ = Memory(resource, tensor_bytes);
        rows_ = Memory(resource, static_cast<std::size_t>(host.num_rows) * sizeof(double));
        upload(pieces_, host.pieces.data(), piece_bytes, stream);
        upload(tensors_, host.piece_of_tensor.data(), tensor_bytes, stream);
        stream.synchronise();
        view_ = {static_cast<const body::DevicePiece*>(pieces_.data()),
                 static_cast<std::int64_t>(host.pieces.size()),
                 static_cast<const std::int64_t*>(tensors_.data()),
                 host.num_tasks,
                 host.num_rows,
                 rows_.data()};
    }
    template <class SegmentType, memory_resource R>
    CudaPieceTable(const BasicPlan<SegmentType>&&, std::int64_t, R&, const CudaStream&) = delete;

    MemorySpace space() const noexcept { return MemorySpace::of_device(device_); }
    /// Taken from the resource.
    std::int64_t memory_bytes() const noexcept {
        return static_cast<std::int64_t>(pieces_.bytes() + tensors_.bytes() + rows_.bytes());
    }
    const View& device() const noexcept { return view_; }

  private:
    static void upload(const Memory& to, const void* from, std::size_t bytes, const CudaStream& stream) {
        if (bytes > 0)
            check(cudaMemcpyAsync(to.data(), from, bytes, cudaMemcpyHostToDevice, stream.native()),
                  "copying a piece table to its device");
    }

    int device_;
    Memory pieces_;
    Memory tensors_;
    Memory rows_;
    View view_{};
};

} // namespace ragged
