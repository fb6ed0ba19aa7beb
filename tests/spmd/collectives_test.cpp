// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Gather and reduce of DBuffers over random groups, ranks and topologies, against values known for every
// element.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>
#include <ragged/group/flat.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/view/shard_view.hpp>
#include <ragged/view/tensor_view.hpp>

#include "support/expect.hpp"
#include "support/fill_shards.hpp"
#include "support/random_group.hpp"

using ragged::Axis;
using ragged::LocalCommunicator;
using ragged::Mesh;
using support::contains;
using support::expect;
using support::fill_shards;
using support::message_of;
using support::value_of;

namespace {

using Line = ragged::Topology<Axis<"shard">>;
using Plane = ragged::Topology<Axis<"replica">, Axis<"shard">>;
using Cube = ragged::Topology<Axis<"pod", 2>, Axis<"shard">, Axis<"replica", 2>>;

ragged::PlanOptions options_for(std::uint32_t seed) {
    return {.alignment_bytes = seed % 3 == 0 ? 16 : 128, .planes = {ragged::DType::bf16}};
}

/// Up to three segments where seed % 3 is 2.
ragged::Plan plan_for(std::uint32_t seed, std::int64_t devices) {
    return ragged::make_plan(
        support::random_group(seed), devices,
        ragged::policy::Exact{seed % 2 == 0 ? ragged::policy::Order::as_given : ragged::policy::Order::search,
                              1 + seed % 3,
                              {.latency_ns = 0}},
        options_for(seed));
}

/// Whether every element that has a value and is in no tensor is zero.
template <class Buffer>
bool padding_is_zero(const Buffer& buffer) {
    const auto& plan = buffer.plan();
    for (std::int64_t s = 0; s < buffer.num_segments(); ++s) {
        const auto& segment = plan.segments[static_cast<std::size_t>(s)];
        std::vector<bool> used(static_cast<std::size_t>(segment.region_begin(plan.num_devices)), false);
        for (const auto& tensor : plan.tensors)
            for (std::int64_t i = 0; i < tensor.elements() && tensor.segment == s; ++i)
                used[static_cast<std::size_t>(tensor.offset + i)] = true;
        const auto values = buffer.values(s);
        const auto first = values.size() == used.size()
                               ? 0
                               : static_cast<std::size_t>(segment.region_begin(buffer.shard_rank()));
        for (std::size_t i = 0; i < values.size(); ++i)
            if (!used[first + i] && static_cast<float>(values[i]) != 0.0f)
                return false;
    }
    return true;
}

template <class T, class Topology, class PlanType>
void check_gather(Mesh<Topology, LocalCommunicator>& mesh, const PlanType& plan) {
    ragged::CountingResource<> memory;
    ragged::DBuffer<T, Topology, ragged::state::Sharded, PlanType> weights(plan, mesh, memory);
    const ragged::DType plane[] = {ragged::dtype_of<T>};
    expect(memory.peak_bytes() == static_cast<std::size_t>(plan.peak_bytes({}, plane)),
           "the plan states the bytes");
    fill_shards(weights);
    const T* base = weights.segment_data(0);
    const std::int64_t before = mesh.template along<"shard">().received_bytes();

    auto gathered = ragged::gather(std::move(weights), mesh).wait();

    const std::int64_t others = plan.padded_elements() - plan.region_elems(gathered.shard_rank());
    expect(mesh.template along<"shard">().received_bytes() - before ==
               others * static_cast<std::int64_t>(sizeof(T)),
           "a gather moves the collective's own bytes");
    expect(gathered.segment_data(0) == base, "the buffer stays where it was");
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        const auto view = ragged::view(gathered, t);
        expect(view.data() == base + plan.segment_offset(plan.tensors[t].segment) + plan.tensors[t].offset,
               "a view is base + offset");
        expect(reinterpret_cast<std::uintptr_t>(view.data()) %
                       static_cast<std::uintptr_t>(plan.tensors[t].spec.align_bytes) ==
                   0,
               "a tensor starts aligned");
        for (std::int64_t i = 0; i < view.elements(); ++i)
            expect(static_cast<float>(view.flat()[static_cast<std::size_t>(i)]) == value_of(t, i),
                   "gathered values");
    }
    expect(padding_is_zero(gathered), "padding is zero after a gather");

