// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A sum of squares bit by bit: how often each power of two occurs. And what to check exact sums with.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <ragged/group/exact_sum.hpp>

namespace support {

using Digits = std::array<double, ragged::exact_sum::num_digits>;

class BitwiseSum {
  public:
    void add_square(float x) {
        if (!std::isfinite(x)) {
            ++not_finite_;
            return;
        }
        int exponent = 0;
        const double square = double{x} * double{x};
        const auto bits = static_cast<std::uint64_t>(std::ldexp(std::frexp(square, &exponent), 53));
        for (int bit = 0; bit < 53; ++bit)
            if (square != 0 && (bits >> bit & 1u) != 0)
                ++counts_.at(static_cast<std::size_t>(bit + exponent - 53 - lowest));
    }

    Digits digits() const {
        const auto bits = carried();
        Digits result{};
        for (std::size_t bit = 0; bit < bits.size(); ++bit)
            result[bit / 32] += std::ldexp(static_cast<double>(bits[bit]), static_cast<int>(bit % 32));
        result.back() = not_finite_;
        return result;
    }

    double rounded() const {
        if (not_finite_ != 0)
            return std::numeric_limits<double>::quiet_NaN();
        const auto bits = carried();
        int top = static_cast<int>(bits.size()) - 1;
        while (top >= 0 && bits[static_cast<std::size_t>(top)] == 0)
            --top;
        const auto bit = [&](int at) { return at < 0 ? 0 : bits[static_cast<std::size_t>(at)]; };
        std::int64_t significand = 0;
        for (int at = top; at > top - 53; --at)
            significand = significand * 2 + bit(at);
        bool above_half = false;
        for (int at = top - 54; at >= 0; --at)
            above_half = above_half || bit(at) == 1;
        if (bit(top - 53) == 1 && (above_half || significand % 2 == 1))
            ++significand;
        return std::ldexp(static_cast<double>(significand), top - 52 + lowest);
    }

  private:
    static constexpr int lowest = -320;

    std::vector<std::int64_t> carried() const {
        std::vector<std::int64_t> bits = counts_;
        for (std::size_t i = 0; i + 1 < bits.size(); ++i) {
            bits[i + 1] += bits[i] / 2;
            bits[i] %= 2;
        }
        return bits;
    }

    std::vector<std::int64_t> counts_ = std::vector<std::int64_t>(640, 0);
    int not_finite_ = 0;
};

template <class Values>
BitwiseSum bitwise_sum(const Values& values) {
    BitwiseSum sum;
    for (const auto x : values)
        sum.add_square(static_cast<float>(x));
    return sum;
}

/// What add puts into a sum, published.
template <class Add>
Digits published(Add add) {
    std::int64_t sum[ragged::exact_sum::num_digits]{};
    add(ragged::exact_sum::Column{sum});
    Digits digits{};
    ragged::exact_sum::publish({sum}, digits.data());
    return digits;
}

inline bool same_bits(double a, double b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

/// Every pattern of bits is as likely, but for infinities and NaNs, which there are none of.
inline float random_finite(std::mt19937& random) {
    const auto bits = static_cast<std::uint32_t>(random());
    return ragged::bit_cast<float>((bits & 0x7f800000u) == 0x7f800000u ? bits & 0xff7fffffu : bits);
}

/// The ends of what floats can be, both zeros, and some in between.
inline std::vector<float> extreme_floats() {
    using limits = std::numeric_limits<float>;
    return {0.0f,
            -0.0f,
            limits::denorm_min(),
            -limits::denorm_min(),
            limits::min(),
            limits::min() * 0.75f,
            1e-38f,
            -1.0f,
            1.0f + limits::epsilon(),
            0x1.fffffep-1f,
            3.0f,
            0x1p-27f,
            0x1.8p-53f,
            1e38f,
            -limits::max(),
            limits::max()};
}

} // namespace support
