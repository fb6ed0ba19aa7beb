// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ragged/optim/blas_gemm.hpp>

#include "support/gemm_suite.hpp"

using ragged::BlasGemm;
using ragged::Transpose;

TEST_CASE("a product of the library is ours but for the rounding, for all sizes, transposes and factors") {
    CHECK_NOTHROW(support::check_all_products(BlasGemm{}, 1e-6));
}

TEST_CASE("on one thread its bits do not depend on where the matrices lie") {
    if (!ragged::use_one_blas_thread())
        MESSAGE("the library is not OpenBLAS");
    CHECK_NOTHROW(support::check_places(BlasGemm{}));
}

TEST_CASE("sizes and distances that cannot be, or that the library cannot count, are refused") {
    float x[4]{};
    CHECK_THROWS_WITH_AS(BlasGemm{}(Transpose::no, Transpose::no, 1, 2, 3, 1.0f, x, 2, x, 2, 0.0f, x, 2),
                         "rows of A of a product are 3 elements long and lie 2 apart", ragged::BufferError);
    if constexpr (sizeof(ragged::BlasInt) == 4)
        CHECK_THROWS_WITH_AS(
            BlasGemm{}(Transpose::no, Transpose::no, 1, 1, 1, 1.0f, x, std::int64_t{1} << 31, x, 1, 0.0f, x,
                       1),
            "a product has a side or a distance of 2147483648, this BLAS counts to 2147483647",
            ragged::BufferError);
}
