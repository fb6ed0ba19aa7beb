// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A small model with everything that is awkward, and one rank's buffers of it, for optimizers of matrices:
// what all ranks end up with, put together.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <random>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <ragged/optim/optimizer.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/model_plan.hpp>
#include <ragged/view/shard_view.hpp>

#include "support/expect.hpp"

namespace support {

using Line = ragged::Topology<ragged::Axis<"shard">>;

inline ragged::ModelPlan small_model(std::int64_t shards) {
    const auto bf16 = ragged::DType::bf16;
    const ragged::TensorSpec wq{"wq", {16, 8}, ragged::tile({4, 4})}, norm{"norm", {11}},
        w1{"w1", {9, 20}, ragged::rows(2)}, experts{"experts", {3, 6, 10}, ragged::rows(2), bf16, 0, true},
        stack{"stack", {2, 4, 6}, ragged::rows(3)}, whole{"w", {12, 12}, ragged::whole()};
    const ragged::GroupSpec groups[] = {{"embed", {{"wte", {24, 8}, ragged::rows(2)}}},
                                        {"layers.0", {wq, norm, w1, experts}},
                                        {"layers.1", {norm, stack, wq}},
                                        {"layers.2", {whole}},
                                        {"norms", {norm}},
                                        {"layers.3", {w1, whole, {"none", {0, 4}}}},
                                        {"head", {norm, {"lm_head", {24, 8}}}}};
    ragged::ModelPlan model{"m", {}};
    for (const ragged::GroupSpec& group : groups)
        model.groups.push_back(ragged::make_plan(
            group, shards, ragged::policy::Exact{ragged::policy::Order::search, 2, {.latency_ns = 0}},
            {.alignment_bytes = 16, .planes = {bf16}}));
    return model;
}

/// Known values: of a master at first, and of a gradient at a step.
inline float drawn(std::size_t tensor, std::int64_t position, std::uint32_t what) {
    std::minstd_rand random(static_cast<std::uint32_t>(tensor) * 7919u +
                            static_cast<std::uint32_t>(position) * 31u + what * 65537u + 1u);
    random.discard(3);
    return static_cast<float>(random()) * 0x1p-30f - 1.0f;
}

template <class Buffer>
void fill_drawn(Buffer& buffer, std::uint32_t what) {
    for (std::size_t t = 0; t < buffer.plan().tensors.size(); ++t)
        for (std::int64_t i = 0; i < ragged::shard(buffer, t).elements(); ++i)
            ragged::shard(buffer, t)[i] =
                typename Buffer::value_type(drawn(t, ragged::shard(buffer, t).first() + i, what));
}

/// Values by plane, group, full name of the tensor, position.
using Logical = std::map<std::tuple<int, std::size_t, std::string, std::int64_t>, float>;

/// Add the tensors of this rank's regions; replicas agree.
template <class Buffer>
void keep(Logical& kept, int plane, std::size_t group, const Buffer& buffer) {
    double sum = 0, all = 0;
    for (std::size_t t = 0; t < buffer.plan().tensors.size(); ++t) {
        const auto piece = ragged::shard(buffer, t);
        for (std::int64_t i = 0; i < piece.elements(); ++i) {
            const auto value = static_cast<float>(piece[i]);
            const auto [found, is_new] = kept.try_emplace(
                {plane, group, buffer.plan().tensors[t].full_name(), piece.first() + i}, value);
            expect(is_new || found->second == value, "replicas have the same bits");
            sum += std::fabs(double{value});
        }
    }
    for (std::int64_t segment = 0; segment < buffer.num_segments(); ++segment)
        for (const auto value : buffer.region(segment))
            all += std::fabs(double{static_cast<float>(value)});
    expect(std::fabs(all - sum) <= 1e-9 * sum, "nothing in padding");
}

/// One rank's buffers of a model.
template <class Topology, class T = ragged::bf16>
struct TrainedModel {
    using Parameters = ragged::Parameters<T, Topology>;

    ragged::HostResource memory{};
    std::vector<typename Parameters::Gradient> gradients{};
    std::vector<typename Parameters::Master> masters{};
    std::vector<typename Parameters::Weights> weights{};
    std::vector<Parameters> parameters{};

    TrainedModel(const ragged::ModelPlan& model, const ragged::Place<Topology>& place, bool with_weights) {
        for (const ragged::Plan& plan : model.groups) {
            gradients.emplace_back(plan, place, memory);
            masters.emplace_back(plan, place, memory);
            weights.emplace_back(plan, place, memory);
            fill_drawn(masters.back(), 0);
        }
        for (std::size_t group = 0; group < masters.size(); ++group)
            parameters.push_back(
                {&gradients[group], &masters[group], with_weights ? &weights[group] : nullptr});
    }
    template <class Optimizer>
    void step(Optimizer& optimizer, std::uint32_t index, double scale = 0.5) {
        for (auto& gradient : gradients)
            fill_drawn(gradient, index);
        optimizer.update(std::span<const Parameters>(parameters), scale);
    }
};

} // namespace support
