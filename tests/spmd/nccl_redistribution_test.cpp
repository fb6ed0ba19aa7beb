// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Redistribution by the NCCL communicator and an executor on a stream: known values by every kind of step,
// one launch a step, two streams in order, and nothing that the host waits for.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include <ragged/redistribute/redistribution.hpp>

#include "support/fake_device.hpp"
#include "support/fake_nccl.hpp"
#include "support/known_layouts.hpp"

using namespace std::chrono_literals;
using ragged::Axis;
using ragged::Mesh;
using ragged::Partial;
using ragged::PartialOp;
using ragged::place;
using ragged::RaggedByWeights;
using ragged::RaggedEvenly;
using ragged::RaggedOnRank;
using ragged::Replicate;
using ragged::Shard;
using support::contains;
using support::DeviceResource;
using support::expect;
using support::expect_known;
using support::FakeCommunicator;
using support::FakeExecutor;
using support::FakeLive;
using support::FakePoolResource;
using support::FakeStreamName;
using support::FakeWorld;
using support::known_layout;
using support::known_source;
using support::message_of;
using support::run_fake_ranks;

namespace {

using Line = ragged::Topology<Axis<"shard">>;
using Plane = ragged::Topology<Axis<"tensor">, Axis<"shard">>;

/// Ranks one after the other: a rank that waits for another one inside is seen, as it does not come to an
/// end.
class Turns {
  public:
    explicit Turns(int ranks)
        : ranks_(ranks) {}
    template <class Body>
    auto take(int rank, const Body& body) {
        const auto start = std::chrono::steady_clock::now();
        while (next_ % ranks_ != rank && std::chrono::steady_clock::now() - start < 20s)
            std::this_thread::yield();
        struct End {
            std::atomic<int>& next;
            ~End() { ++next; }
        } const end{next_};
        return body();
    }

  private:
    int ranks_;
    std::atomic<int> next_ = 0;
};

/// What a rank works with.
struct Device {
    FakeWorld& world;
    Turns& turns;
    FakeStreamName work; // of the executor
    int rank;
    FakeStreamName other;
    FakePoolResource memory{work, rank};
    FakeExecutor executor{work, rank};

    /// @param apart  the executor has a stream of its own
    Device(FakeWorld& all, Turns& taken, FakeCommunicator& c, bool apart)
        : world(all)
        , turns(taken)
        , work(apart ? FakeStreamName(all.another_stream()) : c.stream())
        , rank(c.rank())
        , other(all.another_stream()) {}

