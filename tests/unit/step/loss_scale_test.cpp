// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/step/loss_scale.hpp>

#include <doctest/doctest.h>

TEST_CASE("a loss scale is constant unless asked") {
    ragged::LossScale scale{8};
    for (const bool finite : {true, false, true})
        scale.update(finite);
    CHECK(scale == ragged::LossScale{8});
    CHECK(ragged::LossScale{}.scale == 1);
}

TEST_CASE("good steps in a row double the scale, a bad one halves it and starts anew") {
    auto scale = ragged::LossScale::dynamic(1024, 3);
    const auto after = [&](bool finite) {
        scale.update(finite);
        return scale.scale;
    };
    CHECK(after(true) == 1024);
    CHECK(after(true) == 1024);
    CHECK(after(true) == 2048);
    CHECK(after(true) == 2048);
    CHECK(after(true) == 2048);
    CHECK(after(false) == 1024);
    CHECK(after(true) == 1024);
    CHECK(after(false) == 512);
    CHECK(after(true) == 512);
    CHECK(after(true) == 512);
    CHECK(after(true) == 1024);
}

TEST_CASE("a loss scale stays between its bounds") {
    auto scale = ragged::LossScale::dynamic(2, 1);
    for (int i = 0; i < 40; ++i)
        scale.update(false);
    CHECK(scale.scale == ragged::LossScale::smallest);
    for (int i = 0; i < 40; ++i)
        scale.update(true);
    CHECK(scale.scale == ragged::LossScale::largest);
}
