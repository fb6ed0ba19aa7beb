// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The plans of all groups of a model over the same devices.
#pragma once

#include <string>
#include <vector>

#include <ragged/plan/plan.hpp>

namespace ragged {

/// All groups of a model over the same devices.
/// @tparam PlanType  Plan, or UnequalPlan
template <class PlanType>
struct BasicModelPlan {
    std::string name;
    std::vector<PlanType> groups;

    constexpr std::int64_t elements() const {
        std::int64_t sum = 0;
        for (const PlanType& plan : groups)
            sum = checked_add(sum, plan.elements(), "elements of a model");
        return sum;
    }
    constexpr std::int64_t padded_elements() const {
        std::int64_t sum = 0;
        for (const PlanType& plan : groups)
            sum = checked_add(sum, plan.padded_elements(), "padded elements of a model");
        return sum;
    }
    constexpr double padding_ratio() const { return detail::padding_ratio(padded_elements(), elements()); }

    constexpr bool operator==(const BasicModelPlan&) const = default;
};

using ModelPlan = BasicModelPlan<Plan>;

template <class PlanType>
constexpr std::uint64_t fingerprint(const BasicModelPlan<PlanType>& model) {
    detail::Hash hash;
    hash.add(model.name);
    hash.add(static_cast<std::int64_t>(model.groups.size()));
    for (const PlanType& plan : model.groups)
        hash.add(static_cast<std::int64_t>(fingerprint(plan)));
    return hash.value();
}

} // namespace ragged
