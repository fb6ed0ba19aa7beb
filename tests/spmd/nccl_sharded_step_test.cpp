// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A training step by the NCCL communicator and an executor on a stream of its own: nothing runs before
// somebody waits, so that every use of a slot out of order would be seen.
#include <doctest/doctest.h>

#include <atomic>
#include <memory>
#include <utility>

#include <ragged/step/sharded_step.hpp>

#include "support/fake_device.hpp"
#include "support/fake_nccl.hpp"
#include "support/step_model.hpp"

using support::expect;
using support::FakeCommunicator;
using support::FakeExecutor;
using support::FakePoolResource;
using support::FakeStreamName;
using support::FakeWorld;

namespace {

using Line = ragged::Topology<ragged::Axis<"shard">>;

/// The same memory as a buffer that outlives the step's, as views do.
template <class Start, class Buffer>
std::shared_ptr<Buffer> alias_of(const Buffer& buffer, const ragged::Place<Line>& place) {
    using T = typename Buffer::value_type;
    auto* const data = const_cast<T*>(buffer.segment_data(0));
    ragged::DBuffer<T, Line, Start> start(buffer.plan(), place,
                                          ragged::Memory::adopt(data, buffer.bytes(), buffer.space()));
    return std::make_shared<Buffer>(std::move(start).template into<typename Buffer::state_type>());
}

/// KnownModel as work on a stream.
struct OnStream {
    support::KnownModel& known;
    FakeStreamName stream;
    ragged::Place<Line> place;
    std::atomic<int>& wrong; // a kernel cannot throw

    template <class Body>
    void enqueue(Body body) {
        stream.enqueue([this, body] {
            try {
                body();
            } catch (const std::exception&) {
                ++wrong;
            }
        });
    }
    template <class Gathered>
    void forward(std::int64_t group, std::int64_t round, const Gathered& weights) {
        enqueue([this, group, round, seen = alias_of<ragged::state::Sharded>(weights, place)] {
            known.forward(group, round, *seen);
        });
    }
    template <class Gathered, class Partial>
    void backward(std::int64_t group, std::int64_t round, const Gathered& weights, Partial& gradients) {
        enqueue([this, group, round, seen = alias_of<ragged::state::Sharded>(weights, place),
                 sums = alias_of<ragged::state::Partial>(gradients, place)] {
            known.backward(group, round, *seen, *sums);
        });
    }
};

} // namespace

TEST_CASE("steps on two streams keep their order, and the host waits for the norm only") {
    for (const int ranks : {1, 2, 3})
        for (const std::int64_t prefetch : {0, 1, 3})
            for (const bool reshard : {true, false}) {
                CAPTURE(ranks);
                CAPTURE(prefetch);
                CAPTURE(reshard);
                FakeWorld world(ranks);
                const ragged::ModelPlan model = support::plan_step_groups(ranks);
                std::atomic<int> wrong = 0;
                const auto train = [&](FakeCommunicator& c) {
                    const FakeStreamName work = world.another_stream();
                    FakePoolResource memory(work, c.rank());
                    const FakeExecutor executor(work, c.rank());
                    ragged::Mesh mesh(Line(ranks), c);
                    auto step = ragged::make_step<ragged::bf16>(
                        model, mesh, memory,
                        {.schedule = {.rounds = 2, .prefetch = prefetch, .reshard = reshard}}, executor);
                    work.synchronise();
                    support::fill_masters(step, 4);
                    support::StepOracle oracle(2 * ranks);
                    support::KnownModel known(oracle, 2 * ranks, c.rank(), ranks);
                    OnStream model_on_stream{known, work, mesh, wrong};
                    support::Sgd<const FakeExecutor&> optimizer{.executor = executor};
                    for (known.step = 0; known.step < 3; ++known.step) {
                        const int waits = work->synchronisations;
                        const auto result = step.run(model_on_stream, optimizer);
                        expect(work->synchronisations == waits + 1, "the host waits for the norm only");
                        expect(result.gradient_norm == oracle.norm(known.step), "the norm");
                        work.synchronise();
                        oracle.update(known.step, -optimizer.rate, 1);
                        support::check_masters(step, oracle, 4);
                    }
                };
                CHECK_NOTHROW(support::run_fake_ranks(world, ranks, train));
                CHECK(wrong == 0);
            }
}
