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

/// f of a symmetric matrix, by Jacobi's rotations.
template <class F>
Matrix function_of(Matrix a, const F& f) {
    const std::int64_t n = a.rows;
    Matrix vectors{n, n};
    for (std::int64_t i = 0; i < n; ++i)
        vectors(i, i) = 1;
    for (int sweep = 0; sweep < 60; ++sweep)
        for (std::int64_t p = 0; p < n; ++p)
            for (std::int64_t q = p + 1; q < n; ++q) {
                if (a(p, q) == 0)
                    continue;
                const double theta = 0.5 * std::atan2(2 * a(p, q), a(q, q) - a(p, p)), c = std::cos(theta),
                             s = std::sin(theta);
                const auto rotate = [&](double& x, double& y) {
                    const double old = x;
                    x = c * old - s * y;
                    y = s * old + c * y;
                };
                for (std::int64_t k = 0; k < n; ++k)
                    rotate(a(k, p), a(k, q));
                for (std::int64_t k = 0; k < n; ++k)
                    rotate(a(p, k), a(q, k));
                for (std::int64_t k = 0; k < n; ++k)
                    rotate(vectors(k, p), vectors(k, q));
            }
    Matrix result{n, n};
    for (std::int64_t i = 0; i < n; ++i)
        for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t k = 0; k < n; ++k)
                result(i, j) += vectors(i, k) * f(a(k, k)) * vectors(j, k);
    return result;
}

/// (A + epsilon * its trace)^(-1/4)
inline Matrix inverse_fourth_root(const Matrix& a, double epsilon) {
    double trace = 0;
    for (std::int64_t i = 0; i < a.rows; ++i)
        trace += a(i, i);
    return function_of(a, [=](double x) { return std::pow(std::fmax(x, 0) + epsilon * trace, -0.25); });
}

} // namespace support
