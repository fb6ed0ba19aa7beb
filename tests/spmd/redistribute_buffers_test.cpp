// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Buffers as ends of a redistribution: between plans, to roots and back, over random groups.
#include <doctest/doctest.h>

#include <ragged/comm/local_communicator.hpp>
#include <ragged/group/flat.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/roots.hpp>
#include <ragged/redistribute/buffers.hpp>
#include <ragged/view/shard_view.hpp>

#include "support/expect.hpp"
#include "support/fill_shards.hpp"
#include "support/random_group.hpp"

using ragged::Axis;
using ragged::LocalCommunicator;
using ragged::Mesh;
using support::contains;
using support::expect;
using support::message_of;
namespace state = ragged::state;

namespace {

using Line = ragged::Topology<Axis<"shard">>;
using Plane = ragged::Topology<Axis<"replica">, Axis<"shard">>;

template <class Buffer>
void expect_known(const Buffer& buffer) {
    for (std::size_t t = 0; t < buffer.plan().tensors.size(); ++t) {
        const auto piece = ragged::shard(buffer, t);
        for (std::int64_t i = 0; i < piece.elements(); ++i)
            expect(static_cast<float>(piece[i]) == support::value_of(t, piece.first() + i), "known values");
    }
}

template <class T, class Topology>
void there_and_back(Mesh<Topology, LocalCommunicator>& mesh, const ragged::Plan& plan,
                    const ragged::UnequalPlan& unequal) {
    ragged::HostResource memory;
    ragged::DBuffer<T, Topology, state::Resident> masters(plan, mesh, memory), again(plan, mesh, memory);
    ragged::DBuffer<T, Topology, state::Sharded, ragged::UnequalPlan> other(unequal, mesh, memory);
    support::fill_shards(masters);
    const auto moved = ragged::redistribute(masters, std::move(other), mesh, memory).wait();
    expect_known(moved);
    const auto back = ragged::redistribute(moved, std::move(again), mesh, memory).wait();
    expect_known(back);
    for (std::int64_t s = 0; s < back.num_segments(); ++s) // padding included: it is zero in both
        for (std::size_t i = 0; i < back.region(s).size(); ++i)
            expect(static_cast<float>(back.region(s)[i]) == static_cast<float>(masters.region(s)[i]),
                   "there and back is the identity");
}

ragged::Plan plan_of(const ragged::GroupSpec& group, std::int64_t devices, std::uint32_t seed) {
    return ragged::make_plan(
        group, devices, ragged::policy::Exact{ragged::policy::Order::search, 1 + seed % 3, {.latency_ns = 0}},
        {.alignment_bytes = 16, .planes = {ragged::DType::bf16}});
}

template <class Topology>
void every_group(const Topology& topology) {
    const auto devices = topology.template size<"shard">();
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        const ragged::GroupSpec group = support::random_group(seed);
        const ragged::Plan plan = plan_of(group, devices, seed);
        const auto unequal = ragged::make_unequal_plan(
            group, devices, {.alignment_bytes = 32, .planes = {ragged::DType::bf16}});
        CHECK_NOTHROW(ragged::run_ranks(static_cast<int>(topology.num_ranks()), [&](LocalCommunicator world) {
            Mesh mesh(topology, world);
            there_and_back<float>(mesh, plan, unequal);
            there_and_back<ragged::bf16>(mesh, plan, unequal);
        }));
    }
}

} // namespace

TEST_CASE("buffers move between plans of equal and of unequal regions, and back") {
    for (const int ranks : {1, 2, 3, 4, 5, 8})
        every_group(Line(ranks));
    every_group(Plane(2, 3));
    every_group(Plane(3, 1));
}

