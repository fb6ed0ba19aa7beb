// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What the training example reads: windows of a text.
#include <doctest/doctest.h>

#include <cmath> // std::abs
#include <set>
#include <string>

#include "../examples/support/text.hpp"
#include "support/expect.hpp"

using support::contains;
using support::message_of;
using support::TextWindows;

namespace {

std::vector<std::uint8_t> rising(std::uint8_t size) {
    std::vector<std::uint8_t> bytes;
    for (std::uint8_t i = 0; i < size; ++i)
        bytes.push_back(i);
    return bytes;
}

} // namespace

TEST_CASE("windows start anywhere in the text and end in it") {
    const TextWindows text(rising(10), 7, 1);
    std::set<std::uint8_t> starts;
    for (std::int64_t step = 0; step < 10; ++step)
        for (std::int64_t number = 0; number < 10; ++number) {
            const std::uint8_t* const window = text.window(step, number);
            starts.insert(window[0]);
            CHECK(window[6] == window[0] + 6); // the sanitizer knows where the text ends
        }
    CHECK(starts == std::set<std::uint8_t>{0, 1, 2, 3});
    CHECK(TextWindows(rising(7), 7, 1).window(3, 4)[0] == 0); // as long as the text
    CHECK(contains(message_of([] { TextWindows(rising(6), 7, 1); }),
                   "the text has 6 bytes, a sequence takes 7"));
}

TEST_CASE("a window depends on seed, step and number") {
    const auto starts = [](std::uint64_t seed, std::int64_t step) {
        const TextWindows text(rising(200), 7, seed);
        std::string all;
        for (std::int64_t number = 0; number < 8; ++number)
            all += static_cast<char>(text.window(step, number)[0]);
        return all;
    };
    CHECK(starts(1, 0) == starts(1, 0));
    CHECK(starts(1, 0) != starts(1, 1));
    CHECK(starts(1, 0) != starts(2, 0));
    const std::string one = starts(1, 0);
    CHECK(std::set<char>(one.begin(), one.end()).size() > 4);
}

TEST_CASE("random values fill [-1, 1)") {
    double sum = 0, squares = 0;
    for (std::uint64_t i = 0; i < 10000; ++i) {
        const auto x = static_cast<double>(support::random_value(support::random_sequence(1, "x"), i));
        CHECK(x >= -1);
        CHECK(x < 1);
        sum += x / 10000;
        squares += x * x / 10000;
    }
    CHECK(std::abs(sum) < 0.02);
    CHECK(std::abs(squares - 1.0 / 3) < 0.01);
}
