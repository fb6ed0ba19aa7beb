// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Counts against 128-bit arithmetic: all small counts, then everything near the ends of 64 bits.
#include <doctest/doctest.h>

#include <bit>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <ragged/core/integer.hpp>

namespace {

__extension__ typedef __int128 Wide;

using ragged::max_count;

/// 0..64, then counts near the powers of two, their neighbours and the square root of the limit.
std::vector<std::int64_t> interesting_counts() {
    std::vector<std::int64_t> counts;
    for (std::int64_t value = 0; value <= 64; ++value)
        counts.push_back(value);
    for (int bit = 7; bit < 63; ++bit)
        for (std::int64_t delta = -1; delta <= 1; ++delta)
            counts.push_back((std::int64_t{1} << bit) + delta);
    for (std::int64_t delta = -2; delta <= 2; ++delta) {
        counts.push_back(3'037'000'500 + delta); // its square is the first above the limit
        counts.push_back(max_count / 2 + delta);
        counts.push_back(max_count / 3 + delta);
    }
    for (std::int64_t below = 0; below <= 3; ++below)
        counts.push_back(max_count - below);
    return counts;
}

/// f(a, b) gives `expected`, or throws when that does not fit 64 bits.
template <class Function>
bool gives(Function f, Wide expected) {
    try {
        const std::int64_t found = f();
        return expected <= max_count && found == expected;
    } catch (const ragged::PlanError&) {
        return expected > max_count;
    }
}

std::int64_t gcd_by_definition(std::int64_t a, std::int64_t b) {
    std::int64_t result = 1;
    for (std::int64_t divisor = 2; divisor <= a; ++divisor)
        if (a % divisor == 0 && b % divisor == 0)
            result = divisor;
    return result;
}

} // namespace

TEST_CASE("sums and products are exact or refused, on both sides of the limit") {
    const std::vector<std::int64_t> counts = interesting_counts();
    std::int64_t refused = 0, exact = 0;
    for (const std::int64_t a : counts)
        for (const std::int64_t b : counts) {
            const Wide product = Wide{a} * b, sum = Wide{a} + b;
            if (!gives([&] { return ragged::checked_mul(a, b, "x"); }, product) ||
                !gives([&] { return ragged::checked_add(a, b, "x"); }, sum))
                FAIL_CHECK(a, " and ", b);
            ++(product > max_count ? refused : exact);
        }
    CHECK(refused > 1000);
    CHECK(exact > 1000);
}

TEST_CASE("the last product and sum that fit, and the first that do not") {
    CHECK(ragged::checked_mul(3'037'000'499, 3'037'000'499, "x") == 9'223'372'030'926'249'001);
    CHECK_THROWS_WITH_AS(ragged::checked_mul(3'037'000'500, 3'037'000'500, "rows of w1"),
                         "rows of w1: 3037000500 * 3037000500 does not fit 64 bits", ragged::PlanError);
    CHECK(ragged::checked_mul(max_count, 1, "x") == max_count);
    CHECK(ragged::checked_mul(1, max_count, "x") == max_count);
    CHECK(ragged::checked_mul(0, max_count, "x") == 0);
    CHECK(ragged::checked_mul(max_count, 0, "x") == 0);
    CHECK_THROWS_AS(ragged::checked_mul(max_count, 2, "x"), ragged::PlanError);
    CHECK_THROWS_AS(ragged::checked_mul(2, max_count, "x"), ragged::PlanError);
    CHECK(ragged::checked_add(max_count - 1, 1, "x") == max_count);
    CHECK_THROWS_WITH_AS(ragged::checked_add(max_count, 1, "bytes"),
                         "bytes: 9223372036854775807 + 1 does not fit 64 bits", ragged::PlanError);
    CHECK_THROWS_AS(ragged::checked_add(1, max_count, "x"), ragged::PlanError);
}

TEST_CASE("the caller chooses the type of error") {
    CHECK_THROWS_AS(ragged::checked_mul<ragged::SpecError>(max_count, 2, "x"), ragged::SpecError);
    CHECK_THROWS_AS(ragged::checked_add<ragged::SpecError>(max_count, 2, "x"), ragged::SpecError);
}

TEST_CASE("rounding: the neighbouring multiples, by definition for all small counts") {
    for (std::int64_t a = 0; a <= 300; ++a)
        for (std::int64_t step = 1; step <= 40; ++step) {
            std::int64_t up = 0, quotient = 0;
            while (up < a)
                up += step, ++quotient;
            const std::int64_t down = up == a ? up : up - step;
            if (ragged::round_up(a, step) != up || ragged::round_down(a, step) != down ||
                ragged::ceil_div(a, step) != quotient)
                FAIL_CHECK("round ", a, " to multiples of ", step);
        }
}

TEST_CASE("rounding near the limit: the multiple when 64 bits hold it, max_count when not") {
    for (const std::int64_t a : interesting_counts())
        for (const std::int64_t step : interesting_counts()) {
            if (step == 0)
                continue;
            const Wide quotient = (Wide{a} + step - 1) / step, up = quotient * step;
            const std::int64_t expected = up > max_count ? max_count : static_cast<std::int64_t>(up);
            if (ragged::round_up(a, step) != expected || ragged::ceil_div(a, step) != quotient ||
                ragged::round_down(a, step) != a - a % step)
                FAIL_CHECK("round ", a, " to multiples of ", step);
        }
    CHECK(ragged::round_up(max_count - 127, 128) == max_count - 127);
    CHECK(ragged::round_up(max_count - 126, 128) == max_count);
    CHECK(ragged::round_up(max_count, 1) == max_count);
    CHECK(ragged::round_up(max_count, max_count) == max_count);
    CHECK(ragged::round_up(1, max_count) == max_count);
}

TEST_CASE("lcm: by definition for all small counts") {
    for (std::int64_t a = 1; a <= 60; ++a)
        for (std::int64_t b = 1; b <= 60; ++b) {
            std::int64_t multiple = a;
            while (multiple % b != 0)
                multiple += a;
            if (ragged::saturating_lcm(a, b) != multiple)
                FAIL_CHECK("lcm of ", a, " and ", b);
        }
}

TEST_CASE("lcm saturates exactly when it leaves 64 bits, and stays saturated") {
    std::mt19937_64 random(7);
    std::int64_t saturated = 0;
    for (int trial = 0; trial < 20000; ++trial) {
        // a common factor that the definition of the gcd finds quickly
        const auto common = static_cast<std::int64_t>(random() % 200 + 1);
        const auto a = common * static_cast<std::int64_t>(random() % 40 + 1);
        const auto b = common * static_cast<std::int64_t>((random() >> 1) / 200 >> random() % 56);
        if (b == 0)
            continue;
        const Wide lcm = Wide{a} / gcd_by_definition(a, b) * b;
        const std::int64_t expected = lcm > max_count ? max_count : static_cast<std::int64_t>(lcm);
        saturated += lcm > max_count ? 1 : 0;
        if (ragged::saturating_lcm(a, b) != expected || ragged::saturating_lcm(b, a) != expected)
            FAIL_CHECK("lcm of ", a, " and ", b);
    }
    CHECK(saturated > 100);
    CHECK(ragged::saturating_lcm(max_count, max_count) == max_count);
    CHECK(ragged::saturating_lcm(max_count, 2) == max_count);
    CHECK(ragged::saturating_lcm(std::int64_t{1} << 62, 3) == max_count);
    CHECK(ragged::saturating_lcm(std::int64_t{1} << 62, std::int64_t{1} << 60) == std::int64_t{1} << 62);
}

TEST_CASE("powers of two") {
    for (const std::int64_t value : interesting_counts())
        CHECK(ragged::is_power_of_two(value) == std::has_single_bit(static_cast<std::uint64_t>(value)));
    for (int bit = 0; bit < 63; ++bit)
        CHECK(ragged::is_power_of_two(std::int64_t{1} << bit));
    CHECK_FALSE(ragged::is_power_of_two(0));
    CHECK_FALSE(ragged::is_power_of_two(-4));
    CHECK_FALSE(ragged::is_power_of_two(std::numeric_limits<std::int64_t>::min()));
}

TEST_CASE("all of it in constant expressions") {
    static_assert(ragged::checked_mul(6, 7, "x") == 42 && ragged::checked_add(6, 7, "x") == 13);
    static_assert(ragged::ceil_div(7, 2) == 4 && ragged::round_up(7, 4) == 8 &&
                  ragged::round_down(7, 4) == 4);
    static_assert(ragged::saturating_lcm(4, 6) == 12 && ragged::saturating_lcm(max_count, 2) == max_count);
    static_assert(ragged::is_power_of_two(128) && !ragged::is_power_of_two(96));
}
