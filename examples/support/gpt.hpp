// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A GPT as a sharded step runs it: group by group, on weights that are views into a gathered buffer, adding
// to gradients that are views into a partial one. It deals a step's micro-batches to the data-parallel ranks
// in turn and keeps a round's activations between its forward and its backward.
#pragma once

#include <cmath>
#include <span>
#include <type_traits>
#include <vector>

#include <ragged/view/tensor_view.hpp>

#include "gpt_layer.hpp"
#include "text.hpp"

namespace support {

/// Which micro-batches a rank has: of round r the one numbered r * num_ranks + rank, where there is one.
struct Share {
    std::int64_t rank = 0, num_ranks = 1; // data-parallel ones
    std::int64_t micro_batches = 1;       // of a step, of all ranks
    std::int64_t sequences = 4;           // of a micro-batch

    std::int64_t rounds() const { return (micro_batches + num_ranks - 1) / num_ranks; }
    std::int64_t micro_batch(std::int64_t round) const { return round * num_ranks + rank; }
};

/// @tparam Gemm  a matrix product over Real, see ragged/optim/gemm.hpp
/// @tparam Real  what activations, gradients and products are in; weights of another type become Real first
template <class Gemm, class Real = float>
class Gpt {
  public:
    /// Allocates all it needs. The text outlives the model; its windows have context + 1 bytes or more, below
    /// the vocabulary.
    Gpt(const GptShape& shape, const Share& share, const TextWindows& text, Gemm product = {})
        : shape_(shape)
        , share_(share)
        , text_(&text)
        , product_(product)
        , tokens_(share.sequences * shape.context)
        , windows_(static_cast<std::size_t>(share.sequences))
        , losses_(static_cast<std::size_t>(share.micro_batches))
        , stream_(static_cast<std::size_t>(shape.layers + 1), make_array<Real>(tokens_ * shape.width))
        , layers_(static_cast<std::size_t>(shape.layers), Layer<Real>(shape, share.sequences))
        , moments_(static_cast<std::size_t>(tokens_))
        , shares_(make_array<Real>(tokens_ * shape.vocabulary))
        , dstream_(make_array<Real>(tokens_ * shape.width))
        , scratch_(shape, tokens_) {
        std::int64_t largest_group = 0;
        for (const ragged::GroupSpec& group : gpt_spec(shape).groups) {
            std::int64_t elements = 0;
            for (const ragged::TensorSpec& tensor : group.tensors)
                elements += tensor.shape.elements();
            largest_group = std::max(largest_group, elements);
        }
        weights_ = make_array<Real>(largest_group);
    }

    /// The step's number picks its sequences; gradients are multiplied by `loss_scale`. Local.
    void begin_step(std::int64_t step, Real loss_scale = 1) {
        step_ = step;
        loss_scale_ = loss_scale;
        std::fill(losses_.begin(), losses_.end(), 0.0);
    }

    /// Groups in order, then backward() of the same round in the opposite order. Local; returns at once in a
    /// round in which this rank has no micro-batch.
    /// @param weights  host, a gathered buffer over the group's plan
    template <class Gathered>
    void forward(std::int64_t group, std::int64_t round, const Gathered& weights) {
        if (share_.micro_batch(round) >= share_.micro_batches)
            return;
        const auto find = reader(weights);
        if (group == 0)
            embed(share_.micro_batch(round), embedding_tensors(shape_, find));
        else if (group <= shape_.layers)
            layer(group).forward(product_, layer_tensors(shape_, find), stream(group - 1), stream(group),
                                 scratch_);
        else
            judge(share_.micro_batch(round), head_tensors(shape_, find));
    }

    /// @param gradients  host, a partial buffer over the group's plan; d(loss) * loss_scale is added, where
    /// the loss of a step is the mean over its micro-batches, and theirs over their tokens
    template <class Gathered, class Partial>
    void backward(std::int64_t group, std::int64_t round, const Gathered& weights, Partial& gradients) {
        if (share_.micro_batch(round) >= share_.micro_batches)
            return;
        const auto find = reader(weights);
        const auto find_gradient = [&gradients](std::string_view name, const ragged::Shape&) -> Real* {
            return ragged::view(gradients, name).data();
        };
        if (group == 0)
            embed_backward(embedding_tensors(shape_, find_gradient));
        else if (group <= shape_.layers)
            layer(group).backward(product_, layer_tensors(shape_, find), layer_tensors(shape_, find_gradient),
                                  stream(group - 1), dstream_.data(), scratch_);
        else
            judge_backward(head_tensors(shape_, find), head_tensors(shape_, find_gradient));
    }

    /// Of the step's micro-batches whose forward ran here; 0 for those of other ranks. [micro_batches]
    std::span<const double> losses() const { return losses_; }

