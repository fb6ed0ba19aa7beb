// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Gather and reduce of DBuffers by the NCCL communicator: the same values as everywhere, one launch per
// collective however many segments there are, and nothing that the host waits for where a stream can.
#include <doctest/doctest.h>

#include <ragged/comm/collectives.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/view/shard_view.hpp>
#include <ragged/view/tensor_view.hpp>

#include "support/expect.hpp"
#include "support/fake_device.hpp"
#include "support/fake_nccl.hpp"
#include "support/fill_shards.hpp"
#include "support/random_group.hpp"

using ragged::Axis;
using ragged::Mesh;
using support::contains;
using support::DeviceResource;
using support::expect;
using support::FakeCommunicator;
using support::FakeLive;
using support::FakeWorld;
using support::fill_shards;
using support::message_of;
using support::run_fake_ranks;
using support::value_of;

namespace {

using Line = ragged::Topology<Axis<"shard">>;
using Plane = ragged::Topology<Axis<"replica">, Axis<"shard">>;

template <class Topology, class State, class PlanType, class Element = float>
using Buffer = ragged::DBuffer<Element, Topology, State, PlanType>;

template <class B>
void expect_gathered(const B& gathered) {
    for (std::size_t t = 0; t < gathered.plan().tensors.size(); ++t) {
        const auto view = ragged::view(gathered, t);
        for (std::int64_t i = 0; i < view.elements(); ++i)
            expect(static_cast<float>(view.flat()[static_cast<std::size_t>(i)]) == value_of(t, i),
                   "gathered values");
    }
}

float contribution(std::int64_t rank, std::size_t tensor, std::int64_t i) {
    return value_of(tensor, i + rank * 5) * static_cast<float>(rank + 1);
}

template <class T, class Topology, class PlanType>
void check_gather(Mesh<Topology, FakeCommunicator>& mesh, const PlanType& plan) {
    DeviceResource memory{mesh.world().space().device};
    Buffer<Topology, ragged::state::Sharded, PlanType, T> weights(plan, mesh, memory);
    fill_shards(weights);
    auto gathered = ragged::gather(std::move(weights), mesh).wait(); // compares plans, too
    expect_gathered(gathered);
    weights = ragged::release(std::move(gathered));
    const support::FakeStream* stream = mesh.world().stream();
    const int launches = stream->launches;
    auto again = ragged::gather(std::move(weights), mesh);
    expect(stream->launches == launches + (plan.padded_elements() > 0), "one launch for all segments");
    expect_gathered(again.wait());
}

template <class Topology, class PlanType>
void check_reduce(Mesh<Topology, FakeCommunicator>& mesh, const PlanType& plan) {
    DeviceResource memory{mesh.world().space().device};
    Buffer<Topology, ragged::state::Partial, PlanType> gradients(plan, mesh, memory);
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        const auto view = ragged::view(gradients, t);
        for (std::int64_t i = 0; i < view.elements(); ++i)
            view.flat()[static_cast<std::size_t>(i)] = contribution(mesh.place().rank, t, i);
    }
    const auto reduced = ragged::reduce(std::move(gradients), mesh).wait();
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        const auto piece = ragged::shard(reduced, t);
        for (std::int64_t i = 0; i < piece.elements(); ++i) {
            float sum = 0; // small integers: exact in any order
            for (std::int64_t rank = 0; rank < mesh.place().topology.num_ranks(); ++rank)
                sum += contribution(rank, t, piece.first() + i);
            expect(piece[i] == sum, "reduced values are the plain sum");
        }
    }
}

ragged::PlanOptions options_for(std::uint32_t seed) {
    return {.alignment_bytes = seed % 3 == 0 ? 16 : 128, .planes = {ragged::DType::bf16}};
}
ragged::Plan plan_for(std::uint32_t seed, std::int64_t devices) {
    return ragged::make_plan(
        support::random_group(seed), devices,
        ragged::policy::Exact{ragged::policy::Order::search, 1 + seed % 3, {.latency_ns = 0}},
        options_for(seed));
}

template <class Topology>
void check_random(int ranks, const Topology& topology) {
    CAPTURE(ranks);
    const auto devices = topology.template size<"shard">();
    for (std::uint32_t seed = 0; seed < 6; ++seed) {
        CAPTURE(seed);
        const std::uint32_t drawn = seed * 37 + static_cast<std::uint32_t>(ranks);
        const ragged::Plan plan = plan_for(drawn, devices);
        const ragged::UnequalPlan unequal =
            ragged::make_unequal_plan(support::random_group(drawn), devices, options_for(drawn));
        FakeWorld world(ranks, {.polls = ranks == 3 ? 1 : 0});
        CHECK_NOTHROW(run_fake_ranks(world, ranks, [&](FakeCommunicator& c) {
            Mesh mesh(topology, c);
            check_gather<float>(mesh, plan);
            check_gather<ragged::bf16>(mesh, plan);
            check_reduce(mesh, plan);
            check_gather<ragged::bf16>(mesh, unequal);
            check_reduce(mesh, unequal);
        }));
        CHECK(world.complaints() == std::vector<std::string>{});
        CHECK(world.live() == FakeLive{});
    }
}

/// The first random plan of several segments, none of them empty.
ragged::Plan segmented_plan(std::int64_t devices) {
    for (std::uint32_t seed = 0;; ++seed) {
        ragged::Plan plan = plan_for(seed, devices);
        if (plan.segments.size() >= 2 && plan.segments[0].shard_elems > 0 && plan.segments[1].shard_elems > 0)
            return plan;
    }
}

} // namespace

