// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Where buffers get their memory. A resource hands out memory and can zero it, because padding is zero from
// allocation on; how zeroing is done is a matter of the memory. Also here: the host resource, one that
// counts, and the owner of one allocation.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint> // PTRDIFF_MAX
#include <cstring>
#include <new>
#include <utility>

#include <ragged/buffer/memory_space.hpp>

namespace ragged {

/// Bases of buffers are aligned to a page: registration and windows of communication libraries ask for it.
inline constexpr std::size_t buffer_alignment = 4096;

/// | expression                 | meaning                                                               |
/// | -------------------------- | --------------------------------------------------------------------- |
/// | r.space() -> MemorySpace   | where the memory is                                                   |
/// | r.allocate(bytes) -> void* | `bytes` > 0, aligned to buffer_alignment; throws when there are none  |
/// | r.zero(pointer, bytes)     | fills memory of r with zeros before any later use of it; may throw    |
/// | r.deallocate(pointer, bytes) | gives back what allocate returned; does not throw                   |
template <class R>
concept memory_resource = requires(R& resource, const R& constant, void* pointer, std::size_t bytes) {
    { constant.space() } -> std::same_as<MemorySpace>;
    { resource.allocate(bytes) } -> std::same_as<void*>;
    resource.zero(pointer, bytes);
    { resource.deallocate(pointer, bytes) }
    noexcept;
};

/// Host memory from the C++ runtime. Stateless; thread-safe.
struct HostResource {
    static constexpr MemorySpace space() { return host_space; }
    /// @throws BufferError  out of memory, with the bytes asked for
    void* allocate(std::size_t bytes) {
        void* pointer = nullptr;
        if (bytes <= PTRDIFF_MAX) // more wraps when it is rounded up to the alignment
            pointer = ::operator new (bytes, std::align_val_t{buffer_alignment}, std::nothrow);
        if (pointer == nullptr)
            throw BufferError(concat("out of host memory: ", bytes, " bytes"));
        return pointer;
    }
    void zero(void* pointer, std::size_t bytes) { std::memset(pointer, 0, bytes); }
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

    MemorySpace space() const { return upstream_.space(); }
    void* allocate(std::size_t bytes) {
        void* pointer = upstream_.allocate(bytes);
        ++allocations_;
        live_bytes_ += bytes;
        peak_bytes_ = std::max(peak_bytes_, live_bytes_);
        return pointer;
    }
    void zero(void* pointer, std::size_t bytes) { upstream_.zero(pointer, bytes); }
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

/// Owns one allocation of any resource; the resource outlives it. Or holds memory of somebody else, see
/// adopt. Holds nothing after a move.
class Memory {
  public:
    using Free = void (*)(void* owner, void* pointer, std::size_t bytes) noexcept;

    Memory() = default;

    /// Zeroed memory. @throws what the resource throws; nothing is lost then
    template <memory_resource R>
    Memory(R& resource, std::size_t bytes)
        : space_(resource.space()) {
        if (bytes == 0)
            return;
        Memory taken = adopt(resource.allocate(bytes), bytes, space_, &resource,
                             [](void* owner, void* pointer, std::size_t size) noexcept {
                                 static_cast<R*>(owner)->deallocate(pointer, size);
                             });
        resource.zero(taken.data_, bytes);
        *this = std::move(taken);
    }

    /// Memory that exists: an array of a framework, a tensor of another library. Nothing is copied or zeroed.
    /// @param data  in `space`, [bytes]; a buffer over it asks for the alignment_bytes of its plan
    /// @param free  called once with `owner` in the end; without it, the memory outlives every use of this
    static Memory adopt(void* data, std::size_t bytes, MemorySpace space, void* owner = nullptr,
                        Free free = nullptr) {
        Memory memory;
        memory.data_ = data;
        memory.bytes_ = bytes;
        memory.space_ = space;
        memory.owner_ = owner;
        memory.free_ = free;
        return memory;
    }

    Memory(Memory&& other) noexcept
        : data_(std::exchange(other.data_, nullptr))
        , bytes_(std::exchange(other.bytes_, 0))
        , space_(other.space_)
        , owner_(other.owner_)
        , free_(other.free_) {}
    Memory& operator=(Memory&& other) noexcept {
        Memory taken(std::move(other)); // frees what was here
        std::swap(data_, taken.data_);
        std::swap(bytes_, taken.bytes_);
        std::swap(space_, taken.space_);
        std::swap(owner_, taken.owner_);
        std::swap(free_, taken.free_);
        return *this;
    }
    ~Memory() {
        if (data_ != nullptr && free_ != nullptr)
            free_(owner_, data_, bytes_);
    }

    void* data() const noexcept { return data_; }
    std::size_t bytes() const noexcept { return bytes_; }
    MemorySpace space() const noexcept { return space_; }

  private:
    void* data_ = nullptr;
    std::size_t bytes_ = 0;
    MemorySpace space_;
    void* owner_ = nullptr;
    Free free_ = nullptr;
};

} // namespace ragged