    auto again = ragged::gather(ragged::release(std::move(gathered)), mesh).wait();
    for (std::size_t t = 0; t < plan.tensors.size(); ++t)
        for (std::int64_t i = 0; i < plan.tensors[t].elements(); ++i)
            expect(static_cast<float>(ragged::view(again, t).flat()[static_cast<std::size_t>(i)]) ==
                       value_of(t, i),
                   "released and gathered again");
    expect(memory.allocations() <= 1, "a gather allocates nothing");
}

/// Contributions differ by rank; sums in rank order along the shard axis, then along the others, in axis
/// order.
template <class Topology, class PlanType>
void check_reduce(Mesh<Topology, LocalCommunicator>& mesh, const PlanType& plan) {
    using State = ragged::state::Partial;
    const auto contribution = [](std::int64_t rank, std::size_t tensor, std::int64_t i) {
        return value_of(tensor, i + rank * 5) * static_cast<float>(rank + 1);
    };
    ragged::HostResource memory;
    ragged::DBuffer<float, Topology, State, PlanType> gradients(plan, mesh, memory);
    for (int step = 0; step < 2; ++step) {
        for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
            const auto view = ragged::view(gradients, t);
            for (std::int64_t i = 0; i < view.elements(); ++i)
                view.flat()[static_cast<std::size_t>(i)] += contribution(mesh.place().rank, t, i);
        }
        auto reduced = ragged::reduce(std::move(gradients), mesh).wait();
        for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
            const auto piece = ragged::shard(reduced, t);
            for (std::int64_t i = 0; i < piece.elements(); ++i) {
                float sum = 0; // small integers: exact in any order
                for (std::int64_t rank = 0; rank < mesh.place().topology.num_ranks(); ++rank)
                    sum += contribution(rank, t, piece.first() + i);
                expect(piece[i] == sum, "reduced values are the plain sum");
            }
        }
        expect(padding_is_zero(reduced), "padding is zero after a reduction");
        gradients = ragged::reset(std::move(reduced));
    }
}

template <class Topology>
void check_random(int ranks, const Topology& topology) {
    CAPTURE(ranks);
    const auto devices = topology.template size<"shard">();
    for (std::uint32_t seed = 0; seed < 25; ++seed) {
        const std::uint32_t drawn = seed * 37 + static_cast<std::uint32_t>(ranks);
        const ragged::Plan plan = plan_for(drawn, devices);
        const ragged::UnequalPlan unequal =
            ragged::make_unequal_plan(support::random_group(drawn), devices, options_for(drawn));
        CAPTURE(seed);
        CHECK_NOTHROW(ragged::run_ranks(ranks,
                                        [&](LocalCommunicator world) {
                                            Mesh mesh(topology, world);
                                            check_gather<float>(mesh, plan);
                                            check_gather<ragged::bf16>(mesh, plan);
                                            check_reduce(mesh, plan);
                                            check_gather<float>(mesh, unequal);
                                            check_gather<ragged::bf16>(mesh, unequal);
                                            check_reduce(mesh, unequal);
                                        },
                                        {.background = seed % 2 == 1}));
    }
}

} // namespace

TEST_CASE("gather and reduce over one axis") {
    for (int ranks : {1, 2, 3, 4, 5, 8})
        check_random(ranks, Line(ranks));
}

TEST_CASE("(Partial, Partial) becomes (Replicate, Shard) over two axes") {
    for (auto [replicas, shards] : {std::pair{2, 1}, {1, 3}, {2, 2}, {2, 3}, {3, 2}, {4, 2}})
        check_random(replicas * shards, Plane(replicas, shards));
}

TEST_CASE("three axes, the shard axis in the middle") {
    check_random(4, Cube(1));
    check_random(8, Cube(2));
}

