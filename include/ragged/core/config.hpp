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

// Before a loop over an array that must live in registers on a device, and before one that takes few steps
// there. Hosts decide for themselves.
#if defined(__CUDA_ARCH__)
#define RAGGED_UNROLL _Pragma("unroll")
#define RAGGED_ROLL _Pragma("unroll 1")
#else
#define RAGGED_UNROLL
#define RAGGED_ROLL
#endif

namespace ragged {

/// Reinterpret the bits of `from`. Unlike std::bit_cast it may be called in device code.
template <class To, class From>
requires(sizeof(To) == sizeof(From)) RAGGED_HOST_DEVICE constexpr To bit_cast(const From& from) noexcept {
    return __builtin_bit_cast(To, from);
}

/// a * b + c, rounded once. What compilers make of the plain formula differs: they fuse it where the machine
/// can, so a baseline build, a build for x86-64-v3 and a device would disagree in the last bit. Said like
/// this, all give the same bits, and loops vectorise from x86-64-v3 on (a baseline x86-64 build pays a
/// library call per element: about 2 ns). No other spelling does: GCC fuses across statements, and nothing in
/// the language stops it.
template <class T>
requires(sizeof(T) == 4 || sizeof(T) == 8) RAGGED_HOST_DEVICE inline T
    fused_multiply_add(T a, T b, T c) noexcept {
#if defined(__CUDA_ARCH__)
    if constexpr (sizeof(T) == 4)
        return __fmaf_rn(a, b, c);
    else
        return __fma_rn(a, b, c);
#else
    if constexpr (sizeof(T) == 4)
        return __builtin_fmaf(a, b, c);
    else
        return __builtin_fma(a, b, c);
#endif
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
