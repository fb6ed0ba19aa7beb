// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Exact sums against a sum bit by bit: every digit, and the rounding.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "support/exact_oracle.hpp"

namespace exact = ragged::exact_sum;
using support::Digits;
using support::same_bits;

namespace {

template <class T>
Digits digits_of(const std::vector<T>& values) {
    return support::published([&](exact::Column sum) {
        for (const T x : values)
            exact::add_square(sum, x);
    });
}

void check(const std::vector<float>& values) {
    const auto expected = support::bitwise_sum(values);
    const Digits digits = digits_of(values);
    CHECK(digits == expected.digits());
    CHECK(same_bits(exact::rounded(digits.data()), expected.rounded()));
}

} // namespace

TEST_CASE("up to three extreme values") {
    const std::vector<float> extremes = support::extreme_floats();
    check({});
    for (const float a : extremes) {
        check({a});
        for (const float b : extremes) {
            check({a, b});
            for (const float c : extremes)
                check({a, b, c});
        }
    }
}

TEST_CASE("halves are rounded to even, and whatever is below them counts") {
    for (int exponent = -60; exponent < 40; ++exponent) { // the first bit in every place of a digit
        const float one = std::ldexp(1.0f, exponent), tiny = std::numeric_limits<float>::denorm_min();
        const auto small = [&](float x) { return std::ldexp(x, exponent - 27); };
        const auto sum = [](const std::vector<float>& values) {
            check(values);
            return exact::rounded(digits_of(values).data());
        };
        const double unit = double{one} * one, last_bit = unit * 0x1p-52;
        CHECK(sum({one, small(1)}) == unit); // 2^-54
        CHECK(sum({one, small(1), small(1)}) == unit);
        CHECK(sum({one, small(1), small(1), tiny}) == unit + last_bit);
        CHECK(sum({one, small(2), small(1)}) == unit + last_bit);
        CHECK(sum({one, small(2), small(2)}) == unit + 2 * last_bit);
        CHECK(sum({one, small(2), small(1), small(1)}) == unit + 2 * last_bit); // odd
    }
}

TEST_CASE("any cut into parts, any order of the values, and any order of adding parts") {
    std::mt19937 random(7);
    std::vector<float> values(300);
    for (float& x : values)
        x = support::random_finite(random);
    const double whole = exact::rounded(digits_of(values).data());
    CHECK(same_bits(whole, support::bitwise_sum(values).rounded()));
    for (int round = 0; round < 300; ++round) {
        std::shuffle(values.begin(), values.end(), random);
        std::vector<Digits> parts;
        for (auto from = values.begin(); from != values.end();) {
            const auto to = from + std::min<std::ptrdiff_t>(random() % 100, values.end() - from);
            parts.push_back(digits_of(std::vector<float>(from, to)));
            from = to;
        }
        std::shuffle(parts.begin(), parts.end(), random);
        Digits sum{};
        for (const Digits& part : parts)
            for (std::size_t i = 0; i < sum.size(); ++i)
                sum[i] += part[i];
        CHECK(same_bits(exact::rounded(sum.data()), whole));
    }
}

TEST_CASE("publishing adds to what is there") {
    std::int64_t storage[exact::num_digits]{};
    exact::add_square({storage}, 3.0f);
    Digits digits{};
    exact::publish({storage}, digits.data());
    exact::publish({storage}, digits.data());
    CHECK(exact::rounded(digits.data()) == 18.0);
}

TEST_CASE("2^20 sums with the largest digits are added exactly") {
    Digits digits{};
    std::fill_n(digits.begin(), 17, 0xffffffffp0 * 0x1p20);
    // (2^544 - 1) * 2^20 counts of 2^-320
    CHECK(exact::rounded(digits.data()) == 0x1p244);
    digits[0] += 0x1p20;
    CHECK(exact::rounded(digits.data()) == 0x1p244);
    digits[0] = 0;
    digits[16] -= 0x1p40; // it counts 2^192
    CHECK(exact::rounded(digits.data()) == 0x1p244 - 0x1p232);
}

TEST_CASE("infinities and NaNs are counted, and finite values beside them summed") {
    const float infinity = std::numeric_limits<float>::infinity(), nan = std::nanf("");
    for (const std::vector<float>& values :
         {std::vector<float>{infinity}, {-infinity, 1.0f}, {nan, 2.0f, infinity}, {-nan}}) {
        check(values);
        CHECK(std::isnan(exact::rounded(digits_of(values).data())));
    }
}

TEST_CASE("values one by one, of every pattern of bits") {
    std::mt19937 random(1);
    for (int i = 0; i < 3000; ++i)
        check({support::random_finite(random)});
}

TEST_CASE("digits that were not carried have room for what is promised") {
    // the largest move of a digit, over and over: squares of the largest significand
    std::int64_t storage[exact::num_digits]{};
    for (int exponent = -149; exponent < 104; ++exponent) {
        std::fill_n(storage, exact::num_digits, 0);
        exact::add_square({storage}, std::ldexp(0xffffffp0f, exponent));
        for (const std::int64_t digit : storage)
            CHECK(digit < std::int64_t{1} << 47);
    }
}

TEST_CASE("a column with a stride, and negative values") {
    std::int64_t storage[exact::num_digits * 3]{};
    const exact::Column column{storage + 1, 3};
    exact::add(column, 5, -320);
    exact::add(column, -7, 10);
    exact::add(column, std::int64_t{1} << 57, 209);
    exact::add(column, 7, 10);
    exact::add(column, -(std::int64_t{1} << 57), 209);
    exact::add(column, -4, -320);
    Digits digits{};
    exact::publish(column, digits.data());
    CHECK(exact::rounded(digits.data()) == 0x1p-320);
    for (std::size_t i = 0; i < std::size(storage); ++i)
        if (i % 3 != 1)
            CHECK(storage[i] == 0);
}

TEST_CASE_TEMPLATE("narrow types count as the floats that they are", T, ragged::bf16, ragged::f16,
                   ragged::f8e4m3, ragged::f8e5m2, std::int8_t, std::uint8_t) {
    std::mt19937 random(5);
    std::vector<T> values(64);
    for (T& x : values)
        x = static_cast<T>(static_cast<float>(random() % 200) * 0.5f);
    CHECK(digits_of(values) == support::bitwise_sum(values).digits());
}
