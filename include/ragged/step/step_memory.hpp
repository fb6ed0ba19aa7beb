// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a training step holds in memory on one rank, known before any of it is taken: the regions that live
// for ever, and the slots that groups take in turns. All of it is one allocation.
//
//     const auto memory = ragged::plan_step_memory(model, schedule, ragged::DType::bf16, 0);
//     memory.bytes();
#pragma once

#include <algorithm> // std::max
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/group/exact_sum.hpp>
#include <ragged/plan/model_plan.hpp>
#include <ragged/step/schedule.hpp>

namespace ragged {

/// One part of the allocation.
struct StepBuffer {
    std::string name;        // "master of layers.0", "weight slot 1"
    std::int64_t offset = 0; // bytes from the start, a multiple of buffer_alignment
    std::int64_t bytes = 0;

    bool operator==(const StepBuffer&) const = default;
};

/// In this order: a master per group, a gradient per group, the weight slots, the gradient slots, the norm.
struct StepMemory {
    std::vector<StepBuffer> buffers;

    /// Of the one allocation.
    std::int64_t bytes() const { return buffers.empty() ? 0 : end_of(buffers.back()); }

    bool operator==(const StepMemory&) const = default;

    /// Behind what there is.
    void add(std::string name, std::int64_t bytes) {
        buffers.push_back({std::move(name), this->bytes(), bytes});
    }

  private:
    static std::int64_t end_of(const StepBuffer& buffer) {
        return checked_add(buffer.offset, round_up(buffer.bytes, static_cast<std::int64_t>(buffer_alignment)),
                           "bytes of a step");
    }
};

/// The memory of a step on one rank. Local. Slots are as large as the largest group that takes them.
/// @param compute  element type of the gathered weights; masters, gradients and their slots are fp32
template <class PlanType>
StepMemory plan_step_memory(const BasicModelPlan<PlanType>& model, const Schedule& schedule, DType compute,
                            std::int64_t shard_rank) {
    const auto bytes = [](std::int64_t elems, DType dtype) {
        return checked_mul(elems, size_bytes(dtype), "bytes of a step");
    };
    StepMemory memory;
    for (const char* what : {"master of ", "gradient of "})
        for (const PlanType& plan : model.groups)
            memory.add(what + plan.name, bytes(plan.region_elems(shard_rank), DType::f32));
    std::vector<std::int64_t> weights(static_cast<std::size_t>(schedule.weight_slots), 0);
    std::vector<std::int64_t> gradients(static_cast<std::size_t>(schedule.gradient_slots), 0);
    for (const Action& action : schedule.actions) {
        const auto keep_largest = [&](std::int64_t& slot, DType dtype) {
            const PlanType& plan = model.groups[static_cast<std::size_t>(action.group)];
            slot = std::max(slot, bytes(plan.padded_elements(), dtype));
        };
        if (action.what == Action::What::gather)
            keep_largest(weights[static_cast<std::size_t>(action.weight_slot)], compute);
        if (action.what == Action::What::clear)
            keep_largest(gradients[static_cast<std::size_t>(action.gradient_slot)], DType::f32);
    }
    for (std::size_t slot = 0; slot < weights.size(); ++slot)
        memory.add(concat("weight slot ", slot), weights[slot]);
    for (std::size_t slot = 0; slot < gradients.size(); ++slot)
        memory.add(concat("gradient slot ", slot), gradients[slot]);
    memory.add("norm", exact_sum::num_digits * size_bytes(DType::f64));
    return memory;
}

} // namespace ragged
