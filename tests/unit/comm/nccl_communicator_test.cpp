// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What the communicator asks of NCCL, call by call, and what it does when a call fails.
#include <doctest/doctest.h>

#include <atomic>
#include <functional>
#include <limits>

#include <ragged/comm/mesh.hpp>

#include "support/expect.hpp"
#include "support/fake_nccl.hpp"

using namespace std::chrono_literals;
using ragged::CommError;
using ragged::DType;
using ragged::Message;
using ragged::NcclError;
using ragged::NcclOptions;
using ragged::NcclStatus;
using ragged::Reduction;
using support::contains;
using support::expect;
using support::FakeCommunicator;
using support::FakeLive;
using support::FakeNccl;
using support::FakeWorld;
using support::message_of;
using support::run_fake_ranks;

namespace {

using Log = std::vector<std::string>;
using Counts = std::vector<std::int64_t>;

static_assert(ragged::communicator<FakeCommunicator> && ragged::has_grouping<FakeCommunicator> &&
              ragged::has_all_gather_host<FakeCommunicator> &&
              ragged::has_stream_wait<FakeCommunicator, support::FakeStream*>);

std::string text_of(const Log& log) {
    std::string text;
    for (const std::string& line : log)
        text += line + "; ";
    return text;
}

void expect_log(FakeWorld& world, int rank, const Log& wanted) {
    const Log found = world.take_log(rank);
    expect(found == wanted, text_of(found) + "is " + text_of(wanted));
}

void check_clean(FakeWorld& world) {
    CHECK(text_of(world.complaints()) == "");
    CHECK(world.live() == FakeLive{});
}

/// One of each, over memory that lives as long as the test: an operation may end after its rank did.
struct Collectives {
    std::vector<std::vector<float>> in, out;

    explicit Collectives(int ranks)
        : in(static_cast<std::size_t>(ranks), std::vector<float>(64))
        , out(in) {}

    using Call = std::function<void(FakeCommunicator&)>;
    std::vector<std::pair<std::string, Call>> all() {
        const auto data = [this](FakeCommunicator& c) {
            return in[static_cast<std::size_t>(c.rank())].data();
        };
        const auto result = [this](FakeCommunicator& c) {
            return out[static_cast<std::size_t>(c.rank())].data();
        };
        const auto counts = [](FakeCommunicator& c) { return Counts(static_cast<std::size_t>(c.size()), 2); };
        return {
            {"all_gather", [=](FakeCommunicator& c) { c.all_gather(data(c), 4).wait(); }},
            {"reduce_scatter", [=](FakeCommunicator& c) { c.reduce_scatter(data(c), 4).wait(); }},
            {"all_reduce", [=](FakeCommunicator& c) { c.all_reduce(data(c), 4).wait(); }},
            {"broadcast", [=](FakeCommunicator& c) { c.broadcast(data(c), 4, 0).wait(); }},
            {"all_gather_v", [=](FakeCommunicator& c) { c.all_gather_v(data(c), counts(c)).wait(); }},
            {"reduce_scatter_v", [=](FakeCommunicator& c) { c.reduce_scatter_v(data(c), counts(c)).wait(); }},
            {"send_receive",
             [=](FakeCommunicator& c) {
                 const std::vector<Message<const float>> sends{{data(c), 4, (c.rank() + 1) % c.size()}};
                 const std::vector<Message<float>> receives{
                     {result(c), 4, (c.rank() + c.size() - 1) % c.size()}};
                 c.send_receive(std::span(sends), std::span(receives)).wait();
             }},
            {"all_to_all_v",
             [=](FakeCommunicator& c) {
                 c.all_to_all_v(static_cast<const float*>(data(c)), counts(c), result(c), counts(c)).wait();
             }},
            {"barrier", [](FakeCommunicator& c) { c.barrier().wait(); }},
            {"all_gather_host",
             [](FakeCommunicator& c) {
                 std::vector<std::uint8_t> bytes(static_cast<std::size_t>(c.size()) * 3);
                 c.all_gather_host(bytes.data(), 3);
             }},
            {"split", [](FakeCommunicator& c) { static_cast<void>(c.split(0, c.rank())); }}};
    }
};

} // namespace

