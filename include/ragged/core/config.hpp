// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The only header with compiler or platform conditions: what a host compiler and nvcc must be told apart for.
#pragma once

#include <cstddef>

#if defined(__CUDACC__)
#define RAGGED_HOST_DEVICE __host__ __device__
#else
#define RAGGED_HOST_DEVICE
#endif

namespace ragged {

/// Reinterpret the bits of `from`. Unlike std::bit_cast it may be called in device code.
template <class To, class From>
requires(sizeof(To) == sizeof(From)) RAGGED_HOST_DEVICE constexpr To bit_cast(const From& from) noexcept {
    return __builtin_bit_cast(To, from);
}

/// Ask for the cache lines of [from, from + bytes) a little further on. A loop that also computes looks too
/// short a way ahead for the hardware to keep memory busy: measured, this is worth up to a factor of 3. Host;
/// never faults.
inline void prefetch_ahead(const void* from, std::size_t bytes) noexcept {
    constexpr std::size_t distance = 2048, line = 64;
    for (std::size_t at = 0; at < bytes; at += line)
        __builtin_prefetch(static_cast<const char*>(from) + distance + at);
}

} // namespace ragged