    /// In turn, and without waiting on the host.
    template <class Body>
    auto enqueue(const Body& body) {
        const int questions = world.questions(rank), waits = host_waits();
        struct Check {
            const Device& device;
            int questions, waits;
            void end() const {
                expect(device.world.questions(device.rank) == questions && device.host_waits() == waits,
                       "the host waits for nothing");
            }
        } const check{*this, questions, waits};
        auto result = turns.take(rank, body);
        check.end();
        return result;
    }
    int host_waits() const {
        return work->synchronisations + other->synchronisations + world.stream(rank)->synchronisations;
    }
};

/// An owner of a stream, which names it.
struct OwnedStream {
    FakeStreamName stream;
    operator FakeStreamName() const { return stream; }
};

template <class T, class Topology, class From, class To>
void move(Mesh<Topology, FakeCommunicator>& mesh, Device& device, const From& from_placements,
          const To& to_placements) {
    const auto from = known_layout(mesh.place().topology, from_placements);
    const auto to = known_layout(mesh.place().topology, to_placements);
    const int rank = device.rank;
    const T untouched(99.0f);
    const std::vector<T> values = known_source<T>(from, rank);
    const std::vector<T> before(static_cast<std::size_t>(to.storage_elems(rank)), untouched);
    std::vector<T> source = values, destination = before;
    const auto ready = ragged::make_redistribution<T>(from, to, mesh, device.memory, device.executor);
    const FakeStreamName stream = mesh.world().stream();

    const int launches = stream->launches;
    auto handle = device.enqueue([&] { return ready.start(source.data(), destination.data()); });
    const int steps =
        static_cast<int>(ready.route.size - ready.route.count(ragged::RouteStep::Action::slice));
    expect(stream->launches <= launches + steps, "one launch a step at most");
    handle.wait();
    expect_known(from, to, rank, destination.data(), untouched);

    std::vector<std::vector<T>> results(3, before);
    for (std::vector<T>& result : results)
        device.enqueue([&] {
            device.work.wait_for(device.other);
            device.work.enqueue([&] {
                source = values;
                destination = before;
            });
            ready.start(source.data(), destination.data()).wait(OwnedStream{device.other});
            device.other.enqueue([&] {
                result = destination;
                source.assign(source.size(), T(-77.0f)); // both are ours again
                destination.assign(destination.size(), T(-77.0f));
            });
            return 0;
        });
    mesh.world().barrier().wait();
    device.other.synchronise();
    for (const std::vector<T>& result : results)
        expect_known(from, to, rank, result.data(), untouched);

    source = values;
    destination = before;
    ragged::redistribute(from, source.data(), to, destination.data(), mesh, device.memory, device.executor)
        .wait(device.other); // nothing is left that owns the staging memory
    mesh.world().barrier().wait();
    device.other.synchronise();
    expect_known(from, to, rank, destination.data(), untouched);
}

template <class T>
void one_axis(Mesh<Line, FakeCommunicator>& mesh, Device& device) {
    const std::int64_t ranks = mesh.world().size();
    std::vector<std::int64_t> weights;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
        weights.push_back(rank % 3);
    weights.back() = 2;
    const auto replicate = place<"shard">(Replicate{});
    const auto rows = place<"shard">(Shard<0>{});
    const auto columns = place<"shard">(Shard<1>{});
    const auto weighted = place<"shard">(RaggedByWeights{weights});
    const auto root = place<"shard">(RaggedOnRank{ranks - 1});
    move<T>(mesh, device, place<"shard">(Partial<>{}), columns);
    move<T>(mesh, device, place<"shard">(Partial<>{}), root);
    move<T>(mesh, device, place<"shard">(Partial<PartialOp::avg>{}), weighted);
    move<T>(mesh, device, place<"shard">(Partial<PartialOp::avg>{}), replicate);
    move<T>(mesh, device, place<"shard">(Partial<PartialOp::max>{}), columns);
    move<T>(mesh, device, columns, replicate);
    move<T>(mesh, device, rows, columns);
    move<T>(mesh, device, weighted, place<"shard">(RaggedEvenly{}));
    move<T>(mesh, device, columns, root);
    move<T>(mesh, device, root, columns);
    move<T>(mesh, device, root, replicate);
    move<T>(mesh, device, replicate, columns);
}

void two_axes(Mesh<Plane, FakeCommunicator>& mesh, Device& device) {
    const auto column = place<"tensor">(Shard<1>{}).then<"shard">(RaggedEvenly{});
    const auto row = place<"tensor">(Shard<0>{}).then<"shard">(RaggedEvenly{});
    const auto whole = place<"tensor">(Replicate{}).then<"shard">(Replicate{});
    const auto gradient = place<"tensor">(Shard<1>{}).then<"shard">(Partial<>{});
    const auto partial = place<"tensor">(Partial<>{}).then<"shard">(Partial<>{});
    const auto averaged = place<"tensor">(Partial<>{}).then<"shard">(Partial<PartialOp::avg>{});
    const auto replicated = place<"tensor">(Replicate{}).then<"shard">(RaggedEvenly{});
    move<float>(mesh, device, column, row);
    move<float>(mesh, device, row, whole);
    move<float>(mesh, device, whole, column);
    move<float>(mesh, device, gradient, column);
    move<float>(mesh, device, gradient, row);
    move<float>(mesh, device, partial, replicated);
    move<float>(mesh, device, averaged, row);
    move<float>(mesh, device, averaged, replicated);
}

/// body(communicator, device) on every rank, with the executor on one stream or another.
template <class Body>
void on_ranks(int ranks, const Body& body) {
    for (const bool apart : {false, true}) {
        CAPTURE(ranks);
        CAPTURE(apart);
        FakeWorld world(ranks, {.polls = ranks == 3 ? 1 : 0});
        Turns turns(ranks);
        CHECK(message_of([&] {
                  run_fake_ranks(world, ranks, [&](FakeCommunicator& c) {
                      Device device(world, turns, c, apart);
                      body(c, device);
                      c.barrier().wait();
                  });
              }) == "");
        CHECK(world.complaints() == std::vector<std::string>{});
        CHECK(world.live() == FakeLive{});
    }
}

} // namespace

TEST_CASE("routes over one axis") {
    for (int ranks : {1, 2, 3, 4})
        on_ranks(ranks, [](FakeCommunicator& c, Device& device) {
            Mesh mesh(Line(c.size()), c);
            one_axis<float>(mesh, device);
        });
    on_ranks(2, [](FakeCommunicator& c, Device& device) {
        Mesh mesh(Line(c.size()), c);
        one_axis<ragged::bf16>(mesh, device);
    });
}

