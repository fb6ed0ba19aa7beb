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
struct ModelPlan {
    std::string name;
    std::vector<Plan> groups;

    constexpr std::int64_t elements() const {
        std::int64_t sum = 0;
        for (const Plan& plan : groups)
            sum = checked_add(sum, plan.elements(), "elements of a model");
        return sum;
    }
    constexpr std::int64_t padded_elements() const {
        std::int64_t sum = 0;
        for (const Plan& plan : groups)
            sum = checked_add(sum, plan.padded_elements(), "padded elements of a model");
        return sum;
    }
    constexpr double padding_ratio() const { return detail::padding_ratio(padded_elements(), elements()); }
};

constexpr std::uint64_t fingerprint(const ModelPlan& model) {
    detail::Hash hash;
    hash.add(model.name);
    hash.add(static_cast<std::int64_t>(model.groups.size()));
    for (const Plan& plan : model.groups)
        hash.add(static_cast<std::int64_t>(fingerprint(plan)));
    return hash.value();
}

} // namespace ragged
