// expect: a step runs a model with forward\(group, round, weights\) and backward\(group
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
    std::int64_t memory_bytes() const { return 0; }
};

struct Model {
    template <class Weights>
    void forward(std::int64_t, std::int64_t, const Weights&) {}
#ifndef RAGGED_MUST_FAIL
    template <class Weights, class Gradients>
    void backward(std::int64_t, std::int64_t, const Weights&, Gradients&) {}
#endif
};

void use(ShardedStep<float, Line, LocalCommunicator>& step, Model& model, Nothing& optimizer) {
    step.run(model, optimizer);
}