TEST_CASE("each operation is the calls of NCCL that it should be, and one mark") {
    FakeWorld world(3);
    CHECK_NOTHROW(run_fake_ranks(world, 3, [&](FakeCommunicator& c) {
        std::vector<float> x(64), y(64);
        const int rank = c.rank();
        const std::string own = std::to_string(rank);
        expect_log(world, rank,
                   rank == 0 ? Log{"unique_id", "allocate_device", "allocate_host", "initialise"}
                             : Log{"allocate_device", "allocate_host", "initialise"});
        c.all_gather(x.data(), 4).wait();
        expect_log(world, rank, {"create_event", "all_gather 4 f32", "record"});
        c.reduce_scatter(x.data(), 4).wait();
        expect_log(world, rank, {"reduce_scatter 4 f32", "record"});
        c.all_reduce(x.data(), 5).wait();
        expect_log(world, rank, {"all_reduce 5 f32", "record"});
        c.reduce_scatter(x.data(), 4, Reduction::max).wait();
        expect_log(world, rank, {"reduce_scatter 4 f32 max", "record"});
        c.all_reduce(x.data(), 5, Reduction::max).wait();
        expect_log(world, rank, {"all_reduce 5 f32 max", "record"});
        c.broadcast(x.data(), 6, 2).wait();
        expect_log(world, rank, {"broadcast 6 f32 root 2", "record"});
        c.all_gather_v(x.data(), Counts{4, 0, 2}).wait();
        expect_log(
            world, rank,
            {"group_start", "broadcast 4 f32 root 0", "broadcast 2 f32 root 2", "group_end", "record"});
        c.reduce_scatter_v(x.data(), Counts{0, 3, 1}).wait();
        expect_log(world, rank,
                   {"group_start", "reduce 3 f32 root 1", "reduce 1 f32 root 2", "group_end", "record"});
        c.reduce_scatter_v(x.data(), Counts{0, 3, 0}, Reduction::max).wait();
        expect_log(world, rank, {"group_start", "reduce 3 f32 max root 1", "group_end", "record"});
        const auto next = (rank + 1) % 3, before = (rank + 2) % 3;
        const std::vector<Message<const float>> sends{{x.data(), 3, next}, {x.data(), 0, before}};
        const std::vector<Message<float>> receives{{y.data(), 3, before}, {y.data(), 0, next}};
        c.send_receive(std::span(sends), std::span(receives)).wait();
        expect_log(world, rank,
                   {"group_start", "send 3 f32 to " + std::to_string(next),
                    "receive 3 f32 from " + std::to_string(before), "group_end", "record"});
        c.all_to_all_v(static_cast<const float*>(x.data()), Counts{1, 0, 0}, y.data(),
                       rank == 0 ? Counts{1, 1, 1} : Counts{0, 0, 0})
            .wait();
        expect_log(world, rank,
                   rank == 0 ? Log{"group_start", "send 1 f32 to 0", "receive 1 f32 from 0",
                                   "receive 1 f32 from 1", "receive 1 f32 from 2", "group_end", "record"}
                             : Log{"group_start", "send 1 f32 to 0", "group_end", "record"});
        c.barrier().wait();
        expect_log(world, rank, {"all_reduce 1 u8", "record"});
        std::vector<std::uint8_t> bytes(15);
        c.all_gather_host(bytes.data(), 5);
        expect_log(world, rank, {"copy 5", "all_gather 5 u8", "copy 15", "record"});
        static_cast<void>(c.split(0, 0));
        expect_log(world, rank, {"split", "rank_of", "finalize", "destroy"});
        c.all_gather(static_cast<float*>(nullptr), 0).wait(); // nothing to do, and a mark all the same
        expect_log(world, rank, {"record"});
        c.all_gather_v(static_cast<float*>(nullptr), Counts{0, 0, 0}).wait();
        expect_log(world, rank, {"group_start", "group_end", "record"});
    }));
    for (int rank : {0, 1, 2}) {
        const Log end = world.take_log(rank);
        CHECK(text_of(end) == "finalize; destroy; destroy_event; free_device; free_host; ");
    }
    check_clean(world);
}

