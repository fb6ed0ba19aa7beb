// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The order of a reduction against the same order written down naively, in values that show every difference.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <ragged/group/host_executor.hpp>

namespace order = ragged::fold_order;

namespace {

/// A sum that no two orders agree on, whatever the values: a hash of the tree of additions.
struct Tree {
    using value_type = std::uint64_t;

    static std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
        std::uint64_t x = a * 0x9e3779b97f4a7c15u + (b ^ 0xbf58476d1ce4e5b9u);
        x = (x ^ (x >> 29)) * 0x94d049bb133111ebu;
        return x ^ (x >> 32);
    }
    static std::uint64_t add(std::uint64_t sum, std::uint8_t x) { return mix(sum, x + 1u); }
    static std::uint64_t fold(std::uint64_t a, std::uint64_t b) { return mix(a, ~b); }
    static std::uint64_t result(std::uint64_t a) { return a; }
};

void halve(std::vector<std::uint64_t>& values, std::size_t width) {
    for (std::size_t half = width / 2; half > 0; half /= 2)
        for (std::size_t i = 0; i < half; ++i)
            if (i + half < values.size())
                values[i] = Tree::fold(values[i], values[i + half]);
}

template <class T>
ragged::Values<const T> values_of(const std::vector<T>& in) {
    return {in.data(), static_cast<std::int64_t>(in.size())};
}

std::uint64_t naive(const std::vector<std::uint8_t>& in) {
    std::vector<std::uint64_t> rows;
    for (std::size_t c = 0; c * 2048 < in.size(); ++c) {
        std::vector<std::uint64_t> lanes(64);
        for (std::size_t i = c * 2048; i < std::min(in.size(), (c + 1) * 2048); ++i)
            lanes[i % 64] = Tree::add(lanes[i % 64], in[i]);
        halve(lanes, 64);
        if (c < 8192)
            rows.push_back(lanes[0]);
        else
            rows[c % 8192] = Tree::fold(rows[c % 8192], lanes[0]);
    }
    if (rows.empty())
        return 0;
    halve(rows, 8192);
    return rows[0];
}

} // namespace

TEST_CASE("the host folds in the order that is written, for every kind of length") {
    std::mt19937 random(1);
    std::vector<std::int64_t> lengths{0, 1, 63, 64, 65, 127, 2047, 2048, 2049, 4096, 5000, 100'000};
    for (std::int64_t chunks : {8191, 8192, 8193, 3 * 8192 + 5})
        for (std::int64_t rest : {0, 1, 65})
            lengths.push_back(chunks * order::chunk + rest);
    for (std::int64_t length : lengths) {
        CAPTURE(length);
        std::vector<std::uint8_t> in(static_cast<std::size_t>(length));
        for (std::uint8_t& x : in)
            x = static_cast<std::uint8_t>(random());
        CHECK(ragged::HostExecutor::fold(Tree{}, values_of(in)) == naive(in));
    }
}

TEST_CASE("chunks and rows of a length") {
    CHECK(order::num_chunks(0) == 0);
    CHECK(order::num_chunks(2048) == 1);
    CHECK(order::num_chunks(2049) == 2);
    CHECK(order::num_rows(2049) == 2);
    CHECK(order::num_rows(std::int64_t{1} << 40) == 8192);
}

TEST_CASE("a sum of many floats is near the exact sum, and has the same bits every time") {
    std::mt19937 random(2);
    std::vector<float> in(300'000);
    for (float& x : in)
        x = static_cast<float>(random() % 1000) * 1e-3f - 0.5f;
    long double exact = 0;
    for (float x : in)
        exact += static_cast<long double>(x) * static_cast<long double>(x);
    const double once = ragged::HostExecutor::fold(ragged::op::SumOfSquares{}, values_of(in));
    CHECK(std::fabs(once - static_cast<double>(exact)) < 1e-12 * once);
    CHECK(once == ragged::HostExecutor::fold(ragged::op::SumOfSquares{}, values_of(in)));
}
