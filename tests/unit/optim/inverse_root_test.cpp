// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Inverse fourth roots beside those by rotations in double.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <ragged/optim/inverse_root.hpp>

#include "support/gemm_suite.hpp"
#include "support/plain_matrix.hpp"

namespace {

using ragged::InverseFourthRoot;
using support::known_matrix;
using support::Matrix;

std::vector<float> root_of(const std::vector<float>& matrix, std::int64_t side, double epsilon) {
    std::vector<float> root(matrix.size(), 77.0f),
        work(static_cast<std::size_t>(InverseFourthRoot::work_elems(side)) + 1, 77.0f);
    const bool converged =
        InverseFourthRoot::run(root.data(), matrix.data(), side, epsilon, work.data(), ragged::PlainGemm{});
    CHECK(converged);
    CHECK(work.back() == 77.0f);
    return root;
}

/// G G^T of known numbers, [side, side] of rank `inner`, as Shampoo's statistics are made.
std::vector<float> gram(std::int64_t side, std::int64_t inner, float length) {
    auto g = known_matrix(side * inner, static_cast<std::uint32_t>(side + inner));
    for (float& x : g)
        x *= length;
    std::vector<float> result(static_cast<std::size_t>(side * side));
    ragged::PlainGemm{}(ragged::Transpose::no, ragged::Transpose::yes, side, side, inner, 1.0f, g.data(),
                        inner, g.data(), inner, 0.0f, result.data(), side);
    return result;
}
Matrix in_double(const std::vector<float>& values, std::int64_t side) {
    return {side, side, std::vector<double>(values.begin(), values.end())};
}

} // namespace

TEST_CASE("roots are those of the rotations, for all sizes, lengths and ranks") {
    for (const std::int64_t side : {1, 2, 3, 8, 17, 40})
        for (const std::int64_t inner : {side * 4, side, std::int64_t{1}})
            for (const float length : {1e-6f, 1.0f, 1e6f}) {
                CAPTURE(side);
                CAPTURE(inner);
                CAPTURE(length);
                const auto matrix = gram(side, inner, length);
                for (const double epsilon : {1e-3, 1e-5, 1e-6}) {
                    CAPTURE(epsilon);
                    const Matrix found = in_double(root_of(matrix, side, epsilon), side),
                                 wanted = support::inverse_fourth_root(in_double(matrix, side), epsilon);
                    const double error = support::norm(support::minus(found, wanted)) / support::norm(wanted);
                    // Elements of the matrix are rounded, which moves an eigenvalue of epsilon.
                    CHECK(error <= (inner > side ? 1e-6 : std::max(1e-6, 1e-8 / epsilon)));
                }
            }
}

TEST_CASE("what has no root is told") {
    std::vector<float> root(4), work(static_cast<std::size_t>(InverseFourthRoot::work_elems(2)));
    for (const float x :
         {2.0f, 1.001f, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        const std::vector<float> matrix{1.0f, x, x, 1.0f}; // eigenvalues 1 + x and 1 - x
        CHECK_FALSE(
            InverseFourthRoot::run(root.data(), matrix.data(), 2, 1e-6, work.data(), ragged::PlainGemm{}));
    }
}

TEST_CASE("of zeros, zeros; of a diagonal, the roots of its elements") {
    CHECK(root_of(std::vector<float>(9, 0.0f), 3, 1e-6) == std::vector<float>(9, 0.0f));
    const auto root = root_of({16.0f, 0.0f, 0.0f, 81.0f}, 2, 1e-9);
    CHECK(root[0] == doctest::Approx(1.0 / 2).epsilon(1e-6));
    CHECK(root[3] == doctest::Approx(1.0 / 3).epsilon(1e-6));
    CHECK(root[1] == 0.0f);
    CHECK(root[2] == 0.0f);
}
