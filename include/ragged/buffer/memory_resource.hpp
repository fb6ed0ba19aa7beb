// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Where buffers get their memory. A resource hands out zeroed memory, because padding is zero from allocation
// on; how zeroing is done is a matter of the memory. Also here: the host resource, and one that counts.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>

#include <ragged/core/error.hpp>

namespace ragged {

/// Bases of buffers are aligned to a page: registration and windows of communication libraries ask for it.
inline constexpr std::size_t buffer_alignment = 4096;

/// | expression                        | meaning                                                        |
/// | --------------------------------- | -------------------------------------------------------------- |
/// | r.allocate_zeroed(bytes) -> void* | `bytes` > 0 of zeros, aligned to buffer_alignment; may throw   |
/// | r.deallocate(pointer, bytes)      | gives back what allocate_zeroed returned; does not throw       |
template <class R>
concept memory_resource = requires(R& resource, void* pointer, std::size_t bytes) {
    { resource.allocate_zeroed(bytes) } -> std::same_as<void*>;
    { resource.deallocate(pointer, bytes) }
    noexcept;
};

/// Host memory from the C++ runtime. Stateless; thread-safe.
struct HostResource {
    /// @throws BufferError  out of memory, with the bytes asked for
    void* allocate_zeroed(std::size_t bytes) {
        void* pointer = ::operator new (bytes, std::align_val_t{buffer_alignment}, std::nothrow);
        if (pointer == nullptr)
            throw BufferError(concat("out of host memory: ", bytes, " bytes"));
        return std::memset(pointer, 0, bytes);
    }
    void deallocate(void* pointer, std::size_t) noexcept {
        ::operator delete (pointer, std::align_val_t{buffer_alignment});
    }
};

/// Counts what passes through to another resource. Not thread-safe: one per rank.
template <memory_resource Upstream = HostResource>
class CountingResource {
  public:
    explicit CountingResource(Upstream upstream = {})
        : upstream_(std::move(upstream)) {}

    void* allocate_zeroed(std::size_t bytes) {
        void* pointer = upstream_.allocate_zeroed(bytes);
        ++allocations_;
        live_bytes_ += bytes;
        peak_bytes_ = std::max(peak_bytes_, live_bytes_);
        return pointer;
    }
    void deallocate(void* pointer, std::size_t bytes) noexcept {
        upstream_.deallocate(pointer, bytes);
        live_bytes_ -= bytes;
    }

    std::size_t allocations() const noexcept { return allocations_; }
    std::size_t live_bytes() const noexcept { return live_bytes_; }
    std::size_t peak_bytes() const noexcept { return peak_bytes_; }

  private:
    Upstream upstream_;
    std::size_t allocations_ = 0;
    std::size_t live_bytes_ = 0;
    std::size_t peak_bytes_ = 0;
};

static_assert(memory_resource<HostResource>);
static_assert(memory_resource<CountingResource<>>);

/// Owns one allocation of any resource; the resource outlives it. Holds nothing after a move.
class Memory {
  public:
    Memory() = default;

    template <memory_resource R>
    Memory(R& resource, std::size_t bytes)
        : data_(bytes == 0 ? nullptr : resource.allocate_zeroed(bytes))
        , bytes_(bytes)
        , resource_(&resource)
        , free_([](void* from, void* pointer, std::size_t size) noexcept {
            static_cast<R*>(from)->deallocate(pointer, size);
        }) {}

    Memory(Memory&& other) noexcept
        : data_(std::exchange(other.data_, nullptr))
        , bytes_(std::exchange(other.bytes_, 0))
        , resource_(other.resource_)
        , free_(other.free_) {}
    Memory& operator=(Memory&& other) noexcept {
        Memory taken(std::move(other)); // frees what was here
        std::swap(data_, taken.data_);
        std::swap(bytes_, taken.bytes_);
        std::swap(resource_, taken.resource_);
        std::swap(free_, taken.free_);
        return *this;
    }
    ~Memory() {
        if (data_ != nullptr)
            free_(resource_, data_, bytes_);
    }

    void* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
    void* resource_ = nullptr;
    void (*free_)(void*, void*, std::size_t) noexcept = nullptr;
};

} // namespace ragged
