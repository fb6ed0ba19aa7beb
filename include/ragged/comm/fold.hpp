// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// How the elements of several ranks become one, where the library does it itself and not NCCL or MPI.
#pragma once

#include <algorithm> // std::max
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ragged/comm/communicator.hpp> // Reduction
#include <ragged/core/config.hpp>       // bit_cast
#include <ragged/spec/dtype.hpp>

namespace ragged::detail {

// | member of a fold over T | meaning                                             |
// | ----------------------- | --------------------------------------------------- |
// | Value                   | in which it goes from rank to rank                  |
// | of(T) -> Value          |                                                     |
// | fold(a, b) -> Value     | of two ranks, or of two groups of them              |
// | back(Value) -> T        |                                                     |

template <class T>
struct SumFold {
    using Value = accumulator_t<T>;
    static constexpr Value of(T x) { return static_cast<Value>(x); }
    static constexpr Value fold(Value a, Value b) { return a + b; }
    static constexpr T back(Value x) { return static_cast<T>(x); }
};

/// The code of the largest value of a float that is no NaN.
template <element T>
constexpr std::uint64_t highest_code() {
    if constexpr (std::is_same_v<T, double>)
        return 0x7ff0'0000'0000'0000u;
    else if constexpr (std::is_same_v<T, float>)
        return 0x7f80'0000u;
    else if constexpr (std::is_same_v<T, bf16>)
        return 0x7f80u;
    else if constexpr (std::is_same_v<T, f16>)
        return 0x7c00u;
    else if constexpr (std::is_same_v<T, f8e5m2>)
        return 0x7cu;
    else {
        static_assert(std::is_same_v<T, f8e4m3>);
        return 0x7eu; // it has no infinity
    }
}

/// The order of the numbers, with +0 above -0 and NaN above all: the same bits in whatever order ranks are
/// folded. Floats go as integers in that order, as a trip through another float would lose infinities of
/// f8e5m2, and the comparison of integers is vectorised.
template <class T>
struct MaxFold {
    using Value = std::conditional_t<
        std::is_integral_v<T>, T,
        std::conditional_t<
            sizeof(T) == 1, std::int8_t,
            std::conditional_t<sizeof(T) == 2, std::int16_t,
                               std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>>>;

    static constexpr Value of(T x) {
        if constexpr (std::is_integral_v<T>)
            return x;
        else {
            const Value code = code_of(x);
            constexpr auto highest = static_cast<Value>(highest_code<T>());
            return (code & nan) > highest ? nan : flipped(code);
        }
    }
    static constexpr Value fold(Value a, Value b) { return std::max(a, b); }
    static constexpr T back(Value x) {
        if constexpr (std::is_integral_v<T>)
            return x;
        else
            return bit_cast<T>(flipped(x));
    }

  private:
    static constexpr Value nan = std::numeric_limits<Value>::max(); // what the small floats make of every NaN

    static constexpr Value code_of(T x) {
        if constexpr (std::is_floating_point_v<T>)
            return bit_cast<Value>(x);
        else
            return static_cast<Value>(x.bits); // GCC does not vectorise a loop that casts the bits of a class
    }

    /// A negative code counts upwards from the lowest value, and back.
    static constexpr Value flipped(Value x) { return static_cast<Value>(x < 0 ? x ^ nan : x); }
};

/// body(fold of T) for the reduction, so that no loop asks which it is.
template <class T, class Body>
decltype(auto) with_fold(Reduction reduction, const Body& body) {
    return reduction == Reduction::max ? body(MaxFold<T>{}) : body(SumFold<T>{});
}

} // namespace ragged::detail
