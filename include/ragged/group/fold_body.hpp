// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What one of many threads does in a reduction, so that all together keep to fold_order. A **team** of
// threads shares a chunk: each holds neighbouring lanes, as many as there are elements in 16 bytes. Teams
// make rows, and one thread block folds the rows.
#pragma once

#include <cstdint>

#include <ragged/group/flat_body.hpp>
#include <ragged/group/fold_order.hpp>

namespace ragged::body {

/// Threads of a team: 4 for 1-byte elements, 8, 16, and 32 for 8-byte ones.
template <class T>
inline constexpr int team_threads = fold_order::lanes / Word<T>::elems;

/// The lanes of one thread.
template <class Op, class T>
struct Lanes {
    using Value = typename Op::value_type;
    static constexpr int count = Word<T>::elems;
    Value values[count];
};

/// The lanes of thread `thread` of a team, over one chunk of `length` elements.
template <class Op, class T>
RAGGED_HOST_DEVICE Lanes<Op, T> add_chunk(const Op& op, const T* chunk, std::int64_t length, int thread) {
    constexpr int elems = Lanes<Op, T>::count;
    constexpr int in_flight = 8; // loads that wait for memory together
    Lanes<Op, T> lanes{};
    if (length == fold_order::chunk && are_aligned<Word<T>::elems>(chunk)) {
        const T* from = chunk + thread * elems;
        RAGGED_ROLL
        for (int step = 0; step < fold_order::chunk / fold_order::lanes; step += in_flight) {
            Pack<elems, T> packs[in_flight];
            RAGGED_UNROLL
            for (int i = 0; i < in_flight; ++i, from += fold_order::lanes)
                packs[i] = load<elems>(from);
            RAGGED_UNROLL
            for (int i = 0; i < in_flight; ++i) {
                RAGGED_UNROLL
                for (int lane = 0; lane < elems; ++lane)
                    lanes.values[lane] = op.add(lanes.values[lane], packs[i][lane]);
            }
        }
    } else {
        RAGGED_ROLL
        for (std::int64_t start = thread * elems; start < length; start += fold_order::lanes) {
            RAGGED_UNROLL
            for (int i = 0; i < elems; ++i)
                if (start + i < length)
                    lanes.values[i] = op.add(lanes.values[i], chunk[start + i]);
        }
    }
    return lanes;
}

/// Fold in the lanes of another thread of the team: the halving from 64 lanes down to those of one thread.
template <class Op, class T>
RAGGED_HOST_DEVICE void fold_lanes(const Op& op, Lanes<Op, T>& lanes, const Lanes<Op, T>& other) {
    RAGGED_UNROLL
    for (int i = 0; i < lanes.count; ++i)
        lanes.values[i] = op.fold(lanes.values[i], other.values[i]);
}

/// The rest of the halving, inside the first thread of the team: the value of the chunk.
template <class Op, class T>
RAGGED_HOST_DEVICE typename Op::value_type fold_own_lanes(const Op& op, Lanes<Op, T> lanes) {
    RAGGED_UNROLL
    for (int half = lanes.count / 2; half > 0; half /= 2) {
        RAGGED_UNROLL
        for (int i = 0; i < lanes.count / 2; ++i)
            if (i < half)
                lanes.values[i] = op.fold(lanes.values[i], lanes.values[i + half]);
    }
    return lanes.values[0];
}

/// Rows are folded in columns of this distance: first those of a column, by one thread, then the columns.
inline constexpr int fold_columns = 1024;

/// The halving of `num_rows` rows down to fold_columns, in the column of `column`.
/// @pre column < num_rows
template <class Op>
RAGGED_HOST_DEVICE typename Op::value_type fold_column(const Op& op, const typename Op::value_type* rows,
                                                       int num_rows, int column) {
    constexpr int depth = fold_order::rows / fold_columns;
    typename Op::value_type values[depth]{};
    RAGGED_UNROLL
    for (int i = 0; i < depth; ++i)
        if (column + i * fold_columns < num_rows)
            values[i] = rows[column + i * fold_columns];
    RAGGED_UNROLL
    for (int half = depth / 2; half > 0; half /= 2) {
        RAGGED_UNROLL
        for (int i = 0; i < depth / 2; ++i)
            if (i < half && column + (i + half) * fold_columns < num_rows)
                values[i] = op.fold(values[i], values[i + half]);
    }
    return values[0];
}

} // namespace ragged::body
