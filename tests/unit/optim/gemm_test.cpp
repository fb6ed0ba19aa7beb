// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ragged/optim/gemm.hpp>

#include "support/gemm_suite.hpp"

using ragged::PlainGemm;
using ragged::Transpose;

TEST_CASE("a product has the bits of sums in double, for all sizes, transposes, factors and distances") {
    CHECK_NOTHROW(support::check_all_products(PlainGemm{}, 0.0));
}

TEST_CASE("its bits do not depend on where the matrices lie") {
    CHECK_NOTHROW(support::check_places(PlainGemm{}));
}

TEST_CASE("sizes and distances that cannot be are refused") {
    float x[16]{};
    const auto product = [&](Transpose a, Transpose b, std::int64_t m, std::int64_t n, std::int64_t k,
                             std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
        PlainGemm{}(a, b, m, n, k, 1.0f, x, lda, x, ldb, 0.0f, x + 8, ldc);
    };
    const auto no = Transpose::no, yes = Transpose::yes;
    CHECK_THROWS_WITH_AS(product(no, no, -1, 2, 2, 2, 2, 2),
                         "a product of [-1, 2] and [2, 2] has a negative size", ragged::BufferError);
    CHECK_THROWS_WITH_AS(product(no, no, 1, 2, 3, 2, 2, 2),
                         "rows of A of a product are 3 elements long and lie 2 apart", ragged::BufferError);
    CHECK_THROWS_WITH_AS(product(yes, no, 3, 2, 1, 2, 2, 2),
                         "rows of A of a product are 3 elements long and lie 2 apart", ragged::BufferError);
    CHECK_THROWS_WITH_AS(product(no, yes, 1, 1, 2, 2, 1, 1),
                         "rows of B of a product are 2 elements long and lie 1 apart", ragged::BufferError);
    CHECK_THROWS_WITH_AS(product(no, no, 2, 2, 1, 1, 2, 1),
                         "rows of C of a product are 2 elements long and lie 1 apart", ragged::BufferError);
}
