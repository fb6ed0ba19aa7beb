// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Runs the bodies of operations.hpp over host memory: plain loops that compilers vectorise.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include <ragged/group/operations.hpp>

namespace ragged::host {

namespace detail {

/// Call body(i) for [0, count) in steps that ask for the memory of a later step first.
template <class Body, class... T>
void for_each_index(std::size_t count, const Body& body, const T*... streams) {
    constexpr std::size_t step = 256;
    std::size_t start = 0;
    for (; start + step <= count; start += step) {
        (prefetch_ahead(streams + start, step * sizeof(T)), ...);
        for (std::size_t i = start; i < start + step; ++i)
            body(i);
    }
    for (; start < count; ++start)
        body(start);
}

} // namespace detail

/// out[i] = op(in[i]). @pre equal lengths
template <class Op, class Out, class In>
void map(const Op& op, std::span<Out> out, std::span<const In> in) {
    Out* const to = out.data();
    const In* const from = in.data();
    detail::for_each_index(
        out.size(), [=](std::size_t i) { to[i] = op(from[i]); }, to, from);
}

/// values[i] = op(values[i], in[i]...), in place. @pre equal lengths
template <class Op, class T, class... In>
void update(const Op& op, std::span<T> values, std::span<const In>... in) {
    T* const to = values.data();
    const auto run = [&](const In* const... from) {
        detail::for_each_index(
            values.size(), [=](std::size_t i) { to[i] = op(to[i], from[i]...); }, to, from...);
    };
    run(in.data()...);
}

/// Fold of op.value over all elements; an empty span gives op.result of zero. The order of the fold depends
/// on the length only, so equal data gives equal bits: `lanes` running values over each chunk, then lanes,
/// then chunks.
template <class Op, class T>
auto reduce(const Op& op, std::span<const T> in) {
    using Value = typename Op::value_type;
    constexpr std::size_t lanes = 64, chunk = 8192;
    Value total{};
    const T* const from = in.data();
    for (std::size_t start = 0; start < in.size(); start += chunk) {
        const std::size_t length = std::min(chunk, in.size() - start);
        Value running[lanes]{};
        std::size_t i = 0;
        for (; i + lanes <= length; i += lanes) {
            prefetch_ahead(from + start + i, lanes * sizeof(T));
            for (std::size_t lane = 0; lane < lanes; ++lane)
                running[lane] = op.fold(running[lane], op.value(from[start + i + lane]));
        }
        for (std::size_t lane = 0; i + lane < length; ++lane)
            running[lane] = op.fold(running[lane], op.value(from[start + i + lane]));
        for (std::size_t half = lanes / 2; half > 0; half /= 2)
            for (std::size_t lane = 0; lane < half; ++lane)
                running[lane] = op.fold(running[lane], running[lane + half]);
        total = op.fold(total, running[0]);
    }
    return op.result(total);
}

} // namespace ragged::host
