// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a framework's model is to a training step.
#pragma once

#include <cstdint>

#include <ragged/buffer/dbuffer.hpp>

namespace ragged {

// clang-format off
/// | expression                                       | meaning                                              |
/// | ------------------------------------------------ | ---------------------------------------------------- |
/// | m.forward(group, round, weights)                 | compute; keep what backward needs                    |
/// | m.backward(group, round, weights, gradients)     | add this rank's gradients, of its loss times the     |
/// |                                                  | step's loss scale; nothing to add is ordinary        |
// clang-format on
///
/// Groups come in order, then in reverse order, per round. On a device the model works on the executor's
/// stream. Buffers are lent for the call; views of them hold until what is enqueued in it has run.
template <class M, class T, class Topology, class PlanType = Plan>
concept step_model = requires(M& m, std::int64_t group, std::int64_t round,
                              const DBuffer<T, Topology, state::Gathered, PlanType>& weights,
                              DBuffer<float, Topology, state::Partial, PlanType>& gradients) {
    m.forward(group, round, weights);
    m.backward(group, round, weights, gradients);
};

} // namespace ragged
