// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Device memory that NCCL can share between ranks: what a symmetric window needs. For an arena, taken once.
//
//     ragged::NcclResource resource(stream);
//     ragged::Memory arena(resource, bytes);
//     const auto registered = ragged::register_memory(world, arena.data(), arena.bytes());
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/comm/nccl_api.hpp>

namespace ragged {

/// Memory of ncclMemAlloc on the stream's device. Allocation and release synchronise with the device. Free it
/// after its registrations.
class NcclResource {
  public:
    /// @param stream  zeroes memory; outlives the resource
    explicit NcclResource(CudaStream stream)
        : stream_(stream) {}

    MemorySpace space() const { return MemorySpace::of_device(stream_.device()); }

    /// @throws BufferError  out of memory, with the bytes asked for, or NCCL's memory is not aligned
    void* allocate(std::size_t bytes) {
        const CudaDeviceGuard there(stream_.device());
        void* pointer = nullptr;
        require(NcclApi::of(ncclMemAlloc(&pointer, bytes)),
                concat("out of device memory: ", bytes, " bytes"));
        if (reinterpret_cast<std::uintptr_t>(pointer) % buffer_alignment != 0) {
            deallocate(pointer, bytes);
            throw BufferError(
                concat("ncclMemAlloc: ", bytes, " bytes are not aligned to ", buffer_alignment));
        }
        return pointer;
    }
    /// Blocks until it is done, as other streams may use the memory next. @throws CudaError
    void zero(void* pointer, std::size_t bytes) {
        check(cudaMemsetAsync(pointer, 0, bytes, stream_.native()), "zeroing memory of NCCL");
        stream_.synchronise();
    }
    void deallocate(void* pointer, std::size_t) noexcept {
        try {
            const CudaDeviceGuard there(stream_.device());
            static_cast<void>(ncclMemFree(pointer));
        } catch (const CudaError&) { // the device is gone, and its memory with it
        }
    }

  private:
    static void require(NcclStatus status, const std::string& what) {
        if (!status.ok())
            throw BufferError(concat(what, ": ", NcclApi::text(status)));
    }

    CudaStream stream_;
};

static_assert(memory_resource<NcclResource>);

} // namespace ragged
