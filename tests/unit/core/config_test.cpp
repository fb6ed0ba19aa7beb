// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Square roots: the bits of the machine's, for every significand with an even and an odd exponent (all other
// exponents scale exactly), and where exponents run out.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include <ragged/core/config.hpp>

namespace {

std::uint32_t bits_of(float x) {
    return ragged::bit_cast<std::uint32_t>(x);
}

/// Of [first, last], every step-th: how many roots have other bits.
std::int64_t wrong_roots(std::uint32_t first, std::uint32_t last, std::uint32_t step) {
    std::int64_t wrong = 0;
    for (std::uint64_t bits = first; bits <= last; bits += step) {
        const float x = ragged::bit_cast<float>(static_cast<std::uint32_t>(bits));
        const std::uint32_t root = bits_of(std::sqrt(x));
        wrong += bits_of(ragged::detail::square_root_by_fma(x)) != root;
        wrong += bits_of(ragged::square_root(x)) != root;
    }
    return wrong;
}

} // namespace

TEST_CASE("square roots of all significands") {
    CHECK(wrong_roots(bits_of(1.0f), bits_of(4.0f), 1) == 0);
}

TEST_CASE("square roots at both ends, and of all exponents") {
    CHECK(wrong_roots(0, 100'000, 1) == 0);                      // subnormal
    CHECK(wrong_roots(0x0ff00000u, 0x10100000u, 3) == 0);        // where scaling starts
    CHECK(wrong_roots(bits_of(0.0f), 0x7f800000u, 10'007) == 0); // up to infinity
    CHECK(wrong_roots(0x7f7f0000u, 0x7f800000u, 1) == 0);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(ragged::square_root(nan)));
    CHECK(std::isnan(ragged::detail::square_root_by_fma(nan)));
}
