// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Text to shapes and blocks: what to_string writes is read back, what it never writes is refused with the
// words that are wrong. Extents are in inventory_test, where most shapes are read.
#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include <ragged/spec/parse.hpp>

#include "support/expect.hpp"

using ragged::parse_block;

TEST_CASE("shapes") {
    CHECK(ragged::parse_shape("128x2880x5760") == ragged::Shape{128, 2880, 5760});
    CHECK(ragged::parse_shape("007") == ragged::Shape{7});
    CHECK_THROWS_WITH_AS(ragged::parse_shape("a"), "extent of shape 'a' 'a' is not a whole number",
                         ragged::SpecError);
}

TEST_CASE("a block is read back from its text") {
    for (const ragged::Block& block :
         {ragged::elements(1), ragged::elements(ragged::max_count), ragged::rows(16), ragged::whole(),
          ragged::tile({32, 32}), ragged::tile({7}), ragged::tile({1, 2, 3, 4, 5, 6, 7, 8}),
          ragged::tile({})})
        CHECK(parse_block(to_string(block)) == block);
    CHECK(parse_block("rows:016") == ragged::rows(16));
}

TEST_CASE("what is no block is refused, with the text that is not") {
    const auto refusal = [](std::string_view text) {
        return support::message_of([&] { parse_block(text); });
    };
    for (const char* text : {"", "rows", "Rows:1", "cols:3", "whole ", " whole", "block", "scalar"})
        CHECK(refusal(text) ==
              "unknown block '" + std::string(text) + "', known: elements:N rows:N block:AxBx... whole");
    CHECK(refusal("rows:") == "count of block 'rows:' is missing");
    CHECK(refusal("rows:x") == "count of block 'rows:x' 'x' is not a whole number");
    CHECK(refusal("rows:1x2") == "count of block 'rows:1x2' '1x2' is not a whole number");
    CHECK(refusal("elements:-1") == "count of block 'elements:-1' -1 is negative");
    CHECK(refusal("rows:9223372036854775808") ==
          "count of block 'rows:9223372036854775808' '9223372036854775808' does not fit 64 bits");
    CHECK(refusal("rows:0") == "block 'rows:0' has a size below 1");
    CHECK(refusal("elements:0") == "block 'elements:0' has a size below 1");
    CHECK(refusal("block:2x0") == "block 'block:2x0' has a size below 1");
    CHECK(refusal("block:") == "extent of shape '' is missing");
    CHECK(refusal("block:2x") == "extent of shape '2x' is missing");
    CHECK(refusal("block:1x1x1x1x1x1x1x1x1") == "a shape has at most 8 extents");
    CHECK(refusal("block:4294967296x4294967296") ==
          "elements of a shape: 4294967296 * 4294967296 does not fit 64 bits");
}
