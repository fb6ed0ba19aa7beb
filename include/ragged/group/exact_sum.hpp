// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A sum of squares without rounding: a long number in digits of base 2^32 that holds the square of every
// finite float, and sums of them. What is exact does not depend on an order, so neither the cuts between
// shards, nor the number of ranks, nor the engine that adds them up changes a bit; it is rounded once, last.
//
//     double digits[ragged::exact_sum::num_digits] = {};
//     ragged::exact_sum_of_squares(gradients, digits, executor); // of every group; then all-reduced
//     const double norm = std::sqrt(ragged::exact_sum::rounded(digits));
#pragma once

#include <bit>   // std::countl_zero
#include <cmath> // std::ldexp
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ragged/core/config.hpp>
#include <ragged/spec/dtype.hpp>

namespace ragged::exact_sum {

/// Digit i counts 2^(32 i - 320). The squares of floats lie in [2^-298, 2^256), so 2^60 of them fit.
inline constexpr int num_places = 20;
inline constexpr int lowest_exponent = -320;
/// Doubles that a published sum takes: the digits, all integers in [0, 2^32), then the number of values that
/// are infinite or NaN. Up to 2^20 published sums may be added digit by digit, in any order: doubles hold
/// integers up to 2^53 exactly, so an all-reduce over f64 does.
inline constexpr int num_digits = num_places + 1;

/// A sum under way: num_digits integers, `stride` apart, that may leave their range until they are carried. A
/// device has the columns of its threads side by side.
struct Column {
    std::int64_t* digits;
    int stride = 1;

    RAGGED_HOST_DEVICE constexpr std::int64_t& operator[](int place) const { return digits[place * stride]; }
};

/// sum += value * 2^exponent. Moves a digit by less than |value| / 2 + 2^32: carry before one reaches 2^63.
/// @pre lowest_exponent <= exponent, and the sum fits
RAGGED_HOST_DEVICE constexpr void add(Column sum, std::int64_t value, int exponent) {
    const int place = (exponent - lowest_exponent) / 32, shift = (exponent - lowest_exponent) % 32;
    sum[place] += static_cast<std::uint32_t>(value) << shift; // the upper bits go one place up
    sum[place + 1] += value >> (32 - shift);
}

/// sum += x * x. Moves a digit by less than 2^47.
template <element T>
RAGGED_HOST_DEVICE constexpr void add_square(Column sum, T x) {
    static_assert(!std::is_same_v<T, double>,
                  "ragged: an exact sum takes squares of up to 32-bit elements; cast doubles to float first, "
                  "or use sum_of_squares");
    const std::uint32_t magnitude = bit_cast<std::uint32_t>(static_cast<float>(x)) & 0x7fffffffu;
    const int field = static_cast<int>(magnitude >> 23);
    if (field == 255) {
        ++sum[num_places];
        return;
    }
    const std::int64_t significand = (magnitude & 0x7fffffu) | (field != 0 ? 0x800000u : 0u);
    add(sum, significand * significand, 2 * ((field != 0 ? field : 1) - 150));
}

/// Every digit into [0, 2^32); the sum stays.
RAGGED_HOST_DEVICE constexpr void carry(Column sum) {
    RAGGED_ROLL
    for (int place = 0; place + 1 < num_places; ++place) {
        sum[place + 1] += sum[place] >> 32; // rounds down, so what stays is not negative
        sum[place] &= 0xffffffff;
    }
}

/// digits[i] += the digits of the sum, carried. @param digits  [num_digits]
RAGGED_HOST_DEVICE constexpr void publish(Column sum, double* digits) {
    carry(sum);
    RAGGED_ROLL
    for (int place = 0; place < num_digits; ++place)
        digits[place] += static_cast<double>(sum[place]);
}

/// The double nearest to a sum, or to a sum of sums; NaN when a value was infinite or NaN.
/// @param digits  host, [num_digits]
inline double rounded(const double* digits) {
    std::int64_t sum[num_digits];
    for (int place = 0; place < num_digits; ++place)
        sum[place] = static_cast<std::int64_t>(digits[place]);
    if (sum[num_places] != 0)
        return std::numeric_limits<double>::quiet_NaN();
    carry({sum});
    int top = num_places - 1;
    while (top > 0 && sum[top] == 0)
        --top;
    const auto digit = [&](int place) { return place < 0 ? 0 : static_cast<std::uint64_t>(sum[place]); };
    if (digit(top) == 0)
        return 0.0;
    // 64 bits from the first that is set; their last one also stands for all below, too low for a tie
    std::uint64_t leading = digit(top) << 32 | digit(top - 1);
    const int shift = std::countl_zero(leading);
    leading = leading << shift | digit(top - 2) << shift >> 32;
    bool more = (digit(top - 2) << shift & 0xffffffff) != 0;
    for (int place = top - 3; place >= 0; --place)
        more = more || sum[place] != 0;
    return std::ldexp(static_cast<double>(leading | (more ? 1u : 0u)),
                      32 * (top - 1) + lowest_exponent - shift);
}

} // namespace ragged::exact_sum
