// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/step/sharded_step.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include <ragged/comm/local_communicator.hpp>
#include <ragged/plan/unequal_plan.hpp>

#include "support/expect.hpp"
#include "support/step_model.hpp"

namespace {

using ragged::LocalCommunicator;
using ragged::ReduceGradients;
using ragged::StepOptions;
using support::expect;
using Line = ragged::Topology<ragged::Axis<"shard">>;
using Grid = ragged::Topology<ragged::Axis<"replica">, ragged::Axis<"shard">>;

constexpr std::int64_t num_groups = 4;
constexpr std::int64_t num_steps = 3;

/// Train with known gradients, and compare all that is seen with the oracle.
template <class T, class Topology, class PlanType>
void train(LocalCommunicator world, const Topology& topology, const ragged::BasicModelPlan<PlanType>& model,
           std::int64_t micro_batches, const StepOptions& options) {
    ragged::Mesh mesh(topology, world);
    ragged::CountingResource memory;
    auto step = ragged::make_step<T>(model, mesh, memory, options);
    expect(memory.peak_bytes() == static_cast<std::size_t>(step.memory().bytes()), "the planned bytes");
    support::fill_masters(step, num_groups);
    support::StepOracle oracle(micro_batches);
    support::KnownModel known(oracle, micro_batches, world.rank(), world.size());
    support::Sgd optimizer;
    for (known.step = 0; known.step < num_steps; ++known.step) {
        const double loss_scale = step.loss_scale();
        known.loss_scale = static_cast<float>(loss_scale);
        const ragged::StepResult result = step.run(known, optimizer);
        const double norm = oracle.norm(known.step);
        expect(result.updated, "an update");
        expect(result.gradient_norm == norm, "the norm of the gradients");
        const double limit = options.max_norm > 0 && norm > options.max_norm ? options.max_norm / norm : 1.0;
        oracle.update(known.step, -optimizer.rate * (limit / loss_scale), loss_scale);
        support::check_masters(step, oracle, num_groups);
    }
    expect(memory.allocations() == 1, "one allocation");
    const auto computed = num_groups * num_steps * options.schedule.rounds;
    expect(known.num_forwards == computed && known.num_backwards == computed, "all forwards and backwards");
}

/// A model whose rank leaves in its `call`-th computation: by an exception, or without a word to the step.
struct Leaving {
    support::KnownModel& known;
    LocalCommunicator& world;
    std::int64_t call; // -1: never
    bool throws;

    template <class Gathered>
    void forward(std::int64_t group, std::int64_t round, const Gathered& weights) {
        leave();
        known.forward(group, round, weights);
    }
    template <class Gathered, class Partial>
    void backward(std::int64_t group, std::int64_t round, const Gathered& weights, Partial& gradients) {
        leave();
        known.backward(group, round, weights, gradients);
    }

  private:
    void leave() {
        if (call-- != 0)
            return;
        if (throws)
            throw std::runtime_error("the model has had enough");
        world.abandon("it was told to");
    }
};

template <class T>
void train_on(int ranks, std::int64_t micro_batches, const StepOptions& options) {
    const ragged::ModelPlan model = support::plan_step_groups(ranks);
    ragged::run_ranks(ranks, [&](LocalCommunicator world) {
        train<T>(world, Line(world.size()), model, micro_batches, options);
    });
}

} // namespace

TEST_CASE("every schedule trains as one process does, on any number of ranks") {
    for (const std::int64_t rounds : {1, 3})
        for (const std::int64_t prefetch : {0, 1, 3})
            for (const bool reshard : {true, false})
                for (const auto reduce : {ReduceGradients::each_round, ReduceGradients::last_round})
                    for (const int ranks : {1, 2, 3, 4, 5, 8}) {
                        if (ranks != 3 && (rounds != 3 || prefetch != 1))
                            continue;
                        CAPTURE(ranks);
                        CAPTURE(rounds);
                        CAPTURE(prefetch);
                        CAPTURE(reshard);
                        const StepOptions options{.schedule = {rounds, prefetch, reshard, reduce}};
                        CHECK_NOTHROW(train_on<float>(ranks, rounds * ranks, options));
                        CHECK_NOTHROW(train_on<ragged::bf16>(ranks, rounds * ranks - 1, options));
                    }
}