TEST_CASE("ranks with different plans all get an error that names the first difference") {
    const auto group = [](std::int64_t extent) {
        return ragged::GroupSpec{"layer", {{"a", {64}}, {"b", {extent, 8}}, {"c", {7}}}};
    };
    for (int ranks : {2, 3, 5}) {
        std::atomic<int> failed = 0;
        CHECK_NOTHROW(ragged::run_ranks(ranks, [&](LocalCommunicator world) {
            Mesh mesh(Line(ranks), world);
            const ragged::Plan plan = ragged::make_plan(group(world.rank() == ranks - 1 ? 41 : 40), ranks);
            ragged::HostResource memory;
            ragged::DBuffer<ragged::bf16, Line> weights(plan, mesh, memory);
            const std::string message = message_of([&] { ragged::gather(std::move(weights), mesh).wait(); });
            expect(contains(message, "plans differ: rank " + std::to_string(ranks - 1)) &&
                       contains(message, "rank 0 has"),
                   message);
            // both plans may have equal shards; then the first difference is the tensor
            expect(contains(message, "segment 0") || contains(message, "tensor 'b' bf16 41x8"), message);
            ++failed;
        }));
        CHECK(failed == ranks);
    }
}

TEST_CASE("buffers in flight finish in any order, and when their handle is dropped") {
    for (const bool background : {false, true})
        CHECK_NOTHROW(ragged::run_ranks(
            3,
            [&](LocalCommunicator world) {
                Mesh mesh(Line(3), world);
                const ragged::Plan one = plan_for(11, 3), two = plan_for(12, 3), three = plan_for(13, 3);
                ragged::HostResource memory;
                ragged::DBuffer<float, Line> a(one, mesh, memory), b(two, mesh, memory),
                    c(three, mesh, memory);
                fill_shards(a), fill_shards(b), fill_shards(c);
                auto first = ragged::gather(std::move(a), mesh), second = ragged::gather(std::move(b), mesh);
                const auto start = std::chrono::steady_clock::now();
                while (background && !second.done() &&
                       std::chrono::steady_clock::now() - start < std::chrono::seconds(60))
                    std::this_thread::yield();
                expect(second.done() == background, "by itself, else when it is waited for");
                { const auto dropped = ragged::gather(std::move(c), mesh); }
                expect(first.done(), "they ran before the one that was dropped");
                const auto check = [](const auto& gathered) {
                    for (std::size_t t = 0; t < gathered.plan().tensors.size(); ++t)
                        for (std::int64_t i = 0; i < gathered.plan().tensors[t].elements(); ++i)
                            expect(ragged::view(gathered, t).flat()[static_cast<std::size_t>(i)] ==
                                       value_of(t, i),
                                   "values");
                };
                if (world.rank() == 1)
                    check(second.wait()), check(first.wait());
                else
                    check(first.wait()), check(second.wait());
                expect(contains(message_of([&] { static_cast<void>(first.wait()); }), "waited for before"),
                       "a handle is waited for once");
                expect(first.done(), "a wait would throw at once");
                expect(contains(message_of([&] { static_cast<void>(ragged::gather(std::move(a), mesh)); }),
                                "moved from"),
                       "a buffer that was moved from is refused");
            },
            {.background = background}));
}

TEST_CASE("a failing communicator fails the wait, and the memory comes back") {
    for (int mode : {0, 1, 2, 3}) {
        const std::int64_t k = mode % 2; // on the shard axis: the gather, then the reduction
        CHECK_NOTHROW(ragged::run_ranks(
            2,
            [k](LocalCommunicator world) {
                Mesh mesh(Line(2), world);
                const ragged::Plan plan = plan_for(21, 2);
                ragged::CountingResource<> memory;
                {
                    // split, fingerprint of the gather, fingerprint of the reduction are calls 0, 1, 2 of the
                    // world
                    ragged::DBuffer<float, Line> weights(plan, mesh, memory);
                    ragged::DBuffer<float, Line, ragged::state::Partial> gradients(plan, mesh, memory);
                    const std::string message = message_of([&] {
                        static_cast<void>(ragged::gather(std::move(weights), mesh).wait());
                        static_cast<void>(ragged::reduce(std::move(gradients), mesh).wait());
                    });
                    expect(contains(message, "injected fault in call " + std::to_string(k + 1)), message);
                }
                expect(memory.live_bytes() == 0, "nothing leaks");
            },
            {.faults = {{1, k + 1}}, .background = mode >= 2}));
    }
}

