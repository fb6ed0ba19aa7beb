// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a redistribution refuses, and what becomes of ranks, memory and handles when it fails in the middle.
#include <doctest/doctest.h>

#include <atomic>

#include "support/redistribution_suite.hpp"

using namespace ragged;
using support::contains;
using support::expect;
using support::layout_of;
using support::message_of;
using support::On;

namespace {

using Line = Topology<Axis<"s">>;
using Plane = Topology<Axis<"r">, Axis<"s">>;

const std::vector<TensorSpec> matrix{{"w", {4, 2}, rows(1)}};

/// On every rank of a line: body(move, rank) with a redistribution from runs of rows to all of them.
template <class Body>
void with_gather(int ranks, const Body& body) {
    run_ranks(ranks, [&](LocalCommunicator world) {
        Mesh mesh(Line(ranks), world);
        HostResource memory;
        body(make_redistribution<float>(layout_of<On<"s", RaggedEvenly>>(matrix, Line(ranks)),
                                        layout_of<On<"s", Replicate>>(matrix, Line(ranks)), mesh, memory),
             world.rank());
    });
}

} // namespace

TEST_CASE("arrays that are missing or overlap otherwise are refused") {
    CHECK_NOTHROW(with_gather(2, [](const auto& move, int rank) {
        std::vector<float> source(4), destination(16);
        expect(message_of([&] { move.start(nullptr, destination.data()).wait(); }) ==
                   "a redistribution of 4 elements into 8 is given no array for them",
               "no source");
        expect(contains(message_of([&] { move.start(source.data(), nullptr).wait(); }), "is given no array"),
               "no destination");
        expect(move.in_place_shift() == -4 * rank, "where a rank's rows are in the destination");
        float* const own = destination.data() + 4;
        expect(message_of([&] { move.start(own, own + 1).wait(); }) ==
                   concat("source and destination overlap, the destination starting 1 elements behind the "
                          "source; in place it starts ",
                          -4 * rank, " behind it"),
               "overlap at another place");
        for (int i = 0; i < 4; ++i)
            own[i] = static_cast<float>(rank * 4 + i);
        move.start(own, own - 4 * rank).wait(); // nothing that was refused is left over
        for (int i = 0; i < 8; ++i)
            expect(own[i - 4 * rank] == static_cast<float>(i), "gathered in place");
    }));
    run_ranks(2, [&](LocalCommunicator world) {
        Mesh mesh(Line(2), world);
        HostResource memory;
        const auto move =
            make_redistribution<float>(layout_of<On<"s", Shard<0>>>(matrix, Line(2)),
                                       layout_of<On<"s", Shard<1>>>(matrix, Line(2)), mesh, memory);
        std::vector<float> both(8);
        expect(!move.in_place_shift(), "an exchange needs two arrays");
        expect(message_of([&] { move.start(both.data(), both.data() + 3).wait(); }) ==
                   "source and destination overlap; this redistribution needs two arrays",
               "overlap");
        move.start(both.data(), both.data() + 4).wait(); // side by side
    });
}

TEST_CASE("one run at a time, and a handle is waited for once") {
    CHECK_NOTHROW(with_gather(3, [](const auto& move, int rank) {
        std::vector<float> source(4, static_cast<float>(rank)), destination(8);
        auto moving = move.start(source.data(), destination.data());
        expect(message_of([&] { move.start(source.data(), destination.data()).wait(); }) ==
                   "the redistribution is running: wait for its handle before it is started again",
               "started twice");
        moving.wait();
        expect(message_of([&] { moving.wait(); }) == "the handle was waited for before", "waited for twice");
        expect(!moving.holds_memory(), "nothing is held");
        { auto dropped = move.start(source.data(), destination.data()); } // waits
        auto first = move.start(source.data(), destination.data());
        auto second = std::move(first);
        second.wait();
        expect(destination[7] == 2.0f, "gathered");
        expect(contains(message_of([&] { first.wait(); }), "before"), "moved from");
    }));
}

