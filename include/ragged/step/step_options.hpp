// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What is told to a training step, and what it tells.
#pragma once

#include <cstdint>

#include <ragged/step/loss_scale.hpp>
#include <ragged/step/schedule.hpp>

namespace ragged {

struct StepOptions {
    ScheduleOptions schedule{};
    double max_norm = 0;           // gradients with a larger norm are scaled down to it; 0: no limit
    LossScale loss_scale{};        // the model multiplies its loss by step.loss_scale()
    std::int64_t trace_events = 0; // room for so many in the trace; 0: no trace
};

/// What became of a step; equal on all ranks.
struct StepResult {
    double gradient_norm = 0; // before it was limited, of the loss without its scale; not finite: no update
    bool updated = false;
};

/// Seconds of the host since the step was made.
struct StepSeconds {
    double gather = 0;    // casts, starts, waiting for weights
    double compute = 0;   // the model
    double reduce = 0;    // clearing, starts, waiting for sums, adding them, the norm
    double optimizer = 0; // the update
};

} // namespace ragged