TEST_CASE("gather and reduce over one axis") {
    for (int ranks : {1, 2, 3, 5, 8})
        check_random(ranks, Line(ranks));
}

TEST_CASE("(Partial, Partial) becomes (Replicate, Shard) over two axes") {
    for (auto [replicas, shards] : {std::pair{2, 1}, {2, 2}, {2, 3}, {3, 2}})
        check_random(replicas * shards, Plane(replicas, shards));
}

TEST_CASE("all segments are one launch of as many collectives") {
    const ragged::Plan plan = segmented_plan(3);
    const std::size_t segments = plan.segments.size();
    FakeWorld world(6);
    CHECK_NOTHROW(run_fake_ranks(world, 6, [&](FakeCommunicator& c) {
        Mesh mesh(Plane(2, 3), c);
        DeviceResource memory{c.space().device};
        Buffer<Plane, ragged::state::Partial, ragged::Plan> gradients(plan, mesh, memory);
        gradients.set_agreed();
        world.take_log(c.rank());
        ragged::reduce(std::move(gradients), mesh).wait();
        std::size_t scatters = 0, sums = 0, groups = 0, marks = 0;
        for (const std::string& call : world.take_log(c.rank())) {
            scatters += call.starts_with("reduce_scatter");
            sums += call.starts_with("all_reduce");
            groups += call == "group_end";
            marks += call == "record";
        }
        expect(scatters == segments && sums == segments, "one collective a segment and axis");
        expect(groups == 2 && marks == 2, "one launch and one mark an axis");
    }));
}

TEST_CASE("a buffer is handed to another stream without the host waiting") {
    const ragged::Plan plan = segmented_plan(2);
    FakeWorld world(2);
    std::vector<support::FakeStream*> compute{world.another_stream(), world.another_stream()};
    CHECK_NOTHROW(run_fake_ranks(world, 2, [&](FakeCommunicator& c) {
        Mesh mesh(Line(2), c);
        DeviceResource memory{c.space().device};
        Buffer<Line, ragged::state::Sharded, ragged::Plan> weights(plan, mesh, memory);
        fill_shards(weights);
        weights.set_agreed();
        auto* const stream = compute[static_cast<std::size_t>(c.rank())];
        const auto gathered = ragged::gather(std::move(weights), mesh).wait(stream);
        const auto last = gathered.values(0);
        std::vector<float> copy(last.size());
        static_cast<void>(c.api().copy(copy.data(), last.data(), last.size_bytes(), stream));
        c.barrier().wait();
        world.run(); // the other stream
        expect_gathered(gathered);
        expect(std::equal(copy.begin(), copy.end(), last.begin()), "the copy saw the gathered values");
    }));
    CHECK(world.complaints() == std::vector<std::string>{});
}

TEST_CASE("ranks with different plans all get an error that names the first difference") {
    FakeWorld world(3);
    std::vector<std::string> messages(3);
    CHECK_NOTHROW(run_fake_ranks(world, 3, [&](FakeCommunicator& c) {
        Mesh mesh(Line(3), c);
        const ragged::Plan plan = ragged::make_plan(
            ragged::GroupSpec{"layer", {{"a", {64}}, {"b", {c.rank() == 2 ? 41 : 40, 8}}}}, 3);
        DeviceResource memory{c.space().device};
        Buffer<Line, ragged::state::Sharded, ragged::Plan, ragged::bf16> weights(plan, mesh, memory);
        messages[static_cast<std::size_t>(c.rank())] =
            message_of([&] { ragged::gather(std::move(weights), mesh).wait(); });
    }));
    for (const std::string& message : messages)
        CHECK(contains(message, "plans differ: rank 2"));
}

TEST_CASE("host memory is refused before anything is called") {
    FakeWorld world(1);
    const ragged::Plan plan = segmented_plan(1);
    ragged::HostResource memory;
    CHECK(contains(message_of([&] {
                       run_fake_ranks(world, 1, [&](FakeCommunicator& c) {
                           Mesh mesh(Line(1), c);
                           Buffer<Line, ragged::state::Sharded, ragged::Plan> weights(plan, mesh, memory);
                           ragged::gather(std::move(weights), mesh).wait();
                       });
                   }),
                   "the buffer is in host memory, the communicator works in memory of device 0"));
}

TEST_CASE("a failure in the middle of a gather ends every rank, and the memory comes back") {
    const ragged::Plan plan = segmented_plan(2);
    FakeWorld world(2, {.faults = {{1, "all_gather", 2, support::fake_invalid_usage}}});
    std::vector<std::string> messages(2);
    CHECK_NOTHROW(run_fake_ranks(world, 2, [&](FakeCommunicator& c) {
        Mesh mesh(Line(2), c);
        ragged::CountingResource<DeviceResource> memory(DeviceResource{c.space().device});
        {
            Buffer<Line, ragged::state::Sharded, ragged::Plan> weights(plan, mesh, memory);
            messages[static_cast<std::size_t>(c.rank())] =
                message_of([&] { ragged::gather(std::move(weights), mesh).wait(); });
        }
        expect(memory.live_bytes() == 0, "nothing leaks");
    }));
    CHECK(contains(messages[1], "NCCL status 5"));
    CHECK(contains(messages[0], "rank 1 aborted"));
    CHECK(world.complaints() == std::vector<std::string>{});
    CHECK(world.live() == FakeLive{});
}
