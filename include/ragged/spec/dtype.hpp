// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Element types: an enumerator for run-time specs, and the C++ type that stores it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <ragged/core/error.hpp>
#include <ragged/spec/float_types.hpp>

namespace ragged {

enum class DType : std::uint8_t { f32, f64, bf16, f16, f8e4m3, f8e5m2, i8, u8 };

inline constexpr DType all_dtypes[] = {DType::f32,    DType::f64,    DType::bf16, DType::f16,
                                       DType::f8e4m3, DType::f8e5m2, DType::i8,   DType::u8};

/// Bytes of one element.
constexpr std::int64_t size_bytes(DType dtype) {
    switch (dtype) {
    case DType::f64:
        return 8;
    case DType::f32:
        return 4;
    case DType::bf16:
    case DType::f16:
        return 2;
    default:
        return 1;
    }
}

/// The name used in inventories and messages.
constexpr std::string_view name(DType dtype) {
    switch (dtype) {
    case DType::f32:
        return "f32";
    case DType::f64:
        return "f64";
    case DType::bf16:
        return "bf16";
    case DType::f16:
        return "f16";
    case DType::f8e4m3:
        return "f8e4m3";
    case DType::f8e5m2:
        return "f8e5m2";
    case DType::i8:
        return "i8";
    default:
        return "u8";
    }
}

/// @throws SpecError listing the known names
constexpr DType dtype_from_name(std::string_view text) {
    for (DType dtype : all_dtypes)
        if (name(dtype) == text)
            return dtype;
    std::string known;
    for (DType dtype : all_dtypes)
        known += concat(known.empty() ? "" : " ", name(dtype));
    throw SpecError(concat("unknown dtype '", text, "', known: ", known));
}

namespace detail {

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::f32> {};
template <>
struct DTypeOf<double> : std::integral_constant<DType, DType::f64> {};
template <>
struct DTypeOf<bf16> : std::integral_constant<DType, DType::bf16> {};
template <>
struct DTypeOf<f16> : std::integral_constant<DType, DType::f16> {};
template <>
struct DTypeOf<f8e4m3> : std::integral_constant<DType, DType::f8e4m3> {};
template <>
struct DTypeOf<f8e5m2> : std::integral_constant<DType, DType::f8e5m2> {};
template <>
struct DTypeOf<std::int8_t> : std::integral_constant<DType, DType::i8> {};
template <>
struct DTypeOf<std::uint8_t> : std::integral_constant<DType, DType::u8> {};

} // namespace detail

/// A C++ type that stores one of the element types.
template <class T>
concept element = requires {
    detail::DTypeOf<T>::value;
};

/// The enumerator of an element type: `dtype_of<ragged::bf16> == DType::bf16`.
template <element T>
inline constexpr DType dtype_of = detail::DTypeOf<T>::value;

/// The type in which sums of T are taken: float for the small floats, T itself for f32 and f64, 32-bit
/// integers for the 8-bit ones.
template <element T>
using accumulator_t = std::conditional_t<
    std::is_same_v<T, double>, double,
    std::conditional_t<std::is_same_v<T, std::int8_t>, std::int32_t,
                       std::conditional_t<std::is_same_v<T, std::uint8_t>, std::uint32_t, float>>>;

} // namespace ragged
