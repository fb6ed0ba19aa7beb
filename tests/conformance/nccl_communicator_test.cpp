// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "conformance/communicator_suite.hpp"
#include "support/fake_nccl.hpp"

TEST_CASE("the NCCL communicator keeps the laws of a communicator") {
    for (int ranks : {1, 2, 3, 4, 5, 8})
        for (int polls : {0, 2}) {
            if (polls > 0 && ranks > 3) // one thread per rank, all polling
                continue;
            CAPTURE(ranks);
            CAPTURE(polls);
            support::FakeWorld world(ranks, {.polls = polls});
            CHECK_NOTHROW(support::run_fake_ranks(world, ranks, [](support::FakeCommunicator& c) {
                conformance::HostArrays arrays;
                conformance::everything(c, arrays);
                conformance::progress_without_wait(c, arrays);
            }));
            CHECK(world.complaints() == std::vector<std::string>{});
            CHECK(world.live() == support::FakeLive{});
        }
}
