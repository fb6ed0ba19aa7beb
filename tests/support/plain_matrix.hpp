// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Matrices in double, written out: what optimizers of matrices are compared with.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace support {

struct Matrix {
    std::int64_t rows, columns;
    std::vector<double> values = std::vector<double>(static_cast<std::size_t>(rows * columns));

    double& operator()(std::int64_t i, std::int64_t j) {
        return values[static_cast<std::size_t>(i * columns + j)];
    }
    double operator()(std::int64_t i, std::int64_t j) const {
        return values[static_cast<std::size_t>(i * columns + j)];
    }
};
inline Matrix operator*(const Matrix& a, const Matrix& b) {
    Matrix c{a.rows, b.columns};
    for (std::int64_t i = 0; i < c.rows; ++i)
        for (std::int64_t j = 0; j < c.columns; ++j)
            for (std::int64_t k = 0; k < a.columns; ++k)
                c(i, j) += a(i, k) * b(k, j);
    return c;
}
inline Matrix transposed(const Matrix& a) {
    Matrix t{a.columns, a.rows};
    for (std::int64_t i = 0; i < a.rows; ++i)
        for (std::int64_t j = 0; j < a.columns; ++j)
            t(j, i) = a(i, j);
    return t;
}
inline double norm(const Matrix& a) {
    double sum = 0;
    for (const double x : a.values)
        sum += x * x;
    return std::sqrt(sum);
}
inline Matrix minus(Matrix a, const Matrix& b) {
    for (std::size_t i = 0; i < a.values.size(); ++i)
        a.values[i] -= b.values[i];
    return a;
}

/// Muon's iteration.
inline Matrix orthogonalised(Matrix x) {
    const double length = norm(x) + 1e-7;
    for (double& value : x.values)
        value /= length;
    for (int step = 0; step < 5; ++step) {
        const Matrix gram = x * transposed(x), second = gram * x, third = gram * second;
        for (std::size_t i = 0; i < x.values.size(); ++i)
            x.values[i] = 3.4445 * x.values[i] - 4.7750 * second.values[i] + 2.0315 * third.values[i];
    }
    return x;
}

} // namespace support
