// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ragged/comm/local_communicator.hpp>

#include "conformance/communicator_suite.hpp"

TEST_CASE("the in-process communicator keeps the laws of a communicator") {
    for (const bool background : {false, true})
        for (int ranks : {1, 2, 3, 4, 5, 8}) {
            CAPTURE(background);
            CAPTURE(ranks);
            CHECK_NOTHROW(ragged::run_ranks(ranks,
                                            [&](ragged::LocalCommunicator world) {
                                                conformance::HostArrays arrays;
                                                conformance::everything(world, arrays);
                                                conformance::max_of_special_values(world, arrays);
                                                if (background)
                                                    conformance::progress_without_wait(world, arrays);
                                            },
                                            {.background = background}));
        }
}
