// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Named ragged shards, equality and every error. All small tensors on 1 to 8 ranks are in property/layout.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

#include <ragged/layout/ragged_shard.hpp>

namespace {

using ragged::CutPattern;
using ragged::max_count;
using ragged::RaggedShard;

using Counts = std::vector<std::int64_t>;

constexpr CutPattern ten{10, 1, 10};
constexpr CutPattern short_tail{17, 3, 17};    // units at 0 3 6 9 12 15, the last of 2 elements
constexpr CutPattern short_periods{20, 4, 10}; // units at 0 4 8 10 14 18
constexpr CutPattern nothing{0, 1, 1};

Counts sizes_of(const RaggedShard& shard) {
    Counts sizes;
    for (std::int64_t rank = 0; rank < shard.num_ranks(); ++rank)
        sizes.push_back(shard.size(rank));
    return sizes;
}

} // namespace

TEST_CASE("from counts of units, tails included") {
    CHECK(sizes_of(RaggedShard::from_counts(short_tail, Counts{2, 0, 4})) == Counts{6, 0, 11});
    CHECK(sizes_of(RaggedShard::from_counts(short_tail, Counts{6})) == Counts{17});
    CHECK(sizes_of(RaggedShard::from_counts(short_tail, Counts{5, 1})) == Counts{15, 2});
    CHECK(sizes_of(RaggedShard::from_counts(short_periods, Counts{2, 1, 3})) == Counts{8, 2, 10});
}

TEST_CASE("from weights: rank r ends at floor(units * (w0 + ... + wr) / sum)") {
    CHECK(sizes_of(RaggedShard::from_weights(ten, Counts{1, 2})) == Counts{3, 7});
    CHECK(sizes_of(RaggedShard::from_weights(ten, Counts{2, 1})) == Counts{6, 4});
    CHECK(sizes_of(RaggedShard::from_weights(ten, Counts{1, 1, 1})) == Counts{3, 3, 4});
    CHECK(sizes_of(RaggedShard::from_weights(ten, Counts{0, 1, 0})) == Counts{0, 10, 0});
    CHECK(sizes_of(RaggedShard::from_weights(short_tail, Counts{1, 1})) == Counts{9, 8});
}

TEST_CASE("fewer units than ranks: some ranks are empty, none is special") {
    const CutPattern two{20, 10, 20};
    CHECK(sizes_of(RaggedShard::from_weights(two, Counts{1, 1, 1, 1, 1})) == Counts{0, 0, 10, 0, 10});
    const RaggedShard shard = RaggedShard::from_counts(two, Counts{0, 1, 0, 1, 0});
    CHECK(shard.offset(0) == 0);
    CHECK(shard.offset(2) == 10); // an empty run lies where it would start
    CHECK(shard.offset(4) == 20);
    CHECK(shard.owner(9) == 1);
    CHECK(shard.owner(10) == 3);
    CHECK(shard.owner(19) == 3);
}

TEST_CASE("a tensor without elements is held by nobody, on any number of ranks") {
    for (const std::size_t ranks : {1u, 2u, 3u, 5u, 8u}) {
        const Counts zeros(ranks, 0);
        const RaggedShard shard = RaggedShard::from_counts(nothing, zeros);
        CHECK(sizes_of(shard) == zeros);
        CHECK(shard.elements() == 0);
        CHECK(RaggedShard::from_offsets(nothing, zeros) == shard);
        CHECK(RaggedShard::from_weights(nothing, Counts(ranks, 7)) == shard);
        CHECK(RaggedShard::on_rank(nothing, static_cast<std::int64_t>(ranks), 0) == shard);
    }
}

TEST_CASE("shards that cut alike are equal, however they were built") {
    CHECK(RaggedShard::from_weights(ten, Counts{1, 2}) == RaggedShard::from_weights(ten, Counts{50, 100}));
    CHECK(RaggedShard::from_weights(ten, Counts{1, 2}) == RaggedShard::from_counts(ten, Counts{3, 7}));
    CHECK(RaggedShard::from_weights(ten, Counts{1, 2}) == RaggedShard::from_offsets(ten, Counts{0, 3}));
    CHECK(RaggedShard::on_rank(ten, 3, 1) == RaggedShard::from_counts(ten, Counts{0, 10, 0}));
    CHECK(RaggedShard::from_weights(ten, Counts{max_count / 2, max_count / 2}) ==
          RaggedShard::from_weights(ten, Counts{1, 1}));
    // the cuts count, not the pattern that allowed them
    CHECK(RaggedShard::from_offsets(ten, Counts{0, 5}) ==
          RaggedShard::from_offsets(CutPattern{10, 5, 10}, Counts{0, 5}));
}

TEST_CASE("shards that cut differently are not equal") {
    CHECK_FALSE(RaggedShard::from_counts(ten, Counts{3, 7}) == RaggedShard::from_counts(ten, Counts{7, 3}));
    CHECK_FALSE(RaggedShard::from_counts(ten, Counts{3, 7}) ==
                RaggedShard::from_counts(ten, Counts{3, 7, 0})); // another number of ranks
    CHECK_FALSE(RaggedShard::from_counts(ten, Counts{10, 0}) == RaggedShard::from_counts(ten, Counts{0, 10}));
    CHECK_FALSE(RaggedShard::from_counts(ten, Counts{10}) ==
                RaggedShard::from_counts(CutPattern{11, 1, 11}, Counts{11}));
}

