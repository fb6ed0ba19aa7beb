// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The 8-bit code of optimizer state: magnitudes of up to 1 with an exponent that takes the more bits of the
// code the smaller it is. Counted down from 1, the first four octaves have 32 values each (16 where a bit is
// the sign), the next four have half as many, and so on down to 4 values in four octaves; then come two
// more, two octaves apart each, and zero.
//
//     u8:  1, 63/64, 62/64 ... 1/2 ... 1/16,  ...  2^-21, 2^-22, 2^-23, 2^-24, 2^-26, 2^-28, 0
//     i8:  1, 31/32, 30/32 ... 1/2 ... 1/16,  ...  2^-17, 2^-18, 2^-19, 2^-20, 2^-22, 2^-24, 0, and negated
//
// Code + 1, written as a float, says where it lies: four times its exponent is that of the value. So both
// ways take a few integer operations and no table, and loops over them vectorise.
#pragma once

#include <concepts>
#include <cstdint>

#include <ragged/core/config.hpp>

namespace ragged {

/// Codes of std::int8_t have a sign, for first moments; those of std::uint8_t have none, for second moments.
/// Code 0 is zero, the order of codes is that of values, and +-1 are the largest.
/// @tparam Code  std::int8_t (-128 is not used) or std::uint8_t
template <class Code>
requires(std::same_as<Code, std::int8_t> || std::same_as<Code, std::uint8_t>) struct DynamicCode {
    static constexpr bool has_sign = std::same_as<Code, std::int8_t>;
    static constexpr int bits = has_sign ? 7 : 8; // of a magnitude

    RAGGED_HOST_DEVICE static float decode(Code code) {
        const int wide = code;
        const int magnitude = wide < 0 ? -wide : wide;
        const std::uint32_t place = bit_cast<std::uint32_t>(static_cast<float>(magnitude + 1));
        const std::uint32_t value = ((place - one) << 2) + smallest_exponent;
        return bit_cast<float>(value * (1 - is_below(static_cast<std::uint32_t>(magnitude), 1)) |
                               (wide < 0 ? 0x80000000u : 0u));
    }

    /// The nearest code; the larger magnitude where two are as near, and where |x| is above 1 the largest.
    /// Without a sign zero alone takes code 0: what is divided by the root of a second moment would be
    /// thrown far off if that were rounded down to zero.
    /// @pre x is not a NaN; not below 0 where codes have no sign
    RAGGED_HOST_DEVICE static Code encode(float x) {
        const std::uint32_t word = bit_cast<std::uint32_t>(x), magnitude = word & 0x7fffffffu;
        const std::uint32_t value = magnitude < one ? magnitude : one, is_low = is_below(value, low);
        // the place among the codes as a float with a fraction, linear between neighbours in an octave
        const std::uint32_t lifted = value + (low - value) * is_low;
        const float place = bit_cast<float>(((lifted - smallest_exponent) >> 2) + one);
        const auto in_octave = static_cast<std::uint32_t>(static_cast<int>(place + 0.5f) - 1); // 3 if low
        const std::uint32_t less = is_below(value, first) + is_below(value, second) + is_below(value, third);
        const std::uint32_t code = in_octave - less, negative = has_sign ? 0u - (word >> 31) : 0u;
        return static_cast<Code>((code ^ negative) - negative);
    }

  private:
    /// 1 or 0. By arithmetic, of which compilers do not make branches: so loops vectorise.
    /// @pre both are below 2^31
    RAGGED_HOST_DEVICE static constexpr std::uint32_t is_below(std::uint32_t a, std::uint32_t b) {
        return (a - b) >> 31;
    }

    static constexpr std::uint32_t one = 127u << 23; // bits of 1.0f
    static constexpr std::uint32_t smallest_exponent = (127u - 4 * bits) << 23;
    /// Bits of m * 2^(exponent - 4 * bits).
    static constexpr std::uint32_t at(float m, std::uint32_t exponent) {
        return bit_cast<std::uint32_t>(m) + smallest_exponent - one + (exponent << 23);
    }
    // Codes 1, 2 and 3 are 2^4, 2^6 and 2^8 in units of 2^(-4 * bits): from here on down the codes are more
    // than an octave apart, and halfway between two is no longer halfway between their places.
    static constexpr std::uint32_t low = at(1.0f, 8), third = at(1.25f, 7), second = at(1.25f, 5);
    static constexpr std::uint32_t first = has_sign ? at(1.0f, 3) : 1u;
};

} // namespace ragged
