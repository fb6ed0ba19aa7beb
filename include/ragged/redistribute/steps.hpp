// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The steps of a route as those of a program: one walk for who runs them and for who only counts what they
// need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include <ragged/redistribute/program.hpp>
#include <ragged/redistribute/route.hpp>
#include <ragged/redistribute/stage.hpp>

namespace ragged::detail {

/// Where no mesh joins two layouts: one exchange.
inline constexpr Route exchange_only = [] {
    Route route;
    route.push({RouteStep::Action::exchange, 0, PartialOp::sum, true, false, true, max_axes});
    return route;
}();

constexpr bool is_exchange(RouteStep::Action action) {
    return action == RouteStep::Action::exchange || action == RouteStep::Action::gather_to_root ||
           action == RouteStep::Action::scatter_from_root;
}

/// Whether what step `index` leaves is only gathered, in place.
constexpr bool gathers_follow(const Route& route, std::size_t index) {
    while (index < route.size && route.steps[index].action == RouteStep::Action::all_reduce)
        ++index;
    return index < route.size && route.steps[index].contiguous &&
           (route.steps[index].action == RouteStep::Action::all_gather ||
            route.steps[index].action == RouteStep::Action::broadcast);
}

/// Build the steps in order and hand each over: add(ProgramStep), and add(ProgramStep, Exchange) for one that
/// exchanges.
template <Route TheRoute, class Add>
void add_steps(Program& program, const Stage& from, const Stage& to, const Add& add) {
    using Action = RouteStep::Action;
    for (std::size_t index = 0; index != TheRoute.size; ++index) { // nvcc calls `<` pointless for no steps
        const RouteStep& step = TheRoute.steps[index];
        if (step.action == Action::slice) {
            add(program.slice(to.at_depth(step.depth), step.contiguous, index + 1 == TheRoute.size));
        } else if (step.action == Action::reduce_scatter) {
            add(step.even
                    ? program.split_reduce_scatter(step.axis)
                    : program.reduce_scatter(to.at_depth(step.depth), true, step.axis, step.contiguous));
        } else if (step.action == Action::all_reduce) {
            add(program.all_reduce(gathers_follow(TheRoute, index)));
        } else if (is_exchange(step.action)) {
            Exchange exchange;
            ProgramStep made = program.exchange(exchange);
            add(std::move(made), std::move(exchange));
        } else {
            add(program.all_gather(from.at_depth(step.depth), step.axis, step.contiguous));
        }
    }
}

/// @throws BufferError  beyond 64 bits
template <class T>
std::int64_t staging_bytes_of(const Program& program) {
    return checked_mul<BufferError>(program.staging_elems(), static_cast<std::int64_t>(sizeof(T)),
                                    "bytes of staging memory");
}

} // namespace ragged::detail
