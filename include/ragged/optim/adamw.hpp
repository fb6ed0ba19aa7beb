// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// AdamW over this rank's regions: one fused pass per group over master, moments and gradient, which casts the
// new masters into the weights on its way. Flat: it knows no tensors and no blocks. Padding stays zero.
//
//     ragged::AdamW optimizer(model, place, memory, {.learning_rate = 3e-4});
//     optimizer.update(parameters, 1.0 / tokens);
//     optimizer.options.learning_rate = schedule(step);
#pragma once

#include <cmath> // std::pow, std::sqrt
#include <cstdint>
#include <span>
#include <vector>

#include <ragged/group/flat.hpp>
#include <ragged/optim/optimizer.hpp>
#include <ragged/optim/option_check.hpp>
#include <ragged/plan/model_plan.hpp>

namespace ragged {

/// Decay is decoupled: each step takes learning_rate * weight_decay * master off the master.
struct AdamWOptions {
    double learning_rate = 1e-3;
    double beta1 = 0.9;    // of the first moment, in [0, 1)
    double beta2 = 0.999;  // of the second, in [0, 1)
    double epsilon = 1e-8; // added to the root of the second moment, above 0 as a float
    double weight_decay = 0.01;

    bool operator==(const AdamWOptions&) const = default;
};

namespace detail {

/// @throws BufferError  an option out of its range, or a scale that is not finite; with either zero padding
///         might not stay zero
inline void check_options(const AdamWOptions& options, double scale) {
    const OptionCheck check{"AdamW"};
    check.rates(options.learning_rate, options.weight_decay);
    check.below_one("beta1", options.beta1);
    check.below_one("beta2", options.beta2);
    check.require(static_cast<float>(options.epsilon) > 0 && is_finite_float(options.epsilon), "epsilon",
                  options.epsilon, "finite and above 0 as a float");
    check.finite("the scale of the gradient", scale);
}

} // namespace detail

namespace op {

/// One element of AdamW, in float; each line rounds where it says so and nowhere else, so that all machines
/// have the same bits. Zeros stay zeros.
/// Source: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", algorithm 2
struct AdamW {
    float scale;        // of the gradient
    float beta1, rest1; // rest: 1 - beta
    float beta2, rest2;
    float root; // 1 / sqrt(1 - beta2^step)
    float epsilon;
    float rate;  // learning_rate / (1 - beta1^step)
    float decay; // learning_rate * weight_decay

    /// Host. The corrections of the moments' bias are computed in double.
    /// @param step  counts from 1
    static AdamW of(const AdamWOptions& options, std::int64_t step, double scale) {
        const auto n = static_cast<double>(step);
        const auto narrow = [](double x) { return static_cast<float>(x); };
        return {narrow(scale),
                narrow(options.beta1),
                narrow(1 - options.beta1),
                narrow(options.beta2),
                narrow(1 - options.beta2),
                narrow(1 / std::sqrt(1 - std::pow(options.beta2, n))),
                narrow(options.epsilon),
                narrow(options.learning_rate / (1 - std::pow(options.beta1, n))),
                narrow(options.learning_rate * options.weight_decay)};
    }

    RAGGED_HOST_DEVICE void update_moments(float& first, float& second, float gradient) const {
        const float scaled = gradient * scale;
        first = fused_multiply_add(beta1, first, rest1 * scaled);
        second = fused_multiply_add(beta2, second, rest2 * scaled * scaled);
    }
    RAGGED_HOST_DEVICE void update_master(float& master, float first, float second) const {
        const float ratio = first / fused_multiply_add(square_root(second), root, epsilon);
        master = fused_multiply_add(-rate, ratio, fused_multiply_add(-decay, master, master));
    }

