// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Training on sharded groups: a framework writes forward and backward over gathered weights, the step does
// the rest. Here each layer learns a map that is known; train_gpt is the same with a language model.
#include <cmath>
#include <iostream>
#include <vector>

#include <ragged/ragged.hpp>

using Mesh = ragged::Topology<ragged::Axis<"shard">>;
constexpr std::int64_t inputs = 16, hidden = 64, batch = 8, rounds = 2;

/// Each group is a linear layer that learns to map inputs as a known one does.
struct Model {
    std::int64_t rank, num_ranks, step = 0;
    double loss = 0; // of this rank's share

    float input(std::int64_t round, std::int64_t sample, std::int64_t i) const {
        const std::int64_t number = ((step * rounds + round) * num_ranks + rank) * batch + sample;
        return static_cast<float>(std::sin(0.7 * static_cast<double>(number * inputs + i)));
    }
    template <class Weights>
    void forward(std::int64_t, std::int64_t, const Weights&) {} // backward computes all anew: it is short

    template <class Weights, class Gradients>
    void backward(std::int64_t group, std::int64_t round, const Weights& weights, Gradients& gradients) {
        const auto w = ragged::view(weights, "w");
        const auto d = ragged::view(gradients, "w");
        for (std::int64_t sample = 0; sample < batch; ++sample)
            for (std::int64_t o = 0; o < w.extent(0); ++o) {
                float y = 0, wanted = 0;
                for (std::int64_t i = 0; i < inputs; ++i) {
                    y += static_cast<float>(w(o, i)) * input(round, sample, i);
                    wanted += 0.1f * static_cast<float>((o + i + group) % 5 - 2) * input(round, sample, i);
                }
                const float error = (y - wanted) / static_cast<float>(batch * rounds * num_ranks);
                loss += 0.5 * static_cast<double>(error * (y - wanted));
                for (std::int64_t i = 0; i < inputs; ++i)
                    d(o, i) += error * input(round, sample, i);
            }
    }
};

int main() {
    const ragged::ModelSpec spec{"two layers",
                                 {{"first", {{"w", {hidden, inputs}, ragged::tile({16, 16})}}},
                                  {"second", {{"w", {24, inputs}, ragged::tile({8, 16})}}}}};
    const ragged::ModelPlan plans = ragged::make_plan(spec, 4);

    ragged::run_ranks(
        4,
        [&](ragged::LocalCommunicator world) {
            ragged::Mesh mesh(Mesh(4), world);
            ragged::CountingResource memory;
            // bf16 weights are gathered one group ahead; masters, gradients and their sums are fp32
            auto step = ragged::make_step<ragged::bf16>(plans, mesh, memory,
                                                        {.schedule = {.rounds = rounds}, .max_norm = 1.0});
            ragged::AdamW optimizer(plans, mesh.place(), memory, {.learning_rate = 0.02});
            if (world.rank() == 0)
                ragged::print(std::cout, step.schedule(), std::vector<std::string>{"first", "second"});

            Model model{world.rank(), world.size()};
            double first = 0, last = 0;
            for (model.step = 0; model.step < 60; ++model.step) {
                model.loss = 0;
                const auto result = step.run(model, optimizer);
                world.all_reduce(&model.loss, 1).wait();
                (model.step == 0 ? first : last) = model.loss;
                if (world.rank() == 0 && model.step % 20 == 0)
                    std::cout << "loss " << model.loss << ", norm of the gradients " << result.gradient_norm
                              << '\n';
            }
            if (!(last < 0.05 * first))
                throw ragged::Error("the loss fell from " + std::to_string(first) + " to " +
                                    std::to_string(last) + " only");
            const auto planned = static_cast<std::size_t>(step.memory().bytes() + optimizer.memory_bytes());
            if (memory.peak_bytes() != planned)
                throw ragged::Error("more memory than was planned");
        },
        {.background = true}); // gathers run beside the model
}
