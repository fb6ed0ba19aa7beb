// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// AdamW with both moments in 8 bits: a code per element and, per block of a tensor and moment, the largest
// magnitude as a float. A block is whole on one rank, so nothing is exchanged, and state and masters have the
// same bits for any number of ranks. Give tensors blocks of some hundred elements: tile({32, 32}), which cuts
// as 32 rows do, or elements(256). (The default block is one element, and would have two scales for each.)
//
//     const auto model = ragged::make_plan(spec, shards, {}, {.planes = {ragged::DType::i8}});
//     ragged::Adam8bit optimizer(model, place, memory, {.learning_rate = 3e-4});
//     optimizer.update(parameters, 1.0 / tokens);
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ragged/group/block_update.hpp>
#include <ragged/group/by_piece.hpp>
#include <ragged/optim/adamw.hpp>
#include <ragged/optim/dynamic_code.hpp>

namespace ragged {

namespace op {

/// AdamW on blocks whose moments are codes: op of update_blocks over master, codes of the first and of the
/// second moment, gradient, and weights where there are some. The moments of a step are used as they are;
/// rounding to codes only concerns the next step.
struct Adam8bit {
    using First = DynamicCode<std::int8_t>;
    using Second = DynamicCode<std::uint8_t>;
    static constexpr int num_largest = 2; // |first|, second

    AdamW step;
    float* first_scales; // [local blocks]: what the codes of a block are multiplied by
    float* second_scales;

    struct Moments {
        float first;
        float second;
    };

    /// A block with the scales of its codes.
    struct Block {
        AdamW step;
        float first_scale;
        float second_scale;

        /// After the step. The same in both walks.
        RAGGED_HOST_DEVICE Moments moments(std::int8_t first, std::uint8_t second, float gradient) const {
            Moments after{First::decode(first) * first_scale, Second::decode(second) * second_scale};
            step.update_moments(after.first, after.second, gradient);
            return after;
        }

        template <class... Weights>
        RAGGED_HOST_DEVICE void measure(Largest<num_largest>& largest, const float&, const std::int8_t& first,
                                        const std::uint8_t& second, const float& gradient,
                                        const Weights&...) const {
            const Moments after = moments(first, second, gradient);
            largest.bits[0] = op::AbsMax::add(largest.bits[0], after.first);
            largest.bits[1] = op::AbsMax::add(largest.bits[1], after.second);
        }

        RAGGED_HOST_DEVICE auto update(const Largest<num_largest>& largest) const {
            return Update{*this, 1.0f / scale_of(largest.bits[0]), 1.0f / scale_of(largest.bits[1])};
        }
    };

    /// A block with what its new moments are multiplied by.
    struct Update {
        Block block;
        float first_inverse;
        float second_inverse;

        template <class... Weights>
        RAGGED_HOST_DEVICE void operator()(float& master, std::int8_t& first, std::uint8_t& second,
                                           const float& gradient, Weights&... weights) const {
            const Moments after = block.moments(first, second, gradient);
            block.step.update_master(master, after.first, after.second);
            first = First::encode(after.first * first_inverse);
            second = Second::encode(after.second * second_inverse);
            ((weights = detail::narrowed<Weights>(master)), ...);
        }
    };

    RAGGED_HOST_DEVICE Block block(std::int64_t local_block) const {
        return {step, first_scales[local_block], second_scales[local_block]};
    }
    RAGGED_HOST_DEVICE void finish(std::int64_t local_block, const Largest<num_largest>& largest) const {
        first_scales[local_block] = scale_of(largest.bits[0]);
        second_scales[local_block] = scale_of(largest.bits[1]);
    }

    /// The largest magnitude of a block, but the smallest normal float at least, so that it can be divided
    /// by. NaN when one is not finite: then the whole block is NaN from the next step on.
    RAGGED_HOST_DEVICE static float scale_of(std::uint32_t largest) {
        constexpr std::uint32_t smallest_normal = 0x00800000u, infinity = 0x7f800000u, nan = 0x7fffffffu;
        return bit_cast<float>(largest >= infinity ? nan
                                                   : (largest < smallest_normal ? smallest_normal : largest));
    }
};

} // namespace op

/// See optimizer. Holds the codes of both moments of every group and their scales. Local; where it runs and
/// when it is done is the executor's matter, see flat.hpp. A gradient that is not finite spoils its whole
/// block, and for good: the step skips those. A finite one of 2^64 or more, whose square is infinite, does
/// too: limit the norm. Padding stays zero.
template <class Topology, class PlanType = Plan, group_executor E = HostExecutor>
class Adam8bit {
  public:
    using FirstCodes = DBuffer<std::int8_t, Topology, state::Resident, PlanType>;
    using SecondCodes = DBuffer<std::uint8_t, Topology, state::Resident, PlanType>;

