// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a GPT computes between its matrix products: row by row, forward and backward, on host arrays that are
// row-major. Sums are taken in lanes, so that they vectorise and depend on the length alone. Backward
// functions add to the gradients of parameters.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional> // std::plus

#include <ragged/core/config.hpp>

namespace support {

using ragged::fused_multiply_add;

/// step(...step(step(start, 0), 1)..., n - 1) in lanes, which join; `start` changes nothing.
template <class Real, class Step, class Join>
Real fold_lanes(std::int64_t n, Real start, Step step, Join join) {
    constexpr std::int64_t width = 16;
    Real lanes[width];
    std::fill(lanes, lanes + width, start);
    const std::int64_t whole = n / width * width;
    for (std::int64_t i = 0; i < whole; i += width)
        for (std::int64_t lane = 0; lane < width; ++lane)
            lanes[lane] = step(lanes[lane], i + lane);
    for (std::int64_t i = whole; i < n; ++i)
        lanes[i - whole] = step(lanes[i - whole], i);
    for (std::int64_t half = width / 2; half > 0; half /= 2)
        for (std::int64_t lane = 0; lane < half; ++lane)
            lanes[lane] = join(lanes[lane], lanes[lane + half]);
    return lanes[0];
}
template <class Real>
Real largest(const Real* x, std::int64_t n) {
    const auto larger = [](Real a, Real b) { return a > b ? a : b; };
    return fold_lanes(
        n, x[0], [=](Real lane, std::int64_t i) { return larger(lane, x[i]); }, larger);
}
template <class Real>
Real sum(const Real* x, std::int64_t n) {
    return fold_lanes(
        n, Real(0), [x](Real lane, std::int64_t i) { return lane + x[i]; }, std::plus<>{});
}
/// Sum of a(i) * b(i).
template <class Real, class A, class B>
Real sum_of_products(std::int64_t n, A a, B b) {
    return fold_lanes(
        n, Real(0), [=](Real lane, std::int64_t i) { return fused_multiply_add(a(i), b(i), lane); },
        std::plus<>{});
}

inline double exponential(double x) {
    return std::exp(x);
}
/// e^x within 2 units in the last place, 0 below -87; a formula that vectorises. @pre x < 88
inline float exponential(float x) {
    // x = k ln 2 + r, |r| <= ln 2 / 2, in which the series of e^r is cut off behind r^7
    constexpr float to_integer = 0x1.8p23f, log2_e = 0x1.715476p0f;
    constexpr float ln2_high = 0x1.62e4p-1f, ln2_low = 0x1.7f7d1cp-20f; // k * ln2_high is exact
    const float bounded = x > -87.0f ? x : -87.0f;
    const float k = fused_multiply_add(bounded, log2_e, to_integer) - to_integer;
    const float r = fused_multiply_add(k, -ln2_low, fused_multiply_add(k, -ln2_high, bounded));
    const float sixth = fused_multiply_add(fused_multiply_add(r, 1.0f / 5040, 1.0f / 720), r, 1.0f / 120);
    const float third = fused_multiply_add(fused_multiply_add(sixth, r, 1.0f / 24), r, 1.0f / 6);
    const float series =
        fused_multiply_add(fused_multiply_add(fused_multiply_add(third, r, 0.5f), r, 1.0f), r, 1.0f);
    const auto power = static_cast<std::uint32_t>(static_cast<std::int32_t>(k) + 127) << 23;
    return x > -87.0f ? series * ragged::bit_cast<float>(power) : 0.0f;
}

/// What a layer norm's forward keeps for its backward: of each row.
template <class Real>
struct RowMoments {
    Real mean, inverse_deviation;
};

/// Elements of a row, mean 0 and deviation 1, times `weight` plus `bias`.
template <class Real>
void layer_norm(const Real* x, const Real* weight, const Real* bias, const RowMoments<Real>& row,
                std::int64_t width, Real* y) {
    for (std::int64_t i = 0; i < width; ++i)
        y[i] = fused_multiply_add((x[i] - row.mean) * row.inverse_deviation, weight[i], bias[i]);
}
template <class Real>
RowMoments<Real> row_moments(const Real* x, std::int64_t width) {
    const Real mean = sum(x, width) / static_cast<Real>(width);
    const auto distance = [=](std::int64_t i) { return x[i] - mean; };
    const Real squares = sum_of_products<Real>(width, distance, distance);
    return {mean, Real(1) / std::sqrt(squares / static_cast<Real>(width) + Real(1e-5))};
}
/// @param dy  gradient of the row's result; spent
/// @param dx  the gradient of x is added
template <class Real>
void layer_norm_backward(const Real* x, const Real* weight, const RowMoments<Real>& row, std::int64_t width,
                         Real* dy, Real* dx, Real* dweight, Real* dbias) {
    const auto normal = [=](std::int64_t i) { return (x[i] - row.mean) * row.inverse_deviation; };
    for (std::int64_t i = 0; i < width; ++i) {
        dweight[i] = fused_multiply_add(dy[i], normal(i), dweight[i]);
        dbias[i] += dy[i];
        dy[i] *= weight[i];
    }
    const auto n = static_cast<Real>(width);
    const Real mean = sum(dy, width) / n;
    const Real slope = sum_of_products<Real>(
                           width, [=](std::int64_t i) { return dy[i]; }, normal) /
                       n;
    for (std::int64_t i = 0; i < width; ++i)
        dx[i] = fused_multiply_add(fused_multiply_add(-slope, normal(i), dy[i] - mean), row.inverse_deviation,
                                   dx[i]);
}

/// x times its probability to be above a normal number, by the formula of GPT-2, and the slope at x.
template <class Real>
struct Gelu {
    Real value, slope;
};
template <class Real>
Gelu<Real> gelu(Real x) {
    // (1 + tanh u) / 2 = 1 / (1 + e^-2u), u = sqrt(2 / pi) (x + 0.044715 x^3)
    constexpr Real twice = Real(1.5957691216057308), cubic = Real(0.044715);
    const Real square = cubic * x * x;
    const Real exponent = -twice * fused_multiply_add(x, square, x);
    const Real share = Real(1) / (Real(1) + exponential(exponent < Real(80) ? exponent : Real(80)));
    const Real steepness = twice * fused_multiply_add(Real(3), square, Real(1));
    return {x * share, fused_multiply_add(x * share * (Real(1) - share), steepness, share)};
}

/// Scores become shares of their sum, the first `n` of them, and the others 0.
template <class Real>
void softmax(Real* x, std::int64_t n, std::int64_t size) {
    const Real top = largest(x, n);
    for (std::int64_t i = 0; i < n; ++i)
        x[i] = exponential(x[i] - top);
    const Real factor = Real(1) / sum(x, n);
    for (std::int64_t i = 0; i < n; ++i)
        x[i] *= factor;
    std::fill(x + n, x + size, Real(0));
}
/// @param dshares  gradient of the shares; becomes that of the scores times `factor`
template <class Real>
void softmax_backward(const Real* shares, Real factor, std::int64_t n, std::int64_t size, Real* dshares) {
    const Real mean = sum_of_products<Real>(
        n, [=](std::int64_t i) { return shares[i]; }, [=](std::int64_t i) { return dshares[i]; });
    for (std::int64_t i = 0; i < n; ++i)
        dshares[i] = (dshares[i] - mean) * shares[i] * factor;
    std::fill(dshares + n, dshares + size, Real(0));
}

/// to[i] += from[i].
template <class Real>
void add(const Real* from, std::int64_t n, Real* to) {
    for (std::int64_t i = 0; i < n; ++i)
        to[i] += from[i];
}

} // namespace support
