// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/comm/nccl_registration.hpp>

#include "support/expect.hpp"
#include "support/fake_nccl.hpp"

using ragged::NcclRegistered;
using support::contains;
using support::expect;
using support::FakeCommunicator;
using support::FakeLive;
using support::FakeWorld;
using support::message_of;

namespace {

constexpr std::size_t bytes = 8192;

/// What each of two ranks gets for memory that begins `offset(rank)` bytes behind a page.
template <class Offset>
void check_kind(NcclRegistered wanted, const Offset& offset, const support::FakeOptions& fake = {},
                const ragged::NcclOptions& options = {}) {
    FakeWorld world(2, fake);
    CHECK_NOTHROW(support::run_fake_ranks(
        world, 2,
        [&](FakeCommunicator& c) {
            ragged::HostResource host; // aligned to a page
            const ragged::Memory memory(host, 2 * bytes);
            {
                auto registered =
                    ragged::register_memory(c, static_cast<char*>(memory.data()) + offset(c.rank()), bytes);
                expect(registered.kind() == wanted, std::string(name(registered.kind())));
                const auto moved = std::move(registered);
                expect(moved.kind() == wanted && registered.kind() == NcclRegistered::none, "it moves");
                c.barrier().wait();
                const FakeLive live = world.live();
                expect(wanted != NcclRegistered::window || live.windows == 2, "windows");
                expect(wanted != NcclRegistered::local || live.registrations == 2, "registrations");
                c.barrier().wait();
            }
            c.barrier().wait();
            const FakeLive live = world.live();
            expect(live.windows == 0 && live.registrations == 0, "ended with the handle");
        },
        options));
    CHECK(world.complaints() == std::vector<std::string>{});
    CHECK(world.live() == FakeLive{});
}

constexpr auto aligned = [](int) { return 0; };

} // namespace

TEST_CASE("memory is a window where it can be one on all ranks, else known to each rank, else nothing") {
    check_kind(NcclRegistered::window, aligned);
    check_kind(NcclRegistered::window, aligned, {.polls = 2});
    check_kind(NcclRegistered::local, [](int) { return 128; });
    check_kind(NcclRegistered::local, [](int rank) { return rank == 1 ? 256 : 0; }); // on one rank only
    check_kind(NcclRegistered::local, aligned, {.windows = false});
    check_kind(NcclRegistered::local, aligned, {.plain_rank = 1});
    check_kind(NcclRegistered::local, aligned, {}, {.windows = false});
    check_kind(NcclRegistered::none, aligned, {.memory_can_be_shared = false});
}

TEST_CASE("no bytes are no registration; null is refused") {
    FakeWorld world(1);
    CHECK(message_of([&] {
              support::run_fake_ranks(world, 1, [](FakeCommunicator& c) {
                  const auto nothing = ragged::register_memory(c, nullptr, 0);
                  expect(nothing.kind() == NcclRegistered::none, "nothing");
                  static_cast<void>(ragged::register_memory(c, nullptr, 16));
              });
          }) == "register_memory of 16 u8 on rank 0 of 1: the pointer is null");
    CHECK(world.live() == FakeLive{});
}

TEST_CASE("a registration keeps its communicator, and ends with it when that is aborted") {
    FakeWorld world(1);
    ragged::HostResource host;
    const ragged::Memory memory(host, bytes);
    CHECK_NOTHROW(support::run_fake_ranks(world, 1, [&](FakeCommunicator& c) {
        FakeCommunicator child = c.split(0, 0);
        auto registered = ragged::register_memory(child, memory.data(), bytes);
        child = c;
        expect(world.live().comms == 2, "kept");
    }));
    CHECK(world.complaints() == std::vector<std::string>{});
    CHECK(world.live() == FakeLive{});

    CHECK_NOTHROW(support::run_fake_ranks(world, 1, [&](FakeCommunicator& c) {
        const auto registered = ragged::register_memory(c, memory.data(), bytes);
        c.abandon("enough");
        world.take_log(0);
    }));
    for (const std::string& call : world.take_log(0))
        CHECK(call.find("deregister") == std::string::npos); // the handle is gone with the communicator
}

TEST_CASE("a registration that fails is an error on every rank") {
    for (const char* function : {"register_window", "register_local"}) {
        FakeWorld world(2, {.windows = std::string(function) == "register_window",
                            .faults = {{1, function, 0, support::fake_invalid_argument}}});
        ragged::HostResource host;
        const ragged::Memory memory(host, bytes);
        std::vector<std::string> messages(2);
        CHECK_NOTHROW(support::run_fake_ranks(world, 2, [&](FakeCommunicator& c) {
            messages[static_cast<std::size_t>(c.rank())] = message_of([&] {
                const auto registered = ragged::register_memory(c, memory.data(), bytes);
                c.barrier().wait();
            });
        }));
        CHECK(contains(messages[1], "register_memory of 8192 u8 on rank 1 of 2: NCCL status 4"));
        CHECK(contains(messages[0], "rank 1 aborted"));
    }
}