TEST_CASE("a handle outlives its redistribution, and that the layouts") {
    run_ranks(2, [&](LocalCommunicator world) {
        Mesh mesh(Line(2), world);
        CountingResource<> memory;
        std::vector<float> source(4, static_cast<float>(world.rank())), destination(4, -1.0f);
        {
            auto moving =
                make_redistribution<float>(layout_of<On<"s", Shard<0>>>(matrix, Line(2)),
                                           layout_of<On<"s", Shard<1>>>(matrix, Line(2)), mesh, memory)
                    .start(source.data(), destination.data());
            expect(memory.live_bytes() > 0, "messages are staged");
            moving.wait();
        }
        expect(memory.live_bytes() == 0 && destination[3] == 1.0f && destination[0] == 0.0f, "moved");
    });
}

TEST_CASE("every rank is told when one has another layout") {
    std::atomic<int> told = 0;
    CHECK_THROWS_AS(
        run_ranks(3,
                  [&](LocalCommunicator world) {
                      Mesh mesh(Line(3), world);
                      CountingResource<> memory;
                      std::vector<TensorSpec> specs{{"same", {8}}, {"other", {8, 2}, rows(1)}};
                      if (world.rank() == 1)
                          specs[1].block = rows(4);
                      try {
                          make_redistribution<float>(layout_of<On<"s", RaggedEvenly>>(specs, Line(3)),
                                                     layout_of<On<"s", Replicate>>(specs, Line(3)), mesh,
                                                     memory);
                      } catch (const CommError& error) {
                          expect(contains(error.what(), "layouts differ: rank 1 has tensor 'other' 8x2") &&
                                     error.rank() == 1 && memory.allocations() == 0,
                                 error.what());
                          ++told;
                          throw;
                      }
                  }),
        CommError);
    CHECK(told == 3);
}

TEST_CASE("layouts and meshes that do not belong together") {
    struct ElsewhereResource : HostResource {
        static constexpr MemorySpace space() { return {MemorySpace::Kind::device, 0}; }
    };
    run_ranks(2, [&](LocalCommunicator world) {
        Mesh mesh(Line(2), world);
        HostResource memory;
        ElsewhereResource elsewhere;
        const auto two = layout_of<On<"s", RaggedEvenly>>(matrix, Line(2));
        const auto three = layout_of<On<"s", RaggedEvenly>>(matrix, Line(3));
        expect(message_of([&] { make_redistribution<float>(two, three, mesh, memory); }) ==
                   "layouts on 2 and 3 ranks, a mesh of 2: all three must be of one topology; over a "
                   "communicator they need not",
               "another topology");
        expect(message_of([&] { make_redistribution<float>(two, three, world, memory); }) ==
                   "a layout on 3 ranks, the communicator has 2",
               "a world that is too small");
        expect(
            contains(message_of([&] { make_redistribution<float>(two, two, mesh, elsewhere); }), "stages in"),
            "memory of another space");
        std::vector<TensorSpec> blocks = matrix;
        blocks[0].block = rows(3);
        const auto coarse = layout_of<On<"s", RaggedEvenly>>(blocks, Line(2));
        expect(contains(message_of([&] { make_redistribution<float>(two, coarse, mesh, memory); }),
                        "tensor 'w': one ragged rule leaves rank 0 4 elements in the source layout and 6 in "
                        "the destination"),
               "blocks differ under one rule");
        const std::vector<TensorSpec> other{{"v", {4, 2}}};
        expect(contains(message_of([&] {
                            make_redistribution<float>(two, layout_of<On<"s", Replicate>>(other, Line(2)),
                                                       mesh, memory);
                        }),
                        "tensor 'v' is in the destination layout only"),
               "other tensors");
    });
}

