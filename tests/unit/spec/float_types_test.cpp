// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The small floats against their definition: a table of every value of the format, and "nearest, ties to the
// even code" looked up in it in double precision. Shares no code with the conversions.
#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include <ragged/spec/float_types.hpp>

namespace {

using ragged::bf16;
using ragged::f16;
using ragged::f8e4m3;
using ragged::f8e5m2;

/// A format by its numbers alone.
template <class T>
struct Format;
template <>
struct Format<bf16> {
    static constexpr int exponent_bits = 8, mantissa_bits = 7;
    static constexpr bool has_infinity = true, saturates = false;
    static constexpr std::uint32_t nan_code = 0x7fff;
};
template <>
struct Format<f16> {
    static constexpr int exponent_bits = 5, mantissa_bits = 10;
    static constexpr bool has_infinity = true, saturates = false;
    static constexpr std::uint32_t nan_code = 0x7fff;
};
template <>
struct Format<f8e4m3> {
    static constexpr int exponent_bits = 4, mantissa_bits = 3;
    static constexpr bool has_infinity = false, saturates = true;
    static constexpr std::uint32_t nan_code = 0x7f;
};
template <>
struct Format<f8e5m2> {
    static constexpr int exponent_bits = 5, mantissa_bits = 2;
    static constexpr bool has_infinity = true, saturates = true;
    static constexpr std::uint32_t nan_code = 0x7f;
};

template <class T>
using Bits = decltype(T::bits);

template <class T>
constexpr std::uint32_t num_positive_codes = 1u << (8 * sizeof(T) - 1);

/// The value of a code without its sign, from the definition of the format; NaN and infinity as such.
template <class T>
double value_of(std::uint32_t code) {
    using F = Format<T>;
    constexpr int bias = (1 << (F::exponent_bits - 1)) - 1;
    const std::uint32_t mantissa = code % (1u << F::mantissa_bits);
    const int exponent = static_cast<int>(code >> F::mantissa_bits);
    const bool top = exponent == (1 << F::exponent_bits) - 1;
    if (F::has_infinity && top)
        return mantissa == 0 ? std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    if (top && mantissa == (1u << F::mantissa_bits) - 1)
        return std::numeric_limits<double>::quiet_NaN();
    const double significand = std::ldexp(mantissa, -F::mantissa_bits) + (exponent == 0 ? 0.0 : 1.0);
    return std::ldexp(significand, (exponent == 0 ? 1 : exponent) - bias);
}

/// All finite values of a format that are not negative, rising; the index is the code.
template <class T>
std::vector<double> finite_values() {
    std::vector<double> values;
    for (std::uint32_t code = 0; code < num_positive_codes<T> && std::isfinite(value_of<T>(code)); ++code)
        values.push_back(value_of<T>(code));
    return values;
}

template <class T>
T from_code(std::uint32_t code) {
    return T::from_bits(static_cast<Bits<T>>(code));
}

std::uint32_t word_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}

/// Rounds magnitudes that are given in rising order: nearest value, ties to the even code; beyond the last
/// value as if the values went on, then infinity or the last value.
template <class T>
class Rounder {
  public:
    std::uint32_t code_of(float magnitude) {
        const double x = static_cast<double>(magnitude);
        while (below_ + 1 < values_.size() && values_[below_ + 1] <= x)
            ++below_;
        const double lower = values_[below_];
        const bool is_last = below_ + 1 == values_.size();
        const double upper =
            is_last ? 2 * lower - values_[below_ - 1] : values_[below_ + 1]; // [the next if it existed]
        const double to_lower = x - lower, to_upper = upper - x;
        const std::size_t nearest =
            to_lower < to_upper || (to_lower == to_upper && below_ % 2 == 0) ? below_ : below_ + 1;
        if (nearest < values_.size())
            return static_cast<std::uint32_t>(nearest);
        return static_cast<std::uint32_t>(Format<T>::saturates ? values_.size() - 1 : values_.size());
    }

  private:
    std::vector<double> values_ = finite_values<T>();
    std::size_t below_ = 0;
};

/// Counts disagreements and keeps the first; a doctest assertion per float would take minutes.
struct Disagreements {
    std::uint64_t checked = 0, wrong = 0;
    std::uint32_t first_input = 0, first_found = 0, first_expected = 0;

    void compare(std::uint32_t input, std::uint32_t found, std::uint32_t expected) {
        ++checked;
        if (found == expected)
            return;
        if (wrong++ == 0)
            first_input = input, first_found = found, first_expected = expected;
    }
    void report() const {
        CAPTURE(first_input);
        CAPTURE(first_found);
        CAPTURE(first_expected);
        CHECK(checked > 0);
        CHECK(wrong == 0);
    }
};

