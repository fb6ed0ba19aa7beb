// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What group operations do to an element, as small structs that the host and a device run from the same
// source. A map gives one new element; a reduction folds elements into one value. Every map here gives zero
// for zeros: that keeps padding zero, and lets one flat pass run over a whole region.
#pragma once

#include <cstdint>
#include <type_traits>

#include <ragged/core/config.hpp>
#include <ragged/spec/dtype.hpp>

namespace ragged {

/// An element type with a fraction: scaling one makes sense.
template <class T>
concept floating_element = element<T> && !std::is_integral_v<T>;

/// What an operation over these element types computes in.
template <class... T>
using compute_t = std::conditional_t<(std::is_same_v<T, double> || ...), double, float>;

namespace op {

/// dst = x * factor, from one element type to another; computed in the wider accumulator.
template <class To>
struct Cast {
    double factor = 1.0;

    template <class From>
    RAGGED_HOST_DEVICE constexpr To operator()(From x) const {
        using Compute = compute_t<From, To>;
        return static_cast<To>(static_cast<Compute>(x) * static_cast<Compute>(factor));
    }
};

/// y + x
struct Add {
    template <class T>
    RAGGED_HOST_DEVICE constexpr T operator()(T y, T x) const {
        using Compute = accumulator_t<T>;
        return static_cast<T>(static_cast<Compute>(y) + static_cast<Compute>(x));
    }
};

/// y + factor * x
struct Axpy {
    double factor;

    template <class T, class X>
    RAGGED_HOST_DEVICE constexpr T operator()(T y, X x) const {
        using Compute = compute_t<T, X>;
        return static_cast<T>(static_cast<Compute>(y) +
                              static_cast<Compute>(factor) * static_cast<Compute>(x));
    }
};

/// Sum of x * x in double.
struct SumOfSquares {
    using value_type = double;

    template <class T>
    RAGGED_HOST_DEVICE static constexpr double value(T x) {
        const double wide = static_cast<double>(static_cast<accumulator_t<T>>(x));
        return wide * wide;
    }
    RAGGED_HOST_DEVICE static constexpr double fold(double a, double b) { return a + b; }
    RAGGED_HOST_DEVICE static constexpr double result(double a) { return a; }
};

/// Largest |x|. Compared as bits, which is exact, and lets a NaN win.
struct AbsMax {
    using value_type = std::uint32_t;

    template <class T>
    RAGGED_HOST_DEVICE static constexpr std::uint32_t value(T x) {
        return bit_cast<std::uint32_t>(static_cast<float>(x)) & 0x7fffffffu;
    }
    RAGGED_HOST_DEVICE static constexpr std::uint32_t fold(std::uint32_t a, std::uint32_t b) {
        return a > b ? a : b;
    }
    RAGGED_HOST_DEVICE static constexpr float result(std::uint32_t a) { return bit_cast<float>(a); }
};

/// 1 when any value is infinite or NaN, else 0.
struct NonFinite {
    using value_type = std::uint32_t;

    template <class T>
    RAGGED_HOST_DEVICE static constexpr std::uint32_t value(T x) {
        if constexpr (std::is_same_v<T, double>)
            return (bit_cast<std::uint64_t>(x) & 0x7ff0000000000000u) == 0x7ff0000000000000u ? 1u : 0u;
        else
            return (bit_cast<std::uint32_t>(static_cast<float>(x)) & 0x7f800000u) == 0x7f800000u ? 1u : 0u;
    }
    RAGGED_HOST_DEVICE static constexpr std::uint32_t fold(std::uint32_t a, std::uint32_t b) { return a | b; }
    RAGGED_HOST_DEVICE static constexpr std::uint32_t result(std::uint32_t a) { return a; }
};

} // namespace op
} // namespace ragged
