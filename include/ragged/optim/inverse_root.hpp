// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A^(-1/4) of a small symmetric matrix without negative eigenvalues, with products alone: what Shampoo
// multiplies a gradient with on either side.
#pragma once

#include <algorithm> // std::copy_n, std::fill_n, std::max
#include <cmath>     // std::fabs, std::pow
#include <cstdint>
#include <utility> // std::swap

#include <ragged/group/operations.hpp>
#include <ragged/optim/gemm.hpp>

namespace ragged {

/// The coupled Newton iteration X <- X T, M <- T^4 M with T = (5 I - M) / 4, from M = z A and X = z^(1/4) I;
/// M goes to I. A is first lifted by epsilon times its trace, so that no eigenvalue is smaller than the
/// largest by more than a factor of 1 / epsilon. Matrices are kept in float: the direction of one that is
/// smaller by a factor of k is good to about k * 1e-7, so epsilon is 1e-6 or more.
/// Source: Guo and Higham, A Schur-Newton Method for the Matrix pth Root and its Inverse, 2006;
/// R. Anil et al., Scalable Second Order Optimization for Deep Learning, 2020
struct InverseFourthRoot {
    /// Of the space that run() works in, in elements.
    static constexpr std::int64_t work_elems(std::int64_t side) { return 3 * side * side; }

    /// Host. Of a zero matrix, zeros. The same matrix gives the same bits wherever it lies.
    /// @param root, matrix  [side, side], two arrays  @param work  [work_elems(side)]
    /// @return whether it converged: not for a matrix that has negative eigenvalues or is not finite
    template <gemm G>
    static bool run(float* root, const float* matrix, std::int64_t side, double epsilon, float* work,
                    const G& product) {
        const std::int64_t elements = side * side;
        double trace = 0, norm = 0; // no eigenvalue is above the largest sum of a row
        for (std::int64_t i = 0; i < side; ++i) {
            trace += static_cast<double>(matrix[i * side + i]);
            double sum = 0;
            for (std::int64_t j = 0; j < side; ++j)
                sum += std::fabs(static_cast<double>(matrix[i * side + j]));
            norm = std::max(sum, norm);
        }
        std::fill_n(root, elements, 0.0f);
        if (norm == 0)
            return true;
        const double ridge = epsilon * trace, scale = 2.5 / (norm + ridge);
        float *m = work, *t = work + elements, *u = t + elements;
        for (std::int64_t i = 0; i < elements; ++i) {
            const bool diagonal = i % (side + 1) == 0;
            m[i] = static_cast<float>(scale * (static_cast<double>(matrix[i]) + (diagonal ? ridge : 0.0)));
            root[i] = diagonal ? static_cast<float>(std::pow(scale, 0.25)) : 0.0f;
        }
        const auto multiply = [&](const float* a, const float* b, float* to) {
            product(Transpose::no, Transpose::no, side, side, side, 1.0f, a, side, b, side, 0.0f, to, side);
        };
        double before = near;
        for (std::int64_t step = 0; step < max_steps; ++step) {
            const double error = distance_to_one(m, side);
            if (error <= tolerance || (error < near && error >= before))
                return true; // there, or no closer because of rounding
            before = error;
            for (std::int64_t i = 0; i < elements; ++i)
                t[i] = (i % (side + 1) == 0 ? 1.25f : 0.0f) -
                       0.25f * m[i]; // a power of two: exact, fused or not
            multiply(root, t, u);
            std::copy_n(u, elements, root);
            multiply(t, t, u);
            multiply(u, u, t);
            multiply(t, m, u);
            std::swap(m, u);
        }
        return distance_to_one(m, side) < near;
    }

  private:
    // The smallest eigenvalue grows by 2.44 in a step while it is small: from 1e-9 in 24 steps, then some
    // more.
    static constexpr std::int64_t max_steps = 40;
    static constexpr double tolerance = 1e-6, near = 0.25;

    /// The largest |element of M - I|; NaN where there is one.
    static double distance_to_one(const float* m, std::int64_t side) {
        std::uint32_t error = 0;
        for (std::int64_t i = 0; i < side * side; ++i)
            error = op::AbsMax::add(error, m[i] - (i % (side + 1) == 0 ? 1.0f : 0.0f));
        return static_cast<double>(op::AbsMax::result(error));
    }
};

} // namespace ragged
