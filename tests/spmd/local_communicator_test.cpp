// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What only the in-process communicator promises: fixed order of sums, injected faults, errors on every rank.
#include <doctest/doctest.h>

#include <atomic>
#include <cmath>
#include <functional>

#include <ragged/comm/local_communicator.hpp>

#include "support/expect.hpp"

using namespace std::chrono_literals;
using ragged::LocalCommunicator;
using support::contains;
using support::expect;
using support::message_of;

namespace {

using Collective = std::function<void(LocalCommunicator&)>;

/// Every collective of a communicator of at least 2 ranks, by name.
std::vector<std::pair<std::string, Collective>> collectives() {
    static constexpr std::int64_t n = 4;
    const auto buffer = [](const LocalCommunicator& c) {
        return std::vector<float>(static_cast<std::size_t>(c.size() * n), 1.0f);
    };
    const auto uneven = [](const LocalCommunicator& c) { // nothing on the first rank, most on the last
        std::vector<std::int64_t> counts(static_cast<std::size_t>(c.size()), 1);
        counts.front() = 0;
        counts.back() = n;
        return counts;
    };
    return {
        {"all_gather",
         [=](LocalCommunicator& c) {
             auto x = buffer(c);
             c.all_gather(x.data(), n).wait();
         }},
        {"reduce_scatter",
         [=](LocalCommunicator& c) {
             auto x = buffer(c);
             c.reduce_scatter(x.data(), n).wait();
         }},
        {"all_gather_v",
         [=](LocalCommunicator& c) {
             auto x = buffer(c);
             c.all_gather_v(x.data(), uneven(c)).wait();
         }},
        {"reduce_scatter_v",
         [=](LocalCommunicator& c) {
             auto x = buffer(c);
             c.reduce_scatter_v(x.data(), uneven(c)).wait();
         }},
        {"all_reduce",
         [=](LocalCommunicator& c) {
             auto x = buffer(c);
             c.all_reduce(x.data(), n).wait();
         }},
        {"broadcast",
         [=](LocalCommunicator& c) {
             auto x = buffer(c);
             c.broadcast(x.data(), n, 1).wait();
         }},
        {"send_receive",
         [=](LocalCommunicator& c) {
             auto x = buffer(c), y = buffer(c);
             std::vector<ragged::Message<const float>> sends;
             std::vector<ragged::Message<float>> receives;
             for (int peer = 0; peer < c.size(); ++peer) {
                 sends.push_back({x.data(), n, peer});
                 receives.push_back({y.data() + peer * n, n, peer});
             }
             c.send_receive(std::span<const ragged::Message<const float>>(sends),
                            std::span<const ragged::Message<float>>(receives))
                 .wait();
         }},
        {"all_to_all_v",
         [=](LocalCommunicator& c) {
             auto x = buffer(c), y = buffer(c);
             const std::vector<std::int64_t> counts(static_cast<std::size_t>(c.size()), n);
             c.all_to_all_v(x.data(), std::span(counts), y.data(), std::span(counts)).wait();
         }},
        {"barrier", [](LocalCommunicator& c) { c.barrier().wait(); }},
        {"split", [](LocalCommunicator& c) { static_cast<void>(c.split(0, 0)); }},
    };
}

} // namespace

TEST_CASE("sums are taken in rank order, with the same bits on every run") {
    for (int ranks : {2, 3, 5, 8}) {
        const auto part = [](int rank, std::size_t i) {
            return std::ldexp(
                1.0f +
                    static_cast<float>((static_cast<std::size_t>(rank) * 7919 + i * 104729) % 1000) / 1000.0f,
                static_cast<int>((static_cast<std::size_t>(rank) + i) % 40) - 20);
        };
        for (int run = 0; run < 5; ++run)
            CHECK_NOTHROW(ragged::run_ranks(
                ranks,
                [&](LocalCommunicator c) {
                    std::vector<float> x(3000 * static_cast<std::size_t>(ranks));
                    for (std::size_t i = 0; i < x.size(); ++i)
                        x[i] = part(c.rank(), i);
                    std::vector<float> y = x, z = x;
                    std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), 1);
                    counts.back() = 3000;
                    c.reduce_scatter(x.data(), 3000).wait();
                    c.reduce_scatter_v(z.data(), counts).wait();
                    c.all_reduce(y.data(), static_cast<std::int64_t>(y.size())).wait();
                    for (std::size_t i = 0; i < y.size(); ++i) {
                        float sum = 0;
                        for (int rank = 0; rank < ranks; ++rank)
                            sum = rank == 0 ? part(0, i) : sum + part(rank, i);
                        expect(y[i] == sum, "all_reduce adds in rank order");
                        if (i / 3000 == static_cast<std::size_t>(c.rank()))
                            expect(x[i] == sum, "reduce_scatter adds in rank order");
                    }
                    const auto first =
                        static_cast<std::size_t>(c.rank()); // one element for every rank before
                    for (std::size_t i = first; i < first + static_cast<std::size_t>(counts[first]); ++i)
                        expect(z[i] == y[i], "reduce_scatter_v adds in rank order");
                },
                {.background = run % 2 == 1}));
    }
}