TEST_CASE("every element type has its name in NCCL") {
    FakeWorld world(1);
    CHECK_NOTHROW(run_fake_ranks(world, 1, [&](FakeCommunicator& c) {
        const auto check = [&](auto element) {
            c.all_reduce(&element, 1).wait();
            const Log log = world.take_log(0);
            expect(contains(text_of(log),
                            ragged::concat("all_reduce 1 ", name(ragged::dtype_of<decltype(element)>))),
                   text_of(log));
        };
        check(float{}), check(double{}), check(ragged::bf16{}), check(ragged::f16{}), check(ragged::f8e4m3{});
        check(ragged::f8e5m2{}), check(std::int8_t{}), check(std::uint8_t{});
    }));
}

TEST_CASE("a group is one launch with one mark, on all communicators of the stream, nested or not") {
    FakeWorld world(2);
    CHECK_NOTHROW(run_fake_ranks(world, 2, [&](FakeCommunicator& c) {
        FakeCommunicator other = c.split(0, c.rank());
        std::vector<float> x{1, 2, 3, 4}, y(4, 1.0f), z(4);
        z[static_cast<std::size_t>(c.rank())] = 5.0f;
        const int launches = world.stream(c.rank())->launches;
        world.take_log(c.rank());
        std::vector<FakeCommunicator::Completion> all;
        c.group([&] {
            all.push_back(c.all_gather(x.data(), 2));
            c.group([&] { all.push_back(other.all_reduce(y.data(), 4)); });
            all.push_back(c.all_gather_v(z.data(), Counts{1, 1}));
        });
        expect(world.stream(c.rank())->launches == launches + 1, "one launch");
        expect_log(world, c.rank(),
                   {"group_start", "create_event", "all_gather 2 f32", "all_reduce 4 f32",
                    "broadcast 1 f32 root 0", "broadcast 1 f32 root 1", "group_end", "record"});
        all[2].wait(), all[0].wait(), all[1].wait();
        expect(y[0] == 2.0f && z[0] == 5.0f && z[1] == 5.0f, "all are done");
    }));
    check_clean(world);
}

TEST_CASE("an exception inside a group ends it and goes on; what was started is started") {
    for (int polls : {0, 2}) {
        FakeWorld world(2, {.polls = polls});
        CHECK_NOTHROW(run_fake_ranks(world, 2, [&](FakeCommunicator& c) {
            std::vector<float> x(2);
            x[static_cast<std::size_t>(c.rank())] = 1.0f;
            const std::string message = message_of([&] {
                c.group([&] {
                    static_cast<void>(c.all_gather(x.data(), 1));
                    throw std::runtime_error("from the body");
                });
            });
            expect(message == "from the body", message);
            c.barrier().wait(); // usable
            expect(x[0] == 1.0f && x[1] == 1.0f, "the gather ran");
        }));
        check_clean(world);
    }
}

TEST_CASE("inside a group nobody waits") {
    const std::pair<const char*, std::function<void(FakeCommunicator&)>> cases[] = {
        {"all_gather of 0 f32 on rank 0 of 1: waited for inside the group that starts it",
         [](FakeCommunicator& c) { c.all_gather(static_cast<float*>(nullptr), 0).wait(); }},
        {"all_gather of 0 f32 on rank 0 of 1: waited for inside the group that starts it",
         [](FakeCommunicator& c) { c.all_gather(static_cast<float*>(nullptr), 0).wait(c.stream()); }},
        {"split on rank 0 of 1: called inside a group",
         [](FakeCommunicator& c) { static_cast<void>(c.split(0, 0)); }},
        {"all_gather_host of 1 u8 on rank 0 of 1: called inside a group", [](FakeCommunicator& c) {
             std::uint8_t byte = 0;
             c.all_gather_host(&byte, 1);
         }}};
    for (const auto& named : cases) {
        FakeWorld world(1);
        const std::string message = message_of([&] {
            run_fake_ranks(world, 1, [&](FakeCommunicator& c) { c.group([&] { named.second(c); }); });
        });
        CHECK(message == named.first);
        check_clean(world);
    }
}

