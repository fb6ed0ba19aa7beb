// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The code book against its description; encoding against a search through it, around every point where the
// nearest code changes.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <ragged/optim/dynamic_code.hpp>

#include "support/code_book.hpp"

using ragged::DynamicCode;
using support::code_book;
using support::nearest;

TEST_CASE_TEMPLATE("codes are the values of the book, in order", Code, std::int8_t, std::uint8_t) {
    const std::vector<float> book = code_book<Code>();
    CHECK(book.size() == (DynamicCode<Code>::has_sign ? 128 : 256));
    for (std::size_t i = 0; i < book.size(); ++i) {
        CHECK(DynamicCode<Code>::decode(static_cast<Code>(i)) == book[i]);
        CHECK(DynamicCode<Code>::encode(book[i]) == static_cast<Code>(i));
        if (i > 0)
            CHECK(book[i] > book[i - 1]);
        if (DynamicCode<Code>::has_sign) {
            const auto negative = static_cast<Code>(-static_cast<int>(i));
            CHECK(DynamicCode<Code>::decode(negative) == -book[i]);
            CHECK(DynamicCode<Code>::encode(-book[i]) == negative);
        }
    }
    CHECK(book.back() == 1.0f);
    CHECK_FALSE(std::signbit(DynamicCode<Code>::decode(0)));
}

TEST_CASE_TEMPLATE("encoding finds the nearest code, at every midpoint and beside it", Code, std::int8_t,
                   std::uint8_t) {
    const std::vector<float> book = code_book<Code>();
    const auto check = [&](float x) {
        CAPTURE(x);
        CHECK(DynamicCode<Code>::encode(x) == nearest<Code>(book, x));
        if (DynamicCode<Code>::has_sign)
            CHECK(DynamicCode<Code>::encode(-x) == -nearest<Code>(book, x));
    };
    for (std::size_t i = 1; i < book.size(); ++i) {
        const float middle = (book[i] + book[i - 1]) / 2; // exact
        for (const float x : {middle, book[i]}) {
            check(x);
            check(std::nextafter(x, 0.0f));
            check(std::nextafter(x, 2.0f));
        }
    }
    for (std::uint32_t bits = 0; bits < 0x40000000u; bits += 100'003)
        check(ragged::bit_cast<float>(bits));
    for (const float x :
         {0.0f, std::numeric_limits<float>::denorm_min(), 1.5f, std::numeric_limits<float>::infinity()})
        check(x);
    CHECK(DynamicCode<Code>::encode(std::numeric_limits<float>::denorm_min()) ==
          (DynamicCode<Code>::has_sign ? 0 : 1));
}

TEST_CASE_TEMPLATE("codes lose little", Code, std::int8_t, std::uint8_t) {
    const float step = DynamicCode<Code>::has_sign ? 1.0f / 32 : 1.0f / 64;
    for (float x = 1.0f; x > 0x1p-4f; x *= 0.9973f)
        CHECK(std::fabs(DynamicCode<Code>::decode(DynamicCode<Code>::encode(x)) - x) <= step * x);
}