TEST_CASE("communication in the background changes nothing") {
    const ragged::ModelPlan model = support::plan_step_groups(2);
    for (const std::int64_t prefetch : {0, 1, 3}) {
        CAPTURE(prefetch);
        CHECK_NOTHROW(ragged::run_ranks(4,
                                        [&](LocalCommunicator world) {
                                            train<ragged::bf16>(
                                                world, Grid(2, 2), model, 7,
                                                {.schedule = {.rounds = 2, .prefetch = prefetch}});
                                        },
                                        {.background = true}));
    }
}

TEST_CASE("replicas train on their own micro-batches and stay equal") {
    for (const auto& grid : {std::pair{2, 2}, {3, 1}, {1, 3}, {2, 3}}) {
        const int replicas = grid.first, shards = grid.second; // lambdas of clang 14 name no bindings
        CAPTURE(replicas);
        CAPTURE(shards);
        const ragged::ModelPlan model = support::plan_step_groups(shards);
        CHECK_NOTHROW(ragged::run_ranks(replicas * shards, [&](LocalCommunicator world) {
            train<ragged::bf16>(world, Grid(replicas, shards), model, 2 * world.size() - 1,
                                {.schedule = {.rounds = 2}, .max_norm = 30});
        }));
    }
}

TEST_CASE("regions of unequal sizes train alike") {
    for (const int ranks : {1, 3, 5}) {
        CAPTURE(ranks);
        const auto model =
            support::plan_step_groups(ranks, [](const ragged::GroupSpec& group, std::int64_t devices) {
                return ragged::make_unequal_plan(group, devices);
            });
        CHECK_NOTHROW(ragged::run_ranks(ranks, [&](LocalCommunicator world) {
            train<ragged::bf16>(world, Line(world.size()), model, 4, {.schedule = {.rounds = 4}});
        }));
    }
}

TEST_CASE("gradients are limited to the norm, and loss scales cancel") {
    for (const int ranks : {1, 2, 3, 5})
        for (const double scale : {1.0, 1024.0})
            for (const double max_norm : {0.0, 1.0, 1e9}) {
                CAPTURE(ranks);
                CAPTURE(scale);
                CAPTURE(max_norm);
                StepOptions options{.max_norm = max_norm};
                options.loss_scale.scale = scale;
                CHECK_NOTHROW(train_on<float>(ranks, ranks, options));
            }
}