    RAGGED_HOST_DEVICE void operator()(float& master, float& first, float& second,
                                       const float& gradient) const {
        update_moments(first, second, gradient);
        update_master(master, first, second);
    }
    /// The same, and the new master as T.
    template <class T>
    RAGGED_HOST_DEVICE void operator()(float& master, float& first, float& second, const float& gradient,
                                       T& weights) const {
        (*this)(master, first, second, gradient);
        weights = detail::narrowed<T>(master);
    }
};

} // namespace op

/// See optimizer. Holds both moments of every group, in float. Local: no rank waits for another, and an
/// element has the same bits for any number of ranks. Where it runs and when it is done is the executor's
/// matter, see flat.hpp. A gradient that is not finite makes its own element not finite; the step skips
/// those. A finite one of 2^64 or more, whose square is infinite, stops its element for good: limit the norm.
template <class Topology, class PlanType = Plan, group_executor E = HostExecutor>
class AdamW {
  public:
    using Moment = DBuffer<float, Topology, state::Resident, PlanType>;

    AdamWOptions options; // may be changed between steps

    /// Zero moments. The model, the resource and the executor outlive the optimizer.
    /// @param memory  in the executor's space
    /// @throws BufferError  see check_options and DBuffer
    template <memory_resource R>
    AdamW(const BasicModelPlan<PlanType>& model, const Place<Topology>& place, R& memory,
          AdamWOptions of = {}, const E& executor = detail::host_executor)
        : options(of)
        , executor_(&executor) {
        detail::check_options(options, 1.0);
        for (const PlanType& plan : model.groups) {
            first_.emplace_back(plan, place, memory);
            second_.emplace_back(plan, place, memory);
            detail::require_executor(executor, first_.back());
        }
    }
    template <memory_resource R>
    AdamW(const BasicModelPlan<PlanType>&&, const Place<Topology>&, R&, AdamWOptions = {},
          const E& = detail::host_executor) = delete;

    /// One step: master, moments and weights, if there are some, from gradient * scale. The gradient is kept.
    /// @throws BufferError  an option out of its range; another number of groups, plans or ranks than the
    ///         optimizer's; a buffer out of the executor's space. Nothing is changed then
    template <class T>
    void update(std::span<const Parameters<T, Topology, PlanType>> parameters, double scale) {
        detail::check_options(options, scale);
        detail::require_parameters(
            parameters, first_.size(), [&](std::size_t group) -> const Moment& { return first_[group]; },
            *executor_, "AdamW");
        const auto step = op::AdamW::of(options, ++steps_, scale);
        for (std::size_t group = 0; group < parameters.size(); ++group) {
            const auto& of = parameters[group];
            for (std::int64_t segment = 0; segment < of.master->num_segments(); ++segment) {
                const Values<float> master = detail::written(*of.master, segment);
                const auto update = [&](auto*... weights) {
                    executor_->update(step, master.count, master.data,
                                      detail::written(first_[group], segment).data,
                                      detail::written(second_[group], segment).data,
                                      detail::read(*of.gradient, segment).data, weights...);
                };
                if (of.weights != nullptr)
                    update(detail::written(*of.weights, segment).data);
                else
                    update();
            }
        }
    }

    /// Of group `group` of the model. For checkpoints, with steps().
    Moment& first_moment(std::size_t group) { return first_.at(group); }
    Moment& second_moment(std::size_t group) { return second_.at(group); }
    const Moment& first_moment(std::size_t group) const { return first_.at(group); }
    const Moment& second_moment(std::size_t group) const { return second_.at(group); }

    /// Steps that were taken; the corrections of the moments' bias go by them.
    std::int64_t steps() const noexcept { return steps_; }
    /// To go on from moments that were kept.
    void set_steps(std::int64_t steps) noexcept { steps_ = steps; }

    std::int64_t state_bytes() const noexcept {
        std::size_t bytes = 0;
        for (const auto* moments : {&first_, &second_})
            for (const Moment& moment : *moments)
                bytes += moment.bytes();
        return static_cast<std::int64_t>(bytes);
    }
    std::int64_t memory_bytes() const noexcept { return state_bytes(); }

  private:
    const E* executor_;
    std::vector<Moment> first_; // [groups], as second_
    std::vector<Moment> second_;
    std::int64_t steps_ = 0;
};

} // namespace ragged
