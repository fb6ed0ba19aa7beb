// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One layer of a GPT over whole sequences, forward and backward: causal attention of several heads, then an
// MLP, each behind a layer norm and added to the stream. Host arrays, row-major, a row per token; `product`
// is a matrix product as in ragged/optim/gemm.hpp, over Real. Nothing is allocated, and the bits depend on
// the numbers alone.
#pragma once

#include <algorithm>
#include <vector>

#include <ragged/optim/gemm.hpp>

#include "gpt_math.hpp"
#include "gpt_spec.hpp"

namespace support {

template <class Real>
using Array = std::vector<Real>;

template <class Real>
Array<Real> make_array(std::int64_t elements) {
    return Array<Real>(static_cast<std::size_t>(elements));
}

/// y += x weight^T + bias. x: [rows, inputs], y: [rows, outputs], weight: [outputs, inputs].
template <class Gemm, class Real>
void add_linear(const Gemm& product, std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                const Real* x, const Real* weight, const Real* bias, Real* y) {
    for (std::int64_t row = 0; row < rows; ++row)
        add(bias, outputs, y + row * outputs);
    product(ragged::Transpose::no, ragged::Transpose::yes, rows, outputs, inputs, Real(1), x, inputs, weight,
            inputs, Real(1), y, outputs);
}
/// dx = dy weight; the gradients of weight and bias are added.
template <class Gemm, class Real>
void linear_backward(const Gemm& product, std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                     const Real* x, const Real* weight, const Real* dy, Real* dx, Real* dweight,
                     Real* dbias) {
    using enum ragged::Transpose;
    for (std::int64_t row = 0; row < rows; ++row)
        add(dy + row * outputs, outputs, dbias);
    product(yes, no, outputs, inputs, rows, Real(1), dy, outputs, x, inputs, Real(1), dweight, inputs);
    product(no, no, rows, inputs, outputs, Real(1), dy, outputs, weight, inputs, Real(0), dx, inputs);
}

/// Layer norm of all rows; their moments are kept.
template <class Real>
void norm_rows(std::int64_t rows, std::int64_t width, const Real* x, const Real* weight, const Real* bias,
               RowMoments<Real>* moments, Real* y) {
    for (std::int64_t row = 0; row < rows; ++row) {
        moments[row] = row_moments(x + row * width, width);
        layer_norm(x + row * width, weight, bias, moments[row], width, y + row * width);
    }
}
template <class Real>
void norm_rows_again(std::int64_t rows, std::int64_t width, const Real* x, const Real* weight,
                     const Real* bias, const RowMoments<Real>* moments, Real* y) {
    for (std::int64_t row = 0; row < rows; ++row)
        layer_norm(x + row * width, weight, bias, moments[row], width, y + row * width);
}
template <class Real>
void norm_rows_backward(std::int64_t rows, std::int64_t width, const Real* x, const Real* weight,
                        const RowMoments<Real>* moments, Real* dy, Real* dx, Real* dweight, Real* dbias) {
    for (std::int64_t row = 0; row < rows; ++row)
        layer_norm_backward(x + row * width, weight, moments[row], width, dy + row * width, dx + row * width,
                            dweight, dbias);
}

/// What all layers work in. tokens = sequences * context.
template <class Real>
struct LayerScratch {
    LayerScratch(const GptShape& g, std::int64_t tokens)
        : norm(make_array<Real>(tokens * g.width))
        , dnorm(make_array<Real>(tokens * g.width))
        , hidden(make_array<Real>(tokens * g.hidden()))
        , dhidden(make_array<Real>(tokens * g.hidden()))
        , dscores(make_array<Real>(g.context * g.context)) {}

