// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Other element types than float, on one axis: the small floats, and integers where nothing is averaged. With
// threads in the background and without.
#include <doctest/doctest.h>

#include "support/redistribution_suite.hpp"

using namespace ragged;
using support::List;
using support::On;

namespace {

using Line = Topology<Axis<"s">>;
template <class P>
using S = List<On<"s", P>>;

template <class T>
void check() {
    for (const int ranks : {1, 3, 8}) {
        support::RedistributionSuite<T, Line> suite{Line(ranks)};
        suite.add(S<RaggedByWeights>{}, S<Replicate>{}, S<Shard<1>>{});
        suite.add(S<Partial<>>{}, S<RaggedByWeights>{}, S<Replicate>{});
        suite.add(S<Partial<PartialOp::max>>{}, S<RaggedByWeights>{});
        if constexpr (floating_element<T>)
            suite.add(S<Partial<PartialOp::avg>>{}, S<RaggedByWeights>{});
        for (const bool background : {false, true})
            suite.run(background);
    }
}

} // namespace

TEST_CASE("bf16") {
    CHECK_NOTHROW(check<bf16>());
}

TEST_CASE("8-bit integers") {
    CHECK_NOTHROW(check<std::int8_t>());
}
