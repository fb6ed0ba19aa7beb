// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What an optimizer is to a training step: it takes the reduced gradients of all groups of a model and
// updates this rank's masters. Its state lies over the same plans, so no block is cut and none is exchanged.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <ragged/group/flat.hpp>

namespace ragged {

/// This rank's regions of one group, as an optimizer updates them.
/// @tparam T  what the model computes in
template <class T, class Topology, class PlanType = Plan>
struct Parameters {
    using Gradient = DBuffer<float, Topology, state::Accumulated, PlanType>;
    using Master = DBuffer<float, Topology, state::Resident, PlanType>;
    using Weights = DBuffer<T, Topology, state::Sharded, PlanType>;

    Gradient* gradient; // sums; may be used as scratch memory, and is spent
    Master* master;
    Weights* weights = nullptr; // takes the new masters as T too; none: they are cast when they are needed
};

// clang-format off
/// | expression                      | meaning                                                               |
/// | ------------------------------- | --------------------------------------------------------------------- |
/// | o.update(parameters, scale)     | one step: parameters is a span of Parameters, one per group in the    |
/// |                                 | order of the model, and gradient * scale the gradient. Collective     |
/// |                                 | where the optimizer communicates: every rank calls it, or none        |
/// | o.state_bytes() -> std::int64_t | of the state that a checkpoint keeps, on this rank                    |
/// | o.memory_bytes() -> std::int64_t| taken from the memory resource: the state and what a step works in    |
// clang-format on
template <class O, class T, class Topology, class PlanType = Plan>
concept optimizer = requires(O& o, const O& constant,
                             std::span<const Parameters<T, Topology, PlanType>> parameters, double scale) {
    o.update(parameters, scale);
    { constant.state_bytes() } -> std::same_as<std::int64_t>;
    { constant.memory_bytes() } -> std::same_as<std::int64_t>;
};

namespace detail {

/// Before a step changes anything: there are parameters for each group that the optimizer has state of, over
/// its plan, of its rank and in its executor's space.
/// @param state_of  a buffer of the state of a group
/// @throws BufferError  what differs
template <class T, class Topology, class PlanType, class StateOf, class E>
void require_parameters(std::span<const Parameters<T, Topology, PlanType>> parameters, std::size_t num_groups,
                        const StateOf& state_of, const E& executor, std::string_view optimizer) {
    if (parameters.size() != num_groups)
        throw BufferError(
            concat(optimizer, ": parameters of ", parameters.size(), " groups, the model has ", num_groups));
    for (std::size_t group = 0; group < num_groups; ++group) {
        const auto require = [&](const auto& buffer) {
            require_same_plan(buffer, state_of(group));
            require_executor(executor, buffer);
        };
        require(*parameters[group].gradient);
        require(*parameters[group].master);
        if (parameters[group].weights != nullptr)
            require(*parameters[group].weights);
    }
}

} // namespace detail

} // namespace ragged