    Array<Real> norm, dnorm, hidden, dhidden, dscores;
};

/// A layer's values between forward and backward. Its result is the next layer's input.
template <class Real>
class Layer {
  public:
    Layer(const GptShape& shape, std::int64_t sequences)
        : shape_(shape)
        , sequences_(sequences)
        , tokens_(sequences * shape.context)
        , moments_1_(static_cast<std::size_t>(tokens_))
        , moments_2_(static_cast<std::size_t>(tokens_))
        , qkv_(make_array<Real>(tokens_ * 3 * shape.width))
        , shares_(make_array<Real>(sequences * shape.heads * shape.context * shape.context))
        , mixed_(make_array<Real>(tokens_ * shape.width))
        , middle_(make_array<Real>(tokens_ * shape.width))
        , hidden_(make_array<Real>(tokens_ * shape.hidden())) {}

    /// @param x, y  [tokens, width]
    template <class Gemm>
    void forward(const Gemm& product, const LayerTensors<const Real*>& w, const Real* x, Real* y,
                 LayerScratch<Real>& scratch) {
        const std::int64_t width = shape_.width, hidden = shape_.hidden();
        Real* const norm = scratch.norm.data();
        norm_rows(tokens_, width, x, w.norm_1_weight, w.norm_1_bias, moments_1_.data(), norm);
        std::fill(qkv_.begin(), qkv_.end(), Real(0));
        add_linear(product, tokens_, width, 3 * width, norm, w.attention_weight, w.attention_bias,
                   qkv_.data());
        attend(product);
        std::copy_n(x, tokens_ * width, middle_.data());
        add_linear(product, tokens_, width, width, mixed_.data(), w.projection_weight, w.projection_bias,
                   middle_.data());

        norm_rows(tokens_, width, middle_.data(), w.norm_2_weight, w.norm_2_bias, moments_2_.data(), norm);
        std::fill(hidden_.begin(), hidden_.end(), Real(0));
        add_linear(product, tokens_, width, hidden, norm, w.mlp_in_weight, w.mlp_in_bias, hidden_.data());
        Real* const active = scratch.hidden.data();
        for (std::int64_t i = 0; i < tokens_ * hidden; ++i)
            active[i] = gelu(hidden_.data()[i]).value;
        std::copy_n(middle_.data(), tokens_ * width, y);
        add_linear(product, tokens_, hidden, width, active, w.mlp_out_weight, w.mlp_out_bias, y);
    }

    /// @param x   what forward() was given
    /// @param dx  gradient of y; becomes that of x
    template <class Gemm>
    void backward(const Gemm& product, const LayerTensors<const Real*>& w, const LayerTensors<Real*>& d,
                  const Real* x, Real* dx, LayerScratch<Real>& scratch) {
        const std::int64_t width = shape_.width, hidden = shape_.hidden();
        Real* const norm = scratch.norm.data();
        Real* const dnorm = scratch.dnorm.data();
        Real* const active = scratch.hidden.data();
        Real* const dactive = scratch.dhidden.data();
        Real* const kept = hidden_.data();

        for (std::int64_t i = 0; i < tokens_ * hidden; ++i) {
            const Gelu<Real> at = gelu(kept[i]);
            active[i] = at.value;
            kept[i] = at.slope;
        }
        linear_backward(product, tokens_, hidden, width, active, w.mlp_out_weight, dx, dactive,
                        d.mlp_out_weight, d.mlp_out_bias);
        for (std::int64_t i = 0; i < tokens_ * hidden; ++i)
            dactive[i] *= kept[i];
        norm_rows_again(tokens_, width, middle_.data(), w.norm_2_weight, w.norm_2_bias, moments_2_.data(),
                        norm);
        linear_backward(product, tokens_, width, hidden, norm, w.mlp_in_weight, dactive, dnorm,
                        d.mlp_in_weight, d.mlp_in_bias);
        norm_rows_backward(tokens_, width, middle_.data(), w.norm_2_weight, moments_2_.data(), dnorm, dx,
                           d.norm_2_weight, d.norm_2_bias);

        Real* const dqkv = dactive;
        linear_backward(product, tokens_, width, width, mixed_.data(), w.projection_weight, dx, dnorm,
                        d.projection_weight, d.projection_bias);
        attend_backward(product, dnorm, dqkv, scratch.dscores.data());
        norm_rows_again(tokens_, width, x, w.norm_1_weight, w.norm_1_bias, moments_1_.data(), norm);
        linear_backward(product, tokens_, width, 3 * width, norm, w.attention_weight, dqkv, dnorm,
                        d.attention_weight, d.attention_bias);
        norm_rows_backward(tokens_, width, x, w.norm_1_weight, moments_1_.data(), dnorm, dx, d.norm_1_weight,
                           d.norm_1_bias);
    }

