// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank's stream of operations: the order, when they run, and how it ends.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

#include <ragged/comm/local_communicator.hpp>

#include "support/expect.hpp"

using namespace std::chrono_literals;
using ragged::LocalCommunicator;
using ragged::detail::LocalStream;
using support::contains;
using support::message_of;

TEST_CASE("operations run in call order, whichever is waited for") {
    for (const bool background : {false, true}) {
        CAPTURE(background);
        LocalStream stream(background);
        std::vector<int> ran;
        std::vector<std::uint64_t> tickets;
        for (int i = 0; i < 100; ++i)
            tickets.push_back(stream.enqueue([&ran, i] { ran.push_back(i); }));
        stream.run_through(tickets[50]);
        CHECK(stream.done(tickets[50]));
        CHECK(stream.done(tickets[0]));
        stream.run_through(tickets[10]); // nothing is left to do
        stream.run_through(tickets[99]);
        REQUIRE(ran.size() == 100);
        for (int i = 0; i < 100; ++i)
            CHECK(ran[static_cast<std::size_t>(i)] == i);
    }
}

TEST_CASE("operations run in the background at once, else when one of them is waited for") {
    for (const bool background : {false, true}) {
        CAPTURE(background);
        LocalStream stream(background);
        std::thread::id runner;
        const std::uint64_t first = stream.enqueue([&] { runner = std::this_thread::get_id(); });
        const auto start = std::chrono::steady_clock::now();
        const auto patience = background ? 60s : 0s;
        while (!stream.done(first) && std::chrono::steady_clock::now() - start < patience)
            std::this_thread::yield();
        CHECK(stream.done(first) == background);
        stream.run_through(first);
        CHECK((runner != std::this_thread::get_id()) == background);
    }
}

TEST_CASE("after a failure nothing runs, and every wait for what was not done throws the first one") {
    for (const bool background : {false, true}) {
        CAPTURE(background);
        LocalStream stream(background);
        const auto group = std::make_shared<ragged::detail::LocalGroup>(2, ragged::LocalOptions{});
        stream.join(group, 1);
        std::atomic<int> ran = 0;
        const auto before = stream.enqueue([&] { ++ran; });
        const auto failing = stream.enqueue([] { throw std::runtime_error("the first"); });
        const auto behind = stream.enqueue([&] { ++ran; });
        CHECK(message_of([&] { stream.run_through(behind); }) == "the first");
        CHECK_NOTHROW(stream.run_through(before));
        CHECK(message_of([&] { stream.run_through(failing); }) == "the first");
        const auto late = stream.enqueue([&] { ++ran; });
        CHECK(stream.done(late)); // a wait would throw at once
        CHECK(message_of([&] { stream.run_through(late); }) == "the first");
        std::this_thread::sleep_for(10ms); // long enough for a thread that runs what it must not
        CHECK(ran == 1);
        CHECK(contains(message_of([&] { group->enter(0, {}); }),
                       "rank 1 left: the first")); // its groups know
    }
}

TEST_CASE("a stream that goes does not run what nobody can wait for any more") {
    for (const bool background : {false, true}) {
        CAPTURE(background);
        std::atomic<bool> running = false, go_on = false, ran = false;
        std::thread other;
        {
            LocalStream stream(background);
            stream.enqueue([&] {
                running = true;
                while (!go_on)
                    std::this_thread::sleep_for(1ms);
            });
            stream.enqueue([&] { ran = true; });
            while (background && !running)
                std::this_thread::sleep_for(1ms);
            other = std::thread([&] {
                std::this_thread::sleep_for(50ms); // the stream is being destroyed by now
                go_on = true;
            });
        }
        CHECK(running == background);
        CHECK((go_on || !background)); // what runs is over, never torn off
        other.join();
        CHECK_FALSE(ran);
    }
}

TEST_CASE("a communicator that goes while its thread waits for others ends at once, and they are told") {
    const auto start = std::chrono::steady_clock::now();
    std::vector<LocalCommunicator> world = LocalCommunicator::make_world(3, {.background = true});
    std::vector<float> x(3), y(3);
    auto waiting = world[1].all_gather(y.data(), 1);
    static_cast<void>(world[0].all_gather(x.data(), 1)); // rank 2 never comes
    world.erase(world.begin());
    const std::string message = message_of([&] { waiting.wait(); });
    CHECK(contains(message, "rank 0 left: it dropped its communicators before its operations were done"));
    world.clear();
    CHECK(message_of([&] { waiting.wait(); }) == message); // completions outlive them
    CHECK(std::chrono::steady_clock::now() - start < 30s); // the time-out is 60 s
}

TEST_CASE("completions outlive the communicators, and finish") {
    for (const bool background : {false, true}) {
        CAPTURE(background);
        float x[2] = {1, 0}, y[2] = {0, 2};
        std::vector<LocalCommunicator::Completion> last;
        {
            std::vector<LocalCommunicator> world =
                LocalCommunicator::make_world(2, {.background = background});
            last.push_back(world[0].all_gather(x, 1));
            last.push_back(world[1].all_gather(y, 1));
        }
        std::thread other([&] { last[1].wait(); });
        last[0].wait();
        other.join();
        CHECK((x[1] == 2 && y[0] == 1));
    }
}
