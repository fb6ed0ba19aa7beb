// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Pairs that change along both axes of two.
#include <doctest/doctest.h>

#include "support/redistribution_suite.hpp"

using namespace ragged;
using support::add_all;
using support::add_values;
using support::check_on_planes;
using support::List;
using support::On;

namespace {

template <class R, class S>
using RS = List<On<"r", R>, On<"s", S>>;
template <class S, class R>
using SR = List<On<"s", S>, On<"r", R>>;

using Sum = Partial<>;
using Avg = Partial<PartialOp::avg>;
using Max = Partial<PartialOp::max>;

} // namespace

TEST_CASE("both axes change") {
    CHECK_NOTHROW(check_on_planes<float>([](auto& suite) {
        // both reduced
        suite.add(RS<Sum, Sum>{}, RS<Shard<0>, RaggedByWeights>{}, SR<RaggedEvenly, Shard<0>>{},
                  RS<Shard<1>, Shard<0>>{}, SR<RaggedOnRank, Replicate>{});
        suite.add(RS<Avg, Avg>{}, RS<Replicate, RaggedEvenly>{}, RS<Shard<1>, RaggedOnRank>{});
        suite.add(RS<Max, Max>{}, RS<Shard<0>, RaggedEvenly>{}, SR<Replicate, Shard<1>>{});
        // joined, cut, and cut the other way round
        suite.add(RS<Shard<0>, RaggedEvenly>{}, RS<Replicate, Replicate>{}, SR<RaggedEvenly, Shard<0>>{},
                  RS<RaggedEvenly, Shard<0>>{}, RS<Replicate, RaggedByWeights>{});
        suite.add(RS<Shard<1>, RaggedByWeights>{}, RS<Replicate, Replicate>{},
                  RS<Shard<0>, RaggedByWeights>{}, SR<RaggedByWeights, Shard<1>>{});
        suite.add(RS<Shard<0>, Shard<1>>{}, SR<Shard<1>, Shard<0>>{}, SR<Shard<0>, Shard<1>>{});
        suite.add(RS<Shard<0>, RaggedOnRank>{}, RS<Replicate, Replicate>{}, RS<Shard<1>, RaggedOnRank>{});
        // reduced in equal parts, then exchanged
        suite.add(RS<Sum, Shard<0>>{}, RS<Shard<0>, RaggedEvenly>{}, RS<Shard<0>, Replicate>{},
                  RS<RaggedOnRank, Shard<0>>{});
        suite.add(RS<Avg, RaggedByWeights>{}, RS<Shard<1>, RaggedByWeights>{}, RS<Shard<0>, Shard<1>>{});
        suite.add(RS<RaggedEvenly, Max>{}, RS<Shard<0>, RaggedEvenly>{}, RS<Replicate, Shard<1>>{});
    }));
}

// The axis that cuts rows or columns behind a rule decides where the rule may cut.
TEST_CASE("what follows a ragged axis changes") {
    CHECK_NOTHROW(check_on_planes<float>([](auto& suite) {
        suite.add(SR<RaggedEvenly, Replicate>{}, SR<RaggedEvenly, Shard<0>>{}, SR<RaggedEvenly, Shard<1>>{});
        suite.add(SR<RaggedEvenly, Shard<0>>{}, SR<RaggedEvenly, Shard<1>>{});
        suite.add(SR<RaggedEvenly, Sum>{}, SR<RaggedEvenly, Shard<0>>{}, SR<RaggedEvenly, Shard<1>>{});
    }));
}