TEST_CASE("a buffer is gathered on a mesh that puts its rank where it is") {
    CHECK_NOTHROW(ragged::run_ranks(2, [](LocalCommunicator world) {
        Mesh mesh(Line(2), world);
        const ragged::Plan plan = plan_for(21, 2);
        ragged::HostResource memory;
        ragged::DBuffer<float, Line> buffer(plan, ragged::Place<Line>(Line(2), 1 - world.rank()), memory);
        const std::string message =
            message_of([&] { static_cast<void>(ragged::gather(std::move(buffer), mesh)); });
        expect(contains(message, "the mesh puts this rank at " + std::to_string(world.rank()) + " of 2"),
               message);
    }));
}

TEST_CASE("beside a tensor-parallel axis buffers lie on the mesh of the others") {
    using Grid = ragged::Topology<Axis<"replica", 2>, Axis<"tensor", 2>, Axis<"shard">>;
    CHECK_NOTHROW(ragged::run_ranks(12, [](LocalCommunicator world) {
        Mesh all(Grid(3), world);
        auto mesh = all.part<"replica", "shard">();
        const auto tensor = all.place().coordinate<"tensor">();
        expect(mesh.world().size() == 6 &&
                   mesh.place().coordinate<"shard">() == all.place().coordinate<"shard">() &&
                   mesh.place().coordinate<"replica">() == all.place().coordinate<"replica">(),
               "the other coordinates stay");
        // each coordinate of the tensor axis has a plan of its own
        const ragged::Plan plan = plan_for(30 + static_cast<std::uint32_t>(tensor), 3);
        check_gather<float>(mesh, plan);
        check_reduce(mesh, plan);
    }));
}

TEST_CASE("a mesh needs as many ranks as its topology") {
    CHECK_NOTHROW(ragged::run_ranks(3, [](LocalCommunicator world) {
        expect(contains(message_of([&] { Mesh mesh(Line(2), world); }),
                        "the topology has 2 ranks, the communicator 3"),
               "the numbers");
    }));
}

namespace {

/// A communicator that can group: counts what is started inside and outside of groups.
struct Grouping {
    using Completion = LocalCommunicator::Completion;
    struct Counts {
        int groups = 0, open = 0, inside = 0, outside = 0;
    };
    LocalCommunicator inner;
    Counts* counts;

    int rank() const { return inner.rank(); }
    int size() const { return inner.size(); }
    Grouping split(int color, int key) { return {inner.split(color, key), counts}; }
    static ragged::MemorySpace space() { return {}; }
    template <class Body>
    void group(const Body& body) {
        ++counts->groups, ++counts->open;
        body();
        --counts->open;
    }
    template <class T>
    Completion all_gather(T* base, std::int64_t count) {
        ++(counts->open > 0 ? counts->inside : counts->outside);
        return inner.all_gather(base, count);
    }
    template <class T>
    Completion reduce_scatter(T* base, std::int64_t count, ragged::Reduction reduction = {}) {
        ++(counts->open > 0 ? counts->inside : counts->outside);
        return inner.reduce_scatter(base, count, reduction);
    }
    template <class T>
    Completion all_reduce(T* base, std::int64_t count, ragged::Reduction reduction = {}) {
        ++(counts->open > 0 ? counts->inside : counts->outside);
        return inner.all_reduce(base, count, reduction);
    }
};
static_assert(ragged::has_grouping<Grouping> && !ragged::has_grouping<LocalCommunicator>);

} // namespace

