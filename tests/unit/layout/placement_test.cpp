// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Kinds of placements in types, their order, the ragged rules of the library and one of somebody else.
#include <doctest/doctest.h>

#include <array>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ragged/layout/placement.hpp>

namespace elsewhere {

/// All but the last unit on the first rank. Compares with nothing.
struct LastUnitApart {
    constexpr ragged::RaggedShard operator()(const ragged::CutPattern& cuts, std::int64_t num_ranks) const {
        std::vector<std::int64_t> counts(static_cast<std::size_t>(num_ranks), 0);
        counts.front() = cuts.num_units() - 1;
        counts.back() += 1;
        return ragged::RaggedShard::from_counts(cuts, counts);
    }
};

struct TwoArguments {
    std::int64_t operator()(const ragged::CutPattern& cuts, std::int64_t) const { return cuts.elements; }
};

} // namespace elsewhere

namespace {

using ragged::CutPattern;
using ragged::Partial;
using ragged::PartialOp;
using ragged::place;
using ragged::placement_kind;
using ragged::PlacementKind;
using ragged::ragged_rule;
using ragged::RaggedByWeights;
using ragged::RaggedEvenly;
using ragged::RaggedOnRank;
using ragged::RaggedShard;
using ragged::Replicate;
using ragged::Shard;

constexpr CutPattern six{12, 2, 12}; // units of 2

constexpr auto column =
    place<"tensor">(Shard<1>{}).then<"shard">(RaggedEvenly{}).then<"replica">(Replicate{});
using Column = std::remove_const_t<decltype(column)>;

} // namespace

TEST_CASE("kinds of placements are constants of their types") {
    using Kind = PlacementKind::Kind;
    static_assert(placement_kind<Replicate> == PlacementKind{Kind::replicate, PartialOp::sum, -1, true});
    static_assert(placement_kind<Partial<>> == PlacementKind{Kind::partial, PartialOp::sum, -1, true});
    static_assert(placement_kind<Partial<PartialOp::max>>.op == PartialOp::max);
    static_assert(placement_kind<Shard<3>> == PlacementKind{Kind::shard, PartialOp::sum, 3, true});
    static_assert(placement_kind<RaggedEvenly> == PlacementKind{Kind::ragged, PartialOp::sum, -1, true});
    static_assert(placement_kind<RaggedByWeights> == PlacementKind{Kind::ragged, PartialOp::sum, -1, false});
    static_assert(placement_kind<RaggedShard> == placement_kind<RaggedByWeights>);
    static_assert(placement_kind<RaggedOnRank> == PlacementKind{Kind::root, PartialOp::sum, -1, false});
    static_assert(placement_kind<elsewhere::LastUnitApart> == placement_kind<RaggedEvenly>); // no members

    static_assert(!placement_kind<Replicate>.cuts() && !placement_kind<Partial<>>.cuts());
    static_assert(placement_kind<Shard<0>>.cuts() && placement_kind<RaggedOnRank>.cuts());
    static_assert(placement_kind<RaggedOnRank>.is_ragged() && placement_kind<RaggedEvenly>.is_ragged());
    static_assert(!placement_kind<Shard<0>>.is_ragged() && !placement_kind<Replicate>.is_ragged());
    static_assert(placement_kind<Shard<0>> != placement_kind<Shard<1>>);
    static_assert(placement_kind<Partial<PartialOp::avg>> != placement_kind<Partial<PartialOp::sum>>);
}

TEST_CASE("a ragged rule takes cuts and a number of ranks, gives a RaggedShard, and copies") {
    struct Pinned : elsewhere::LastUnitApart {
        Pinned() = default;
        Pinned(const Pinned&) = delete;
    };
    static_assert(ragged_rule<elsewhere::LastUnitApart>);
    static_assert(!ragged_rule<elsewhere::TwoArguments> && !ragged_rule<Pinned>);
    static_assert(!ragged_rule<Replicate> && !ragged_rule<Shard<0>> && !ragged_rule<int>);
    const auto first = [](const CutPattern& cuts, std::int64_t num_ranks) { // without captures
        return RaggedShard::on_rank(cuts, num_ranks, 0);
    };
    static_assert(ragged_rule<std::remove_const_t<decltype(first)>>);
    CHECK(place<"shard">(first).get<0>()(six, 2).size(0) == 12);
}