// Blocks may differ where weights say how to cut.
TEST_CASE("other blocks are exchanged") {
    run_ranks(3, [&](LocalCommunicator world) {
        Mesh mesh(Line(3), world);
        CountingResource<> memory;
        std::vector<TensorSpec> blocks = support::awkward_matrices(), fine = blocks;
        for (TensorSpec& spec : fine)
            spec.block = elements(1);
        const auto from = layout_of<On<"s", RaggedByWeights>>(blocks, Line(3));
        const auto to = layout_of<On<"s", RaggedByWeights>>(fine, Line(3));
        const support::LayoutFacts source = support::facts_of(from), destination = support::facts_of(to);
        const std::vector<LocalCommunicator*> communicators{&mesh.world()};
        support::RedistributionOracle<float>(source, destination, world.rank(), communicators)
            .check(support::mover_of(make_redistribution<float>(from, to, mesh, memory)), {}, memory);
    });
}

// Contributions are reduced in equal parts along r, then ranks exchange. Calls of the world before the first
// exchange: two splits and the comparison of the layouts.
TEST_CASE("a communicator that fails in the middle") {
    for (const std::int64_t call : {2, 3, 4}) {
        CAPTURE(call);
        const auto start = std::chrono::steady_clock::now();
        std::atomic<int> failed = 0, clean = 0;
        const std::string message = message_of([&] {
            run_ranks(4,
                      [&](LocalCommunicator world) {
                          CountingResource<> memory;
                          try {
                              Mesh mesh(Plane(2, 2), world);
                              const auto specs = support::awkward_matrices();
                              const auto move = make_redistribution<float>(
                                  layout_of<On<"r", Partial<>>, On<"s", Shard<0>>>(specs, Plane(2, 2)),
                                  layout_of<On<"r", Shard<1>>, On<"s", RaggedByWeights>>(specs, Plane(2, 2)),
                                  mesh, memory);
                              std::vector<float> source(static_cast<std::size_t>(move.source_elems())),
                                  destination(static_cast<std::size_t>(move.destination_elems()));
                              for (int step = 0; step < 3; ++step) {
                                  if (step == 1 && world.rank() == 2) { // a failure is lost with its handle
                                      auto dropped = move.start(source.data(), destination.data());
                                      continue;
                                  }
                                  move.start(source.data(), destination.data()).wait();
                              }
                          } catch (const CommError& error) {
                              expect(contains(error.what(), "injected fault"), error.what());
                              ++failed;
                              clean += memory.live_bytes() == 0 ? 1 : 0;
                              throw;
                          }
                      },
                      {.timeout = std::chrono::seconds(20), .faults = {{1, call}}});
        });
        CHECK(contains(message, "injected fault"));
        CHECK(failed == 4);
        CHECK(clean == 4);
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(15));
    }
}

TEST_CASE("a rank that leaves between two steps") {
    std::atomic<int> failed = 0;
    const std::string message = message_of([&] {
        run_ranks(4,
                  [&](LocalCommunicator world) {
                      Mesh mesh(Plane(2, 2), world);
                      CountingResource<> memory;
                      const auto move = make_redistribution<float>(
                          layout_of<On<"r", Partial<>>, On<"s", Partial<>>>(matrix, Plane(2, 2)),
                          layout_of<On<"r", Replicate>, On<"s", RaggedEvenly>>(matrix, Plane(2, 2)), mesh,
                          memory);
                      std::vector<float> source(static_cast<std::size_t>(move.source_elems())),
                          destination(static_cast<std::size_t>(move.destination_elems()));
                      move.start(source.data(), destination.data()).wait();
                      if (world.rank() == 3)
                          throw std::logic_error("a bug in rank 3");
                      try {
                          move.start(source.data(), destination.data()).wait();
                      } catch (const CommError&) {
                          ++failed;
                          throw;
                      }
                  },
                  {.timeout = std::chrono::seconds(20)});
    });
    CHECK(message == "a bug in rank 3");
    CHECK(failed >= 2); // those that share a line with it; the last may have been done
}
