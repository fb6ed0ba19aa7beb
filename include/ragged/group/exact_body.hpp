// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What one of many threads does in an exact sum: it adds the squares of its elements to a column of digits of
// its own. Nothing is rounded, so neither the number of threads nor who takes which element changes a bit;
// thread blocks add up the columns of their threads into a row, and one thread block the rows.
#pragma once

#include <cstdint>

#include <ragged/group/exact_sum.hpp>
#include <ragged/group/flat_body.hpp>
#include <ragged/group/fold_order.hpp>

namespace ragged::body {

/// Columns of a thread block; they fill most of the 48 KiB that every device shares among a block's threads.
inline constexpr int exact_threads = 256;
/// As many rows of digits as there is room in the workspace of the other reductions, and no fewer than fill a
/// device with thread blocks.
inline constexpr int exact_rows = fold_order::rows / exact_sum::num_digits;

/// sum += the squares of the elements in [0, count) that are `thread`'s. The sum is carried.
/// @param thread  in [0, num_threads)
template <class T>
RAGGED_HOST_DEVICE void add_squares(exact_sum::Column sum, const T* in, std::int64_t count,
                                    std::int64_t thread, std::int64_t num_threads) {
    constexpr int elems = Word<T>::elems;
    constexpr int in_flight = 4;      // loads that wait for memory together
    constexpr int carry_every = 1024; // steps of up to 64 squares, each of which moves a digit by up to 2^47
    const std::int64_t words = are_aligned<elems>(in) ? count / elems : 0;
    int steps = 0;
    RAGGED_ROLL
    for (std::int64_t word = thread; word < words; word += in_flight * num_threads) {
        Pack<elems, T> packs[in_flight]{};
        RAGGED_UNROLL
        for (int i = 0; i < in_flight; ++i)
            if (word + i * num_threads < words)
                packs[i] = load<elems>(in + (word + i * num_threads) * elems);
        RAGGED_UNROLL
        for (int i = 0; i < in_flight; ++i) {
            RAGGED_UNROLL
            for (int k = 0; k < elems; ++k)
                exact_sum::add_square(sum, packs[i][k]);
        }
        if (++steps % carry_every == 0)
            exact_sum::carry(sum);
    }
    RAGGED_ROLL
    for (std::int64_t i = words * elems + thread; i < count; i += num_threads) {
        exact_sum::add_square(sum, in[i]);
        if (++steps % carry_every == 0)
            exact_sum::carry(sum);
    }
    exact_sum::carry(sum);
}

/// values[first] + values[first + step] + ... below count: a thread's share in adding up columns, or rows.
RAGGED_HOST_DEVICE inline std::int64_t add_strided(const std::int64_t* values, int first, int step,
                                                   int count) {
    std::int64_t total = 0;
    for (int i = first; i < count; i += step)
        total += values[i];
    return total;
}

} // namespace ragged::body
