// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What group operations do to an element, as small structs that the host and a device run from the same
// source. A map gives one new element; a reduction adds elements to a value and folds values into one. Every
// map here gives zero for zeros: that keeps padding zero, and lets one flat pass run over a whole region.
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

namespace detail {

// The small floats convert from and to float only.
template <class Compute, class T>
RAGGED_HOST_DEVICE constexpr Compute widened(T x) {
    return static_cast<Compute>(static_cast<accumulator_t<T>>(x));
}
template <class T, class Compute>
RAGGED_HOST_DEVICE constexpr T narrowed(Compute x) {
    return static_cast<T>(static_cast<accumulator_t<T>>(x));
}

} // namespace detail

namespace op {

/// dst = x * factor, from one element type to another; computed in the wider accumulator.
template <class To>
struct Cast {
    double factor = 1.0;

    template <class From>
    RAGGED_HOST_DEVICE constexpr To operator()(From x) const {
        using Compute = compute_t<From, To>;
        return detail::narrowed<To>(detail::widened<Compute>(x) * static_cast<Compute>(factor));
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

/// y + factor * x, rounded once in the type it is computed in
struct Axpy {
    double factor;

    template <class T, class X>
    RAGGED_HOST_DEVICE T operator()(T y, X x) const {
        using Compute = compute_t<T, X>;
        return detail::narrowed<T>(fused_multiply_add(
            static_cast<Compute>(factor), detail::widened<Compute>(x), detail::widened<Compute>(y)));
    }
};

/// Sum of x * x in double.
struct SumOfSquares {
    using value_type = double;

    template <class T>
    RAGGED_HOST_DEVICE static double add(double sum, T x) {
        const double wide = detail::widened<double>(x);
        if constexpr (std::is_same_v<T, double>)
            return fused_multiply_add(wide, wide, sum);
        else
            return sum + wide * wide; // the product is exact, so fused or not gives the same bits
    }
    RAGGED_HOST_DEVICE static constexpr double fold(double a, double b) { return a + b; }
    RAGGED_HOST_DEVICE static constexpr double result(double a) { return a; }
};

/// Largest |x|. Compared as bits, which is exact, and lets a NaN win.
struct AbsMax {
    using value_type = std::uint32_t;

    template <class T>
    RAGGED_HOST_DEVICE static constexpr std::uint32_t add(std::uint32_t largest, T x) {
        return fold(largest, bit_cast<std::uint32_t>(static_cast<float>(x)) & 0x7fffffffu);
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
    RAGGED_HOST_DEVICE static constexpr std::uint32_t add(std::uint32_t found, T x) {
        if constexpr (std::is_same_v<T, double>)
            return fold(found, (bit_cast<std::uint64_t>(x) & infinity64) == infinity64 ? 1u : 0u);
        else
            return fold(
                found, (bit_cast<std::uint32_t>(static_cast<float>(x)) & infinity32) == infinity32 ? 1u : 0u);
    }
    RAGGED_HOST_DEVICE static constexpr std::uint32_t fold(std::uint32_t a, std::uint32_t b) { return a | b; }
    RAGGED_HOST_DEVICE static constexpr std::uint32_t result(std::uint32_t a) { return a; }

  private:
    static constexpr std::uint32_t infinity32 = 0x7f800000u;
    static constexpr std::uint64_t infinity64 = 0x7ff0000000000000u;
};

/// Whether no value is infinite or NaN.
struct AllFinite : NonFinite {
    RAGGED_HOST_DEVICE static constexpr bool result(std::uint32_t found) { return found == 0; }
};

/// A value as a code of a block with a scale: x * inverse in the nearest value of To, ties to even.
/// `inverse` is inverse_scale of the block's scale.
template <class To>
struct Quantize {
    float inverse;

    template <class From>
    RAGGED_HOST_DEVICE To operator()(From x) const {
        const float wide = static_cast<float>(x);
        if (inverse == 0.0f)
            return static_cast<To>(0.0f);
        if constexpr (std::is_same_v<To, std::int8_t>) {
            // 1.5 * 2^23 + q has q rounded to an integer in its last bits, for every |q| < 2^22
            constexpr float shift = 12582912.0f;
            const auto rounded = bit_cast<std::int32_t>(fused_multiply_add(wide, inverse, shift));
            return static_cast<To>(rounded - bit_cast<std::int32_t>(shift));
        } else {
            return static_cast<To>(wide * inverse);
        }
    }
};

} // namespace op

/// An element type that codes of a block with a scale are stored in.
template <class T>
concept code_element =
    std::is_same_v<T, f8e4m3> || std::is_same_v<T, f8e5m2> || std::is_same_v<T, std::int8_t>;

/// The largest finite value of a code: 448, 57344, or 127 (so that codes are symmetric).
template <code_element T>
inline constexpr float largest_code = std::is_same_v<T, f8e4m3>   ? 448.0f
                                      : std::is_same_v<T, f8e5m2> ? 57344.0f
                                                                  : 127.0f;

/// What the codes of a block are multiplied by to give its values back: absmax / largest_code, so that the
/// largest value takes the largest code. 1 for a block of zeros; the smallest normal float where the quotient
/// is below it. NaN for a block that has an infinity or a NaN: its codes are zero, and it comes back as NaN.
/// @param absmax  op::AbsMax over the block, its bits
template <code_element T>
RAGGED_HOST_DEVICE constexpr float block_scale(std::uint32_t absmax) {
    if (absmax == 0)
        return 1.0f;
    if (absmax >= 0x7f800000u)
        return bit_cast<float>(0x7fffffffu);
    const float scale = bit_cast<float>(absmax) / largest_code<T>;
    const float smallest = bit_cast<float>(0x00800000u);
    return scale < smallest ? smallest : scale;
}

/// What the values of a block are multiplied by to become codes; 0 where the scale is NaN.
RAGGED_HOST_DEVICE constexpr float inverse_scale(float scale) {
    return scale != scale ? 0.0f : 1.0f / scale;
}

} // namespace ragged
