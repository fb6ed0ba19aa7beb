// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include <ragged/optim/routing.hpp>
#include <ragged/plan/make_plan.hpp>

using ragged::RoutedTensor;

TEST_CASE("matrices and stacks of them are taken, embeddings, heads and biases are not") {
    const auto takes = [](const std::string& group, const std::string& name, const ragged::Shape& shape) {
        const auto plan = ragged::make_plan(ragged::GroupSpec{group, {{name, shape}}}, 1);
        return ragged::MatrixRule{}(group, plan.tensors.at(0));
    };
    CHECK(takes("layers.0", "model.layers.0.self_attn.q_proj.weight", {8, 8}));
    CHECK(takes("layers.0", "mlp.experts.gate_up_proj", {4, 8, 8}));
    CHECK(takes("layers.0", "multi_head_attention.wq", {8, 8}));
    CHECK(takes("layers.0", "headless", {8, 8}));
    CHECK_FALSE(takes("layers.0", "norm.weight", {8}));
    CHECK_FALSE(takes("layers.0", "scalar", {}));
    CHECK_FALSE(takes("embed", "weight", {8, 8}));
    CHECK_FALSE(takes("x", "model.embed_tokens.weight", {8, 8}));
    CHECK_FALSE(takes("x", "unembedding", {8, 8}));
    CHECK_FALSE(takes("x", "transformer.wte.weight", {8, 8}));
    CHECK_FALSE(takes("x", "wpe", {8, 8}));
    CHECK_FALSE(takes("head", "weight", {8, 8}));
    CHECK_FALSE(takes("x", "lm_head.weight", {8, 8}));
    CHECK_FALSE(takes("x", "mlp.experts.gate_up_proj_bias", {4, 8}));
    CHECK_FALSE(takes("x", "w", {}));
}

TEST_CASE("the table has a line per tensor and even columns") {
    const std::vector<RoutedTensor> routing{{"layers.10", "experts[2]", {16, 8}, "muon", 3},
                                            {"head", "norm", {8}, "adamw"}};
    CHECK(ragged::to_string(routing) == "group      tensor      shape  optimizer  owner\n"
                                        "layers.10  experts[2]  16x8   muon       3\n"
                                        "head       norm        8      adamw      -\n");
}