  private:
    /// Values of the group's tensors as Real: the buffer's own, or copies in weights_.
    template <class Gathered>
    auto reader(const Gathered& weights) {
        return [&weights, next = weights_.data()](std::string_view name,
                                                  const ragged::Shape&) mutable -> const Real* {
            const auto tensor = ragged::view(weights, name);
            if constexpr (std::is_same_v<typename Gathered::value_type, Real>) {
                return tensor.data();
            } else {
                Real* const values = next;
                for (std::int64_t i = 0; i < tensor.elements(); ++i)
                    values[i] = static_cast<Real>(tensor.data()[i]);
                next += tensor.elements();
                return values;
            }
        };
    }

    void embed(std::int64_t micro_batch, const EmbeddingTensors<const Real*>& w) {
        for (std::int64_t sequence = 0; sequence < share_.sequences; ++sequence)
            windows_[static_cast<std::size_t>(sequence)] =
                text_->window(step_, micro_batch * share_.sequences + sequence);
        Real* to = stream(0);
        for_each_token([&](const std::uint8_t* token, std::int64_t position) {
            const Real* const a = w.token + *token * shape_.width;
            const Real* const b = w.position + position * shape_.width;
            for (std::int64_t i = 0; i < shape_.width; ++i)
                to[i] = a[i] + b[i];
            to += shape_.width;
        });
    }
    void embed_backward(const EmbeddingTensors<Real*>& d) {
        const Real* from = dstream_.data();
        for_each_token([&](const std::uint8_t* token, std::int64_t position) {
            add(from, shape_.width, d.token + *token * shape_.width);
            add(from, shape_.width, d.position + position * shape_.width);
            from += shape_.width;
        });
    }

    /// Shares of the next byte's values, and the loss.
    void judge(std::int64_t micro_batch, const HeadTensors<const Real*>& w) {
        const std::int64_t width = shape_.width, vocabulary = shape_.vocabulary;
        Real* const norm = scratch_.norm.data();
        norm_rows(tokens_, width, stream(shape_.layers), w.norm_weight, w.norm_bias, moments_.data(), norm);
        product_(ragged::Transpose::no, ragged::Transpose::yes, tokens_, vocabulary, width, Real(1), norm,
                 width, w.weight, width, Real(0), shares_.data(), vocabulary);
        double loss = 0;
        Real* row = shares_.data();
        for_each_token([&](const std::uint8_t* token, std::int64_t) {
            softmax(row, vocabulary, vocabulary);
            loss -= std::log(std::max(static_cast<double>(row[token[1]]), 1e-38));
            row += vocabulary;
        });
        losses_[static_cast<std::size_t>(micro_batch)] = loss / static_cast<double>(tokens_);
    }
    void judge_backward(const HeadTensors<const Real*>& w, const HeadTensors<Real*>& d) {
        using enum ragged::Transpose;
        const std::int64_t width = shape_.width, vocabulary = shape_.vocabulary;
        Real* const norm = scratch_.norm.data();
        Real* const dnorm = scratch_.dnorm.data();
        const Real factor = loss_scale_ / static_cast<Real>(tokens_ * share_.micro_batches);
        Real* row = shares_.data();
        for_each_token([&](const std::uint8_t* token, std::int64_t) {
            row[token[1]] -= Real(1);
            for (std::int64_t i = 0; i < vocabulary; ++i)
                row[i] *= factor;
            row += vocabulary;
        });
        norm_rows_again(tokens_, width, stream(shape_.layers), w.norm_weight, w.norm_bias, moments_.data(),
                        norm);
        product_(yes, no, vocabulary, width, tokens_, Real(1), shares_.data(), vocabulary, norm, width,
                 Real(1), d.weight, width);
        product_(no, no, tokens_, width, vocabulary, Real(1), shares_.data(), vocabulary, w.weight, width,
                 Real(0), dnorm, width);
        std::fill(dstream_.begin(), dstream_.end(), Real(0));
        norm_rows_backward(tokens_, width, stream(shape_.layers), w.norm_weight, moments_.data(), dnorm,
                           dstream_.data(), d.norm_weight, d.norm_bias);
    }

    /// visit(token, position): the token behind it is the one to predict.
    template <class Visit>
    void for_each_token(Visit visit) const {
        for (const std::uint8_t* window : windows_)
            for (std::int64_t position = 0; position < shape_.context; ++position)
                visit(window + position, position);
    }
    /// [tokens, width] between groups `group` and `group` + 1.
    Real* stream(std::int64_t group) { return stream_[static_cast<std::size_t>(group)].data(); }
    Layer<Real>& layer(std::int64_t group) { return layers_[static_cast<std::size_t>(group - 1)]; }

    GptShape shape_;
    Share share_;
    const TextWindows* text_;
    [[no_unique_address]] Gemm product_;
    std::int64_t tokens_; // of a micro-batch
    std::int64_t step_ = 0;
    Real loss_scale_ = 1;
    std::vector<const std::uint8_t*> windows_; // of the round
    std::vector<double> losses_;
    std::vector<Array<Real>> stream_;
    std::vector<Layer<Real>> layers_;
    std::vector<RowMoments<Real>> moments_; // of the head's norm
    Array<Real> shares_;                    // [tokens, vocabulary]
    Array<Real> dstream_, weights_;
    LayerScratch<Real> scratch_;
};

} // namespace support