TEST_CASE("a gradient that is not finite on one rank is no update on any, and lowers the loss scale") {
    for (const bool reshard : {true, false})
        for (const float bad :
             {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
            const ragged::ModelPlan model = support::plan_step_groups(3);
            CHECK_NOTHROW(ragged::run_ranks(3, [&](LocalCommunicator world) {
                ragged::Mesh mesh(Line(3), world);
                ragged::HostResource memory;
                StepOptions options{.schedule = {.reshard = reshard}};
                options.loss_scale = ragged::LossScale::dynamic(1024);
                auto step = ragged::make_step<ragged::bf16>(model, mesh, memory, options);
                support::fill_masters(step, num_groups);
                support::StepOracle oracle(3);
                support::KnownModel known(oracle, 3, world.rank(), 3);
                support::Sgd optimizer;
                known.loss_scale = 1024;
                known.disturbance = bad; // on the last rank
                const auto result = step.run(known, optimizer);
                expect(!result.updated && !std::isfinite(result.gradient_norm), "no update");
                expect(optimizer.num_updates == 0, "the optimizer is not called");
                support::check_masters(step, oracle, num_groups);
                expect(step.loss_scale() == 512, "a lower scale");
                known.disturbance = 0;
                known.loss_scale = 512;
                expect(step.run(known, optimizer).updated, "the next step is an update");
                oracle.update(0, -optimizer.rate / 512, 512);
                support::check_masters(step, oracle, num_groups);
            }));
        }
}

TEST_CASE("masters that are written between steps are the weights of the next") {
    for (const bool reshard : {true, false}) {
        const ragged::ModelPlan model = support::plan_step_groups(2);
        CHECK_NOTHROW(ragged::run_ranks(2, [&](LocalCommunicator world) {
            ragged::Mesh mesh(Line(2), world);
            ragged::HostResource memory;
            auto step = ragged::make_step<float>(model, mesh, memory, {.schedule = {.reshard = reshard}});
            support::Sgd optimizer;
            for (int i = 0; i < 2; ++i) {
                support::fill_masters(step, num_groups);
                support::StepOracle oracle(1);
                support::KnownModel known(oracle, 1, world.rank(), 2);
                step.run(known, optimizer);
            }
        }));
    }
}

TEST_CASE("ranks with other options or plans are an error on all that names the difference") {
    const auto message = [](int ranks, const auto& options_of, const auto& model_of) {
        return support::message_of([&] {
            ragged::run_ranks(ranks, [&](LocalCommunicator world) {
                ragged::Mesh mesh(Line(world.size()), world);
                ragged::HostResource memory;
                const ragged::ModelPlan model = model_of(world.rank());
                ragged::make_step<float>(model, mesh, memory, options_of(world.rank()));
            });
        });
    };
    const auto same_model = [](int) { return support::plan_step_groups(2); };
    const auto same_options = [](int) { return StepOptions{}; };
    CHECK(message(2, same_options, same_model) == "");
    const std::string options = message(
        2, [](int rank) { return StepOptions{.schedule = {.prefetch = 1 + rank}}; }, same_model);
    CHECK(support::contains(options, "training steps differ: rank 1 has 1 rounds, a prefetch of 2"));
    const std::string plans = message(2, same_options, [](int rank) {
        auto model = support::plan_step_groups(2);
        if (rank == 1)
            model.groups[2].tensors[0].offset += 1;
        return model;
    });
    CHECK(support::contains(plans, "training steps differ: rank 1 has tensor 'w'"));
}

TEST_CASE("wrong numbers are refused") {
    const ragged::ModelPlan model = support::plan_step_groups(1);
    const auto message = [&](const StepOptions& options) {
        return support::message_of([&] {
            ragged::run_ranks(1, [&](LocalCommunicator world) {
                ragged::Mesh mesh(Line(1), world);
                ragged::HostResource memory;
                auto step = ragged::make_step<float>(model, mesh, memory, options);
                step.master(4);
            });
        });
    };
    CHECK(message({.max_norm = -1}) == "model 'model': a largest norm of -1.000000 is no limit; 0 is none");
    CHECK(support::contains(message({.max_norm = std::numeric_limits<double>::quiet_NaN()}), "is no limit"));
    CHECK(message({}) == "model 'model' has no group 4, it has 4");
}

TEST_CASE("a rank that leaves anywhere in a step ends all others with its name, none hangs") {
    const ragged::ModelPlan model = support::plan_step_groups(3);
    for (const bool throws : {true, false})
        for (std::int64_t call = 0; call < 2 * num_groups; ++call) {
            CAPTURE(throws);
            CAPTURE(call);
            std::mutex mutex;
            std::vector<std::string> messages(3);
            const std::string first = support::message_of([&] {
                ragged::run_ranks(3, [&](LocalCommunicator world) {
                    ragged::Mesh mesh(Line(3), world);
                    ragged::HostResource memory;
                    auto step = ragged::make_step<float>(model, mesh, memory);
                    support::fill_masters(step, num_groups);
                    support::StepOracle oracle(3);
                    support::KnownModel known(oracle, 3, world.rank(), 3);
                    Leaving leaving{known, world, world.rank() == 1 ? call : -1, throws};
                    support::Sgd optimizer;
                    try {
                        step.run(leaving, optimizer);
                    } catch (const std::exception& error) {
                        const std::lock_guard lock(mutex);
                        messages[static_cast<std::size_t>(world.rank())] = error.what();
                        expect(support::contains(support::message_of([&] { step.run(known, optimizer); }),
                                                 "model 'model': a step failed before, make a new one"),
                               "a failed step says so");
                        throw;
                    }
                });
            });
            if (throws) {
                CHECK(first == "the model has had enough");
                CHECK(messages[1] == first);
            }
            for (const int other : {0, 2})
                CHECK(support::contains(messages[static_cast<std::size_t>(other)], "rank 1 left: "));
        }
}
