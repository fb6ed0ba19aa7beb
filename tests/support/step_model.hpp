// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A model whose gradients are known numbers, an optimizer of one line, and what both must lead to, in plain
// arrays: training without the mathematics.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ragged/group/flat.hpp>
#include <ragged/optim/optimizer.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/model_plan.hpp>
#include <ragged/view/shard_view.hpp>
#include <ragged/view/tensor_view.hpp>

#include "support/expect.hpp"

namespace support {

/// Odd shapes, tails, a tensor without elements, one smaller than most worlds.
inline std::vector<ragged::GroupSpec> step_groups() {
    return {{"embedding", {{"wte", {19, 12}, ragged::tile({8, 8})}, {"wpe", {5, 12}, ragged::rows(2)}}},
            {"layers.0", {{"w", {24, 12}, ragged::rows(8)}, {"none", {0, 3}}, {"b", {3}}}},
            {"layers.1", {{"w", {24, 12}, ragged::rows(8)}, {"none", {0, 3}}, {"b", {3}}}},
            {"head", {{"w", {12, 19}, ragged::whole()}, {"scale", {40}, ragged::elements(16)}}}};
}

/// @param make  ragged::make_plan, or another planner
template <class Make>
auto plan_step_groups(std::int64_t num_devices, const Make& make) {
    ragged::BasicModelPlan<decltype(make(step_groups().front(), num_devices))> model{"model", {}};
    for (const ragged::GroupSpec& group : step_groups())
        model.groups.push_back(make(group, num_devices));
    return model;
}
inline ragged::ModelPlan plan_step_groups(std::int64_t num_devices) {
    return plan_step_groups(num_devices, [](const ragged::GroupSpec& group, std::int64_t devices) {
        return ragged::make_plan(group, devices);
    });
}

/// Small integers, so that sums of gradients are exact in any order.
inline float gradient_of(std::int64_t group, std::size_t tensor, std::int64_t element, std::int64_t step,
                         std::int64_t micro_batch) {
    const std::int64_t mixed = 31 * group + 17 * static_cast<std::int64_t>(tensor) + 5 * element + 13 * step +
                               7 * micro_batch + element * micro_batch;
    return static_cast<float>(mixed % 9 - 4);
}
inline float initial_of(std::int64_t group, std::size_t tensor, std::int64_t element) {
    return static_cast<float>((3 * group + 5 * static_cast<std::int64_t>(tensor) + element) % 23) / 8.0f;
}

/// What all ranks together must reach: p -= rate * (scale * sum of gradients).
class StepOracle {
  public:
    explicit StepOracle(std::int64_t micro_batches)
        : micro_batches_(micro_batches) {
        const auto groups = step_groups();
        for (std::size_t g = 0; g < groups.size(); ++g) {
            values_.emplace_back();
            for (std::size_t t = 0; t < groups[g].tensors.size(); ++t) {
                values_[g].emplace_back();
                for (std::int64_t i = 0; i < groups[g].tensors[t].shape.elements(); ++i)
                    values_[g][t].push_back(initial_of(static_cast<std::int64_t>(g), t, i));
            }
        }
    }
    float value(std::int64_t group, std::size_t tensor, std::int64_t element) const {
        return values_[static_cast<std::size_t>(group)][tensor][static_cast<std::size_t>(element)];
    }
    double norm(std::int64_t step) const {
        double squares = 0; // of integers: exact
        for_each([&](std::int64_t g, std::size_t t, std::int64_t i) {
            squares += std::pow(static_cast<double>(sum(g, t, i, step)), 2);
        });
        return std::sqrt(squares);
    }
    /// @param factor  what the optimizer multiplies the sums by: -rate * scale
    void update(std::int64_t step, double factor, double loss_scale) {
        for_each([&](std::int64_t g, std::size_t t, std::int64_t i) {
            float& value = values_[static_cast<std::size_t>(g)][t][static_cast<std::size_t>(i)];
            value = ragged::op::Axpy{factor}(value, sum(g, t, i, step) * static_cast<float>(loss_scale));
        });
    }

  private:
    template <class Body>
    void for_each(const Body& body) const {
        for (std::size_t g = 0; g < values_.size(); ++g)
            for (std::size_t t = 0; t < values_[g].size(); ++t)
                for (std::size_t i = 0; i < values_[g][t].size(); ++i)
                    body(static_cast<std::int64_t>(g), t, static_cast<std::int64_t>(i));
    }
    float sum(std::int64_t group, std::size_t tensor, std::int64_t element, std::int64_t step) const {
        float sum = 0;
        for (std::int64_t batch = 0; batch < micro_batches_; ++batch)
            sum += gradient_of(group, tensor, element, step, batch);
        return sum;
    }

