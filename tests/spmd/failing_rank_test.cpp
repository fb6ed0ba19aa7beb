// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A rank that fails is known to the others at once, in whichever communicator they wait.
#include <doctest/doctest.h>

#include <atomic>
#include <functional>

#include <ragged/comm/local_communicator.hpp>

#include "support/expect.hpp"

using namespace std::chrono_literals;
using ragged::LocalCommunicator;
using support::contains;
using support::expect;
using support::message_of;

TEST_CASE("an exception in one rank ends the others and is the one that comes out") {
    const auto start = std::chrono::steady_clock::now();
    const std::string message = message_of([] {
        ragged::run_ranks(5, [](LocalCommunicator c) {
            if (c.rank() == 3)
                throw std::logic_error("a bug in rank 3");
            c.barrier().wait();
        });
    });
    CHECK(message == "a bug in rank 3");
    CHECK(std::chrono::steady_clock::now() - start < 30s); // the time-out is 60 s
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
    for (const auto& cause : causes) {
        CAPTURE(cause.first);
        const auto start = std::chrono::steady_clock::now();
        std::atomic<int> told = 0;
        try {
            ragged::run_ranks(4,
                              [&](LocalCommunicator world) {
                                  LocalCommunicator pair = world.split(world.rank() % 2, 0);
                                  if (world.rank() == 3)
                                      return cause.second(world);
                                  // 1 waits for 3 in their pair, 2 in the world; 0 waits for 2 in a pair that
                                  // 3 is not in
                                  LocalCommunicator& waiting = world.rank() == 2 ? world : pair;
                                  const std::string message = message_of([&] { waiting.barrier().wait(); });
                                  expect(contains(message, cause.first), message);
                                  ++told;
                              },
                              {.timeout = 20s});
        } catch (...) { // the cause itself
        }
        CHECK(told == 3);
        CHECK(std::chrono::steady_clock::now() - start < 10s);
    }
}
