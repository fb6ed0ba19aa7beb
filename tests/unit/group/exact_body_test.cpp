// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The threads of an exact sum, as loops: the digits of the host, for every type, length, misalignment and
// number of threads.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <ragged/group/exact_body.hpp>
#include <ragged/group/host_executor.hpp>

#include "support/exact_oracle.hpp"

namespace body = ragged::body;
namespace exact = ragged::exact_sum;
using support::Digits;

namespace {

/// Columns of `threads` in a block, rows of `blocks`, added up in steps of 32.
template <class T>
Digits by_threads(const T* in, std::int64_t count, int blocks, int threads) {
    constexpr int digits = exact::num_digits;
    std::vector<std::int64_t> rows(static_cast<std::size_t>(digits * blocks));
    for (int block = 0; block < blocks; ++block) {
        std::vector<std::int64_t> columns(static_cast<std::size_t>(digits * threads));
        for (int thread = 0; thread < threads; ++thread)
            body::add_squares(exact::Column{columns.data() + thread, threads}, in, count,
                              std::int64_t{block} * threads + thread, std::int64_t{blocks} * threads);
        for (int digit = 0; digit < digits; ++digit)
            for (int lane = 0; lane < 32; ++lane)
                rows[static_cast<std::size_t>(block + digit * blocks)] +=
                    body::add_strided(columns.data() + digit * threads, lane, 32, threads);
    }
    return support::published([&](exact::Column sum) {
        for (int digit = 0; digit < digits; ++digit)
            for (int lane = 0; lane < 32; ++lane)
                sum[digit] += body::add_strided(rows.data() + digit * blocks, lane, 32, blocks);
    });
}

template <class T>
Digits on_host(const T* in, std::int64_t count) {
    Digits digits{};
    ragged::HostExecutor{}.exact_sum_of_squares(
        1,
        [&](std::int64_t) {
            return ragged::Values<const T>{in, count};
        },
        digits.data());
    return digits;
}

} // namespace

TEST_CASE_TEMPLATE("threads have the digits of the host", T, float, ragged::bf16, ragged::f16, ragged::f8e4m3,
                   std::int8_t) {
    std::mt19937 random(5);
    std::vector<T> values(9100);
    for (T& x : values) {
        const auto bits = static_cast<std::uint32_t>(random());
        std::memcpy(&x, &bits, sizeof x);
    }
    for (std::int64_t count : {0, 1, 5, 63, 64, 65, 2048, 2049, 9000})
        for (std::int64_t shift : {0, 1, 4, 16})
            for (int blocks : {1, 3}) {
                CAPTURE(count);
                CAPTURE(shift);
                const T* const in = values.data() + shift;
                CHECK(by_threads(in, count, blocks, 40) == on_host(in, count));
            }
}

TEST_CASE("a thread with many of the largest values carries in time, in words and one by one") {
    const std::vector<float> values(600'001, 0x1.fffffep+5f); // moves a digit furthest
    for (std::int64_t shift : {0, 1})
        CHECK(by_threads(values.data() + shift, 600'000, 1, 1) == on_host(values.data() + shift, 600'000));
}

TEST_CASE("rows fit where the rows of other reductions lie") {
    CHECK(body::exact_rows * exact::num_digits <= ragged::fold_order::rows);
    CHECK(body::exact_rows >= 300); // thread blocks: two on each processor of a large device, and more
    CHECK(exact::num_digits * body::exact_threads * sizeof(std::int64_t) <= 48 * 1024);
}
