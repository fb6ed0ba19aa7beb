// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Grids of ranks: sizes in the type, at run time and mixed answer alike; ranks and coordinates are a
// bijection.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <type_traits>

#include <ragged/layout/topology.hpp>

namespace {

using ragged::Axis;
using ragged::max_count;
using ragged::Topology;

using Fixed = Topology<Axis<"replica", 2>, Axis<"shard", 3>, Axis<"expert", 4>>;
using Mixed = Topology<Axis<"replica", 2>, Axis<"shard">, Axis<"expert", 4>>;
using Dynamic = Topology<Axis<"replica">, Axis<"shard">, Axis<"expert">>;

/// Ranks count through the coordinates with the last axis fastest, and back.
template <class T>
void check_bijection(const T& topology) {
    static_assert(T::num_axes == 3);
    std::int64_t rank = 0;
    for (std::int64_t a = 0; a < topology.size(0); ++a)
        for (std::int64_t b = 0; b < topology.size(1); ++b)
            for (std::int64_t c = 0; c < topology.size(2); ++c, ++rank) {
                const std::array<std::int64_t, 3> coordinates{a, b, c};
                if (topology.coordinates(rank) != coordinates || topology.rank(coordinates) != rank)
                    FAIL_CHECK("rank ", rank, " of ", topology.num_ranks());
            }
    CHECK(topology.num_ranks() == rank);
}

} // namespace

TEST_CASE("ranks and coordinates are a bijection on every small grid") {
    for (std::int64_t a = 1; a <= 5; ++a)
        for (std::int64_t b = 1; b <= 5; ++b)
            for (std::int64_t c = 1; c <= 5; ++c)
                check_bijection(Dynamic(a, b, c));
    for (std::int64_t b = 1; b <= 8; ++b)
        check_bijection(Mixed(b));
    check_bijection(Fixed());
}

TEST_CASE("sizes in the type, at run time or mixed: the same answers") {
    const Fixed fixed;
    const Mixed mixed(3);
    const Dynamic dynamic(2, 3, 4);
    for (std::size_t axis = 0; axis < 3; ++axis) {
        CHECK(fixed.size(axis) == static_cast<std::int64_t>(axis) + 2);
        CHECK(mixed.size(axis) == fixed.size(axis));
        CHECK(dynamic.size(axis) == fixed.size(axis));
    }
    CHECK(mixed.size<"shard">() == 3);
    CHECK(dynamic.size<"expert">() == 4);
    for (std::int64_t rank = 0; rank < 24; ++rank) {
        CHECK(mixed.coordinates(rank) == fixed.coordinates(rank));
        CHECK(dynamic.coordinates(rank) == fixed.coordinates(rank));
    }
}

TEST_CASE("a size given at run time goes to the dynamic axis in its place") {
    using Outer = Topology<Axis<"a">, Axis<"b", 3>, Axis<"c">>;
    const Outer topology(5, 7);
    CHECK(topology.size<"a">() == 5);
    CHECK(topology.size<"b">() == 3);
    CHECK(topology.size<"c">() == 7);
    CHECK(topology.num_ranks() == 105);
    CHECK(Topology<Axis<"only">>(short{6}).num_ranks() == 6); // any integer
}

TEST_CASE("axes are found by name") {
    static_assert(Fixed::axis<"replica">() == 0 && Fixed::axis<"expert">() == 2);
    static_assert(Fixed::find("shard") == 1 && Fixed::find("tensor") == 3 && Fixed::find("") == 3);
    static_assert(Fixed::find("shar") == 3 && Fixed::find("shards") == 3);
    static_assert(Fixed::names[1] == "shard");
    static_assert(Mixed::num_dynamic == 1 && Dynamic::num_dynamic == 3 && Fixed::num_dynamic == 0);
}

TEST_CASE("sizes in the type take no storage and no time") {
    static_assert(std::is_empty_v<Fixed>);
    static_assert(sizeof(Mixed) == sizeof(std::int64_t) && sizeof(Dynamic) == 3 * sizeof(std::int64_t));
    static_assert(Fixed().num_ranks() == 24 && Fixed().rank({1, 2, 3}) == 23);
    static_assert(Mixed(5).coordinates(39)[1] == 4 && Mixed(5).size<"shard">() == 5);
    static_assert(!std::is_convertible_v<int, Topology<Axis<"shard">>>);
}

TEST_CASE("equal sizes, equal topologies") {
    CHECK(Fixed() == Fixed());
    CHECK(Dynamic(2, 3, 4) == Dynamic(2, 3, 4));
    CHECK_FALSE(Dynamic(2, 3, 4) == Dynamic(4, 3, 2));
    CHECK_FALSE(Mixed(3) == Mixed(4));
}

TEST_CASE("one rank is a topology") {
    const Topology<Axis<"shard", 1>> one;
    CHECK(one.num_ranks() == 1);
    CHECK(one.coordinates(0)[0] == 0);
}

TEST_CASE("sizes below 1 and products beyond 64 bits are refused") {
    CHECK_THROWS_WITH_AS(Mixed{0}, "axis 'shard' has 0 ranks, at least 1", ragged::PlanError);
    CHECK_THROWS_WITH_AS(Dynamic(2, 3, -4), "axis 'expert' has -4 ranks, at least 1", ragged::PlanError);
    CHECK_THROWS_AS(Dynamic(ragged::dynamic_size, 3, 4), ragged::PlanError);
    CHECK_THROWS_WITH_AS(Mixed{max_count},
                         "ranks of a topology: 2 * 9223372036854775807 does not fit 64 bits",
                         ragged::PlanError);
    CHECK(Dynamic(1, max_count, 1).num_ranks() == max_count);
}

TEST_CASE("a place is a rank of its topology") {
    const Mixed topology(3);
    for (std::int64_t rank = 0; rank < 24; ++rank) {
        const ragged::Place<Mixed> place(topology, rank);
        CHECK(place.rank == rank);
        CHECK(place.coordinate<"replica">() == topology.coordinates(rank)[0]);
        CHECK(place.coordinate<"shard">() == topology.coordinates(rank)[1]);
        CHECK(place.coordinate<"expert">() == topology.coordinates(rank)[2]);
    }
    static_assert(ragged::Place(Fixed(), 23).coordinate<"shard">() == 2);
    CHECK_THROWS_WITH_AS(ragged::Place(topology, 24), "rank 24 is not in [0, 24)", ragged::PlanError);
    CHECK_THROWS_WITH_AS(ragged::Place(topology, -1), "rank -1 is not in [0, 24)", ragged::PlanError);
}

TEST_CASE("some axes of a topology are a topology") {
    using Grid = ragged::Topology<ragged::Axis<"a">, ragged::Axis<"b", 3>, ragged::Axis<"c">>;
    constexpr Grid grid(2, 5);
    constexpr auto part = grid.part<"c", "b">();
    static_assert(
        std::is_same_v<decltype(part), const ragged::Topology<ragged::Axis<"c">, ragged::Axis<"b", 3>>>);
    static_assert(part.size<"c">() == 5 && part.num_ranks() == 15);
    static_assert(grid.part<"b">() == ragged::Topology<ragged::Axis<"b", 3>>());
}