TEST_CASE("errors of counts") {
    CHECK_THROWS_WITH_AS(RaggedShard::from_counts(ten, Counts{4, -1, 7}),
                         "rank 1 has a negative count of units: -1", ragged::PlanError);
    CHECK_THROWS_WITH_AS(RaggedShard::from_counts(ten, Counts{4, 5}),
                         "counts add up to 9 units, the tensor has 10", ragged::PlanError);
    CHECK_THROWS_WITH_AS(RaggedShard::from_counts(short_tail, Counts{4, 5}),
                         "counts add up to 9 units, the tensor has 6", ragged::PlanError);
    CHECK_THROWS_WITH_AS(RaggedShard::from_counts(ten, Counts{max_count, 1}),
                         "units of a ragged shard: 9223372036854775807 + 1 does not fit 64 bits",
                         ragged::PlanError);
    CHECK_THROWS_AS(RaggedShard::from_counts(ten, Counts{}), ragged::PlanError);
}

TEST_CASE("errors of offsets") {
    CHECK_THROWS_WITH_AS(RaggedShard::from_offsets(ten, Counts{}), "a ragged shard needs at least one rank",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(RaggedShard::from_offsets(ten, Counts{1, 5}),
                         "rank 0 starts at 1, it must start at 0", ragged::PlanError);
    CHECK_THROWS_WITH_AS(RaggedShard::from_offsets(ten, Counts{0, 6, 5}),
                         "rank 2 starts at 5, before rank 1 at 6", ragged::PlanError);
    CHECK_THROWS_WITH_AS(
        RaggedShard::from_offsets(short_tail, Counts{0, 4}),
        "rank 1 starts at 4, which is no legal cut: 17 elements in steps of 3 per period of 17",
        ragged::PlanError);
    CHECK_THROWS_WITH_AS(
        RaggedShard::from_offsets(short_tail, Counts{0, 18}),
        "rank 1 starts at 18, which is no legal cut: 17 elements in steps of 3 per period of 17",
        ragged::PlanError);
    CHECK_THROWS_AS(RaggedShard::from_offsets(short_periods, Counts{0, 12}), ragged::PlanError);
    CHECK_THROWS_WITH_AS(RaggedShard::from_offsets(ten, Counts{-1}),
                         "rank 0 starts at -1, it must start at 0", ragged::PlanError);
    CHECK_NOTHROW(RaggedShard::from_offsets(short_tail, Counts{0, 15, 17, 17}));
}

TEST_CASE("errors of weights") {
    CHECK_THROWS_WITH_AS(RaggedShard::from_weights(ten, Counts{}), "a ragged shard needs at least one rank",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(RaggedShard::from_weights(ten, Counts{1, -2}), "rank 1 has a negative weight: -2",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(RaggedShard::from_weights(ten, Counts{0, 0}), "all weights of a ragged shard are 0",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(
        RaggedShard::from_weights(ten, Counts{max_count, max_count}),
        "weights of a ragged shard: 9223372036854775807 + 9223372036854775807 does not fit 64 bits",
        ragged::PlanError);
}

TEST_CASE("weights of large tensors: exact while 64 bits hold the products, refused beyond") {
    const CutPattern large{std::int64_t{1} << 60, 1, std::int64_t{1} << 60};
    // 2^60 units times a sum of weights would not fit
    CHECK(sizes_of(RaggedShard::from_weights(large, Counts{1000, 1001, 1003})) ==
          Counts{383795440947685411, 384179236388633097, 384946827270528468});
    CHECK(sizes_of(RaggedShard::from_weights(large, Counts{1, max_count / 8})).size() == 2);
    CHECK_THROWS_WITH_AS(RaggedShard::from_weights(CutPattern{max_count, 1, max_count},
                                                   Counts{max_count / 2, max_count / 2 - 1}),
                         "weights of a ragged shard: 2 * 9223372036854775805 does not fit 64 bits",
                         ragged::PlanError);
}

TEST_CASE("errors of an owner") {
    CHECK_THROWS_WITH_AS(RaggedShard::on_rank(ten, 3, 3), "owner 3 is not in [0, 3)", ragged::PlanError);
    CHECK_THROWS_WITH_AS(RaggedShard::on_rank(ten, 3, -1), "owner -1 is not in [0, 3)", ragged::PlanError);
    CHECK_THROWS_AS(RaggedShard::on_rank(ten, 0, 0), ragged::PlanError);
}

TEST_CASE("in constant expressions") {
    static_assert(RaggedShard::from_counts(ten, std::array<std::int64_t, 2>{3, 7}).size(1) == 7);
    static_assert(RaggedShard::from_weights(ten, std::array<std::int64_t, 2>{1, 2}).offset(1) == 3);
    static_assert(RaggedShard::from_offsets(ten, std::array<std::int64_t, 2>{0, 3}).owner(3) == 1);
    static_assert(RaggedShard::on_rank(ten, 4, 2).size(2) == 10);
}

TEST_CASE("counts for no rank") {
    CHECK_THROWS_AS(
        ragged::RaggedShard::from_counts(ragged::CutPattern{0, 1, 1}, std::vector<std::int64_t>{}),
        ragged::PlanError);
}
