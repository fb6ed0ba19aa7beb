// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/step/step_options.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "support/expect.hpp"

using ragged::LossScale;
using ragged::StepOptions;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

std::string refusal(const StepOptions& options) {
    return support::message_of([&] { ragged::detail::checked_options(options, "gpt"); });
}

} // namespace

TEST_CASE("numbers out of their range are refused with the model's name") {
    CHECK(refusal({}).empty());
    CHECK(refusal({.max_norm = 1, .loss_scale = LossScale::dynamic(), .trace_events = 10}).empty());

    CHECK(refusal({.max_norm = -1}) == "model 'gpt': a largest norm of -1.000000 is no limit; 0 is none");
    for (const double none : {-0.5, infinity, no_number})
        CHECK(support::contains(refusal({.max_norm = none}), "is no limit"));
    CHECK(refusal({.loss_scale = {.scale = 0}}) ==
          "model 'gpt': a loss scale of 0.000000, it must be finite and above 0");
    for (const double none : {-1.0, infinity, no_number})
        CHECK(support::contains(refusal({.loss_scale = {.scale = none}}), "it must be finite and above 0"));
    CHECK(refusal({.loss_scale = {.growth_interval = -3}}) ==
          "model 'gpt': a loss scale that doubles after -3 good steps; 0: never");
    CHECK(refusal({.trace_events = -1}) == "model 'gpt': room for -1 events of a trace; 0: no trace");
}

TEST_CASE("each option that ranks must share changes what they compare, what one rank may choose does not") {
    const auto lines = [](const StepOptions& options) { return ragged::detail::describe(options); };
    const auto plain = lines({});
    CHECK(lines({.schedule = {.rounds = 2}}) != plain);
    CHECK(lines({.schedule = {.prefetch = 2}}) != plain);
    CHECK(lines({.schedule = {.reshard = false}}) != plain);
    CHECK(lines({.schedule = {.reduce = ragged::ReduceGradients::last_round}}) != plain);
    CHECK(lines({.max_norm = 1e-9}) != plain);
    CHECK(lines({.max_norm = 1e-9}) != lines({.max_norm = 2e-9}));
    CHECK(lines({.loss_scale = {.scale = 2}}) != plain);
    CHECK(lines({.loss_scale = {.growth_interval = 5}}) != plain);
    CHECK(lines({.loss_scale = {.good_steps = 1}}) != plain);
    CHECK(lines({.trace_events = 9}) == plain);
}
