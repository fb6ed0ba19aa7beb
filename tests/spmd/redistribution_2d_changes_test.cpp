// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Pairs of values that change along both axes of two, or in what follows a ragged axis.
#include <doctest/doctest.h>

#include "support/redistribution_suite.hpp"

using namespace ragged;
using support::check_on_planes;
using support::List;
using support::On;

namespace {

template <class R, class S>
using RS = List<On<"r", R>, On<"s", S>>;
template <class S, class R>
using SR = List<On<"s", S>, On<"r", R>>;

} // namespace

TEST_CASE("joined, cut, and cut the other way round") {
    CHECK_NOTHROW(check_on_planes([](auto& suite) {
        suite.add(RS<Shard<0>, RaggedEvenly>{}, RS<Replicate, Replicate>{}, SR<RaggedEvenly, Shard<0>>{},
                  RS<Replicate, RaggedByWeights>{});
        suite.add(RS<Shard<1>, RaggedByWeights>{}, RS<Replicate, Replicate>{},
                  RS<Shard<0>, RaggedByWeights>{});
        suite.add(RS<Shard<0>, Shard<1>>{}, SR<Shard<1>, Shard<0>>{}, SR<Shard<0>, Shard<1>>{});
        suite.add(RS<Shard<0>, RaggedOnRank>{}, RS<Replicate, Replicate>{});
    }));
}

// The axis that cuts rows or columns behind a rule decides where the rule may cut.
TEST_CASE("what follows a ragged axis changes") {
    CHECK_NOTHROW(check_on_planes([](auto& suite) {
        suite.add(SR<RaggedEvenly, Replicate>{}, SR<RaggedEvenly, Shard<0>>{}, SR<RaggedEvenly, Shard<1>>{});
        suite.add(SR<RaggedEvenly, Shard<0>>{}, SR<RaggedEvenly, Shard<1>>{});
        suite.add(SR<RaggedEvenly, Partial<>>{}, SR<RaggedEvenly, Shard<0>>{}, SR<RaggedEvenly, Shard<1>>{});
    }));
}
