// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The matrix product that optimizers of whole matrices ask for, and our own model of it, which needs no
// library. BlasGemm (optim/blas_gemm.hpp) and CublasGemm (optim/cublas_gemm.hpp) are quicker.
//
//     ragged::PlainGemm product;
//     product(Transpose::no, Transpose::yes, m, m, n, 1.0f, x, n, x, n, 0.0f, gram, m);   // gram = x x^T
#pragma once

#include <algorithm> // std::min, std::fill
#include <concepts>
#include <cstdint>
#include <string_view>

#include <ragged/buffer/memory_space.hpp>
#include <ragged/core/config.hpp>
#include <ragged/core/error.hpp>

namespace ragged {

/// Whether a factor is read as it lies, or transposed.
enum class Transpose : std::uint8_t { no, yes };

// clang-format off
/// A product of row-major float matrices in one memory space: C = alpha * op(A) op(B) + beta * C, of op(A)
/// [m, k], op(B) [k, n] and C [m, n]. ld* are the elements from a row of the array as it lies to the next.
///
/// | expression                                                      | meaning                             |
/// | --------------------------------------------------------------- | ----------------------------------- |
/// | g.space() -> MemorySpace                                        | where the arrays are                |
/// | g(a, b, m, n, k, alpha, A, lda, B, ldb, beta, C, ldc)           | the product; a, b: Transpose. C does|
/// |                                                                 | not overlap A or B and is not read  |
/// |                                                                 | where beta is 0. On a device it is  |
/// |                                                                 | enqueued. The bits depend on the    |
/// |                                                                 | numbers, not on addresses or ranks  |
// clang-format on
template <class G>
concept gemm = requires(const G& g, Transpose transpose, std::int64_t size, float factor, const float* in,
                        float* out) {
    { g.space() } -> std::same_as<MemorySpace>;
    g(transpose, transpose, size, size, size, factor, in, size, in, size, factor, out, size);
};

namespace detail {

/// @throws BufferError  a negative size, or rows that overlap
inline void check_product(Transpose a, Transpose b, std::int64_t m, std::int64_t n, std::int64_t k,
                          std::int64_t lda, std::int64_t ldb, std::int64_t ldc) {
    if (m < 0 || n < 0 || k < 0)
        throw BufferError(
            concat("a product of [", m, ", ", k, "] and [", k, ", ", n, "] has a negative size"));
    const auto check = [](std::string_view which, std::int64_t distance, std::int64_t row) {
        if (distance < row)
            throw BufferError(concat("rows of ", which, " of a product are ", row, " elements long and lie ",
                                     distance, " apart"));
    };
    check("A", lda, a == Transpose::no ? k : m);
    check("B", ldb, b == Transpose::no ? n : k);
    check("C", ldc, n);
}

} // namespace detail

/// Host, one thread. Sums are in double from the first index to the last and rounded once: the product of two
/// floats is exact there, so they have the same bits on every machine, fused or not. Works on the stack.
struct PlainGemm {
    static constexpr MemorySpace space() { return host_space; }

    /// @throws BufferError  a negative size, or rows that overlap
    void operator()(Transpose a, Transpose b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                    const float* A, std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                    std::int64_t ldc) const {
        detail::check_product(a, b, m, n, k, lda, ldb, ldc);
        double packed[depth][columns];
        double sums[height][columns];
        for (std::int64_t j = 0; j < n; j += columns)
            for (std::int64_t i = 0; i < m; i += height) {
                const std::int64_t rows = std::min(height, m - i), width = std::min(columns, n - j);
                for (auto& row : sums)
                    std::fill(row, row + columns, 0.0);
                for (std::int64_t p = 0; p < k; p += depth) {
                    const std::int64_t length = std::min(depth, k - p);
                    if (b == Transpose::no)
                        pack(packed, B + p * ldb + j, ldb, 1, length, width);
                    else
                        pack(packed, B + j * ldb + p, 1, ldb, length, width);
                    const float* const first = a == Transpose::no ? A + i * lda + p : A + p * lda + i;
                    const std::int64_t down = a == Transpose::no ? lda : 1,
                                       along = a == Transpose::no ? 1 : lda;
                    std::int64_t r = 0;
                    for (; r + tile <= rows; r += tile)
                        add_rows<tile>(sums + r, packed, first + r * down, down, along, length);
                    for (; r < rows; ++r)
                        add_rows<1>(sums + r, packed, first + r * down, down, along, length);
                }
                for (std::int64_t r = 0; r < rows; ++r)
                    write(C + (i + r) * ldc + j, sums[r], width, alpha, beta);
            }
    }

  private:
    // A block of sums and the part of B that it needs stay in the first-level cache, a tile of sums in
    // registers.
    static constexpr std::int64_t height = 64, columns = 8, depth = 128, tile = 4;

    /// The columns of B side by side, short of `columns` filled with zeros.
    static void pack(double (&to)[depth][columns], const float* from, std::int64_t down, std::int64_t along,
                     std::int64_t length, std::int64_t width) {
        for (std::int64_t p = 0; p < length; ++p) {
            for (std::int64_t c = 0; c < width; ++c)
                to[p][c] = static_cast<double>(from[p * down + c * along]);
            std::fill(to[p] + width, to[p] + columns, 0.0);
        }
    }

    /// sums[r][c] += A[r][p] * packed[p][c], for p ascending.
    template <std::int64_t Rows>
    static void add_rows(double (*sums)[columns], const double (&packed)[depth][columns], const float* from,
                         std::int64_t down, std::int64_t along, std::int64_t length) {
        double running[Rows][columns];
        for (std::int64_t r = 0; r < Rows; ++r)
            for (std::int64_t c = 0; c < columns; ++c)
                running[r][c] = sums[r][c];
        for (std::int64_t p = 0; p < length; ++p)
            for (std::int64_t r = 0; r < Rows; ++r) {
                const double x = static_cast<double>(from[r * down + p * along]);
                for (std::int64_t c = 0; c < columns; ++c)
                    running[r][c] += x * packed[p][c];
            }
        for (std::int64_t r = 0; r < Rows; ++r)
            for (std::int64_t c = 0; c < columns; ++c)
                sums[r][c] = running[r][c];
    }

    static void write(float* to, const double* sums, std::int64_t width, float alpha, float beta) {
        for (std::int64_t c = 0; c < width; ++c) {
            const double before = beta == 0.0f ? 0.0 : static_cast<double>(beta) * static_cast<double>(to[c]);
            to[c] = static_cast<float>(fused_multiply_add(static_cast<double>(alpha), sums[c], before));
        }
    }
};

static_assert(gemm<PlainGemm>);

namespace detail {

/// The product where none is given.
inline constexpr PlainGemm plain_gemm{};

} // namespace detail

} // namespace ragged