TEST_CASE("a group takes no part in what runs on another stream") {
    FakeWorld world(2);
    const auto alone = [&](int rank) {
        const FakeNccl api(world, rank);
        return FakeCommunicator(FakeCommunicator::make_id(api), 0, 1, world.stream(rank), {}, api);
    };
    {
        FakeCommunicator one = alone(0), two = alone(1);
        float x = 0;
        one.group([&] {
            auto first = one.all_reduce(&x, 1);
            CHECK(message_of([&] { two.all_reduce(&x, 1).wait(); }) ==
                  "all_reduce of 1 f32 on rank 0 of 1: a group of another stream is open");
            CHECK(
                contains(message_of([&] { two.group([] {}); }), "group on rank 0 of 1: a group of another"));
            CHECK(contains(message_of([&] { static_cast<void>(two.split(0, 0)); }), "a group of another"));
        });
        CHECK_NOTHROW(two.all_reduce(&x, 1).wait());
        CHECK_NOTHROW(one.all_reduce(&x, 1).wait());
    }
    check_clean(world);
}

TEST_CASE("nothing is created, allocated or waited for in the steady state") {
    for (int polls : {0, 2}) {
        FakeWorld world(2, {.polls = polls});
        CHECK_NOTHROW(run_fake_ranks(world, 2, [&](FakeCommunicator& c) {
            std::vector<float> x(64), y(64);
            const auto step = [&] {
                auto first = c.all_gather(x.data(), 4);
                auto second = c.reduce_scatter(y.data(), 4);
                second.wait(), first.wait();
            };
            step();
            world.take_log(c.rank());
            for (int i = 0; i < 5; ++i)
                step();
            const Log log = world.take_log(c.rank());
            expect(log.size() == 20, text_of(log)); // an operation and a mark each
            for (const std::string& call : log)
                expect(call == "record" || contains(call, " 4 f32"), call);
        }));
        check_clean(world);
    }
}

TEST_CASE("another stream runs behind an operation without the host") {
    FakeWorld world(2);
    std::vector<support::FakeStream*> others{world.another_stream(), world.another_stream()};
    std::vector<std::vector<float>> x(2, std::vector<float>(2)), copies(2, std::vector<float>(2));
    std::atomic<int> enqueued = 0, looked = 0;
    CHECK_NOTHROW(run_fake_ranks(world, 2, [&](FakeCommunicator& c) {
        const auto rank = static_cast<std::size_t>(c.rank());
        x[rank][rank] = static_cast<float>(rank + 1);
        c.all_gather(x[rank].data(), 1).wait(others[rank]);
        static_cast<void>(c.api().copy(copies[rank].data(), x[rank].data(), 8, others[rank]));
        ++enqueued;
        while (enqueued < 2)
            std::this_thread::yield();
        expect(copies[rank] == std::vector<float>(2), "nobody waited yet");
        ++looked;
        while (looked < 2)
            std::this_thread::yield();
        c.barrier().wait();
    }));
    world.run();
    CHECK(copies == std::vector<std::vector<float>>(2, {1.0f, 2.0f}));
    check_clean(world);
}

TEST_CASE("operations on communicators that share a stream see each other's results") {
    FakeWorld world(4, {.polls = 1});
    CHECK_NOTHROW(run_fake_ranks(world, 4, [&](FakeCommunicator& c) {
        using Plane = ragged::Topology<ragged::Axis<"replica", 2>, ragged::Axis<"shard", 2>>;
        ragged::Mesh mesh(Plane(), c);
        std::vector<float> x{static_cast<float>(1 << c.rank()), 0.0f};
        static_cast<void>(mesh.along<"shard">().all_reduce(x.data(), 1));
        mesh.along<"replica">().all_reduce(x.data(), 1).wait();
        expect(x[0] == 15.0f, "the sum over both axes");
    }));
    check_clean(world);
}

