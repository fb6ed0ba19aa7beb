// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A rank of a model with known masters and gradients, and an optimizer that trains them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <ragged/optim/adamw.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/view/shard_view.hpp>

namespace support {

using Line = ragged::Topology<ragged::Axis<"shard">>;
using Parameters = ragged::Parameters<ragged::bf16, Line>;

/// Known values of many magnitudes: of a master (`what` is 0), and of a gradient at a step.
inline float drawn(std::uint32_t tensor, std::int64_t position, std::uint32_t what) {
    std::minstd_rand random(tensor * 7919u + static_cast<std::uint32_t>(position) * 31u + what * 65537u + 1u);
    random.discard(3);
    const float value = static_cast<float>(random()) * 0x1p-30f - 1.0f;
    return value / static_cast<float>(1u << random() % 16);
}

inline ragged::ModelPlan plan_of(const std::vector<ragged::GroupSpec>& groups, std::int64_t ranks) {
    ragged::ModelPlan model{"m", {}};
    for (const ragged::GroupSpec& group : groups)
        model.groups.push_back(ragged::make_plan(group, ranks, ragged::policy::Exact{.max_segments = 2},
                                                 {.planes = {ragged::DType::i8}}));
    return model;
}

template <class Optimizer>
struct TrainedRank {
    ragged::HostResource memory{};
    ragged::Place<Line> place;
    std::vector<Parameters::Gradient> gradients{};
    std::vector<Parameters::Master> masters{};
    std::vector<Parameters::Weights> weights{};
    Optimizer optimizer;

    TrainedRank(const ragged::ModelPlan& model, std::int64_t ranks, std::int64_t rank,
                const ragged::AdamWOptions& options = {})
        : place(Line(ranks), rank)
        , optimizer(model, place, memory, options) {
        for (const ragged::Plan& plan : model.groups) {
            gradients.emplace_back(plan, place, memory);
            masters.emplace_back(plan, place, memory);
            weights.emplace_back(plan, place, memory);
        }
        fill(masters, 0);
    }
    template <class Buffers>
    void fill(Buffers& buffers, std::uint32_t what) {
        for (auto& buffer : buffers)
            for (std::uint32_t t = 0; t < buffer.plan().tensors.size(); ++t)
                for (std::int64_t i = 0; i < ragged::shard(buffer, t).elements(); ++i)
                    ragged::shard(buffer, t)[i] = drawn(t, ragged::shard(buffer, t).first() + i, what);
    }
    std::vector<Parameters> parameters(bool with_weights) {
        std::vector<Parameters> result;
        for (std::size_t group = 0; group < masters.size(); ++group)
            result.push_back({&gradients[group], &masters[group], with_weights ? &weights[group] : nullptr});
        return result;
    }
    /// Step `index`, from 1.
    void step(std::uint32_t index, bool with_weights, double scale = 0.5) {
        fill(gradients, index);
        const auto all = parameters(with_weights);
        optimizer.update(std::span<const Parameters>(all), scale);
    }
};

} // namespace support
