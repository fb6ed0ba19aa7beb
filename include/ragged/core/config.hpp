// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The only header with compiler or platform conditions: what a host compiler and nvcc must be told apart for.
#pragma once

#include <cstddef>
#include <cstdint>

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

namespace detail {

/// Three steps of Newton's method for 1 / root, then one that rounds: exact for every float, as its test
/// shows. Without branches, so that loops vectorise; the few small numbers and infinity go by their bits.
inline float square_root_by_fma(float x) noexcept {
    const std::uint32_t bits = bit_cast<std::uint32_t>(x);
    const std::uint32_t small = bits < 0x10000000u ? 1u : 0u; // the last remainder would be subnormal
    const float scaled = x * bit_cast<float>((127u + 64u * small) << 23);
    const float half = 0.5f * scaled;
    const auto closer = [half](float y) {
        return fused_multiply_add(y, fused_multiply_add(-half * y, y, 0.5f), y);
    };
    const float guess = bit_cast<float>(0x5f3759dfu - (bit_cast<std::uint32_t>(scaled) >> 1));
    const float inverse = closer(closer(closer(guess)));
    const float root = scaled * inverse;
    const float remainder = fused_multiply_add(-root, root, scaled);
    const float rounded =
        fused_multiply_add(remainder, 0.5f * inverse, root) * bit_cast<float>((127u - 32u * small) << 23);
    const std::uint32_t keep = bits >= 0x7f800000u ? ~0u : 0u;
    return bit_cast<float>((bits & keep) | (bit_cast<std::uint32_t>(rounded) & ~keep));
}

} // namespace detail

/// The square root, rounded to nearest. sqrtf may set errno, and GCC leaves a loop with it scalar: measured,
/// a factor of 2 in AdamW from memory; so hosts that can fuse compute it without. @pre x is +0, positive or a
/// NaN
RAGGED_HOST_DEVICE inline float square_root(float x) noexcept {
#if defined(__CUDA_ARCH__)
    return __fsqrt_rn(x);
#elif defined(__FMA__) || defined(__FP_FAST_FMAF)
    return detail::square_root_by_fma(x);
#else
    return __builtin_sqrtf(x);
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
