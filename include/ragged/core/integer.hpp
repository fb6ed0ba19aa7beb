// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// 64-bit counts with checked overflow. Counts are never negative; every function below relies on it.
#pragma once

#include <cstdint>
#include <limits>
#include <numeric> // std::gcd
#include <string_view>

#include <ragged/core/error.hpp>

namespace ragged {

inline constexpr std::int64_t max_count = std::numeric_limits<std::int64_t>::max();

/// a * b, or throw ErrorType naming `what` when the product does not fit 64 bits.
template <class ErrorType = PlanError>
constexpr std::int64_t checked_mul(std::int64_t a, std::int64_t b, std::string_view what) {
    if (a != 0 && b > max_count / a)
        throw ErrorType(concat(what, ": ", a, " * ", b, " does not fit 64 bits"));
    return a * b;
}

/// a + b, or throw ErrorType naming `what` when the sum does not fit 64 bits.
template <class ErrorType = PlanError>
constexpr std::int64_t checked_add(std::int64_t a, std::int64_t b, std::string_view what) {
    if (b > max_count - a)
        throw ErrorType(concat(what, ": ", a, " + ", b, " does not fit 64 bits"));
    return a + b;
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
    return a / b + (a % b != 0 ? 1 : 0);
}

/// The smallest multiple of `step` not below `a`; `max_count` when there is none in 64 bits.
constexpr std::int64_t round_up(std::int64_t a, std::int64_t step) {
    const std::int64_t count = ceil_div(a, step);
    return count > max_count / step ? max_count : count * step;
}

constexpr std::int64_t round_down(std::int64_t a, std::int64_t step) {
    return a / step * step;
}

/// Least common multiple of two positive counts; `max_count` when it does not fit 64 bits. A step that large
/// is never reached, so a saturated value orders correctly wherever steps are compared.
constexpr std::int64_t saturating_lcm(std::int64_t a, std::int64_t b) {
    const std::int64_t factor = b / std::gcd(a, b);
    return a > max_count / factor ? max_count : a * factor;
}

constexpr bool is_power_of_two(std::int64_t a) {
    return a > 0 && (a & (a - 1)) == 0;
}

} // namespace ragged