TEST_CASE("all segments of a group are one grouped call per axis") {
    using ragged::DType;
    const ragged::GroupSpec group{
        "g", {{"a", {24, 100}, ragged::rows(3), DType::f32}, {"b", {36, 70}, ragged::rows(3), DType::f32}}};
    const ragged::Plan plan = ragged::make_plan(
        group, 4, ragged::policy::Exact{ragged::policy::Order::search, 2, {.latency_ns = 0}},
        {.alignment_bytes = 4});
    REQUIRE(plan.segments.size() == 2);
    CHECK_NOTHROW(ragged::run_ranks(4, [&](LocalCommunicator world) {
        Grouping::Counts counts;
        Mesh mesh(Plane(1, 4), Grouping{world, &counts});
        ragged::HostResource memory;
        ragged::DBuffer<float, Plane> weights(plan, mesh, memory);
        ragged::DBuffer<float, Plane, ragged::state::Partial> gradients(plan, mesh, memory);
        fill_shards(weights);
        static_cast<void>(ragged::gather(std::move(weights), mesh).wait());
        expect(counts.groups == 1 && counts.inside == 2, "two gathers in one group");
        static_cast<void>(ragged::reduce(std::move(gradients), mesh).wait());
        expect(counts.groups == 3 && counts.inside == 6, "two reduce-scatters, then two all-reduces");
        expect(counts.open == 0, "groups end before anything is waited for");
    }));
}

namespace {

/// A communicator whose gathers of float fail, in the call or in the wait, and hold on to the memory or not.
struct Failing {
    struct Completion {
        bool fails, holds;
        void wait() const {
            if (fails)
                throw ragged::CommError("a rank did not come", "all_gather", -1);
        }
        bool holds_memory() const { return holds; }
    };
    bool early, holds;

    int rank() const { return 0; }
    int size() const { return 1; }
    static ragged::MemorySpace space() { return {}; }
    bool holds_memory() const { return holds; }
    Failing split(int, int) const { return *this; }
    template <class T>
    Completion all_gather(T*, std::int64_t) {
        const Completion made{std::is_same_v<T, float>, holds};
        if (early)
            made.wait();
        return made;
    }
};
static_assert(ragged::has_held_memory<Failing> && !ragged::has_held_memory<LocalCommunicator>);

} // namespace

TEST_CASE("memory that an engine may still write to is not freed when a collective fails") {
    const ragged::Plan plan = ragged::make_plan(ragged::GroupSpec{"g", {{"w", {64}}}}, 1);
    for (const int which : {0, 1, 2, 3}) {
        const bool early = which >= 2, holds = which % 2 == 1;
        CAPTURE(early);
        CAPTURE(holds);
        static ragged::CountingResource<> memory; // the kept one is never given back
        const std::size_t before = memory.live_bytes();
        Mesh mesh(Line(1), Failing{early, holds});
        std::size_t bytes = 0;
        CHECK(message_of([&] {
                  ragged::DBuffer<float, Line> buffer(plan, mesh, memory);
                  bytes = memory.live_bytes() - before;
                  ragged::gather(std::move(buffer), mesh).wait();
              }) == "a rank did not come");
        CHECK(memory.live_bytes() - before == (holds ? bytes : 0));
    }
}

TEST_CASE("a buffer in memory that the communicator does not move is refused before anything starts") {
    struct OtherSpace : ragged::HostResource {
        static ragged::MemorySpace space() { return ragged::MemorySpace::of_device(1); }
    } memory;
    const ragged::Plan plan = ragged::make_plan(ragged::GroupSpec{"g", {{"w", {64}}}}, 1);
    CHECK_NOTHROW(ragged::run_ranks(1, [&](LocalCommunicator world) {
        Mesh mesh(Line(1), world);
        ragged::DBuffer<float, Line> weights(plan, mesh, memory);
        ragged::DBuffer<float, Line, ragged::state::Partial> gradients(plan, mesh, memory);
        const std::string wanted =
            "group 'g': the buffer is in memory of device 1, the communicator works in host memory";
        expect(message_of([&] { ragged::gather(std::move(weights), mesh).wait(); }) == wanted, "a gather");
        expect(message_of([&] { ragged::reduce(std::move(gradients), mesh).wait(); }) == wanted,
               "a reduction");
    }));
}
