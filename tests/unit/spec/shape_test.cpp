// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include <ragged/spec/shape.hpp>

namespace {

using ragged::Shape;
using ragged::StaticShape;

/// Both kinds of shape answer alike.
template <std::int64_t... Extents>
void check_alike() {
    constexpr StaticShape<Extents...> fixed;
    const Shape shape{Extents...};
    CHECK(fixed.rank() == shape.rank());
    CHECK(fixed.elements() == shape.elements());
    for (int dim = 0; dim < shape.rank(); ++dim) {
        CHECK(fixed[dim] == shape[dim]);
        CHECK(ragged::inner_elements(fixed, dim) == ragged::inner_elements(shape, dim));
    }
    CHECK(Shape(fixed) == shape);
    CHECK(ragged::to_string(fixed) == ragged::to_string(shape));
}

} // namespace

TEST_CASE("all shapes up to rank 4 and extent 4: elements, strides and text by definition") {
    std::vector<std::vector<std::int64_t>> all{{}};
    for (std::size_t at = 0; at < all.size(); ++at) {
        const std::vector<std::int64_t> extents = all[at];
        Shape shape;
        std::int64_t elements = 1;
        std::string text;
        for (const std::int64_t extent : extents) {
            shape.push_back(extent);
            elements *= extent;
            text += ragged::concat(text.empty() ? "" : "x", extent);
        }
        REQUIRE(shape.rank() == static_cast<int>(extents.size()));
        REQUIRE(shape.elements() == elements);
        REQUIRE(ragged::to_string(shape) == (extents.empty() ? "scalar" : text));
        std::int64_t stride = 1;
        for (int dim = shape.rank() - 1; dim >= 0; --dim) {
            REQUIRE(shape[dim] == extents[static_cast<std::size_t>(dim)]);
            REQUIRE(ragged::inner_elements(shape, dim) == stride);
            stride *= shape[dim];
        }
        if (extents.size() < 4)
            for (std::int64_t extent = 0; extent <= 4; ++extent) {
                all.push_back(extents);
                all.back().push_back(extent);
            }
    }
    CHECK(all.size() == 1 + 5 + 25 + 125 + 625);
}

TEST_CASE("equality looks at rank and extents, not at the product") {
    CHECK(Shape{2, 3} == Shape{2, 3});
    CHECK_FALSE(Shape{2, 3} == Shape{3, 2});
    CHECK_FALSE(Shape{6} == Shape{2, 3});
    CHECK_FALSE(Shape{6} == Shape{6, 1});
    CHECK_FALSE(Shape{} == Shape{1});
    CHECK_FALSE(Shape{0, 2} == Shape{0, 3});
    CHECK_FALSE(Shape{0} == Shape{});
}

TEST_CASE("eight extents and no more") {
    const Shape eight{1, 2, 1, 2, 1, 2, 1, 2};
    CHECK(eight.rank() == ragged::max_rank);
    CHECK(eight.elements() == 16);
    CHECK_THROWS_WITH_AS((Shape{1, 1, 1, 1, 1, 1, 1, 1, 1}), "a shape has at most 8 extents",
                         ragged::SpecError);
    Shape grown = eight;
    CHECK_THROWS_AS(grown.push_back(1), ragged::SpecError);
    CHECK(grown == eight);
}

TEST_CASE("negative extents and products beyond 64 bits are refused") {
    CHECK_THROWS_WITH_AS((Shape{4, -1}), "extent -1 is negative", ragged::SpecError);
    CHECK_THROWS_AS((Shape{std::numeric_limits<std::int64_t>::min()}), ragged::SpecError);
    CHECK_THROWS_WITH_AS((Shape{3'037'000'500, 3'037'000'500}),
                         "elements of a shape: 3037000500 * 3037000500 does not fit 64 bits",
                         ragged::SpecError);
    CHECK((Shape{3'037'000'499, 3'037'000'499}).elements() == 9'223'372'030'926'249'001);
    CHECK((Shape{ragged::max_count, 1, 1}).elements() == ragged::max_count);
    CHECK_THROWS_AS((Shape{ragged::max_count, 2}), ragged::SpecError);
}

TEST_CASE("an extent of 0 makes a tensor without elements") {
    CHECK((Shape{0}).elements() == 0);
    CHECK((Shape{4, 0, 5}).elements() == 0);
    CHECK(ragged::inner_elements(Shape{4, 0, 5}, 0) == 0);
    CHECK(ragged::inner_elements(Shape{4, 0, 5}, 1) == 5);
    CHECK((Shape{0, ragged::max_count}).elements() == 0);
}

TEST_CASE("static shapes are empty, and answer as dynamic ones do") {
    static_assert(std::is_empty_v<StaticShape<128, 2880, 5760>>);
    static_assert(std::is_trivially_copyable_v<Shape>);
    static_assert(StaticShape<128, 2880, 5760>::elements() == 2'123'366'400);
    static_assert(StaticShape<>::elements() == 1 && StaticShape<>::rank() == 0);
    static_assert(StaticShape<3, 4>{} == StaticShape<3, 4>{});
    static_assert(Shape{3, 4}.elements() == 12 && Shape{3, 4}[1] == 4);
    check_alike<>();
    check_alike<7>();
    check_alike<0>();
    check_alike<3, 4>();
    check_alike<2, 0, 5>();
    check_alike<2, 3, 4, 5>();
    check_alike<1, 2, 1, 2, 1, 2, 1, 2>();
}

TEST_CASE("the order of extents does not decide whether a shape is accepted") {
    bool a = true, b = true;
    try {
        ragged::Shape{std::int64_t{1} << 40, std::int64_t{1} << 40, 0};
    } catch (const ragged::SpecError&) {
        a = false;
    }
    try {
        ragged::Shape{0, std::int64_t{1} << 40, std::int64_t{1} << 40};
    } catch (const ragged::SpecError&) {
        b = false;
    }
    CHECK(a == b);
}

TEST_CASE("a refused extent leaves the shape as it was") {
    ragged::Shape s{ragged::max_count};
    const ragged::Shape before = s;
    CHECK_THROWS_AS(s.push_back(2), ragged::SpecError);
    CHECK(s == before);
}