TEST_CASE("bf16 sums are accumulated in fp32 and rounded once") {
    CHECK_NOTHROW(ragged::run_ranks(8, [](LocalCommunicator c) {
        std::vector<ragged::bf16> x(1, ragged::bf16(c.rank() == 0 ? 256.0f : 1.0f)); // 257 is no bf16
        c.all_reduce(x.data(), 1).wait();
        expect(float(x[0]) == float(ragged::bf16(263.0f)), "256 + 7 * 1");
    }));
}

TEST_CASE("an injected fault is an error on every rank that names rank and operation, in every collective") {
    for (int ranks : {2, 3, 5})
        for (const auto& named : collectives())
            for (int mode : {0, 1, 2, 3}) {
                const std::int64_t k = mode % 2;
                const bool background = mode >= 2;
                CAPTURE(background);
                std::atomic<int> failed = 0;
                const std::string& name = named.first;
                const Collective& collective = named.second;
                CAPTURE(name);
                CHECK_NOTHROW(ragged::run_ranks(
                    ranks,
                    [&](LocalCommunicator c) {
                        try {
                            collective(c);
                            expect(k == 1, "the first call fails");
                            collective(c);
                        } catch (const ragged::CommError& error) {
                            expect(error.rank() == 1, "the fault is on rank 1");
                            expect(contains(error.what(),
                                            name + ": injected fault in call " + std::to_string(k)),
                                   error.what());
                            expect(contains(message_of([&] { collective(c); }), "injected fault"),
                                   "the communicator stays failed");
                            ++failed;
                        }
                    },
                    {.timeout = 20s, .faults = {{1, k}}, .background = background}));
                CHECK(failed == ranks);
            }
}

TEST_CASE("a rank that does not come is an error on all others that names it, in every collective") {
    for (const bool background : {false, true})
        for (const auto& named : collectives()) {
            CAPTURE(background);
            std::atomic<int> failed = 0;
            const std::string& name = named.first;
            const Collective& collective = named.second;
            CAPTURE(name);
            CHECK_NOTHROW(ragged::run_ranks(
                4,
                [&](LocalCommunicator c) {
                    if (c.rank() == 2)
                        return;
                    try {
                        collective(c);
                    } catch (const ragged::CommError& error) {
                        expect(error.rank() == 2, std::string("rank 2 is to blame in ") + error.what());
                        expect(contains(error.what(), name) && contains(error.what(), "within 50 ms"),
                               error.what());
                        ++failed;
                    }
                },
                {.timeout = 50ms, .background = background}));
            CHECK(failed == 3);
        }
}