  private:
    Real factor() const { return Real(1) / std::sqrt(static_cast<Real>(shape_.head_width())); }

    /// head(qkv, out, shares): where the queries, outputs and shares of each head of each sequence start.
    /// Keys and values lie `width` and 2 * `width` behind the queries.
    template <class Head>
    void for_each_head(Head head) const {
        const std::int64_t s = shape_.context;
        for (std::int64_t sequence = 0; sequence < sequences_; ++sequence)
            for (std::int64_t h = 0; h < shape_.heads; ++h) {
                const std::int64_t row = sequence * s, column = h * shape_.head_width();
                head(row * 3 * shape_.width + column, row * shape_.width + column,
                     (sequence * shape_.heads + h) * s * s);
            }
    }

    template <class Gemm>
    void attend(const Gemm& product) {
        using enum ragged::Transpose;
        const std::int64_t s = shape_.context, n = shape_.head_width(), w = shape_.width;
        for_each_head([&](std::int64_t at, std::int64_t out, std::int64_t share) {
            const Real* const query = qkv_.data() + at;
            Real* const shares = shares_.data() + share;
            product(no, yes, s, s, n, factor(), query, 3 * w, query + w, 3 * w, Real(0), shares, s);
            for (std::int64_t row = 0; row < s; ++row)
                softmax(shares + row * s, row + 1, s);
            product(no, no, s, n, s, Real(1), shares, s, query + 2 * w, 3 * w, Real(0), mixed_.data() + out,
                    w);
        });
    }

    template <class Gemm>
    void attend_backward(const Gemm& product, const Real* dmixed, Real* dqkv, Real* dscores) const {
        using enum ragged::Transpose;
        const std::int64_t s = shape_.context, n = shape_.head_width(), w = shape_.width;
        for_each_head([&](std::int64_t at, std::int64_t out, std::int64_t share) {
            const Real* const query = qkv_.data() + at;
            const Real* const shares = shares_.data() + share;
            const Real* const dout = dmixed + out;
            Real* const dquery = dqkv + at;
            product(no, yes, s, s, n, Real(1), dout, w, query + 2 * w, 3 * w, Real(0), dscores, s);
            product(yes, no, s, n, s, Real(1), shares, s, dout, w, Real(0), dquery + 2 * w, 3 * w);
            for (std::int64_t row = 0; row < s; ++row)
                softmax_backward(shares + row * s, factor(), row + 1, s, dscores + row * s);
            product(no, no, s, n, s, Real(1), dscores, s, query + w, 3 * w, Real(0), dquery, 3 * w);
            product(yes, no, s, n, s, Real(1), dscores, s, query, 3 * w, Real(0), dquery + w, 3 * w);
        });
    }

    GptShape shape_;
    std::int64_t sequences_, tokens_;
    std::vector<RowMoments<Real>> moments_1_, moments_2_; // [tokens]
    Array<Real> qkv_;                                     // [tokens, 3, heads, head_width]
    Array<Real> shares_;                                  // [sequences, heads, context, context]
    Array<Real> mixed_, middle_;                          // [tokens, width]
    Array<Real> hidden_;                                  // [tokens, hidden], in backward the slopes of gelu
};

} // namespace support
