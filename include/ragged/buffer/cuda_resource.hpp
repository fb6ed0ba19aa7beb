// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Device memory from a pool of CUDA, in the order of a stream: memory given back is handed out again without
// a call to the driver, and without a wait.
//
//     ragged::OwnedCudaStream stream(0);
//     ragged::CudaPoolResource memory(stream);
//     ragged::DBuffer<ragged::bf16, Mesh> weights(plan, place, memory);
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/core/cuda_stream.hpp>

namespace ragged {

/// A memory_resource with a pool of its own, from which nothing returns to the driver while it lives. Memory
/// is ready for work on its stream, and is given back when the work enqueued there so far is done: order
/// other streams with wait_for. Nothing synchronises but the destructor, which waits for the stream. Not
/// movable: buffers point to it.
class CudaPoolResource {
  public:
    /// @throws CudaError  the device has no memory pools
    explicit CudaPoolResource(CudaStream stream)
        : stream_(stream) {
        cudaMemPoolProps properties{};
        properties.allocType = cudaMemAllocationTypePinned;
        properties.location.type = cudaMemLocationTypeDevice;
        properties.location.id = stream.device();
        check(cudaMemPoolCreate(&pool_, &properties), "creating a memory pool");
        std::uint64_t keep_all = UINT64_MAX;
        const cudaError_t status = cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all);
        if (status != cudaSuccess)
            static_cast<void>(cudaMemPoolDestroy(pool_));
        check(status, "setting up a memory pool");
    }
    CudaPoolResource(const CudaPoolResource&) = delete;
    CudaPoolResource& operator=(const CudaPoolResource&) = delete;
    /// @pre every allocation was given back
    ~CudaPoolResource() {
        static_cast<void>(cudaStreamSynchronize(stream_.native()));
        static_cast<void>(cudaMemPoolDestroy(pool_));
    }

    const CudaStream& stream() const noexcept { return stream_; }
    MemorySpace space() const noexcept { return MemorySpace::of_device(stream_.device()); }

    /// @throws BufferError  out of memory, with the bytes asked for and the bytes free on the device
    /// @throws CudaError    any other failure
    void* allocate(std::size_t bytes) {
        void* pointer = take(rounded(bytes));
        if (misalignment(pointer) == 0)
            return pointer;
        deallocate(pointer, bytes);
        pointer = take(rounded(bytes) + buffer_alignment);
        void* const aligned = static_cast<std::byte*>(pointer) + buffer_alignment - misalignment(pointer);
        try {
            taken_.emplace(aligned, pointer);
        } catch (...) {
            deallocate(pointer, bytes);
            throw;
        }
        return aligned;
    }
    void zero(void* pointer, std::size_t bytes) {
        check(cudaMemsetAsync(pointer, 0, bytes, stream_.native()), "zeroing device memory");
    }
    void deallocate(void* pointer, std::size_t) noexcept {
        if (const auto found = taken_.find(pointer); found != taken_.end()) {
            pointer = found->second;
            taken_.erase(found);
        }
        static_cast<void>(cudaFreeAsync(pointer, stream_.native()));
    }

  private:
    /// Pools promise an alignment of some hundred bytes. They cut pages of 2 MiB into what they are asked
    /// for, so multiples of buffer_alignment keep to it; should one not, there is room to move up.
    static constexpr std::size_t rounded(std::size_t bytes) {
        return (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
    }
    static std::size_t misalignment(const void* pointer) {
        return reinterpret_cast<std::uintptr_t>(pointer) % buffer_alignment;
    }

    void* take(std::size_t bytes) {
        void* pointer = nullptr;
        const cudaError_t status = cudaMallocFromPoolAsync(&pointer, bytes, pool_, stream_.native());
        if (status == cudaErrorMemoryAllocation) {
            static_cast<void>(cudaGetLastError());
            const CudaDeviceGuard guard(stream_.device());
            std::size_t free = 0, total = 0;
            check(cudaMemGetInfo(&free, &total), "asking for free memory");
            throw BufferError(concat("out of memory of device ", stream_.device(), ": ", bytes,
                                     " bytes asked for, ", free, " free"));
        }
        check(status, "allocating device memory");
        return pointer;
    }

    CudaStream stream_;
    cudaMemPool_t pool_ = nullptr;
    std::map<void*, void*> taken_; // where memory that was moved up starts
};

static_assert(memory_resource<CudaPoolResource>);

} // namespace ragged