/// Compare both signs of one float.
template <class T>
void compare_encoding(Disagreements& seen, float magnitude, std::uint32_t expected) {
    const std::uint32_t sign = num_positive_codes<T>;
    seen.compare(word_of(magnitude), T(magnitude).bits, expected);
    seen.compare(word_of(-magnitude), T(-magnitude).bits, expected | sign);
}

} // namespace

TEST_CASE_TEMPLATE("a small float is its bits and nothing else", T, bf16, f16, f8e4m3, f8e5m2) {
    static_assert(std::is_trivial_v<T> && std::is_standard_layout_v<T>);
    static_assert(sizeof(T) == sizeof(T::bits) && alignof(T) == sizeof(T));
    static_assert(std::is_constructible_v<T, float> && !std::is_convertible_v<float, T>);
    static_assert(std::is_constructible_v<float, T> && !std::is_convertible_v<T, float>);
    for (std::uint32_t code = 0; code < 2 * num_positive_codes<T>; ++code)
        if (from_code<T>(code).bits != code)
            FAIL_CHECK("code ", code, " became ", from_code<T>(code).bits);
}

TEST_CASE_TEMPLATE("every code decodes to the value that the format defines", T, bf16, f16, f8e4m3, f8e5m2) {
    Disagreements seen;
    for (std::uint32_t code = 0; code < num_positive_codes<T>; ++code) {
        const double value = value_of<T>(code);
        if (std::isnan(value))
            continue;
        const auto expected = static_cast<float>(value);
        REQUIRE(static_cast<double>(expected) == value);
        seen.compare(code, word_of(float(from_code<T>(code))), word_of(expected));
        const std::uint32_t negative = code | num_positive_codes<T>;
        seen.compare(negative, word_of(float(from_code<T>(negative))), word_of(-expected));
    }
    seen.report();
}

TEST_CASE_TEMPLATE("every NaN code decodes to a NaN", T, bf16, f16, f8e4m3, f8e5m2) {
    std::uint32_t found = 0;
    for (std::uint32_t code = 0; code < 2 * num_positive_codes<T>; ++code) {
        const bool expected = std::isnan(value_of<T>(code % num_positive_codes<T>));
        const float value = float(from_code<T>(code));
        if (std::isnan(value) != expected)
            FAIL_CHECK("code ", code);
        found += expected ? 1 : 0;
        // bf16 is the upper half of a float, payload and all; the others have one NaN.
        if (expected && std::is_same_v<T, bf16>)
            CHECK(word_of(value) == code << 16);
        else if (expected)
            CHECK(word_of(value) == 0x7fffffffu);
    }
    const std::uint32_t per_sign = (1u << Format<T>::mantissa_bits) - 1;
    CHECK(found == 2 * (Format<T>::has_infinity ? per_sign : 1));
}

TEST_CASE_TEMPLATE("decode, then encode, gives the same code", T, bf16, f16, f8e4m3, f8e5m2) {
    Disagreements seen;
    const auto last_finite = static_cast<std::uint32_t>(finite_values<T>().size() - 1);
    for (std::uint32_t code = 0; code < 2 * num_positive_codes<T>; ++code) {
        const std::uint32_t sign = code & num_positive_codes<T>, magnitude = code - sign;
        const double value = value_of<T>(magnitude);
        std::uint32_t expected = code;
        if (std::isnan(value))
            expected = Format<T>::nan_code; // one NaN, without sign
        else if (std::isinf(value) && Format<T>::saturates)
            expected = sign | last_finite; // f8e5m2 has infinities that no conversion produces
        seen.compare(code, T(float(from_code<T>(code))).bits, expected);
    }
    CHECK(seen.checked == 2 * num_positive_codes<T>);
    seen.report();
}

TEST_CASE_TEMPLATE("floats in steps of 1009 patterns round to nearest even", T, bf16, f16, f8e4m3, f8e5m2) {
    Disagreements seen;
    Rounder<T> rounder;
    for (std::uint32_t word = 0; word < 0x7f800000u; word += 1009) {
        const auto magnitude = std::bit_cast<float>(word);
        compare_encoding<T>(seen, magnitude, rounder.code_of(magnitude));
    }
    CHECK(seen.checked > 4'000'000);
    seen.report();
}

