// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/optim/option_check.hpp>

#include <doctest/doctest.h>

#include <limits>

#include "support/expect.hpp"

using support::message_of;

TEST_CASE("what is refused is named with the number found and the range") {
    const ragged::detail::OptionCheck check{"Lion"};
    constexpr double beyond = 1e39; // no float
    for (const double good : {0.0, -1.0, 1e-60, 3e38})
        CHECK_NOTHROW(check.finite("x", good));
    for (const double bad : {beyond, -beyond, std::numeric_limits<double>::quiet_NaN()})
        CHECK(message_of([&] { check.finite("x", bad); }) ==
              ragged::concat("Lion: x is ", bad, ", it must be finite"));
    for (const double good : {0.0, 0.5, 0.999999})
        CHECK_NOTHROW(check.below_one("x", good));
    for (const double bad : {-1e-9, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()})
        CHECK(message_of([&] { check.below_one("x", bad); }) ==
              ragged::concat("Lion: x is ", bad, ", it must be in [0, 1)"));
    CHECK_NOTHROW(check.rates(1.0, 1.0));
    CHECK(message_of([&] { check.rates(beyond, 0.0); }) ==
          ragged::concat("Lion: learning_rate is ", beyond, ", it must be finite"));
    for (const double bad : {beyond, 1e30}) // the second times the rate is no float
        CHECK(message_of([&] { check.rates(1e20, bad); }) ==
              ragged::concat("Lion: weight_decay is ", bad, ", it must be finite"));
    CHECK(message_of([&] { check.require(false, "n", 3, "at least 4"); }) ==
          "Lion: n is 3, it must be at least 4");
}
