// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One allocation, handed out in parts: what is registered once with a communication library, or taken once
// for a whole training step. First fit, so the same calls give the same offsets on every rank.
//
//     ragged::Arena arena(upstream, plan_bytes);        // [arena.data(), arena.bytes()) never moves
//     ragged::DBuffer<ragged::bf16, Mesh> weights(plan, place, arena);
#pragma once

#include <algorithm> // std::max
#include <cstddef>
#include <cstdint>
#include <iterator> // std::prev
#include <map>

#include <ragged/buffer/memory_resource.hpp>

namespace ragged {

/// A memory_resource over one allocation of another, which outlives it. Parts are rounded up to
/// buffer_alignment. A part given back is handed out again at once: on a device, order the upstream's stream
/// behind the work that uses it first. Not thread-safe. Not movable: buffers point to it.
template <memory_resource Upstream>
class Arena {
  public:
    /// @param capacity  bytes, rounded up to buffer_alignment
    /// @throws what the upstream throws
    Arena(Upstream& upstream, std::size_t capacity)
        : upstream_(upstream)
        , capacity_(rounded(capacity))
        , memory_(upstream, capacity_) {
        if (capacity_ > 0)
            free_.emplace(0, capacity_);
    }
    Arena(const Arena&) = delete;
    Arena& operator=(const Arena&) = delete;

    MemorySpace space() const noexcept { return memory_.space(); }
    void* data() const noexcept { return memory_.data(); }
    std::size_t bytes() const noexcept { return capacity_; }
    std::size_t live_bytes() const noexcept { return live_; }
    /// Bytes from data() to the end of the highest part there ever was.
    std::size_t peak_bytes() const noexcept { return peak_; }

    /// The first gap that is large enough.
    /// @throws BufferError  there is none: with the capacity, the live bytes and the largest gap
    void* allocate(std::size_t bytes) {
        const std::size_t size = rounded(bytes);
        std::size_t largest = 0;
        for (auto gap = free_.begin(); gap != free_.end(); ++gap) {
            const auto [offset, length] = *gap;
            if (size != 0 && length >= size) {
                free_.erase(gap);
                if (length > size)
                    free_.emplace(offset + size, length - size);
                live_ += size;
                peak_ = std::max(peak_, offset + size);
                return static_cast<std::byte*>(memory_.data()) + offset;
            }
            largest = std::max(largest, length);
        }
        throw BufferError(concat("an arena of ", capacity_, " bytes has ", live_, " in use and no gap for ",
                                 bytes, ": its largest is ", largest));
    }
    void zero(void* pointer, std::size_t bytes) { upstream_.zero(pointer, bytes); }
    void deallocate(void* pointer, std::size_t bytes) noexcept {
        std::size_t offset = static_cast<std::size_t>(static_cast<std::byte*>(pointer) -
                                                      static_cast<std::byte*>(memory_.data()));
        std::size_t length = rounded(bytes);
        live_ -= length;
        const auto after = free_.lower_bound(offset);
        if (after != free_.end() && after->first == offset + length) {
            length += after->second;
            free_.erase(after);
        }
        const auto next = free_.lower_bound(offset);
        if (next != free_.begin())
            if (const auto before = std::prev(next); before->first + before->second == offset) {
                before->second += length;
                return;
            }
        free_.emplace_hint(next, offset, length);
    }

  private:
    /// Saturates: what does not fit 64 bits fits no gap.
    static constexpr std::size_t rounded(std::size_t bytes) {
        const std::size_t up = (bytes + buffer_alignment - 1) / buffer_alignment * buffer_alignment;
        return up < bytes ? SIZE_MAX : up;
    }

    Upstream& upstream_;
    std::size_t capacity_;
    Memory memory_;
    std::map<std::size_t, std::size_t> free_; // offset and length of each gap
    std::size_t live_ = 0;
    std::size_t peak_ = 0;
};

static_assert(memory_resource<Arena<HostResource>>);

} // namespace ragged
