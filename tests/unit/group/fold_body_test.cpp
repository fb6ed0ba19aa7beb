// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The threads of a reduction, as loops: the bits of the host, for every type, length and misalignment.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include <ragged/group/fold_body.hpp>
#include <ragged/group/host_executor.hpp>

namespace body = ragged::body;
namespace order = ragged::fold_order;
namespace op = ragged::op;

namespace {

/// One chunk by a team whose threads exchange lanes as they do by shuffles.
template <class Op, class T>
auto team_chunk(const Op& op, const T* chunk, std::int64_t length) {
    constexpr int team = body::team_threads<T>;
    std::vector<body::Lanes<Op, T>> lanes;
    for (int thread = 0; thread < team; ++thread)
        lanes.push_back(body::add_chunk(op, chunk, length, thread));
    for (int distance = team / 2; distance > 0; distance /= 2)
        for (int thread = 0; thread < distance; ++thread)
            body::fold_lanes(op, lanes[static_cast<std::size_t>(thread)],
                             lanes[static_cast<std::size_t>(thread + distance)]);
    return body::fold_own_lanes(op, lanes[0]);
}

template <class Op, class T>
auto by_threads(const Op& op, const T* in, std::int64_t count) {
    using Value = typename Op::value_type;
    std::vector<Value> rows;
    for (int row = 0; row < order::num_rows(count); ++row) {
        Value total{};
        for (std::int64_t c = row; c < order::num_chunks(count); c += order::rows) {
            const Value value = team_chunk(op, in + c * order::chunk,
                                           std::min<std::int64_t>(order::chunk, count - c * order::chunk));
            total = c < order::rows ? value : op.fold(total, value);
        }
        rows.push_back(total);
    }
    std::vector<Value> columns;
    for (int column = 0; column < std::min<int>(body::fold_columns, order::num_rows(count)); ++column)
        columns.push_back(body::fold_column(op, rows.data(), order::num_rows(count), column));
    if (columns.empty())
        return Value{};
    order::fold_by_halving(op, columns.data(), static_cast<int>(columns.size()), body::fold_columns);
    return columns[0];
}

template <class T>
std::vector<T> random_values(std::int64_t count) {
    std::mt19937 random(3);
    std::vector<T> values(static_cast<std::size_t>(count));
    for (T& value : values)
        value = static_cast<T>(static_cast<float>(random()) * 0x1p-30f - 2.0f);
    return values;
}

} // namespace

TEST_CASE_TEMPLATE("threads have the bits of the host", T, float, double, ragged::bf16, ragged::f16,
                   ragged::f8e4m3, ragged::f8e5m2, std::int8_t) {
    const auto values = random_values<T>(300'000);
    for (std::int64_t count : {0, 1, 5, 63, 64, 65, 2047, 2048, 2049, 6000, 299'000})
        for (std::int64_t shift : {0, 1, 4, 16}) {
            CAPTURE(count);
            CAPTURE(shift);
            const T* const in = values.data() + shift;
            const ragged::Values<const T> span{in, count};
            CHECK(by_threads(op::SumOfSquares{}, in, count) ==
                  ragged::HostExecutor::fold(op::SumOfSquares{}, span));
            CHECK(by_threads(op::AbsMax{}, in, count) == ragged::HostExecutor::fold(op::AbsMax{}, span));
            CHECK(by_threads(op::AllFinite{}, in, count) ==
                  ragged::HostExecutor::fold(op::AllFinite{}, span));
        }
}

TEST_CASE("rows take chunks in turns when there are more chunks than rows") {
    const auto values =
        random_values<ragged::f8e4m3>((order::rows * 2 + 77) * std::int64_t{order::chunk} + 9);
    for (std::int64_t chunks : {1500, 8191, 8192, 8193, 16461}) {
        const auto count = chunks * order::chunk + 9;
        CHECK(by_threads(op::SumOfSquares{}, values.data(), count) ==
              ragged::HostExecutor::fold(op::SumOfSquares{},
                                         ragged::Values<const ragged::f8e4m3>{values.data(), count}));
    }
}
