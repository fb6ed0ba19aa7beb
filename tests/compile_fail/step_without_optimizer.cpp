// expect: a step takes an optimizer with update\(parameters, scale\)
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/local_communicator.hpp>
#include <ragged/step/sharded_step.hpp>

using namespace ragged;
using Line = Topology<Axis<"shard">>;

struct Nothing {
    template <class Parameters>
    void update(std::span<const Parameters>, double) {}
    std::int64_t state_bytes() const { return 0; }
#ifndef RAGGED_MUST_FAIL
    std::int64_t memory_bytes() const {
        return 0;
    }
#endif
};

struct Model {
    template <class Weights>
    void forward(std::int64_t, std::int64_t, const Weights&) {}
    template <class Weights, class Gradients>
    void backward(std::int64_t, std::int64_t, const Weights&, Gradients&) {}
};

void use(ShardedStep<float, Line, LocalCommunicator>& step, Model& model, Nothing& optimizer) {
    step.run(model, optimizer);
}