TEST_CASE("what NCCL must not see is refused, and is a failure of the communicator") {
    const auto refused = [](const std::string& text, const Collectives::Call& call, NcclOptions options = {},
                            support::FakeOptions fake = {}) {
        FakeWorld world(1, std::move(fake));
        std::atomic<int> failed = 0;
        CHECK_NOTHROW(run_fake_ranks(
            world, 1,
            [&](FakeCommunicator& c) {
                const Log before = world.take_log(0);
                try {
                    call(c);
                    expect(false, "it is refused: " + text);
                } catch (const CommError& error) {
                    expect(contains(error.what(), text), std::string(error.what()) + " says " + text);
                    expect(contains(error.what(), "on rank 0 of 1"), error.what());
                    expect(error.rank() == 0, "this rank is to blame");
                    expect(dynamic_cast<const NcclError*>(&error) == nullptr, "NCCL knows nothing of it");
                }
                for (const std::string& line : world.take_log(0))
                    expect(line == "abort" || line == "create_event" || line == "record", line);
                const std::string again = message_of([&] { c.barrier().wait(); });
                expect(contains(again, text) &&
                           contains(again,
                                    "(seen by barrier on rank 0; the communicator and those split from "
                                    "it are of no use any more)"),
                       again);
                ++failed;
            },
            options));
        CHECK(failed == 1);
        check_clean(world);
    };
    static float x[64], y[64];
    constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();
    refused("all_gather of -1 f32 on rank 0 of 1: count -1 is negative",
            [](FakeCommunicator& c) { c.all_gather(x, -1).wait(); });
    refused("do not fit 64 bits of bytes", [](FakeCommunicator& c) { c.all_reduce(x, huge / 4 + 1).wait(); });
    refused("do not fit 64 bits of bytes", [](FakeCommunicator& c) { c.reduce_scatter(x, huge).wait(); });
    refused("broadcast of 4 f32 on rank 0 of 1: the pointer is null",
            [](FakeCommunicator& c) { c.broadcast(static_cast<float*>(nullptr), 4, 0).wait(); });
    refused("the pointer is not aligned to 4 bytes", [](FakeCommunicator& c) {
        c.all_gather(reinterpret_cast<float*>(reinterpret_cast<char*>(x) + 2), 1).wait();
    });
    refused("root 1 is not in [0, 1)", [](FakeCommunicator& c) { c.broadcast(x, 4, 1).wait(); });
    refused("root -1 is not in [0, 1)", [](FakeCommunicator& c) { c.broadcast(x, 0, -1).wait(); });
    refused("all_gather_v on rank 0 of 1: got 2 counts for 1 ranks", [](FakeCommunicator& c) {
        c.all_gather_v(x, Counts{1, 1}).wait();
    });
    refused("reduce_scatter_v on rank 0 of 1: count -2 is negative",
            [](FakeCommunicator& c) { c.reduce_scatter_v(x, Counts{-2}).wait(); });
    refused("all_to_all_v on rank 0 of 1: got 0 counts for 1 ranks", [](FakeCommunicator& c) {
        c.all_to_all_v(static_cast<const float*>(x), Counts{1}, y, Counts{}).wait();
    });
    refused("peer 1 is not in [0, 1)", [](FakeCommunicator& c) {
        const std::vector<Message<const float>> sends{{x, 4, 1}};
        c.send_receive(std::span(sends), std::span<const Message<float>>()).wait();
    });
    refused("the pointer is null", [](FakeCommunicator& c) {
        const std::vector<Message<float>> receives{{nullptr, 4, 0}};
        c.send_receive(std::span<const Message<const float>>(), std::span(receives)).wait();
    });
    refused("split on rank 0 of 1: color -1 is negative",
            [](FakeCommunicator& c) { static_cast<void>(c.split(-1, 0)); });
    refused("all_gather_host of -1 u8 on rank 0 of 1: count -1 is negative",
            [](FakeCommunicator& c) { c.all_gather_host(nullptr, -1); });
    refused("reductions of f8e4m3 need a device of sm_90",
            [](FakeCommunicator& c) {
                expect(!c.can_sum(DType::f8e4m3) && c.can_sum(DType::bf16), "as the device says");
                c.all_gather(reinterpret_cast<ragged::f8e4m3*>(x), 0).wait(); // moving them works anywhere
                c.reduce_scatter_v(reinterpret_cast<ragged::f8e4m3*>(x), Counts{4}).wait();
            },
            {}, {.can_sum_fp8 = false});
}

