// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The nearest semi-orthogonal matrix, roughly: Muon's Newton-Schulz iteration. It takes every singular value
// of a matrix to between about 0.7 and 1.2 and leaves the singular vectors, with products alone.
#pragma once

#include <algorithm> // std::min
#include <cmath>     // std::sqrt
#include <cstddef>
#include <cstdint>
#include <utility>

#include <ragged/core/integer.hpp>
#include <ragged/group/executor.hpp>
#include <ragged/optim/gemm.hpp>

namespace ragged {

namespace op {

/// 1 / (root + epsilon), of a sum of squares.
struct InverseNorm {
    double epsilon;

    RAGGED_HOST_DEVICE double operator()(double sum) const { return 1.0 / (std::sqrt(sum) + epsilon); }
};

/// x * factor, of a factor in the executor's memory: it need not be known when the operation is enqueued.
struct ScaleBy {
    const double* factor;

    RAGGED_HOST_DEVICE float operator()(float x) const {
        return static_cast<float>(static_cast<double>(x) * *factor);
    }
};

} // namespace op

/// X <- aX + (bA + cA^2) X with A = X X^T, from X = G / (|G| + epsilon), |G| the Frobenius norm; for matrices
/// of more rows than columns the same of the transpose, without transposing it: X <- aX + X (bA + cA^2) with
/// A = X^T X.
/// Source: K. Jordan et al., Muon, 2024
struct NewtonSchulz {
    static constexpr std::int64_t steps = 5;
    static constexpr float a = 3.4445f, b = -4.7750f, c = 2.0315f;
    static constexpr double epsilon = 1e-7;

    /// Of the space that run() works in, which starts as a buffer does.
    /// @throws PlanError  more than 64 bits count
    static std::int64_t work_bytes(std::int64_t rows, std::int64_t columns) {
        const auto size = static_cast<std::int64_t>(sizeof(float));
        return checked_add(first_matrix,
                           checked_mul(checked_add(2 * gram_elems(rows, columns), padded(rows, columns),
                                                   "Newton-Schulz workspace"),
                                       size, "Newton-Schulz workspace"),
                           "Newton-Schulz workspace");
    }

    /// Replace `matrix`, [rows, columns], in the space of the product and of the executor. Sync: as these; on
    /// a device all is enqueued and nothing is read back.
    /// @param work  [work_bytes(rows, columns)], same space
    template <gemm G, group_executor E>
    static void run(float* matrix, std::int64_t rows, std::int64_t columns, void* work, const G& product,
                    const E& executor) {
        const std::int64_t elements = rows * columns, side = std::min(rows, columns);
        if (elements == 0)
            return;
        auto* const norm = static_cast<double*>(work);
        auto* const gram = reinterpret_cast<float*>(static_cast<std::byte*>(work) + first_matrix);
        float* const square = gram + gram_elems(rows, columns);
        // Steps go from one array to the other and back; the last ends in `matrix`.
        float *from = matrix, *to = square + gram_elems(rows, columns);
        if (steps % 2 != 0)
            std::swap(from, to);
        const float* const given = matrix;
        executor.reduce(
            op::SumOfSquares{}, 1,
            [=](std::int64_t) {
                return Values<const float>{given, elements};
            },
            norm);
        executor.map(op::InverseNorm{epsilon}, Values<double>{norm + 1, 1}, static_cast<const double*>(norm));
        executor.map(op::ScaleBy{norm + 1}, Values<float>{from, elements}, given);

        const auto bytes = [](std::int64_t floats) {
            return static_cast<std::size_t>(floats) * sizeof(float);
        };
        const Transpose no = Transpose::no, yes = Transpose::yes;
        const bool wide = rows <= columns;
        for (std::int64_t step = 0; step < steps; ++step) {
            product(wide ? no : yes, wide ? yes : no, side, side, elements / side, 1.0f, from, columns, from,
                    columns, 0.0f, gram, side);
            executor.copy(square, gram, bytes(side * side));
            product(no, no, side, side, side, c, gram, side, gram, side, b, square, side);
            executor.copy(to, from, bytes(elements));
            if (wide)
                product(no, no, rows, columns, side, 1.0f, square, side, from, columns, a, to, columns);
            else
                product(no, no, rows, columns, side, 1.0f, from, columns, square, side, a, to, columns);
            std::swap(from, to);
        }
    }

  private:
    // Matrices of the workspace start at multiples of this, in bytes.
    static constexpr std::int64_t first_matrix = 128;

    static std::int64_t padded(std::int64_t rows, std::int64_t columns) {
        return round_up(checked_mul(rows, columns, "Newton-Schulz workspace"),
                        first_matrix / static_cast<std::int64_t>(sizeof(float)));
    }
    static std::int64_t gram_elems(std::int64_t rows, std::int64_t columns) {
        return padded(std::min(rows, columns), std::min(rows, columns));
    }
};

} // namespace ragged
