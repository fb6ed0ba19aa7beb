// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a small GPT-2 (Radford et al., "Language Models are Unsupervised Multitask Learners", 2019),
// with an output projection of its own: a group for the embedding, one per layer, and one for the head.
// Weights are [outputs, inputs]. Each tensor's name stands once here: specs, weights and gradients are all
// listed by the same functions.
#pragma once

#include <algorithm> // std::min
#include <cmath>     // std::sqrt
#include <cstdint>
#include <string>
#include <string_view>

#include <ragged/core/error.hpp>
#include <ragged/spec/tensor_spec.hpp>

#include "random.hpp"

namespace support {

struct GptShape {
    std::int64_t vocabulary = 256; // bytes
    std::int64_t context = 64;     // tokens that the model looks at
    std::int64_t width = 128;      // of the stream that the layers add to
    std::int64_t heads = 4;
    std::int64_t layers = 3;

    std::int64_t head_width() const { return width / heads; }
    std::int64_t num_groups() const { return layers + 2; }
    std::int64_t hidden() const { return 4 * width; } // of the MLP
};

// What find(name, shape) gives for each tensor of a group: a spec, a pointer to the values.
template <class X>
struct EmbeddingTensors {
    X token, position;
};
template <class X>
struct LayerTensors {
    X norm_1_weight, norm_1_bias, attention_weight, attention_bias, projection_weight, projection_bias;
    X norm_2_weight, norm_2_bias, mlp_in_weight, mlp_in_bias, mlp_out_weight, mlp_out_bias;
};
template <class X>
struct HeadTensors {
    X norm_weight, norm_bias, weight;
};

template <class Find>
auto embedding_tensors(const GptShape& g, Find find) {
    using X = decltype(find("", ragged::Shape{}));
    return EmbeddingTensors<X>{find("wte.weight", ragged::Shape{g.vocabulary, g.width}),
                               find("wpe.weight", ragged::Shape{g.context, g.width})};
}
template <class Find>
auto layer_tensors(const GptShape& g, Find find) {
    using ragged::Shape;
    using X = decltype(find("", Shape{}));
    const std::int64_t w = g.width, h = g.hidden();
    return LayerTensors<X>{find("ln_1.weight", Shape{w}),
                           find("ln_1.bias", Shape{w}),
                           find("attn.c_attn.weight", Shape{3 * w, w}), // queries, keys, values
                           find("attn.c_attn.bias", Shape{3 * w}),
                           find("attn.c_proj.weight", Shape{w, w}),
                           find("attn.c_proj.bias", Shape{w}),
                           find("ln_2.weight", Shape{w}),
                           find("ln_2.bias", Shape{w}),
                           find("mlp.c_fc.weight", Shape{h, w}),
                           find("mlp.c_fc.bias", Shape{h}),
                           find("mlp.c_proj.weight", Shape{w, h}),
                           find("mlp.c_proj.bias", Shape{w})};
}
template <class Find>
auto head_tensors(const GptShape& g, Find find) {
    using X = decltype(find("", ragged::Shape{}));
    return HeadTensors<X>{find("ln_f.weight", ragged::Shape{g.width}),
                          find("ln_f.bias", ragged::Shape{g.width}),
                          find("lm_head.weight", ragged::Shape{g.vocabulary, g.width})};
}

/// The model as the planner takes it: matrices in tiles of 32 x 32, or what fits in, vectors in blocks of
/// 256.
/// @throws ragged::SpecError when the heads do not divide the width
inline ragged::ModelSpec gpt_spec(const GptShape& shape) {
    if (shape.heads < 1 || shape.width % shape.heads != 0)
        throw ragged::SpecError(
            ragged::concat("a width of ", shape.width, " is not divided among ", shape.heads, " heads"));
    ragged::ModelSpec model{"gpt", {}};
    const auto add = [&model](std::string_view name, const ragged::Shape& tensor) {
        constexpr std::int64_t tile = 32, vector = 256;
        const ragged::Block block =
            tensor.rank() == 1 ? ragged::elements(vector)
                               : ragged::tile({std::min(tile, tensor[0]), std::min(tile, tensor[1])});
        model.groups.back().tensors.push_back({std::string(name), tensor, block, ragged::DType::f32});
        return 0;
    };
    model.groups.push_back({"embedding", {}});
    embedding_tensors(shape, add);
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
        model.groups.push_back({ragged::concat("layers.", layer), {}});
        layer_tensors(shape, add);
    }
    model.groups.push_back({"head", {}});
    head_tensors(shape, add);
    return model;
}

/// The first values of one tensor, by their flat place: any rank fills its piece.
class InitialValues {
  public:
    InitialValues(std::uint64_t seed, const GptShape& shape, std::string_view group, std::string_view tensor)
        : sequence_(random_sequence(seed, ragged::concat(group, '/', tensor))) {
        const bool vector = tensor.ends_with(".bias") || tensor.starts_with("ln_");
        if (vector)
            constant_ = tensor.ends_with(".weight") ? 1.0f : 0.0f;
        else // deviation 0.02 at GPT-2's width; what layers add to the stream is divided among them
            factor_ = static_cast<float>(std::sqrt(3.0) * 0.5 / std::sqrt(static_cast<double>(shape.width)) /
                                         (tensor.ends_with("c_proj.weight")
                                              ? std::sqrt(2.0 * static_cast<double>(shape.layers))
                                              : 1.0));
    }

    float operator()(std::int64_t element) const {
        return constant_ + factor_ * random_value(sequence_, static_cast<std::uint64_t>(element));
    }

  private:
    std::uint64_t sequence_;
    float constant_ = 0, factor_ = 0;
};

} // namespace support
