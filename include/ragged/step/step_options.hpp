// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What is told to a training step, and what it tells.
#pragma once

#include <cmath> // std::isfinite
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/core/error.hpp>
#include <ragged/core/json.hpp>
#include <ragged/step/loss_scale.hpp>
#include <ragged/step/schedule.hpp>

namespace ragged {

struct StepOptions {
    ScheduleOptions schedule{};
    double max_norm = 0;           // gradients with a larger norm are scaled down to it; 0: no limit
    LossScale loss_scale{};        // the model multiplies its loss by step.loss_scale()
    std::int64_t trace_events = 0; // room for so many in the trace; 0: no trace
};

namespace detail {

/// @throws BufferError  a number out of its range; make_schedule looks at those of the schedule
inline const StepOptions& checked_options(const StepOptions& options, std::string_view model) {
    const auto require = [&](bool good, const auto&... what) {
        if (!good)
            throw BufferError(concat("model '", model, "': ", what...));
    };
    require(options.max_norm >= 0 && std::isfinite(options.max_norm), "a largest norm of ", options.max_norm,
            " is no limit; 0 is none");
    const LossScale& loss = options.loss_scale;
    require(loss.scale > 0 && std::isfinite(loss.scale), "a loss scale of ", loss.scale,
            ", it must be finite and above 0");
    require(loss.growth_interval >= 0, "a loss scale that doubles after ", loss.growth_interval,
            " good steps; 0: never");
    require(options.trace_events >= 0, "room for ", options.trace_events, " events of a trace; 0: no trace");
    return options;
}

/// What all ranks must say alike, in lines; equal lines are equal bits.
inline std::vector<std::string> describe(const StepOptions& options) {
    const ScheduleOptions& schedule = options.schedule;
    return {concat(schedule.rounds, " rounds, a prefetch of ", schedule.prefetch, ", ",
                   schedule.reshard ? "weights resharded" : "weights kept", ", gradients reduced in ",
                   schedule.reduce == ReduceGradients::each_round ? "each round" : "the last round"),
            concat("gradients limited to ", json_number(options.max_norm)),
            concat("loss scale ", json_number(options.loss_scale.scale), ", doubled after ",
                   options.loss_scale.growth_interval, " good steps, ", options.loss_scale.good_steps,
                   " were")};
}

} // namespace detail

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