TEST_CASE("routes over two axes") {
    for (auto [tensor, shard] : {std::pair{1, 1}, {1, 2}, {3, 1}, {2, 2}, {2, 3}})
        on_ranks(tensor * shard, [tensor = tensor, shard = shard](FakeCommunicator& c, Device& device) {
            Mesh mesh(Plane(tensor, shard), c);
            two_axes(mesh, device);
        });
}

TEST_CASE("a step is one launch of as many collectives as tensors, and streams wait once a step") {
    FakeWorld world(4);
    Turns turns(4);
    CHECK_NOTHROW(run_fake_ranks(world, 4, [&](FakeCommunicator& c) {
        Mesh mesh(Plane(2, 2), c);
        Device device(world, turns, c, true);
        const auto from =
            known_layout(mesh.place().topology, place<"tensor">(Partial<>{}).then<"shard">(Partial<>{}));
        const auto to =
            known_layout(mesh.place().topology, place<"tensor">(Replicate{}).then<"shard">(RaggedEvenly{}));
        std::vector<float> source = known_source<float>(from, c.rank());
        std::vector<float> destination(static_cast<std::size_t>(to.storage_elems(c.rank())));
        const auto ready = ragged::make_redistribution<float>(from, to, mesh, device.memory, device.executor);
        for (int run = 0; run < 2; ++run) {
            const int launches = c.stream()->launches;
            world.take_log(c.rank());
            ready.start(source.data(), destination.data()).wait(device.other);
            std::size_t marks = 0, waits = 0, groups = 0;
            for (const std::string& call : world.take_log(c.rank())) {
                marks += call == "record";
                waits += call == "wait_event";
                groups += call == "group_start";
            }
            expect(c.stream()->launches == launches + 2, "two launches");
            expect(marks >= 2 && groups >= 2, "each is a group");
            expect(waits == 2, "before the last copy, and at the end");
            device.work.wait_for(device.other);
        }
        device.other.synchronise();
        c.barrier().wait();
    }));
    CHECK(world.live() == FakeLive{});
}

TEST_CASE("layouts of two meshes, by one exchange over the world") {
    on_ranks(4, [](FakeCommunicator& c, Device& device) {
        const auto from =
            known_layout(Plane(2, 2), place<"tensor">(Shard<1>{}).then<"shard">(RaggedEvenly{}));
        const auto to = known_layout(Line(3), place<"shard">(Shard<0>{}));
        const std::vector<float> source = known_source<float>(from, c.rank());
        std::vector<float> destination(
            c.rank() < 3 ? static_cast<std::size_t>(to.storage_elems(c.rank())) : 0, 99.0f);
        ragged::redistribute(from, source.data(), to, destination.data(), c, device.memory, device.executor)
            .wait();
        if (c.rank() < 3)
            expect_known(from, to, c.rank(), destination.data(), 99.0f);
    });
}

TEST_CASE("staging memory is used again only behind the messages that were sent from it") {
    on_ranks(3, [](FakeCommunicator& c, Device& device) {
        Mesh mesh(Line(3), c);
        const auto from = known_layout(Line(3), place<"shard">(Shard<1>{}));
        const auto to = known_layout(Line(3), place<"shard">(RaggedOnRank{1}));
        const auto ready = ragged::make_redistribution<float>(from, to, mesh, device.memory, device.executor);
        const std::vector<float> source = known_source<float>(from, c.rank()), other(source.size(), -77.0f);
        std::vector<float> destination(static_cast<std::size_t>(to.storage_elems(c.rank())), 99.0f);
        std::vector<float> unused = destination;
        device.enqueue([&] { // the host, and nobody else, knows that one comes after the other
            ready.start(source.data(), destination.data()).wait(device.other);
            ready.start(other.data(), unused.data()).wait(device.other);
            return 0;
        });
        c.barrier().wait();
        device.other.synchronise();
        expect_known(from, to, c.rank(), destination.data(), 99.0f);
    });
}