    std::int64_t micro_batches_;
    std::vector<std::vector<std::vector<float>>> values_; // [group][tensor][element]
};

/// Checks the weights it is given against the oracle, and adds the known gradients.
class KnownModel {
  public:
    /// @param rank, num_ranks  among the data-parallel ones
    KnownModel(const StepOracle& oracle, std::int64_t micro_batches, std::int64_t rank,
               std::int64_t num_ranks)
        : oracle_(oracle)
        , micro_batches_(micro_batches)
        , rank_(rank)
        , num_ranks_(num_ranks) {}

    std::int64_t step = 0;
    float loss_scale = 1;
    /// What is added to one gradient of one micro-batch: an infinity, say.
    float disturbance = 0;
    std::int64_t num_forwards = 0, num_backwards = 0;

    template <class Gathered>
    void forward(std::int64_t group, std::int64_t, const Gathered& weights) {
        ++num_forwards;
        check(group, weights);
    }
    template <class Gathered, class Partial>
    void backward(std::int64_t group, std::int64_t round, const Gathered& weights, Partial& gradients) {
        ++num_backwards;
        check(group, weights);
        const std::int64_t batch = round * num_ranks_ + rank_;
        if (batch >= micro_batches_)
            return;
        for (std::size_t t = 0; t < gradients.plan().tensors.size(); ++t) {
            const auto flat = ragged::view(gradients, t).flat();
            for (std::size_t i = 0; i < flat.size(); ++i)
                flat[i] += loss_scale * gradient_of(group, t, static_cast<std::int64_t>(i), step, batch);
        }
        if (group == 1 && batch == micro_batches_ - 1)
            ragged::view(gradients, "w").flat()[7] += disturbance;
    }

  private:
    template <class Gathered>
    void check(std::int64_t group, const Gathered& weights) const {
        using T = typename Gathered::value_type;
        for (std::size_t t = 0; t < weights.plan().tensors.size(); ++t) {
            const auto flat = ragged::view(weights, t).flat();
            for (std::size_t i = 0; i < flat.size(); ++i)
                expect(static_cast<float>(flat[i]) == static_cast<float>(static_cast<T>(oracle_.value(
                                                          group, t, static_cast<std::int64_t>(i)))),
                       "gathered weights of group " + std::to_string(group) + ", tensor " +
                           std::to_string(t) + ", element " + std::to_string(i) + " in step " +
                           std::to_string(step));
        }
    }

    const StepOracle& oracle_;
    std::int64_t micro_batches_, rank_, num_ranks_;
};

/// p -= rate * gradient
template <class E = ragged::HostExecutor>
struct Sgd {
    double rate = 0.0625;
    E executor{};
    std::int64_t num_updates = 0;

    template <class Parameters>
    void update(std::span<const Parameters> groups, double scale) {
        ++num_updates;
        for (const Parameters& group : groups) {
            ragged::axpy(-rate * scale, *group.gradient, *group.master, executor);
            if (group.weights != nullptr)
                ragged::cast(*group.master, *group.weights, 1.0, executor);
        }
    }
    std::int64_t state_bytes() const { return 0; }
    std::int64_t memory_bytes() const { return 0; }
};

/// Initial values into this rank's masters.
template <class Step>
void fill_masters(Step& step, std::int64_t num_groups) {
    for (std::int64_t group = 0; group < num_groups; ++group) {
        auto& master = step.master(group);
        for (std::size_t t = 0; t < master.plan().tensors.size(); ++t) {
            const auto piece = ragged::shard(master, t);
            for (std::int64_t i = 0; i < piece.elements(); ++i)
                piece[i] = initial_of(group, t, piece.first() + i);
        }
    }
}

/// This rank's masters are what the oracle has.
template <class Step>
void check_masters(const Step& step, const StepOracle& oracle, std::int64_t num_groups) {
    for (std::int64_t group = 0; group < num_groups; ++group) {
        const auto& master = step.master(group);
        for (std::size_t t = 0; t < master.plan().tensors.size(); ++t) {
            const auto piece = ragged::shard(master, t);
            for (std::int64_t i = 0; i < piece.elements(); ++i)
                expect(piece[i] == oracle.value(group, t, piece.first() + i),
                       "master of group " + std::to_string(group) + ", tensor " + std::to_string(t) +
                           ", element " + std::to_string(piece.first() + i));
        }
    }
}

} // namespace support
