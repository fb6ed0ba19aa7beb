// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What every model of a product must do: all sizes, transposes, factors and distances of rows, beside sums in
// double written out.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <ragged/optim/gemm.hpp>

#include "support/expect.hpp"

namespace support {

struct Product {
    ragged::Transpose a, b;
    std::int64_t m, n, k;
    float alpha = 1.0f, beta = 0.0f;
    std::int64_t more_a = 0, more_b = 0, more_c = 0; // elements between rows
};

inline std::vector<float> known_matrix(std::int64_t elements, std::uint32_t seed) {
    std::vector<float> result(static_cast<std::size_t>(elements));
    for (float& x : result) {
        seed = seed * 1664525u + 1013904223u;
        x = static_cast<float>(static_cast<std::int32_t>(seed)) * 0x1p-31f;
    }
    return result;
}

/// @param tolerance  of what is summed, in units of its absolute sum; 0: the same bits
template <ragged::gemm G>
void check_product(const G& product, const Product& p, double tolerance) {
    using ragged::Transpose;
    const std::int64_t rows_a = p.a == Transpose::no ? p.m : p.k, rows_b = p.b == Transpose::no ? p.k : p.n;
    const std::int64_t lda = (p.a == Transpose::no ? p.k : p.m) + p.more_a,
                       ldb = (p.b == Transpose::no ? p.n : p.k) + p.more_b, ldc = p.n + p.more_c;
    const auto A = known_matrix(rows_a * lda + 1, 1), B = known_matrix(rows_b * ldb + 1, 2);
    const auto before = p.beta == 0.0f // then C is not read
                            ? std::vector<float>(static_cast<std::size_t>(p.m * ldc + 1),
                                                 std::numeric_limits<float>::quiet_NaN())
                            : known_matrix(p.m * ldc + 1, 3);
    auto C = before;
    product(p.a, p.b, p.m, p.n, p.k, p.alpha, A.data(), lda, B.data(), ldb, p.beta, C.data(), ldc);
    const auto at = [](const std::vector<float>& x, std::int64_t i) {
        return x[static_cast<std::size_t>(i)];
    };
    for (std::int64_t i = 0; i < p.m; ++i)
        for (std::int64_t j = 0; j < ldc; ++j) {
            const float found = at(C, i * ldc + j), old = at(before, i * ldc + j);
            if (j >= p.n) {
                expect(std::isnan(old) ? std::isnan(found) : found == old, "between rows nothing is written");
                continue;
            }
            double sum = 0, size = 0;
            for (std::int64_t l = 0; l < p.k; ++l) {
                const double term =
                    static_cast<double>(at(A, p.a == Transpose::no ? i * lda + l : l * lda + i)) *
                    static_cast<double>(at(B, p.b == Transpose::no ? l * ldb + j : j * ldb + l));
                sum += term;
                size += std::fabs(term);
            }
            const double kept = p.beta == 0.0f ? 0.0 : static_cast<double>(p.beta) * static_cast<double>(old);
            const double wanted = std::fma(static_cast<double>(p.alpha), sum, kept);
            const double allowed =
                tolerance * (std::fabs(static_cast<double>(p.alpha)) * size + std::fabs(kept));
            expect(tolerance == 0 ? found == static_cast<float>(wanted)
                                  : std::fabs(static_cast<double>(found) - wanted) <= allowed,
                   ragged::concat("element [", i, ", ", j, "] of [", p.m, ", ", p.n, "] over ", p.k, " is ",
                                  found, ", wanted ", wanted));
        }
}

template <ragged::gemm G>
void check_all_products(const G& product, double tolerance) {
    using ragged::Transpose;
    for (const Transpose a : {Transpose::no, Transpose::yes})
        for (const Transpose b : {Transpose::no, Transpose::yes}) {
            for (std::int64_t m = 0; m <= 6; ++m)
                for (std::int64_t n = 0; n <= 10; ++n)
                    for (std::int64_t k = 0; k <= 4; ++k)
                        check_product(product, {a, b, m, n, k}, tolerance);
            check_product(product, {a, b, 70, 9, 130, -0.75f, 0.5f, 1, 2, 3}, tolerance);
            check_product(product, {a, b, 64, 16, 256, 2.0f, 1.0f}, tolerance);
            check_product(product, {a, b, 65, 17, 129, 1.5f, 0.0f, 0, 5, 1}, tolerance);
            check_product(product, {a, b, 1, 100, 1, 1.0f, -2.0f}, tolerance);
            check_product(product, {a, b, 100, 1, 300}, tolerance);
        }
}

/// The same numbers at another place in an array give the same bits.
template <ragged::gemm G>
void check_places(const G& product) {
    using ragged::Transpose;
    for (const std::int64_t size : {5, 33, 64}) {
        const auto x = known_matrix(size * size, 4);
        std::vector<float> first;
        for (std::size_t shift = 0; shift < 16; ++shift) {
            std::vector<float> moved(shift, 0.0f), result(x.size() + shift);
            moved.insert(moved.end(), x.begin(), x.end());
            product(Transpose::no, Transpose::yes, size, size, size, 1.0f, moved.data() + shift, size,
                    moved.data() + shift, size, 0.0f, result.data() + shift, size);
            const std::vector<float> found(result.begin() + static_cast<std::ptrdiff_t>(shift), result.end());
            if (shift == 0)
                first = found;
            expect(found == first, "bits do not depend on the place");
        }
    }
}

} // namespace support