TEST_CASE("a failure anywhere ends every rank, and then nothing uses the memory any more") {
    for (const bool apart : {false, true})
        for (const std::string function : {"send", "receive", "group_end", "record", "wait_event"}) {
            CAPTURE(apart);
            CAPTURE(function);
            FakeWorld probe(2);
            int before = 0, after = 0;
            const auto run = [&](FakeWorld& in, std::vector<std::string>& messages, bool count) {
                Turns turns(2);
                run_fake_ranks(in, 2, [&](FakeCommunicator& c) {
                    Mesh mesh(Line(2), c);
                    Device device(in, turns, c, apart);
                    ragged::CountingResource<DeviceResource> memory(DeviceResource{c.rank()});
                    const auto from = known_layout(Line(2), place<"shard">(Shard<0>{}));
                    const auto to = known_layout(Line(2), place<"shard">(Shard<1>{}));
                    {
                        std::vector<float> source = known_source<float>(from, c.rank());
                        std::vector<float> destination(static_cast<std::size_t>(to.storage_elems(c.rank())));
                        const auto ready =
                            ragged::make_redistribution<float>(from, to, mesh, memory, device.executor);
                        turns.take(c.rank(), [] {}); // all are ready
                        const auto calls = [&] { return in.calls(1, function); };
                        if (count && c.rank() == 1)
                            before = calls();
                        messages[static_cast<std::size_t>(c.rank())] =
                            message_of([&] { ready.start(source.data(), destination.data()).wait(); });
                        if (count && c.rank() == 1)
                            after = calls();
                    }
                    expect(memory.live_bytes() == 0, "nothing leaks");
                    in.run(); // what is left on the streams
                });
            };
            std::vector<std::string> messages(2);
            run(probe, messages, true);
            CHECK(messages == std::vector<std::string>(2));
            for (int call = before; call < after; ++call) {
                CAPTURE(call);
                FakeWorld failing(2, {.faults = {{1, function, call, support::fake_invalid_usage}}});
                CHECK_NOTHROW(run(failing, messages, false));
                CHECK(contains(messages[1], "NCCL status 5"));
                CHECK(failing.complaints() == std::vector<std::string>{});
                CHECK(failing.live() == FakeLive{});
            }
        }
}

namespace {

/// An engine that cannot take operations back.
struct HoldingCommunicator : FakeCommunicator {
    explicit HoldingCommunicator(FakeCommunicator c)
        : FakeCommunicator(std::move(c)) {}
    HoldingCommunicator split(int color, int key) {
        return HoldingCommunicator(FakeCommunicator::split(color, key));
    }
    bool holds_memory() const { return true; }
};

} // namespace

TEST_CASE("staging memory is kept where the engine holds on to it") {
    for (const bool at_start : {false, true}) {
        FakeWorld world(2, {.abort_spreads = !at_start});
        Turns turns(2);
        std::vector<std::string> messages(2);
        CHECK_NOTHROW(run_fake_ranks(
            world, 2,
            [&](FakeCommunicator& c) {
                HoldingCommunicator holding(c);
                Mesh mesh(Line(2), holding);
                // kept memory uses them until the process ends
                auto& device = *new Device(world, turns, c, true);
                auto& memory = *new ragged::CountingResource<DeviceResource>(DeviceResource{c.rank()});
                const auto from = known_layout(Line(2), place<"shard">(Shard<0>{}));
                const auto to = known_layout(Line(2), place<"shard">(Shard<1>{}));
                std::vector<float> source = known_source<float>(from, c.rank());
                std::vector<float> destination(static_cast<std::size_t>(to.storage_elems(c.rank())));
                messages[static_cast<std::size_t>(c.rank())] = message_of([&] {
                    const auto ready =
                        ragged::make_redistribution<float>(from, to, mesh, memory, device.executor);
                    turns.take(c.rank(), [] {}); // all are ready
                    if (c.rank() == 1 || at_start)
                        c.abandon("the test");
                    ready.start(source.data(), destination.data()).wait();
                });
                expect(memory.live_bytes() > 0, "staging memory is kept");
                world.run();
            },
            {.timeout = 2s}));
        CHECK(contains(messages[1], "the test"));
        CHECK(messages[0] != "");
    }
}

TEST_CASE("an executor or memory of another space is refused") {
    FakeWorld world(1);
    CHECK_NOTHROW(run_fake_ranks(world, 1, [&](FakeCommunicator& c) {
        Mesh mesh(Line(1), c);
        const auto layout = known_layout(Line(1), place<"shard">(Shard<0>{}));
        ragged::HostResource host;
        DeviceResource memory{0};
        expect(contains(message_of([&] {
                            static_cast<void>(ragged::make_redistribution<float>(layout, layout, mesh, host));
                        }),
                        "stages in host memory and copies in host memory, its communicator works in memory "
                        "of device 0"),
               "host memory");
        expect(contains(message_of([&] {
                            static_cast<void>(
                                ragged::make_redistribution<float>(layout, layout, mesh, memory));
                        }),
                        "copies in host memory"),
               "host executor");
    }));
}
