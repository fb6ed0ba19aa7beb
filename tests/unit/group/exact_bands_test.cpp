// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The quick way against one square at a time: the same digits, whatever the values, lengths and rounding.
#include <doctest/doctest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <ragged/group/exact_bands.hpp>

#include "support/exact_oracle.hpp"

namespace exact = ragged::exact_sum;
using support::Digits;

namespace {

template <class T>
Digits one_by_one(const T* values, std::int64_t count) {
    return support::published([&](exact::Column sum) {
        for (std::int64_t i = 0; i < count; ++i) {
            exact::add_square(sum, values[i]);
            exact::carry(sum);
        }
    });
}

template <class T>
Digits quickly(const T* values, std::int64_t count) {
    return support::published([&](exact::Column sum) {
        exact::add_squares(sum, ragged::Values<const T>{values, count});
    });
}

template <class T>
void check(const std::vector<T>& values) {
    const auto count = static_cast<std::int64_t>(values.size());
    CHECK(quickly(values.data(), count) == one_by_one(values.data(), count));
}

std::vector<float> random_values(std::int64_t count, std::uint32_t seed) {
    std::mt19937 random(seed);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& x : values)
        x = support::random_finite(random);
    return values;
}

} // namespace

TEST_CASE("every length around lanes and chunks") {
    const auto values = random_values(6000, 1);
    for (std::int64_t count :
         {0, 1, 2, 31, 32, 33, 63, 64, 65, 2016, 2047, 2048, 2049, 2079, 2080, 4096, 5999})
        for (std::int64_t shift : {0, 1}) {
            CAPTURE(count);
            CHECK(quickly(values.data() + shift, count) == one_by_one(values.data() + shift, count));
        }
    check(std::vector<float>(5000, 0.0f));
    check(std::vector<float>(5000, -0.0f));
}

TEST_CASE(
    "bands of every exponent: full of their largest values, with their smallest, and with what is below") {
    using limits = std::numeric_limits<float>;
    for (int exponent = -126; exponent <= 127; ++exponent) {
        CAPTURE(exponent);
        const float largest = std::ldexp(0x1.fffffep0f, exponent);
        std::vector<float> values(2048, largest);
        check(values);
        const exact::Band band = exact::Band::below(largest);
        CHECK(exact::Band::below(std::ldexp(1.0f, exponent)).exponent == band.exponent);
        const float floor = std::max(band.floor(), limits::denorm_min());
        for (std::size_t i = 0; i < values.size(); i += 3) {
            values[i] = std::nextafter(floor, 1.0f);
            values[i + 1] = -floor;
        }
        check(values);
        values[700] = std::nextafter(floor, 0.0f);
        values[2047] = limits::denorm_min();
        check(values);
        std::fill(values.begin() + 1, values.end(), std::nextafter(floor, 1.0f));
        check(values);
    }
}

TEST_CASE("many chunks of the largest values do not leave a digit's range") {
    constexpr std::int64_t chunks = 600;
    std::vector<float> values(chunks * exact::chunk);
    for (int exponent = 0; exponent < 16; ++exponent) { // the units of a band in every place of a digit
        CAPTURE(exponent);
        std::fill(values.begin(), values.end(), std::ldexp(0x1.fffffep0f, exponent));
        Digits part = quickly(values.data(), exact::chunk);
        for (double& digit : part)
            digit *= chunks;
        const Digits whole = quickly(values.data(), chunks * exact::chunk);
        CHECK(exact::rounded(whole.data()) == exact::rounded(part.data()));
    }
}

TEST_CASE("values that spread little and much") {
    std::mt19937 random(3);
    std::normal_distribution<float> normal;
    for (const float spread : {0.0f, 1.0f, 5.0f, 30.0f})
        for (const float scale : {1e-38f, 1e-3f, 1e5f}) {
            std::vector<float> values(9000);
            for (float& x : values) {
                x = normal(random) * scale * std::exp(std::min(spread * normal(random), 60.0f));
                if (!std::isfinite(x) || random() % 10 == 0)
                    x = 0;
            }
            check(values);
            const auto expected = support::bitwise_sum(values);
            const Digits digits = quickly(values.data(), 9000);
            CHECK(digits == expected.digits());
            CHECK(support::same_bits(exact::rounded(digits.data()), expected.rounded()));
        }
}

TEST_CASE("extreme values beside each other") {
    const auto extremes = support::extreme_floats();
    std::mt19937 random(4);
    for (int round = 0; round < 200; ++round) {
        std::vector<float> values(100 + random() % 2000);
        const std::size_t kinds = 1 + random() % extremes.size();
        for (float& x : values)
            x = extremes[(random() % kinds + static_cast<std::size_t>(round)) % extremes.size()];
        check(values);
    }
}

TEST_CASE("values that are not finite are found wherever they are, and the others are summed") {
    const float bad[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                         std::nanf("")};
    for (const bool small : {false, true})
        for (const std::size_t at : {0u, 1u, 31u, 32u, 2047u, 2048u, 2500u, 2999u})
            for (const float x : bad) {
                std::vector<float> values(3000, small ? 0.0f : 0.3f);
                values[5] = small ? 0.0f : 1e-30f;
                values[at] = x;
                check(values);
                values[(at + 800) % 3000] = bad[0];
                check(values);
            }
}

TEST_CASE("the direction in which sums are rounded changes nothing") {
    const auto wide = random_values(4096, 8);
    std::mt19937 random(9);
    std::normal_distribution<float> normal;
    std::vector<float> narrow(4096);
    for (float& x : narrow)
        x = normal(random);
    for (const auto& values : {wide, narrow}) {
        const Digits expected = one_by_one(values.data(), 4096);
        for (const int direction : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
            std::fesetround(direction);
            const Digits found = quickly(values.data(), 4096);
            std::fesetround(FE_TONEAREST);
            CHECK(found == expected);
        }
    }
}

TEST_CASE_TEMPLATE("narrow types", T, ragged::bf16, ragged::f16, ragged::f8e4m3, ragged::f8e5m2,
                   std::int8_t) {
    std::mt19937 random(5);
    for (const std::size_t count : {40u, 2048u, 5000u}) {
        std::vector<T> values(count);
        for (T& x : values) {
            const auto bits = static_cast<std::uint32_t>(random()); // not finite where the type knows that
            std::memcpy(&x, &bits, sizeof x);
        }
        check(values);
    }
}
