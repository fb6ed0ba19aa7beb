// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What layouts make of one model on ever more devices.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/plan/make_plan.hpp>
#include <ragged/report/line_chart.hpp>

namespace support {

/// What a layout makes of a whole model on some number of devices.
struct Outcome {
    std::int64_t elements, padded_elements;
    double padding_ratio;
    std::int64_t blocks_cut = 0;

    explicit Outcome(const ragged::ModelPlan& plan)
        : elements(plan.elements())
        , padded_elements(plan.padded_elements())
        , padding_ratio(plan.padding_ratio()) {
        for (const ragged::Plan& group : plan.groups)
            blocks_cut += group.violations.blocks_cut;
    }
};

/// One layout with one number of rows.
struct Curve {
    std::string_view layout;
    std::int64_t segments, rows;
    ragged::ChartLine line;
    std::vector<std::optional<Outcome>>
        outcomes{}; // by number of devices; none where there is no such layout
};

struct Sweep {
    ragged::ModelSpec model;
    ragged::PlanOptions options;
    std::vector<std::int64_t> rows, devices;
    std::vector<Curve> curves{};

    /// Plan the model, whose blocks are the curve's rows already, for each number of devices.
    /// @throws ragged::SpecError, ragged::PlanError  as make_plan, for a policy that keeps the laws
    template <class Policy>
    void add(Curve curve, const Policy& policy) {
        for (const std::int64_t on : devices) {
            auto& outcome = curve.outcomes.emplace_back();
            auto& point = curve.line.points.emplace_back();
            try {
                outcome.emplace(ragged::make_plan(model, on, policy, options));
                point = {outcome->padding_ratio, outcome->blocks_cut > 0};
            } catch (const ragged::PlanError&) {
                if constexpr (ragged::detail::keeps_laws<Policy>)
                    throw; // else there is no such layout: a common multiple may not fit 64 bits
            }
        }
        curves.push_back(std::move(curve));
    }
};

} // namespace support
