// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Storage types for the small floats, usable without CUDA, in constant expressions and in device code.
// Conversions round to nearest even and give the bits of the CUDA headers: every NaN becomes the canonical
// one (0x7fff, fp8 0x7f), and fp8 saturates to its largest finite value, infinities included.
//
//     ragged::bf16 x{1.5f};        float y = float(x);        // arithmetic happens in float
#pragma once

#include <cstdint>

#include <ragged/core/config.hpp>

namespace ragged {

namespace detail {

/// Round the magnitude of a finite float to `MantissaBits` with exponent bias `Bias`, ties to even.
/// The result counts through the target's codes, so a carry moves into the exponent by itself; the caller
/// compares it with its largest finite code.
template <int MantissaBits, int Bias>
RAGGED_HOST_DEVICE constexpr std::uint32_t round_magnitude(std::uint32_t magnitude) {
    constexpr int dropped = 23 - MantissaBits;
    constexpr std::uint32_t smallest_normal = static_cast<std::uint32_t>(127 - Bias + 1) << 23;
    if (magnitude >= smallest_normal) {
        const std::uint32_t rebased = magnitude - (static_cast<std::uint32_t>(127 - Bias) << 23);
        const std::uint32_t odd = (rebased >> dropped) & 1u;
        return (rebased + ((1u << (dropped - 1)) - 1u) + odd) >> dropped;
    }
    // Subnormal in the target: shift the full significand to the target's fixed point.
    const int exponent = static_cast<int>(magnitude >> 23);
    const int shift = (127 - Bias + 1) - exponent + dropped;
    if (exponent == 0 || shift > 25)
        return 0; // below half of the smallest subnormal
    const std::uint32_t significand = (magnitude & 0x7fffffu) | 0x800000u;
    const std::uint32_t odd = (significand >> shift) & 1u;
    return (significand + ((1u << (shift - 1)) - 1u) + odd) >> shift;
}

/// The float with exponent field `exponent` and mantissa field `mantissa` of the small format.
template <int MantissaBits, int Bias>
RAGGED_HOST_DEVICE constexpr float widen(std::uint32_t exponent, std::uint32_t mantissa, std::uint32_t sign) {
    if (exponent == 0) {
        // mantissa * 2^(1 - Bias - MantissaBits), exact in float for every format here
        const float unit = bit_cast<float>(static_cast<std::uint32_t>(127 + 1 - Bias - MantissaBits) << 23);
        const float value = static_cast<float>(mantissa) * unit;
        return sign != 0 ? -value : value;
    }
    const std::uint32_t rebased = exponent + static_cast<std::uint32_t>(127 - Bias);
    return bit_cast<float>(sign << 31 | rebased << 23 | mantissa << (23 - MantissaBits));
}

} // namespace detail

/// bfloat16: the upper half of a float.
struct bf16 {
    std::uint16_t bits;

    bf16() = default;
    RAGGED_HOST_DEVICE constexpr explicit bf16(float value)
        : bits(encode(value)) {}
    RAGGED_HOST_DEVICE constexpr explicit operator float() const {
        return bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }
    RAGGED_HOST_DEVICE static constexpr bf16 from_bits(std::uint16_t bits) {
        bf16 result{};
        result.bits = bits;
        return result;
    }

  private:
    // One expression without branches, so that loops over it vectorise.
    RAGGED_HOST_DEVICE static constexpr std::uint16_t encode(float value) {
        const std::uint32_t word = bit_cast<std::uint32_t>(value);
        const std::uint32_t rounded = (word + 0x7fffu + ((word >> 16) & 1u)) >> 16;
        return static_cast<std::uint16_t>((word & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : rounded);
    }
};

/// IEEE binary16.
struct f16 {
    std::uint16_t bits;