TEST_CASE("placements keep the order in which they are applied") {
    static_assert(Column::size == 3);
    static_assert(Column::axes == std::array<std::string_view, 3>{"tensor", "shard", "replica"});
    static_assert(Column::kinds[0].dim == 1 && Column::kinds[1].is_ragged() && !Column::kinds[2].cuts());
    static_assert(Column::find("tensor") == 0 && Column::find("replica") == 2);
    static_assert(Column::find("expert") == 3 && Column::find("") == 3 && Column::find("shar") == 3);
    static_assert(Column::ragged_position == 1);
    static_assert(decltype(place<"a">(Shard<0>{}).then<"b">(Replicate{}))::ragged_position == 2); // none
    static_assert(std::same_as<Column::along<1>::placement_type, RaggedEvenly>);
    static_assert(Column::along<2>::axis == "replica");

    constexpr auto weighted = place<"shard">(RaggedOnRank{2});
    static_assert(weighted.get<0>().root == 2);
    CHECK(place<"a">(RaggedByWeights{{1, 2}}).then<"b">(Shard<0>{}).get<0>().weights[1] == 2);
}

TEST_CASE("placements are equal when they say the same in the same words") {
    static_assert(column ==
                  place<"tensor">(Shard<1>{}).then<"shard">(RaggedEvenly{}).then<"replica">(Replicate{}));
    static_assert(place<"a">(RaggedOnRank{1}) != place<"a">(RaggedOnRank{2}));
    CHECK(place<"a">(RaggedByWeights{{1, 2}}) == place<"a">(RaggedByWeights{{1, 2}}));
    CHECK_FALSE(place<"a">(RaggedByWeights{{1, 2}}) == place<"a">(RaggedByWeights{{50, 100}})); // layouts are
    // a rule that does not compare is a rule all the same
    constexpr auto apart = place<"a">(elsewhere::LastUnitApart{});
    static_assert(!std::equality_comparable<decltype(apart)>);
    static_assert(apart.get<0>()(six, 3).size(0) == 10 && apart.get<0>()(six, 3).size(2) == 2);
}

TEST_CASE("placements without numbers take no storage") {
    static_assert(std::is_empty_v<ragged::AlongAxis<"a", Replicate>>);
    static_assert(std::is_empty_v<ragged::AlongAxis<"a", RaggedEvenly>>);
    static_assert(sizeof(ragged::AlongAxis<"a", RaggedOnRank>) == sizeof(std::int64_t));
}

TEST_CASE("the rules of the library") {
    static_assert(RaggedEvenly()(six, 3) ==
                  RaggedShard::from_counts(six, std::array<std::int64_t, 3>{2, 2, 2}));
    static_assert(RaggedEvenly()(six, 4) ==
                  RaggedShard::from_counts(six, std::array<std::int64_t, 4>{1, 2, 1, 2}));
    static_assert(RaggedByWeights{{0, 1, 2}}(six, 3) ==
                  RaggedShard::from_counts(six, std::array<std::int64_t, 3>{0, 2, 4}));
    static_assert(RaggedByWeights{{1, 2}}(six, 2) == RaggedByWeights{{50, 100}}(six, 2));
    static_assert(RaggedOnRank{1}(six, 2) == RaggedShard::on_rank(six, 2, 1));
    static_assert(RaggedOnRank{1}(six, 2)(six, 2) == RaggedShard::on_rank(six, 2, 1)); // gives itself
}

TEST_CASE("errors of the rules") {
    CHECK_THROWS_WITH_AS((RaggedByWeights{{1, 2, 3}}(six, 2)), "got 3 weights for 2 ranks",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS((RaggedByWeights{{}}(six, 1)), "got 0 weights for 1 ranks", ragged::PlanError);
    CHECK_THROWS_WITH_AS((RaggedByWeights{{0, 0}}(six, 2)), "all weights of a ragged shard are 0",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS((RaggedByWeights{{1, -1}}(six, 2)), "rank 1 has a negative weight: -1",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(RaggedOnRank{2}(six, 2), "owner 2 is not in [0, 2)", ragged::PlanError);
    CHECK_THROWS_WITH_AS(RaggedOnRank{-1}(six, 2), "owner -1 is not in [0, 2)", ragged::PlanError);
}

TEST_CASE("kinds in words") {
    CHECK(to_string(placement_kind<Replicate>) == "Replicate");
    CHECK(to_string(placement_kind<Partial<>>) == "Partial(sum)");
    CHECK(to_string(placement_kind<Partial<PartialOp::avg>>) == "Partial(avg)");
    CHECK(to_string(placement_kind<Partial<PartialOp::max>>) == "Partial(max)");
    CHECK(to_string(placement_kind<Shard<7>>) == "Shard(7)");
    CHECK(to_string(placement_kind<RaggedEvenly>) == "RaggedShard");
    CHECK(to_string(placement_kind<RaggedShard>) == "RaggedShard");
    CHECK(to_string(placement_kind<RaggedOnRank>) == "RaggedShard on one rank");
}
