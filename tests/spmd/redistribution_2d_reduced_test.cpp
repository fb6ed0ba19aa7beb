// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Contributions along one or both axes of two become values that are cut anew.
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

using Sum = Partial<>;
using Avg = Partial<PartialOp::avg>;
using Max = Partial<PartialOp::max>;

} // namespace

TEST_CASE("both axes are reduced") {
    CHECK_NOTHROW(check_on_planes([](auto& suite) {
        suite.add(RS<Sum, Sum>{}, RS<Replicate, RaggedEvenly>{}, RS<Shard<0>, RaggedByWeights>{},
                  SR<RaggedEvenly, Shard<0>>{}, RS<Shard<1>, Shard<0>>{});
        suite.add(RS<Avg, Avg>{}, RS<Replicate, RaggedEvenly>{}, RS<Shard<1>, RaggedOnRank>{});
        suite.add(RS<Max, Max>{}, RS<Shard<0>, RaggedByWeights>{});
        suite.add(RS<Avg, Sum>{}, RS<Replicate, RaggedEvenly>{}, RS<Avg, RaggedEvenly>{});
    }));
}

TEST_CASE("one axis is reduced in equal parts, then ranks exchange") {
    CHECK_NOTHROW(check_on_planes([](auto& suite) {
        suite.add(RS<Sum, Shard<0>>{}, RS<Shard<0>, RaggedByWeights>{}, RS<Shard<0>, Replicate>{},
                  RS<RaggedOnRank, Shard<0>>{});
        suite.add(RS<Avg, RaggedByWeights>{}, RS<Shard<0>, RaggedByWeights>{}, RS<Shard<0>, Replicate>{});
        suite.add(RS<RaggedEvenly, Max>{}, RS<Shard<0>, RaggedByWeights>{});
    }));
}
