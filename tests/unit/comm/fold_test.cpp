// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The maximum of two elements, for every pair of the 8-bit types, and for many codes of the others beside the
// delicate ones, against the order of their numbers.
#include <doctest/doctest.h>

#include <algorithm> // std::min
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include <ragged/comm/fold.hpp>

namespace {

using ragged::detail::MaxFold;
using ragged::detail::SumFold;

template <class T>
constexpr int bits_of = static_cast<int>(sizeof(T)) * 8;
template <class T>
constexpr std::uint64_t sign_of = std::uint64_t{1} << (bits_of<T> - 1);

template <class T>
double number(T x) {
    return static_cast<double>(static_cast<ragged::accumulator_t<T>>(x));
}
template <class T>
std::uint64_t code(T x) {
    std::uint64_t code = 0;
    std::memcpy(&code, &x, sizeof x);
    return code;
}
template <class T>
T of_code(std::uint64_t code) {
    T x;
    std::memcpy(&x, &code, sizeof x);
    return x;
}

template <class Fold, class T>
constexpr T folded(T a, T b) {
    return Fold::back(Fold::fold(Fold::of(a), Fold::of(b)));
}

template <class T>
bool is_max(T found, T a, T b) {
    const double x = number(a), y = number(b);
    if (std::isnan(x) || std::isnan(y))
        return code(found) == sign_of<T> - 1;
    const bool first = x > y || (x == y && !std::signbit(x));
    return code(found) == code(first ? a : b);
}

/// Those of the upper 16 bits, with a few of the bits below.
template <class T>
std::vector<T> many() {
    std::vector<T> all;
    constexpr int upper = std::min(16, bits_of<T>), lower = bits_of<T> - upper;
    for (std::uint64_t top = 0; top < std::uint64_t{1} << upper; ++top)
        for (const std::uint64_t rest : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
            if (lower > 0 || rest == 0)
                all.push_back(of_code<T>(top << lower | (rest & ((std::uint64_t{1} << lower) - 1))));
    return all;
}

/// The ends of zeros, numbers and NaN.
template <class T>
std::vector<T> delicate() {
    std::vector<T> all;
    for (const std::uint64_t sign : {std::uint64_t{0}, sign_of<T>}) {
        for (const std::uint64_t magnitude : {std::uint64_t{0}, std::uint64_t{1}, sign_of<T> - 1})
            all.push_back(of_code<T>(sign | magnitude));
        if constexpr (!std::is_integral_v<T>)
            for (const int beside : {-1, 0, 1})
                all.push_back(of_code<T>(
                    sign | (ragged::detail::highest_code<T>() + static_cast<std::uint64_t>(beside))));
    }
    return all;
}

template <class T>
void check_max() {
    CAPTURE(name(ragged::dtype_of<T>));
    const std::vector<T> all = many<T>(), others = sizeof(T) == 1 ? all : delicate<T>();
    int wrong = 0;
    for (const T a : all)
        for (const T b : others) {
            const T found = folded<MaxFold<T>>(a, b);
            wrong += !is_max(found, a, b) || code(found) != code(folded<MaxFold<T>>(b, a));
        }
    CHECK(wrong == 0);
}

} // namespace

TEST_CASE("the maximum is the larger number, NaN wins, and the order does not matter") {
    check_max<float>();
    check_max<double>();
    check_max<ragged::bf16>();
    check_max<ragged::f16>();
    check_max<ragged::f8e4m3>();
    check_max<ragged::f8e5m2>();
    check_max<std::int8_t>();
    check_max<std::uint8_t>();
}

TEST_CASE("folds are constant expressions, and a reduction has its own") {
    static_assert(folded<MaxFold<std::int8_t>>(std::int8_t{-128}, std::int8_t{-127}) == -127);
    static_assert(folded<MaxFold<float>>(-2.0f, -1.0f) == -1.0f);
    static_assert(folded<SumFold<std::uint8_t>>(std::uint8_t{200}, std::uint8_t{50}) == 250);
    const auto three_and_four = [](auto fold) { return folded<decltype(fold)>(3.0f, 4.0f); };
    CHECK(ragged::detail::with_fold<float>(ragged::Reduction::sum, three_and_four) == 7.0f);
    CHECK(ragged::detail::with_fold<float>(ragged::Reduction::max, three_and_four) == 4.0f);
    CHECK(name(ragged::Reduction::sum) == "sum");
    CHECK(name(ragged::Reduction::max) == "max");
}
