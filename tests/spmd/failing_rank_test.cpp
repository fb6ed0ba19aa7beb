// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A rank that fails is known to the others at once, in whichever communicator they wait, with threads in the
// background and without.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include <ragged/comm/local_communicator.hpp>

#include "support/expect.hpp"

using namespace std::chrono_literals;
using ragged::LocalCommunicator;
using support::contains;
using support::expect;
using support::message_of;

TEST_CASE("an exception in one rank ends the others and is the one that comes out") {
    for (const bool background : {false, true}) {
        CAPTURE(background);
        const auto start = std::chrono::steady_clock::now();
        const std::string message = message_of([&] {
            ragged::run_ranks(5,
                              [](LocalCommunicator c) {
                                  if (c.rank() == 3)
                                      throw std::logic_error("a bug in rank 3");
                                  c.barrier().wait();
                              },
                              {.background = background});
        });
        CHECK(message == "a bug in rank 3");
        CHECK(std::chrono::steady_clock::now() - start < 30s); // the time-out is 60 s
    }
}

TEST_CASE("a rank that fails ends every communicator it belongs to") {
    const std::pair<std::string, std::function<void(LocalCommunicator&)>> causes[] = {
        {"a bug in rank 3", [](LocalCommunicator&) { throw std::logic_error("a bug in rank 3"); }},
        {"plans differ", [](LocalCommunicator&) { throw ragged::CommError("plans differ", "agree", -1); }},
        {"no std::exception", [](LocalCommunicator&) { throw 3; }},
        {"root 7", // the rank itself goes on
         [](LocalCommunicator& world) {
             static_cast<void>(
                 message_of([&] { world.broadcast(static_cast<float*>(nullptr), 0, 7).wait(); }));
         }},
    };
    for (const bool background : {false, true})
        for (const auto& cause : causes) {
            CAPTURE(background);
            CAPTURE(cause.first);
            const auto start = std::chrono::steady_clock::now();
            std::atomic<int> told = 0;
            try {
                ragged::run_ranks(4,
                                  [&](LocalCommunicator world) {
                                      LocalCommunicator pair = world.split(world.rank() % 2, 0);
                                      if (world.rank() == 3)
                                          return cause.second(world);
                                      // 1 waits for 3 in their pair, 2 in the world; 0 waits for 2 in a pair
                                      // that 3 is not in
                                      LocalCommunicator& waiting = world.rank() == 2 ? world : pair;
                                      const std::string message =
                                          message_of([&] { waiting.barrier().wait(); });
                                      expect(contains(message, cause.first), message);
                                      ++told;
                                  },
                                  {.timeout = 20s, .background = background});
            } catch (...) { // the cause itself
            }
            CHECK(told == 3);
            CHECK(std::chrono::steady_clock::now() - start < 10s);
        }
}

TEST_CASE("a rank that dies ends what the others' threads are inside of, and its own") {
    std::vector<std::vector<float>> x(4, std::vector<float>(4)); // outlives the rank that dies
    std::atomic<int> inside = 0, told = 0;
    const auto start = std::chrono::steady_clock::now();
    const std::string cause = message_of([&] {
        ragged::run_ranks(
            4,
            [&](LocalCommunicator world) {
                LocalCommunicator pair = world.split(world.rank() % 2, 0);
                float* const own = x[static_cast<std::size_t>(world.rank())].data();
                world.all_gather(own, 1).wait();
                if (world.rank() == 3) {
                    static_cast<void>(pair.all_gather(own, 1)); // its thread waits for 1, which never comes
                    while (inside < 3 && std::chrono::steady_clock::now() - start < 10s)
                        std::this_thread::sleep_for(10ms);
                    throw std::logic_error("a bug in rank 3");
                }
                const auto waits_for_3 = world.all_gather(own, 1);
                auto behind = pair.all_gather(own, 1);
                std::this_thread::sleep_for(10ms); // long enough for its thread, most of the time
                expect(!waits_for_3.done() && !behind.done(), "rank 3 has not come");
                ++inside;
                while (!waits_for_3.done())
                    std::this_thread::sleep_for(1ms);
                try {
                    behind.wait();
                } catch (const ragged::CommError& error) {
                    expect(error.rank() == 3, error.what());
                    expect(contains(error.what(), "rank 3 left: a bug in rank 3"), error.what());
                    expect(behind.done(), "a wait would throw at once");
                    ++told;
                }
            },
            {.timeout = 20s, .background = true});
    });
    CHECK(cause == "a bug in rank 3");
    CHECK(told == 3);
    CHECK(std::chrono::steady_clock::now() - start < 10s);
}