TEST_CASE("whole matrices go to their owners and the update comes back") {
    const ragged::GroupSpec group{"layer",
                                  {{"wq", {9, 8}, ragged::tile({2, 8})},
                                   {"norm", {8}},
                                   {"experts", {4, 5, 8}, ragged::rows(2), ragged::DType::bf16, 0, true},
                                   {"w1", {20, 8}, ragged::rows(3)}}};
    for (const auto& [replicas, shards] : {std::pair{1, 1}, {1, 3}, {1, 5}, {2, 2}, {3, 2}}) {
        const ragged::Plan plan = plan_of(group, shards, 1);
        const int ranks = replicas * shards;
        // owners among all ranks: replicas share the work too
        const auto tasks = ragged::root_tasks(ragged::PlanLayout(plan, Plane(replicas, shards)));
        const auto owners = ragged::root_layout(tasks, ragged::choose_roots(tasks, ranks), Line(ranks), 4);
        CHECK(owners.num_tensors() == 6);
        CHECK_NOTHROW(ragged::run_ranks(ranks, [&](LocalCommunicator world) {
            Mesh mesh(Plane(replicas, shards), world);
            ragged::CountingResource<> memory;
            ragged::DBuffer<float, Plane, state::Resident> gradients(plan, mesh, memory);
            support::fill_shards(gradients);
            std::vector<float> owned(static_cast<std::size_t>(owners.storage_elems(world.rank())));
            const auto out =
                ragged::make_redistribution<float>(ragged::layout_of(gradients, mesh), owners, world, memory);
            const auto back =
                ragged::make_redistribution<float>(owners, ragged::layout_of(gradients, mesh), world, memory);
            const std::size_t allocations = memory.allocations();
            for (int step = 0; step < 3; ++step) {
                out.start(gradients.segment_data(0), owned.data()).wait();
                for (float& value : owned)
                    value *= 2.0f;
                back.start(owned.data(), gradients.segment_data(0)).wait();
            }
            expect(memory.allocations() == allocations, "a step allocates nothing");
            for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
                const auto piece = ragged::shard(gradients, t);
                const float factor = plan.tensors[t].spec.name == "norm" ? 1.0f : 8.0f;
                for (std::int64_t i = 0; i < piece.elements(); ++i)
                    expect(piece[i] == factor * support::value_of(t, piece.first() + i),
                           "doubled three times");
            }
        }));
    }
}

TEST_CASE("ranks with different plans, and buffers in other memory, are refused before anything moves") {
    struct OtherSpace : ragged::HostResource {
        static ragged::MemorySpace space() { return ragged::MemorySpace::of_device(1); }
    };
    const auto group = [](std::int64_t rows) {
        return ragged::GroupSpec{"layer", {{"a", {64}}, {"b", {rows, 8}}}};
    };
    CHECK_NOTHROW(ragged::run_ranks(3, [&](LocalCommunicator world) {
        Mesh mesh(Line(3), world);
        const ragged::Plan plan = ragged::make_plan(group(world.rank() == 2 ? 41 : 40), 3);
        ragged::HostResource memory;
        ragged::DBuffer<float, Line, state::Resident> a(plan, mesh, memory), b(plan, mesh, memory);
        const std::string message =
            message_of([&] { ragged::redistribute(a, std::move(b), mesh, memory).wait(); });
        expect(contains(message, "layouts differ: rank 2 has"), message);
        OtherSpace device;
        ragged::DBuffer<float, Line, state::Resident> c(plan, mesh, device);
        expect(contains(message_of([&] { ragged::redistribute(a, std::move(c), mesh, memory).wait(); }),
                        "the buffer is in memory of device 1"),
               "another space");
    }));
}

TEST_CASE("tensors that only one of two groups has stay as they were") {
    const ragged::GroupSpec all{"all", {{"a", {30}}, {"b", {7, 3}}, {"c", {11}}}},
        some{"some", {{"c", {11}}, {"a", {30}}}}, strange{"strange", {{"a", {30}}, {"d", {2}}}};
    const ragged::Plan all_plan = ragged::make_plan(all, 2), some_plan = ragged::make_plan(some, 2),
                       strange_plan = ragged::make_plan(strange, 2);
    CHECK_NOTHROW(ragged::run_ranks(2, [&](LocalCommunicator world) {
        Mesh mesh(Line(2), world);
        ragged::HostResource memory;
        ragged::DBuffer<float, Line, state::Resident> source(some_plan, mesh, memory),
            target(all_plan, mesh, memory), other(strange_plan, mesh, memory);
        support::fill_shards(source); // values by the index in `some`
        const auto before = ragged::shard(target, "b");
        for (std::int64_t i = 0; i < before.elements(); ++i)
            before[i] = 5.0f;
        const auto filled = ragged::redistribute(source, std::move(target), mesh, memory).wait();
        const auto check = [&](const char* name, std::size_t index) {
            const auto piece = ragged::shard(filled, name);
            for (std::int64_t i = 0; i < piece.elements(); ++i)
                expect(piece[i] == support::value_of(index, piece.first() + i), name);
        };
        check("a", 1);
        check("c", 0);
        const auto kept = ragged::shard(filled, "b");
        for (std::int64_t i = 0; i < kept.elements(); ++i)
            expect(kept[i] == 5.0f, "b is not in the source");
        expect(
            contains(message_of([&] { ragged::redistribute(source, std::move(other), mesh, memory).wait(); }),
                     "tensor 'd' is in the destination layout only and tensor 'c' in the source only"),
            "neither has all tensors of the other");
    }));
}