    /// Of one group. Scales are in the executor's space, [table.num_blocks()].
    struct State {
        typename E::table_type table;
        FirstCodes first;
        SecondCodes second;
        Memory scales; // of the first moment, then of the second

        std::span<float> first_scales() const { return {static_cast<float*>(scales.data()), num_blocks()}; }
        std::span<float> second_scales() const {
            return {static_cast<float*>(scales.data()) + num_blocks(), num_blocks()};
        }

      private:
        std::size_t num_blocks() const { return static_cast<std::size_t>(table.num_blocks()); }
    };

    AdamWOptions options; // may be changed between steps

    /// Zero moments. The model, the resource and the executor outlive the optimizer.
    /// @param memory  in the executor's space
    /// @throws BufferError  see check_options and DBuffer: plans are made with i8 among their planes
    template <memory_resource R>
    Adam8bit(const BasicModelPlan<PlanType>& model, const Place<Topology>& place, R& memory,
             AdamWOptions of = {}, const E& executor = detail::host_executor)
        : options(of)
        , executor_(&executor) {
        detail::check_options(options, 1.0);
        for (const PlanType& plan : model.groups) {
            FirstCodes first(plan, place, memory);
            detail::require_executor(executor, first);
            static_cast<void>(detail::regions_of<std::int8_t>(first)); // as many segments as a step takes
            SecondCodes second(plan, place, memory);
            auto table = executor.piece_table(plan, first.shard_rank(), memory);
            Memory scales(memory, 2 * sizeof(float) * static_cast<std::size_t>(table.num_blocks()));
            groups_.push_back({std::move(table), std::move(first), std::move(second), std::move(scales)});
        }
    }
    template <memory_resource R>
    Adam8bit(const BasicModelPlan<PlanType>&&, const Place<Topology>&, R&, AdamWOptions = {},
             const E& = detail::host_executor) = delete;

    /// One step: master, moments and weights, if there are some, from gradient * scale. The gradient is kept.
    /// @throws BufferError  an option out of its range; another number of groups, plans or ranks than the
    ///         optimizer's; a buffer out of the executor's space. Nothing is changed then
    template <class T>
    void update(std::span<const Parameters<T, Topology, PlanType>> parameters, double scale) {
        detail::check_options(options, scale);
        detail::require_parameters(
            parameters, groups_.size(),
            [&](std::size_t group) -> const FirstCodes& { return groups_[group].first; }, *executor_,
            "Adam8bit");
        const auto step = op::AdamW::of(options, ++steps_, scale);
        for (std::size_t group = 0; group < parameters.size(); ++group) {
            const auto& of = parameters[group];
            const State& own = groups_[group];
            const op::Adam8bit update{step, own.first_scales().data(), own.second_scales().data()};
            const auto run = [&](const auto&... weights) {
                executor_->update_blocks(update, own.table, detail::regions_of<float>(*of.master),
                                         detail::regions_of<std::int8_t>(own.first),
                                         detail::regions_of<std::uint8_t>(own.second),
                                         detail::regions_of<const float>(*of.gradient), weights...);
            };
            if (of.weights != nullptr)
                run(detail::regions_of<T>(*of.weights));
            else
                run();
        }
    }

    /// Of group `group` of the model. For checkpoints, with steps().
    State& group(std::size_t group) { return groups_.at(group); }
    const State& group(std::size_t group) const { return groups_.at(group); }

    /// Steps that were taken; the corrections of the moments' bias go by them.
    std::int64_t steps() const noexcept { return steps_; }
    /// To go on from state that was kept.
    void set_steps(std::int64_t steps) noexcept { steps_ = steps; }

    std::int64_t state_bytes() const noexcept {
        std::size_t bytes = 0;
        for (const State& group : groups_)
            bytes += group.first.bytes() + group.second.bytes() + group.scales.bytes();
        return static_cast<std::int64_t>(bytes);
    }
    std::int64_t memory_bytes() const noexcept {
        std::int64_t bytes = state_bytes();
        for (const State& group : groups_)
            bytes += group.table.memory_bytes();
        return bytes;
    }

  private:
    const E* executor_;
    std::vector<State> groups_;
    std::int64_t steps_ = 0;
};

} // namespace ragged
