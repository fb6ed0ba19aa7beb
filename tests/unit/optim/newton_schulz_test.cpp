// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The iteration beside one in double, and what it is for: singular vectors stay, singular values come near 1.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include <ragged/group/host_executor.hpp>
#include <ragged/optim/newton_schulz.hpp>

#include "support/gemm_suite.hpp"
#include "support/plain_matrix.hpp"

namespace {

using ragged::NewtonSchulz;
using support::known_matrix;
using support::Matrix;
using support::minus;
using support::norm;

std::vector<float> run(std::vector<float> matrix, std::int64_t rows, std::int64_t columns) {
    std::vector<std::byte> work(static_cast<std::size_t>(NewtonSchulz::work_bytes(rows, columns)) + 1);
    work.back() = std::byte{77};
    NewtonSchulz::run(matrix.data(), rows, columns, work.data(), ragged::PlainGemm{}, ragged::HostExecutor{});
    CHECK(work.back() == std::byte{77});
    return matrix;
}
Matrix matrix_of(const std::vector<float>& values, std::int64_t rows, std::int64_t columns) {
    return {rows, columns, std::vector<double>(values.begin(), values.end())};
}

} // namespace

TEST_CASE("every shape has the values of the iteration in double") {
    for (const auto& shape : {std::pair<std::int64_t, std::int64_t>{1, 1},
                              {1, 7},
                              {7, 1},
                              {2, 3},
                              {3, 2},
                              {8, 8},
                              {5, 64},
                              {64, 5},
                              {32, 48},
                              {33, 20},
                              {0, 4},
                              {4, 0}}) {
        const std::int64_t rows = shape.first, columns = shape.second;
        CAPTURE(rows);
        CAPTURE(columns);
        const auto given = known_matrix(rows * columns, static_cast<std::uint32_t>(rows));
        const Matrix wanted = support::orthogonalised(matrix_of(given, rows, columns));
        CHECK(norm(minus(matrix_of(run(given, rows, columns), rows, columns), wanted)) <=
              1e-6 * norm(wanted));
    }
}

TEST_CASE("singular vectors stay and singular values come near 1, whatever the length of the matrix") {
    for (const float length : {1e-3f, 1.0f, 1e30f}) {
        auto given = known_matrix(12 * 40, 5);
        for (float& x : given)
            x *= length;
        const Matrix g = matrix_of(given, 12, 40), x = matrix_of(run(given, 12, 40), 12, 40);
        const Matrix symmetric = x * transposed(g); // U s S U^T
        CHECK(norm(minus(symmetric, transposed(symmetric))) <= 1e-5 * norm(symmetric));
        const Matrix squares = x * transposed(x); // U s^2 U^T
        Matrix power = squares;
        for (int i = 0; i < 6; ++i) // traces of powers: the largest s^2, then the smallest
            power = power * power;
        double trace = 0;
        for (std::int64_t i = 0; i < 12; ++i)
            trace += power(i, i);
        CHECK(std::pow(trace, 1.0 / 64) <= 1.25 * 1.25);
        double sum = 0;
        for (std::int64_t i = 0; i < 12; ++i)
            sum += squares(i, i);
        CHECK(sum >= 12 * 0.6 * 0.6);
    }
}

TEST_CASE("zeros stay zeros") {
    CHECK(run(std::vector<float>(12, 0.0f), 3, 4) == std::vector<float>(12, 0.0f));
}
