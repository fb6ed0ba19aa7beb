// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Elements one at a time: what is rounded once, and what the codes of a block are.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>

#include <ragged/group/operations.hpp>

namespace op = ragged::op;

namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

template <class Code>
float scale_of(float absmax) {
    return ragged::block_scale<Code>(op::AbsMax::add(0, absmax));
}

} // namespace

TEST_CASE("axpy rounds once, on a machine with fused multiply-add and without") {
    // (1 + 2^-12)^2 has bits that a float cannot hold
    const float x = 1.0f + 0x1p-12f;
    CHECK(op::Axpy{double{x}}(-1.0f, x) == 0x1p-11f + 0x1p-24f);
    const volatile float twice = x * x; // rounded before the sum, it loses the last bit
    CHECK(twice - 1.0f == 0x1p-11f);
    std::mt19937 random(1);
    for (int i = 0; i < 10'000; ++i) {
        const auto draw = [&] { return static_cast<float>(random()) * 0x1p-31f - 1.0f; };
        const float a = draw(), b = draw(), c = draw();
        CHECK(op::Axpy{double{a}}(c, b) == std::fma(a, b, c));
        CHECK(op::Axpy{double{a}}(double{c}, b) == std::fma(double{a}, double{b}, double{c}));
    }
}

TEST_CASE_TEMPLATE("the largest value of a block takes the largest code", Code, ragged::f8e4m3,
                   ragged::f8e5m2, std::int8_t) {
    std::mt19937 random(1);
    for (int i = 0; i < 20'000; ++i) {
        const float absmax = ragged::bit_cast<float>(static_cast<std::uint32_t>(random() % 0x7f800000u));
        const float scale = scale_of<Code>(absmax);
        const op::Quantize<Code> quantize{ragged::inverse_scale(scale)};
        CHECK(scale > 0);
        CHECK(std::isfinite(quantize.inverse));
        if (absmax / ragged::largest_code<Code> >= 0x1p-126f) { // the scale is not clamped
            CHECK(static_cast<float>(quantize(absmax)) == ragged::largest_code<Code>);
            CHECK(static_cast<float>(quantize(-absmax)) == -ragged::largest_code<Code>);
        }
        CHECK(static_cast<float>(quantize(0.0f)) == 0.0f);
        const float back = op::Cast<float>{double{scale}}(quantize(absmax * 0.7f));
        const float step = std::is_same_v<Code, std::int8_t> ? 0.5f / 127 : 0.125f;
        CHECK(std::fabs(back - absmax * 0.7f) <= absmax * step * 1.01f + 0x1p-126f);
    }
}

TEST_CASE("8-bit integer codes round to nearest, ties to even") {
    const op::Quantize<std::int8_t> quantize{1.0f};
    for (int code = -127; code <= 127; ++code) {
        const auto exact = static_cast<float>(code);
        CHECK(quantize(exact) == code);
        CHECK(quantize(exact + 0.49f) == code);
        CHECK(quantize(exact - 0.49f) == code);
        if (code < 127)
            CHECK(quantize(exact + 0.5f) == (code % 2 == 0 ? code : code + 1));
    }
}

TEST_CASE_TEMPLATE("blocks of zeros, and blocks that are not finite", Code, ragged::f8e4m3, ragged::f8e5m2,
                   std::int8_t) {
    CHECK(scale_of<Code>(0.0f) == 1.0f);
    CHECK(scale_of<Code>(-0.0f) == 1.0f);
    CHECK(scale_of<Code>(std::numeric_limits<float>::denorm_min()) == std::numeric_limits<float>::min());
    for (float bad : {not_a_number, -not_a_number, infinity, -infinity}) {
        const float scale = scale_of<Code>(bad);
        CHECK(std::isnan(scale));
        for (float x : {1.0f, 0.0f, bad}) {
            const Code code = op::Quantize<Code>{ragged::inverse_scale(scale)}(x);
            CHECK(static_cast<float>(code) == 0.0f);
            CHECK(std::isnan(op::Cast<float>{double{scale}}(code)));
        }
    }
}