    f16() = default;
    RAGGED_HOST_DEVICE constexpr explicit f16(float value)
        : bits(encode(value)) {}
    RAGGED_HOST_DEVICE constexpr explicit operator float() const {
        const std::uint32_t sign = bits >> 15u, exponent = bits >> 10u & 0x1fu, mantissa = bits & 0x3ffu;
        if (exponent == 0x1f)
            return bit_cast<float>(mantissa != 0 ? 0x7fffffffu : sign << 31 | 0x7f800000u);
        return detail::widen<10, 15>(exponent, mantissa, sign);
    }
    RAGGED_HOST_DEVICE static constexpr f16 from_bits(std::uint16_t bits) {
        f16 result{};
        result.bits = bits;
        return result;
    }

  private:
    RAGGED_HOST_DEVICE static constexpr std::uint16_t encode(float value) {
        const std::uint32_t word = bit_cast<std::uint32_t>(value), magnitude = word & 0x7fffffffu;
        if (magnitude > 0x7f800000u)
            return 0x7fffu;
        const std::uint32_t code =
            magnitude == 0x7f800000u ? 0x7c00u : detail::round_magnitude<10, 15>(magnitude);
        return static_cast<std::uint16_t>((word >> 16 & 0x8000u) | (code > 0x7c00u ? 0x7c00u : code));
    }
};

/// 8-bit float, 4 exponent and 3 mantissa bits, no infinity (OCP E4M3). Largest finite value 448.
struct f8e4m3 {
    std::uint8_t bits;

    f8e4m3() = default;
    RAGGED_HOST_DEVICE constexpr explicit f8e4m3(float value)
        : bits(encode(value)) {}
    RAGGED_HOST_DEVICE constexpr explicit operator float() const {
        const std::uint32_t sign = bits >> 7u, exponent = bits >> 3u & 0xfu, mantissa = bits & 0x7u;
        if ((bits & 0x7fu) == 0x7fu)
            return bit_cast<float>(0x7fffffffu);
        return detail::widen<3, 7>(exponent, mantissa, sign);
    }
    RAGGED_HOST_DEVICE static constexpr f8e4m3 from_bits(std::uint8_t bits) {
        f8e4m3 result{};
        result.bits = bits;
        return result;
    }

  private:
    RAGGED_HOST_DEVICE static constexpr std::uint8_t encode(float value) {
        const std::uint32_t word = bit_cast<std::uint32_t>(value), magnitude = word & 0x7fffffffu;
        if (magnitude > 0x7f800000u)
            return 0x7fu;
        const std::uint32_t code =
            magnitude == 0x7f800000u ? 0x7eu : detail::round_magnitude<3, 7>(magnitude);
        return static_cast<std::uint8_t>((word >> 24 & 0x80u) | (code > 0x7eu ? 0x7eu : code));
    }
};

/// 8-bit float, 5 exponent and 2 mantissa bits (OCP E5M2). Largest finite value 57344; conversion saturates.
struct f8e5m2 {
    std::uint8_t bits;

    f8e5m2() = default;
    RAGGED_HOST_DEVICE constexpr explicit f8e5m2(float value)
        : bits(encode(value)) {}
    RAGGED_HOST_DEVICE constexpr explicit operator float() const {
        const std::uint32_t sign = bits >> 7u, exponent = bits >> 2u & 0x1fu, mantissa = bits & 0x3u;
        if (exponent == 0x1f)
            return bit_cast<float>(mantissa != 0 ? 0x7fffffffu : sign << 31 | 0x7f800000u);
        return detail::widen<2, 15>(exponent, mantissa, sign);
    }
    RAGGED_HOST_DEVICE static constexpr f8e5m2 from_bits(std::uint8_t bits) {
        f8e5m2 result{};
        result.bits = bits;
        return result;
    }

  private:
    RAGGED_HOST_DEVICE static constexpr std::uint8_t encode(float value) {
        const std::uint32_t word = bit_cast<std::uint32_t>(value), magnitude = word & 0x7fffffffu;
        if (magnitude > 0x7f800000u)
            return 0x7fu;
        const std::uint32_t code =
            magnitude == 0x7f800000u ? 0x7bu : detail::round_magnitude<2, 15>(magnitude);
        return static_cast<std::uint8_t>((word >> 24 & 0x80u) | (code > 0x7bu ? 0x7bu : code));
    }
};

} // namespace ragged