TEST_CASE("memory of another space is refused when pointers are checked") {
    for (bool check : {false, true}) {
        FakeWorld world(1);
        std::vector<float> x(4);
        world.spaces_[x.data()] = ragged::host_space;
        const std::string message = message_of([&] {
            run_fake_ranks(world, 1, [&](FakeCommunicator& c) { c.all_reduce(x.data(), 4).wait(); },
                           {.check_pointers = check});
        });
        CHECK(message == (check ? "all_reduce of 4 f32 on rank 0 of 1: the pointer is to host memory, the "
                                  "communicator works in memory of device 0"
                                : ""));
        check_clean(world);
    }
}

TEST_CASE("a call that fails is an error with its status on that rank, and ends the others' waiting") {
    for (const char* function :
         {"all_gather", "reduce_scatter", "all_reduce", "broadcast", "reduce", "send", "receive",
          "group_start", "group_end", "record", "create_event", "copy", "split", "rank_of"}) {
        CAPTURE(function);
        FakeWorld world(3, {.faults = {{1, function, 0, {NcclStatus::Library::cuda, 77}}}});
        Collectives collectives(3);
        std::atomic<int> failed = 0;
        CHECK_NOTHROW(run_fake_ranks(
            world, 3,
            [&](FakeCommunicator& c) {
                try {
                    for (const auto& named : collectives.all())
                        named.second(c);
                    c.barrier().wait(); // the failure may be behind the last one
                } catch (const NcclError& error) {
                    if (c.rank() == 1) {
                        expect(error.status() == NcclStatus{NcclStatus::Library::cuda, 77} &&
                                   error.rank() == 1,
                               error.what());
                        expect(contains(error.what(),
                                        "on rank 1 of 3: CUDA status 77, fake status 77: injected"),
                               error.what());
                    } else {
                        expect(error.status() == ragged::nccl_remote_error && error.rank() == -1,
                               error.what());
                    }
                    for (const auto& named : collectives.all()) {
                        const std::string again = message_of([&] { named.second(c); });
                        expect(contains(again, "seen by " + named.first), again);
                    }
                    ++failed;
                }
            },
            {.timeout = 20s}));
        CHECK(failed == 3);
        check_clean(world);
    }
}

TEST_CASE(
    "done() looks and enqueues nothing; it is false while the group is open, and true after a failure") {
    FakeWorld world(2);
    static float x[2][4];
    std::atomic<int> failed = 0;
    CHECK_NOTHROW(run_fake_ranks(
        world, 2,
        [&](FakeCommunicator& c) {
            std::vector<FakeCommunicator::Completion> all;
            c.group([&] {
                all.push_back(c.all_gather(x[c.rank()], 2));
                expect(!all[0].done(), "it has not begun");
            });
            world.take_log(c.rank());
            while (!all[0].done())
                std::this_thread::yield();
            expect_log(world, c.rank(), {});
            all[0].wait();

            all.push_back(c.rank() == 0 ? c.all_gather(x[0], 2) : c.all_reduce(x[1], 4));
            while (!all[1].done()) // a difference that only NCCL finds, when both are there
                std::this_thread::yield();
            expect(contains(message_of([&] { all[1].wait(); }), "NCCL status"), "wait() says why");
            expect(all[0].done(), "a wait would throw at once");
            ++failed;
        },
        {.timeout = 20s}));
    CHECK(failed == 2);
    check_clean(world);
}

TEST_CASE("a failure to begin leaves nothing behind") {
    for (const char* function : {"allocate_device", "allocate_host", "initialise"}) {
        FakeWorld world(1, {.faults = {{0, function, 0, support::fake_invalid_usage}}});
        const std::string message = message_of([&] { run_fake_ranks(world, 1, [](FakeCommunicator&) {}); });
        CHECK(message == "initialisation on rank 0 of 1: NCCL status 5, fake status 5: injected");
        check_clean(world);
    }
    FakeWorld world(1, {.faults = {{0, "unique_id", 0, support::fake_invalid_usage}}});
    CHECK(message_of([&] { static_cast<void>(FakeCommunicator::make_id(FakeNccl(world, 0))); }) ==
          "make_id: NCCL status 5, fake status 5: injected");
    for (auto [rank, size] : {std::pair{2, 2}, {-1, 2}, {0, 0}})
        CHECK(contains(message_of([&, r = rank, n = size] {
                           FakeCommunicator c({}, r, n, world.stream(0), {}, FakeNccl(world, 0));
                       }),
                       "is not in [0, "));
    check_clean(world);
}