TEST_CASE_TEMPLATE("around every value and every midpoint, one float pattern either way", T, bf16, f16,
                   f8e4m3, f8e5m2) {
    Disagreements seen;
    Rounder<T> rounder;
    const std::vector<double> values = finite_values<T>();
    std::uint32_t before = 0;
    for (std::size_t code = 0; code < values.size(); ++code) {
        const double next = code + 1 < values.size() ? values[code + 1] : 2 * values[code] - values[code - 1];
        for (const double point : {values[code], (values[code] + next) / 2}) {
            if (point > static_cast<double>(std::numeric_limits<float>::max()))
                continue;
            const std::uint32_t word = word_of(static_cast<float>(point));
            for (std::uint32_t near = word == 0 ? 0 : word - 1; near <= word + 1; ++near) {
                if (near < before || near >= 0x7f800000u)
                    continue; // rising order; infinity stands elsewhere
                const auto magnitude = std::bit_cast<float>(near);
                compare_encoding<T>(seen, magnitude, rounder.code_of(magnitude));
                before = near;
            }
        }
    }
    CHECK(seen.checked > 4 * values.size());
    seen.report();
}

TEST_CASE_TEMPLATE("every float subnormal near zero and the largest floats", T, bf16, f16, f8e4m3, f8e5m2) {
    Disagreements seen;
    Rounder<T> small, large;
    for (std::uint32_t word = 0; word < 0x30000u; ++word)
        compare_encoding<T>(seen, std::bit_cast<float>(word), small.code_of(std::bit_cast<float>(word)));
    for (std::uint32_t word = 0x7f800000u - 0x30000u; word < 0x7f800000u; ++word)
        compare_encoding<T>(seen, std::bit_cast<float>(word), large.code_of(std::bit_cast<float>(word)));
    seen.report();
}

TEST_CASE_TEMPLATE("infinities stay or saturate, every NaN becomes the canonical one", T, bf16, f16, f8e4m3,
                   f8e5m2) {
    const auto finite = static_cast<std::uint32_t>(finite_values<T>().size());
    Disagreements seen;
    compare_encoding<T>(seen, std::numeric_limits<float>::infinity(),
                        Format<T>::saturates ? finite - 1 : finite);
    for (std::uint32_t payload = 1; payload < 0x800000u; payload += payload < 0x10000u ? 1 : 509)
        for (const std::uint32_t word : {0x7f800000u | payload, 0xff800000u | payload})
            seen.compare(word, T(std::bit_cast<float>(word)).bits, Format<T>::nan_code);
    seen.compare(0x7fffffffu, T(std::bit_cast<float>(0x7fffffffu)).bits, Format<T>::nan_code);
    seen.report();
}

TEST_CASE("known codes, in constant expressions") {
    static_assert(bf16(0.0f).bits == 0 && bf16(-0.0f).bits == 0x8000);
    static_assert(bf16(1.0f).bits == 0x3f80 && bf16(-2.5f).bits == 0xc020);
    static_assert(bf16(1.00390625f).bits == 0x3f80 && bf16(1.01171875f).bits == 0x3f82); // ties
    static_assert(bf16(std::numeric_limits<float>::max()).bits == 0x7f80);
    static_assert(float(bf16::from_bits(0x4049)) == 3.140625f);

    static_assert(f16(0.0f).bits == 0 && f16(-0.0f).bits == 0x8000);
    static_assert(f16(1.0f).bits == 0x3c00 && f16(65504.0f).bits == 0x7bff);
    static_assert(f16(65519.0f).bits == 0x7bff && f16(65520.0f).bits == 0x7c00);
    static_assert(f16(5.9604644775390625e-8f).bits == 1); // 2^-24, the smallest subnormal
    static_assert(f16(2.98023223876953125e-8f).bits == 0 && f16(2.9802325e-8f).bits == 1);
    static_assert(float(f16::from_bits(0x3555)) == 0.333251953125f);
    static_assert(float(f16::from_bits(0xfc00)) == -std::numeric_limits<float>::infinity());

    static_assert(f8e4m3(1.0f).bits == 0x38 && f8e4m3(448.0f).bits == 0x7e && f8e4m3(-1e9f).bits == 0xfe);
    static_assert(f8e4m3(0.001953125f).bits == 1 && f8e4m3(0.0009765625f).bits == 0); // 2^-9, 2^-10
    static_assert(float(f8e4m3::from_bits(0x7e)) == 448.0f);

    static_assert(f8e5m2(1.0f).bits == 0x3c && f8e5m2(57344.0f).bits == 0x7b && f8e5m2(1e9f).bits == 0x7b);
    static_assert(f8e5m2(1.52587890625e-5f).bits == 1 && f8e5m2(-7.62939453125e-6f).bits == 0x80);
    static_assert(float(f8e5m2::from_bits(0x7b)) == 57344.0f);

    constexpr float nan = std::numeric_limits<float>::quiet_NaN();
    static_assert(bf16(nan).bits == 0x7fff && f16(-nan).bits == 0x7fff);
    static_assert(f8e4m3(-nan).bits == 0x7f && f8e5m2(nan).bits == 0x7f);
}
