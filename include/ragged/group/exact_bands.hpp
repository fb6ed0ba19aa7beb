// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// How a host takes exact sums quickly: in vectors of doubles. Of a chunk of values, those within 22 binades
// below the largest are a **band**. A double takes the squares of a band and stays in one binade, where its
// last bit has one weight; what falls below that bit is itself exact, and a second double takes it. Values
// below the band are left for the next one; most chunks have one band.
#pragma once

#include <algorithm> // std::fill_n, std::min, std::max
#include <cmath>     // std::fabs, std::isnan
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include <ragged/core/config.hpp>
#include <ragged/group/exact_sum.hpp>
#include <ragged/group/executor.hpp>

namespace ragged::exact_sum {

inline constexpr int chunk = 2048;  // values that stay in the first cache
inline constexpr int lanes = 32;    // sums that run beside each other
inline constexpr int term_bits = 6; // a lane takes 2^6 terms of a chunk
static_assert(lanes << term_bits == chunk);

/// The largest |x|, and the smallest that is not zero; a NaN is passed over.
struct Range {
    float largest, smallest;
};

/// @pre lanes divides count
inline Range range_of(const float* values, int count) {
    constexpr float none = std::numeric_limits<float>::max();
    float largest[lanes]{}, smallest[lanes];
    std::fill_n(smallest, lanes, none);
    for (int i = 0; i < count; i += lanes) {
        prefetch_ahead(values + i, lanes * sizeof(float));
        for (int lane = 0; lane < lanes; ++lane) {
            const float x = std::fabs(values[i + lane]), not_zero = x == 0.0f ? none : x;
            largest[lane] = x > largest[lane] ? x : largest[lane];
            smallest[lane] = not_zero < smallest[lane] ? not_zero : smallest[lane];
        }
    }
    for (int lane = 1; lane < lanes; ++lane) {
        largest[0] = std::max(largest[0], largest[lane]);
        smallest[0] = std::min(smallest[0], smallest[lane]);
    }
    return {largest[0], smallest[0]};
}

/// Values |x| < 2^(exponent + 1), so x * x < 2^(2 exponent + 2), that are not below floor().
struct Band {
    int exponent; // from -105 on: that band has all that is smaller

    static Band below(float largest) {
        return {std::max(static_cast<int>(bit_cast<std::uint32_t>(largest) >> 23) - 127, -105)};
    }

    float floor() const {
        return exponent == -105 ? 0.0f
                                : bit_cast<float>(static_cast<std::uint32_t>(exponent - 21 + 127) << 23);
    }

    /// Where a lane starts: the terms of a chunk at most double it.
    int coarse_exponent() const { return 2 * exponent + 2 + term_bits; }
    double coarse_start() const { return power_of_two(coarse_exponent()); }

    /// What is left of each term is less than the last bit of the coarse sum, of either sign: this starts in
    /// the middle of its binade. Its last bit, 2^(2 exponent - 89), is not above that of floor() squared.
    int fine_exponent() const { return coarse_exponent() - 52 + term_bits + 1; }
    double fine_start() const { return 1.5 * power_of_two(fine_exponent()); }

  private:
    static double power_of_two(int e) { return bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52); }
};

/// sum += the squares of the values, unless one is a NaN. Returns whether none is.
/// @pre lanes divides count; |x| is zero or in the band
inline bool add_band(Column sum, const float* values, int count, Band band) {
    double coarse[lanes], fine[lanes];
    std::fill_n(coarse, lanes, band.coarse_start());
    std::fill_n(fine, lanes, band.fine_start());
    for (int i = 0; i < count; i += lanes)
        for (int lane = 0; lane < lanes; ++lane) {
            const double x = values[i + lane]; // x * x is exact: it may be fused into what follows, or not
            const double next = coarse[lane] + x * x;
            fine[lane] += x * x - (next - coarse[lane]);
            coarse[lane] = next;
        }
    for (const double x : coarse)
        if (std::isnan(x))
            return false;
    std::int64_t coarse_units = 0, fine_units = 0; // of the last bits: in one binade, patterns count them
    for (int lane = 0; lane < lanes; ++lane) {
        coarse_units += bit_cast<std::int64_t>(coarse[lane]) - bit_cast<std::int64_t>(band.coarse_start());
        fine_units += bit_cast<std::int64_t>(fine[lane]) - bit_cast<std::int64_t>(band.fine_start());
    }
    add(sum, coarse_units, band.coarse_exponent() - 52);
    add(sum, fine_units, band.fine_exponent() - 52);
    return true;
}

/// sum += the squares of the values. @pre lanes divides count, count <= chunk
inline void add_chunk(Column sum, const float* values, int count) {
    float in_band[chunk], rest[chunk];
    for (bool done = false; !done;) {
        const Range range = range_of(values, count);
        const Band band = Band::below(range.largest);
        const float* taken = values;
        done = range.smallest >= band.floor();
        if (!done) {
            for (int i = 0; i < count; ++i) {
                const float x = values[i];
                const bool below = std::fabs(x) < band.floor(); // a NaN is not
                in_band[i] = below ? 0.0f : x;
                rest[i] = below ? x : 0.0f;
            }
            taken = in_band;
        }
        if (range.largest > std::numeric_limits<float>::max() || !add_band(sum, taken, count, band)) {
            // before anything was taken
            for (int i = 0; i < count; ++i)
                add_square(sum, values[i]);
            return;
        }
        values = rest;
    }
}

/// sum += the squares of the values. Host; the sum is carried.
template <element T>
void add_squares(Column sum, Values<const T> in) {
    float wide[chunk];
    for (std::int64_t start = 0; start < in.count; start += chunk) {
        const T* const from = in.data + start;
        const int length = static_cast<int>(std::min<std::int64_t>(chunk, in.count - start));
        const int in_lanes = length / lanes * lanes;
        if constexpr (std::is_same_v<T, float>) {
            add_chunk(sum, from, in_lanes);
        } else {
            prefetch_ahead(from, static_cast<std::size_t>(in_lanes) * sizeof(T));
            for (int i = 0; i < in_lanes; ++i)
                wide[i] = static_cast<float>(from[i]);
            add_chunk(sum, wide, in_lanes);
        }
        for (int i = in_lanes; i < length; ++i)
            add_square(sum, from[i]);
        carry(sum);
    }
}

} // namespace ragged::exact_sum
