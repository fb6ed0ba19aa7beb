// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Training steps by NCCL and kernels, on one rank: masters have the bits of the same steps on the host, with
// the executor on the communicator's stream and on one of its own.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <ragged/comm/local_communicator.hpp>
#include <ragged/cuda.cuh>
#include <ragged/nccl.hpp>
#include <ragged/optim/adam8bit.hpp>
#include <ragged/optim/adamw.hpp>
#include <ragged/step/sharded_step.hpp>

#include "support/step_model.hpp"

using namespace std::chrono_literals;
using Line = ragged::Topology<ragged::Axis<"shard">>;
using ragged::StepOptions;

namespace {

/// gradient += weight - 1: of a loss whose minimum is at 1. Maps padding to -1, so that clears are seen too.
struct TowardsOne {
    template <class T>
    RAGGED_HOST_DEVICE void operator()(float& gradient, const T& weight) const {
        gradient += static_cast<float>(weight) - 1.0f;
    }
};

/// A model that is one operation per tensor, wherever its buffers are.
template <class E>
struct Quadratic {
    const E& executor;

    template <class Gathered>
    void forward(std::int64_t, std::int64_t, const Gathered&) {}
    template <class Gathered, class Partial>
    void backward(std::int64_t, std::int64_t, const Gathered& weights, Partial& gradients) {
        for (std::size_t t = 0; t < weights.plan().tensors.size(); ++t) {
            const auto from = ragged::view(weights, t);
            const auto to = ragged::view(gradients, t);
            executor.update(TowardsOne{}, to.elements(), to.data(), from.data());
        }
    }
};

/// Masters of all groups after some steps.
template <template <class, class, class> class Optimizer, class T, class Communicator, class R, class E,
          class Upload, class Download>
std::vector<float> train(Communicator& world, R& memory, const E& executor, const StepOptions& options,
                         const Upload& upload, const Download& download) {
    const ragged::ModelPlan model = support::plan_step_groups(1, [](const auto& group, std::int64_t devices) {
        return ragged::make_plan(group, devices, {}, {.planes = {ragged::DType::f32, ragged::DType::u8}});
    });
    ragged::Mesh mesh(Line(1), world);
    auto step = ragged::make_step<T>(model, mesh, memory, options, executor);
    Optimizer<Line, ragged::Plan, E> optimizer(model, mesh.place(), memory, {.learning_rate = 0.05},
                                               executor);
    for (std::int64_t group = 0; group < 4; ++group) {
        const auto region = step.master(group).region(0);
        std::vector<float> values(region.size(), 0.0f);
        const ragged::Plan& plan = model.groups[static_cast<std::size_t>(group)];
        for (std::size_t t = 0; t < plan.tensors.size(); ++t)
            for (std::int64_t i = 0; i < plan.tensors[t].elements(); ++i)
                values[static_cast<std::size_t>(plan.tensors[t].offset + i)] =
                    support::initial_of(group, t, i);
        upload(region.data(), values);
    }
    Quadratic<E> quadratic{executor};
    for (int i = 0; i < 4; ++i)
        CHECK(step.run(quadratic, optimizer).updated);
    std::vector<float> all;
    for (std::int64_t group = 0; group < 4; ++group) {
        const auto region = std::as_const(step).master(group).region(0);
        const std::vector<float> values = download(region.data(), region.size());
        all.insert(all.end(), values.begin(), values.end());
    }
    return all;
}

template <template <class, class, class> class Optimizer, class T>
std::vector<float> on_host(const StepOptions& options) {
    std::vector<float> result;
    ragged::run_ranks(1, [&](ragged::LocalCommunicator world) {
        ragged::HostResource memory;
        result = train<Optimizer, T>(
            world, memory, ragged::detail::host_executor, options,
            [](float* to, const std::vector<float>& values) { std::copy(values.begin(), values.end(), to); },
            [](const float* from, std::size_t count) { return std::vector<float>(from, from + count); });
    });
    return result;
}

template <template <class, class, class> class Optimizer, class T>
std::vector<float> on_device(const StepOptions& options, bool apart) {
    const ragged::OwnedCudaStream stream(0), work(0);
    const ragged::CudaStream own = apart ? work : stream;
    ragged::CudaPoolResource memory(own);
    ragged::NcclCommunicator world(ragged::NcclCommunicator::make_id(), 0, 1, stream, {.timeout = 60s});
    const ragged::CudaExecutor executor(own, memory);
    return train<Optimizer, T>(
        world, memory, executor, options,
        [&](float* to, const std::vector<float>& values) {
            ragged::check(cudaMemcpyAsync(to, values.data(), values.size() * sizeof(float),
                                          cudaMemcpyHostToDevice, own.native()),
                          "upload");
            own.synchronise();
        },
        [&](const float* from, std::size_t count) {
            std::vector<float> values(count);
            executor.fetch(values.data(), from, count * sizeof(float));
            return values;
        });
}

template <template <class, class, class> class Optimizer, class T>
void compare() {
    for (const std::int64_t prefetch : {0, 2})
        for (const bool reshard : {true, false}) {
            CAPTURE(prefetch);
            CAPTURE(reshard);
            const StepOptions options{.schedule = {.rounds = 2, .prefetch = prefetch, .reshard = reshard},
                                      .max_norm = 3};
            const std::vector<float> host = on_host<Optimizer, T>(options);
            for (const bool apart : {false, true})
                CHECK(on_device<Optimizer, T>(options, apart) == host);
        }
}

} // namespace

TEST_CASE("steps with AdamW have the bits of the host") {
    compare<ragged::AdamW, float>();
    compare<ragged::AdamW, ragged::bf16>();
}

TEST_CASE("steps with 8-bit Adam have the bits of the host") {
    compare<ragged::Adam8bit, ragged::bf16>();
}