TEST_CASE("a rank that does not come is an error within the time-out, in every collective") {
    Collectives collectives(3);
    for (const auto& named : collectives.all()) {
        const std::string& name = named.first;
        CAPTURE(name);
        FakeWorld world(3, {.abort_spreads = false});
        std::atomic<int> failed = 0;
        std::atomic<bool> leave = false;
        CHECK_NOTHROW(run_fake_ranks(
            world, 3,
            [&](FakeCommunicator& c) {
                if (c.rank() == 2) {
                    while (!leave)
                        std::this_thread::sleep_for(1ms);
                    return c.abandon("it never came");
                }
                const auto start = std::chrono::steady_clock::now();
                try {
                    named.second(c);
                    expect(name == "broadcast" || name == "send_receive", "nobody finishes alone");
                } catch (const NcclError& error) {
                    expect(contains(error.what(), name) && contains(error.what(), "not done within 100 ms"),
                           error.what());
                    expect(error.status().in_progress() && error.rank() == -1, error.what());
                    expect(contains(message_of([&] { c.barrier().wait(); }), "not done within"),
                           "it stays failed");
                }
                expect(std::chrono::steady_clock::now() - start < 10s, "in time");
                if (++failed == 2)
                    leave = true;
            },
            {.timeout = 100ms}));
        CHECK(failed == 2);
        check_clean(world);
    }
}

TEST_CASE("a world that is not complete in time is an error") {
    FakeWorld world(2);
    const std::string message = message_of([&] {
        FakeCommunicator c(FakeCommunicator::make_id(FakeNccl(world, 0)), 0, 2, world.stream(0),
                           {.timeout = 30ms}, FakeNccl(world, 0));
    });
    CHECK(message == "initialisation on rank 0 of 2: not done within 30 ms");
    check_clean(world);
}

TEST_CASE("calls that differ between ranks are an asynchronous error, not a hang") {
    const auto all_fail = [](const std::string& text, const Collectives::Call& call) {
        FakeWorld world(2);
        std::atomic<int> failed = 0;
        CHECK_NOTHROW(run_fake_ranks(world, 2,
                                     [&](FakeCommunicator& c) {
                                         const std::string message = message_of([&] { call(c); });
                                         expect(contains(message, "NCCL status"), message);
                                         failed += contains(message, text);
                                     },
                                     {.timeout = 20s}));
        CHECK(failed >= 1); // the other may see the abort first
        check_clean(world);
    };
    static float x[2][64];
    const auto own = [](FakeCommunicator& c) { return x[c.rank()]; };
    all_fail("called all_gather of 5 f32",
             [=](FakeCommunicator& c) { c.all_gather(own(c), 4 + c.rank()).wait(); });
    all_fail("called reduce_scatter of 4 f32", [=](FakeCommunicator& c) {
        c.rank() == 0 ? c.all_gather(own(c), 4).wait() : c.reduce_scatter(own(c), 4).wait();
    });
    const auto mixed = [](const FakeCommunicator& c) {
        return c.rank() == 1 ? Reduction::max : Reduction::sum;
    };
    all_fail("rank 1 called all_reduce of 4 f32 by max",
             [=](FakeCommunicator& c) { c.all_reduce(own(c), 4, mixed(c)).wait(); });
    all_fail("rank 1 called reduce_scatter of 4 f32 by max",
             [=](FakeCommunicator& c) { c.reduce_scatter(own(c), 4, mixed(c)).wait(); });
    all_fail("rank 1 called reduce of 4 f32 by max", [=](FakeCommunicator& c) {
        c.reduce_scatter_v(own(c), Counts{0, 4}, mixed(c)).wait();
    });
    all_fail("root 1", [=](FakeCommunicator& c) { c.broadcast(own(c), 4, c.rank()).wait(); });
    all_fail("expects 4 f32", [=](FakeCommunicator& c) {
        const std::vector<Message<const float>> sends{{own(c), c.rank() == 0 ? 5 : 4, 1 - c.rank()}};
        const std::vector<Message<float>> receives{{own(c) + 32, 4, 1 - c.rank()}};
        c.send_receive(std::span(sends), std::span(receives)).wait();
        c.barrier().wait();
    });
}

