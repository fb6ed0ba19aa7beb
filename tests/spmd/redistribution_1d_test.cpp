// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Every pair of placements along one axis.
#include <doctest/doctest.h>

#include "support/redistribution_suite.hpp"

using namespace ragged;
using support::List;
using support::On;

namespace {

using Line = Topology<Axis<"s">>;

template <class P>
using S = List<On<"s", P>>;

template <class From, class Suite>
void add_values(Suite& suite) {
    suite.add(From{}, S<Replicate>{}, S<Shard<0>>{}, S<Shard<1>>{}, S<RaggedEvenly>{}, S<RaggedByWeights>{},
              S<RaggedOnRank>{}, S<RaggedShard>{});
}
template <PartialOp Op, class Suite>
void add_partial(Suite& suite) {
    add_values<S<Partial<Op>>>(suite);
    suite.add(S<Partial<Op>>{}, S<Partial<Op>>{});
}

} // namespace

TEST_CASE("every pair of placements along one axis") {
    for (const int ranks : {1, 2, 3, 4, 5, 8}) {
        CAPTURE(ranks);
        CHECK_NOTHROW(support::check_elements(Line(ranks), [](auto& suite) {
            add_values<S<Replicate>>(suite);
            add_values<S<Shard<0>>>(suite);
            add_values<S<Shard<1>>>(suite);
            add_values<S<RaggedEvenly>>(suite);
            add_values<S<RaggedByWeights>>(suite);
            add_values<S<RaggedOnRank>>(suite);
            add_values<S<RaggedShard>>(suite);
            add_partial<PartialOp::sum>(suite);
            add_partial<PartialOp::avg>(suite);
            add_partial<PartialOp::max>(suite);
            CHECK(suite.num_pairs() == 73);
        }));
    }
}
