// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What it costs that cuts leave whole what other axes shard (TensorSpec::whole_from): the padding of a group
// as it is, beside that of the same group cut wherever blocks allow it. Data only; report/plan_table.hpp has
// the words.
//
//     const ragged::WholeAxisCost cost = ragged::whole_axis_cost(group, 16);
//     use(cost.added(), cost.tensor);
#pragma once

#include <cstdint>
#include <string>

#include <ragged/plan/make_plan.hpp>

namespace ragged {

struct WholeAxisCost {
    std::string group;
    std::int64_t num_devices = 1;
    double padding_ratio = 0;        // of the group as it is
    double blocks_padding_ratio = 0; // of the same group, every whole_from = -1
    std::string tensor;              // sets the shards of the segment that pads most; "": none does
    int whole_from = -1; // of this tensor, in the dimensions of the group; -1: its block forces it

    /// Padding, in units of the group's elements. A policy that searches may find a plan below 0.
    constexpr double added() const { return padding_ratio - blocks_padding_ratio; }
    bool operator==(const WholeAxisCost&) const = default;
};

/// Plan a group as it is and without whole_from. Host, local, deterministic, as make_plan.
/// @throws SpecError, PlanError  as make_plan with these arguments
template <planner_policy Policy = policy::Exact>
WholeAxisCost whole_axis_cost(const GroupSpec& group, std::int64_t num_devices, const Policy& policy = {},
                              const PlanOptions& options = {}) {
    GroupSpec blocks_only = group;
    for (TensorSpec& tensor : blocks_only.tensors)
        tensor.whole_from = -1;
    const Plan plan = make_plan(group, num_devices, policy, options);
    WholeAxisCost cost{group.name,
                       num_devices,
                       plan.padding_ratio(),
                       make_plan(blocks_only, num_devices, policy, options).padding_ratio(),
                       "",
                       -1};
    std::int64_t most = -1; // elements of padding
    for (const Segment& segment : plan.segments) {
        const std::int64_t padding = segment.region_begin(num_devices) - segment.elements;
        if (segment.set_by < 0 || padding <= most)
            continue;
        most = padding;
        const PlacedTensor& tensor = plan.tensors[static_cast<std::size_t>(segment.set_by)];
        cost.tensor = tensor.spec.name;
        // a slice counts its dimensions without the one that the stack has more
        const bool stacked = tensor.slice >= 0 && tensor.spec.whole_from >= 0;
        cost.whole_from = tensor.spec.whole_from + (stacked ? 1 : 0);
    }
    return cost;
}

} // namespace ragged