TEST_CASE("a failure on a communicator fails those that share its stream, and aborts each once") {
    FakeWorld world(2, {.abort_spreads = false}); // else the other rank may be early to hear of it
    std::atomic<int> failed = 0;
    CHECK_NOTHROW(run_fake_ranks(world, 2, [&](FakeCommunicator& c) {
        FakeCommunicator child = c.split(0, c.rank());
        FakeCommunicator grandchild = child.split(0, c.rank());
        float x = 0;
        auto pending = c.all_reduce(&x, 1);
        pending.wait();
        world.take_log(c.rank());
        expect(contains(message_of([&] { child.all_gather(&x, -1).wait(); }), "count -1"),
               "the first failure");
        expect(text_of(world.take_log(c.rank())) == "abort; abort; abort; ", "all of them");
        for (FakeCommunicator* each : {&c, &child, &grandchild})
            expect(contains(message_of([&] { each->all_gather(&x, 1).wait(); }), "count -1"), "it stays");
        expect(contains(message_of([&] { pending.wait(); }), "count -1"), "in earlier ones, too");
        expect(text_of(world.take_log(c.rank())) == "", "nothing more is asked of NCCL");
        ++failed;
    }));
    CHECK(failed == 2);
    check_clean(world);
}

TEST_CASE("a failure inside a group is aborted when the group has ended") {
    FakeWorld world(1);
    CHECK_NOTHROW(run_fake_ranks(world, 1, [&](FakeCommunicator& c) {
        float x = 0;
        world.take_log(0);
        const std::string swallowed = message_of([&] {
            c.group([&] {
                static_cast<void>(c.all_reduce(&x, 1));
                try {
                    static_cast<void>(c.all_reduce(&x, -1));
                } catch (const CommError&) { // the group tells it all the same
                }
            });
        });
        expect(contains(swallowed, "count -1 is negative") && contains(swallowed, "seen by group"),
               swallowed);
        expect(text_of(world.take_log(0)) ==
                   "group_start; create_event; all_reduce 1 f32; group_end; abort; ",
               "the abort comes last");
    }));
    check_clean(world);
}

TEST_CASE("completions may be dropped, moved and outlive the communicator") {
    FakeWorld world(2);
    CHECK_NOTHROW(run_fake_ranks(world, 2, [&](FakeCommunicator& c) {
        std::vector<float> x(64);
        static_cast<void>(c.all_gather(x.data(), 4)); // dropped
        auto first = c.all_gather(x.data(), 4);
        auto second = std::move(first);
        first = c.barrier();
        std::swap(first, second);
        second.wait(), first.wait(), first.wait();
        FakeCommunicator child = c.split(c.rank(), 0);
        auto late = child.barrier();
        child = c;
        late.wait();
    }));
    check_clean(world);
}

TEST_CASE("a host message longer than the scratch is gathered in parts") {
    for (int ranks : {1, 3}) {
        FakeWorld world(ranks);
        CHECK_NOTHROW(run_fake_ranks(world, ranks, [&](FakeCommunicator& c) {
            constexpr std::int64_t bytes = 70'001;
            std::vector<std::uint8_t> x(static_cast<std::size_t>(bytes * c.size()), 255);
            const auto value = [](int rank, std::int64_t i) {
                return static_cast<std::uint8_t>(i * 7 + rank);
            };
            for (std::int64_t i = 0; i < bytes; ++i)
                x[static_cast<std::size_t>(c.rank() * bytes + i)] = value(c.rank(), i);
            c.all_gather_host(x.data(), bytes);
            for (int rank = 0; rank < c.size(); ++rank)
                for (std::int64_t i = 0; i < bytes; ++i)
                    expect(x[static_cast<std::size_t>(rank * bytes + i)] == value(rank, i), "every byte");
        }));
        check_clean(world);
    }
}