TEST_CASE("calls that differ between ranks are an error on every rank, not a hang") {
    const auto all_fail = [](const std::string& text, const std::function<void(LocalCommunicator&)>& call) {
        for (const bool background : {false, true}) {
            CAPTURE(background);
            std::atomic<int> failed = 0;
            CHECK_NOTHROW(ragged::run_ranks(3,
                                            [&](LocalCommunicator c) {
                                                const std::string message = message_of([&] { call(c); });
                                                expect(contains(message, text),
                                                       "'" + message + "' says " + text);
                                                ++failed;
                                            },
                                            {.timeout = 20s, .background = background}));
            CHECK(failed == 3);
        }
    };
    all_fail("rank 1 called all_gather of 5 f32, rank 0 called all_gather of 4 f32",
             [](LocalCommunicator& c) {
                 std::vector<float> y(64);
                 c.all_gather(y.data(), c.rank() == 1 ? 5 : 4).wait();
             });
    all_fail("rank 2 called all_gather of 4 bf16", [](LocalCommunicator& c) {
        std::vector<float> y(64);
        std::vector<ragged::bf16> z(64);
        c.rank() == 2 ? c.all_gather(z.data(), 4).wait() : c.all_gather(y.data(), 4).wait();
    });
    all_fail("rank 1 called reduce_scatter of 4 f32", [](LocalCommunicator& c) {
        std::vector<float> y(64);
        c.rank() == 1 ? c.reduce_scatter(y.data(), 4).wait() : c.all_gather(y.data(), 4).wait();
    });
    all_fail("rank 1 called all_gather_v of 4 5 0 f32, rank 0 called all_gather_v of 4 4 0 f32",
             [](LocalCommunicator& c) {
                 std::vector<float> y(64);
                 c.all_gather_v(y.data(), std::vector<std::int64_t>{4, c.rank() == 1 ? 5 : 4, 0}).wait();
             });
    all_fail("rank 2 called reduce_scatter_v of 0 4 4 f32, rank 0 called reduce_scatter_v of 4 4 4 f32",
             [](LocalCommunicator& c) {
                 std::vector<float> y(64);
                 c.reduce_scatter_v(y.data(), std::vector<std::int64_t>{c.rank() == 2 ? 0 : 4, 4, 4}).wait();
             });
    using ragged::Reduction;
    const auto mixed = [](const LocalCommunicator& c) {
        return c.rank() == 1 ? Reduction::max : Reduction::sum;
    };
    all_fail("rank 1 called all_reduce of 4 f32 by max, rank 0 called all_reduce of 4 f32",
             [=](LocalCommunicator& c) {
                 std::vector<float> y(64);
                 c.all_reduce(y.data(), 4, mixed(c)).wait();
             });
    all_fail("rank 1 called reduce_scatter of 4 f32 by max, rank 0 called reduce_scatter of 4 f32",
             [=](LocalCommunicator& c) {
                 std::vector<float> y(64);
                 c.reduce_scatter(y.data(), 4, mixed(c)).wait();
             });
    all_fail(
        "rank 1 called reduce_scatter_v of 4 4 0 f32 by max, rank 0 called reduce_scatter_v of 4 4 0 f32",
        [=](LocalCommunicator& c) {
            std::vector<float> y(64);
            c.reduce_scatter_v(y.data(), std::vector<std::int64_t>{4, 4, 0}, mixed(c)).wait();
        });
    all_fail("rank 1 called all_gather of 4 f32, rank 0 called all_gather_v of 4 4 4 f32",
             [](LocalCommunicator& c) {
                 std::vector<float> y(64);
                 c.rank() == 1 ? c.all_gather(y.data(), 4).wait()
                               : c.all_gather_v(y.data(), std::vector<std::int64_t>{4, 4, 4}).wait();
             });
    all_fail("all_gather_v: got 2 counts for 3 ranks", [](LocalCommunicator& c) {
        std::vector<float> y(64);
        c.all_gather_v(y.data(), std::vector<std::int64_t>(c.rank() == 1 ? 2 : 3, 4)).wait();
    });
    all_fail("reduce_scatter_v: got 0 counts for 3 ranks", [](LocalCommunicator& c) {
        c.reduce_scatter_v(static_cast<float*>(nullptr), std::vector<std::int64_t>{}).wait();
    });
    all_fail("root", [](LocalCommunicator& c) {
        std::vector<float> y(64);
        c.broadcast(y.data(), 4, c.rank() == 0 ? 0 : 1).wait();
    });
    all_fail("root 7 is not in [0, 3)", [](LocalCommunicator& c) {
        std::vector<float> y(64);
        c.broadcast(y.data(), 4, 7).wait();
    });
    all_fail("rank 2 sends 3 to rank 0, which expects 4", [](LocalCommunicator& c) {
        std::vector<float> y(64), z(64);
        std::vector<std::int64_t> send{4, 4, 4}, receive{4, 4, 4};
        if (c.rank() == 2)
            send[0] = 3;
        c.all_to_all_v(y.data(), std::span<const std::int64_t>(send), z.data(),
                       std::span<const std::int64_t>(receive))
            .wait();
    });
    all_fail("got 2 send and 3 receive counts for 3 ranks", [](LocalCommunicator& c) {
        std::vector<float> y(64), z(64);
        const std::vector<std::int64_t> send{4, 4}, receive{4, 4, 4};
        c.all_to_all_v(y.data(), std::span(send), z.data(), std::span(receive)).wait();
    });
    all_fail("count -1 is negative",
             [](LocalCommunicator& c) { c.all_gather(static_cast<float*>(nullptr), -1).wait(); });
    all_fail("reduce_scatter_v: count -2 is negative", [](LocalCommunicator& c) {
        std::vector<float> y(64);
        c.reduce_scatter_v(y.data(), std::vector<std::int64_t>{4, -2, 0}).wait();
    });
    all_fail("color -1 is negative", [](LocalCommunicator& c) { static_cast<void>(c.split(-1, 0)); });
    all_fail("peer 3 is not in [0, 3)", [](LocalCommunicator& c) {
        std::vector<float> y(64);
        const std::vector<ragged::Message<const float>> sends{{y.data(), 4, 3}};
        c.send_receive(std::span(sends), std::span<const ragged::Message<float>>()).wait();
    });
}

TEST_CASE("a message of another length or type names both ranks") {
    for (const bool background : {false, true}) {
        CAPTURE(background);
        std::atomic<int> failed = 0;
        CHECK_NOTHROW(ragged::run_ranks(
            2,
            [&](LocalCommunicator c) {
                std::vector<float> x(8), y(8);
                const std::vector<ragged::Message<const float>> sends{
                    {x.data(), c.rank() == 0 ? 5 : 4, 1 - c.rank()}};
                const std::vector<ragged::Message<float>> receives{{y.data(), 4, 1 - c.rank()}};
                const std::string message =
                    message_of([&] { c.send_receive(std::span(sends), std::span(receives)).wait(); });
                // rank 0 may be done before rank 1 finds the fault; its next call says so
                const std::string next = message.empty() ? message_of([&] { c.barrier().wait(); }) : message;
                expect(contains(next, "rank 0 sent 5 f32 to rank 1, which expects 4 f32"), next);
                ++failed;
            },
            {.timeout = 20s, .background = background}));
        CHECK(failed == 2);
    }
}

TEST_CASE("a world has at least one rank") {
    CHECK(contains(message_of([] { static_cast<void>(LocalCommunicator::make_world(0)); }),
                   "at least 1 rank, got 0"));
}
