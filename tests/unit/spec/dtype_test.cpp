// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <type_traits>

#include <ragged/spec/dtype.hpp>

namespace {

using ragged::DType;

template <class T>
constexpr bool stored_as(DType dtype) {
    return ragged::dtype_of<T> == dtype && ragged::size_bytes(dtype) == static_cast<std::int64_t>(sizeof(T));
}

} // namespace

TEST_CASE("every dtype is the C++ type that stores it, of the same size") {
    static_assert(stored_as<float>(DType::f32) && stored_as<double>(DType::f64));
    static_assert(stored_as<ragged::bf16>(DType::bf16) && stored_as<ragged::f16>(DType::f16));
    static_assert(stored_as<ragged::f8e4m3>(DType::f8e4m3) && stored_as<ragged::f8e5m2>(DType::f8e5m2));
    static_assert(stored_as<std::int8_t>(DType::i8) && stored_as<std::uint8_t>(DType::u8));
    static_assert(ragged::size_bytes(DType::f64) == 8 && ragged::size_bytes(DType::f32) == 4);
    static_assert(ragged::size_bytes(DType::bf16) == 2 && ragged::size_bytes(DType::f16) == 2);
    static_assert(ragged::size_bytes(DType::f8e4m3) == 1 && ragged::size_bytes(DType::f8e5m2) == 1);
    static_assert(ragged::size_bytes(DType::i8) == 1 && ragged::size_bytes(DType::u8) == 1);
}

TEST_CASE("names are distinct and read back") {
    std::set<std::string> names;
    for (const DType dtype : ragged::all_dtypes) {
        names.insert(std::string(ragged::name(dtype)));
        CHECK(ragged::dtype_from_name(ragged::name(dtype)) == dtype);
    }
    CHECK(names == std::set<std::string>{"f32", "f64", "bf16", "f16", "f8e4m3", "f8e5m2", "i8", "u8"});
    CHECK(names.size() == std::size(ragged::all_dtypes));
    static_assert(ragged::dtype_from_name("bf16") == DType::bf16);
}

TEST_CASE("an unknown name is refused with the known ones; names are exact") {
    CHECK_THROWS_WITH_AS(ragged::dtype_from_name("bfloat16"),
                         "unknown dtype 'bfloat16', known: f32 f64 bf16 f16 f8e4m3 f8e5m2 i8 u8",
                         ragged::SpecError);
    for (const char* text : {"", "BF16", "bf1", "bf166", " bf16", "f", "i16"})
        CHECK_THROWS_AS(ragged::dtype_from_name(text), ragged::SpecError);
}

TEST_CASE("concept element: the storage types and nothing near them") {
    static_assert(ragged::element<float> && ragged::element<double> && ragged::element<ragged::bf16> &&
                  ragged::element<ragged::f16> && ragged::element<ragged::f8e4m3> &&
                  ragged::element<ragged::f8e5m2> && ragged::element<std::int8_t> &&
                  ragged::element<std::uint8_t>);
    static_assert(!ragged::element<int> && !ragged::element<std::uint16_t> && !ragged::element<long double> &&
                  !ragged::element<bool> && !ragged::element<char> && !ragged::element<float&> &&
                  !ragged::element<const float> && !ragged::element<void> && !ragged::element<DType>);
}

TEST_CASE("sums are taken in a type that holds them") {
    static_assert(std::is_same_v<ragged::accumulator_t<float>, float>);
    static_assert(std::is_same_v<ragged::accumulator_t<double>, double>);
    static_assert(std::is_same_v<ragged::accumulator_t<ragged::bf16>, float>);
    static_assert(std::is_same_v<ragged::accumulator_t<ragged::f16>, float>);
    static_assert(std::is_same_v<ragged::accumulator_t<ragged::f8e4m3>, float>);
    static_assert(std::is_same_v<ragged::accumulator_t<ragged::f8e5m2>, float>);
    static_assert(std::is_same_v<ragged::accumulator_t<std::int8_t>, std::int32_t>);
    static_assert(std::is_same_v<ragged::accumulator_t<std::uint8_t>, std::uint32_t>);
}
