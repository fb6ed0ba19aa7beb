// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a loss is multiplied by, so that small gradients do not vanish in a narrow element type. Gradients
// that are not finite halve it, many good steps double it.
//
//     ragged::StepOptions options{.loss_scale = ragged::LossScale::dynamic()};
#pragma once

#include <algorithm> // std::clamp
#include <cstdint>

namespace ragged {

/// A policy and its state. Powers of two, so that scaling rounds nothing.
struct LossScale {
    static constexpr double smallest = 1, largest = 16'777'216; // 2^24

    double scale = 1;
    std::int64_t growth_interval = 0; // good steps in a row after which the scale doubles; 0: it is constant
    std::int64_t good_steps = 0;      // in a row

    /// Source: Micikevicius et al., "Mixed Precision Training", 2018, section 3.2
    static constexpr LossScale dynamic(double initial = 65'536, std::int64_t growth_interval = 2000) {
        return {initial, growth_interval};
    }

    /// After each step. @param finite  all its gradients were
    constexpr void update(bool finite) {
        if (growth_interval == 0)
            return;
        good_steps = finite ? good_steps + 1 : 0;
        if (finite && good_steps < growth_interval)
            return;
        good_steps = 0;
        scale = std::clamp(finite ? scale * 2 : scale / 2, smallest, largest);
    }

    constexpr bool operator==(const LossScale&) const = default;
};

} // namespace ragged
