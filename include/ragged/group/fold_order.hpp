// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The one order in which a reduction takes its elements. It depends on their number only, so equal data gives
// equal bits: on the host, on a device, on any number of threads, in any element type's packs.
//
//     lanes    element i of a chunk of 2048 is added to lane i % 64, in order
//     chunk    the lanes fold by halving: lane l with l + 32, then with l + 16, ... 1
//     row      the chunks c, c + 8192, c + 2 * 8192, ... fold in order into row c
//     total    the rows fold by halving: row r with r + 4096, ... 1, as far as there are rows
//
// 64 lanes fill the vector registers of a host; 8192 rows are room enough for a device and for any length.
#pragma once

#include <cstdint>

#include <ragged/core/config.hpp>

namespace ragged::fold_order {

inline constexpr int lanes = 64;
inline constexpr int chunk = 2048;
inline constexpr int rows = 8192;

RAGGED_HOST_DEVICE constexpr std::int64_t num_chunks(std::int64_t elements) {
    return (elements + chunk - 1) / chunk;
}
/// Rows that hold a value: all of them from 8192 chunks on.
RAGGED_HOST_DEVICE constexpr int num_rows(std::int64_t elements) {
    const std::int64_t chunks = num_chunks(elements);
    return static_cast<int>(chunks < rows ? chunks : rows);
}

/// Fold values[0, count) by halving from `width` down, into values[0]. count <= width, a power of two.
template <class Op, class Value>
RAGGED_HOST_DEVICE constexpr void fold_by_halving(const Op& op, Value* values, int count, int width) {
    for (int half = width / 2; half > 0; half /= 2)
        for (int i = 0; i < half && i + half < count; ++i)
            values[i] = op.fold(values[i], values[i + half]);
}

} // namespace ragged::fold_order
