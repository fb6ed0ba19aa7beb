// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Stacks of experts on three axes and four: the first dimension over expert parallel ranks.
#include <doctest/doctest.h>

#include "support/redistribution_suite.hpp"

using namespace ragged;
using support::List;
using support::On;

namespace {

using Cube = Topology<Axis<"replica">, Axis<"fsdp">, Axis<"expert">>;
template <class Replica, class Fsdp, class Expert>
using Experts = List<On<"expert", Expert>, On<"fsdp", Fsdp>, On<"replica", Replica>>;

using World = Topology<Axis<"pod", 2>, Axis<"replica", 2>, Axis<"fsdp", 2>, Axis<"expert", 1>>;
template <class Pod, class Replica, class Fsdp, class Expert>
using All = List<On<"expert", Expert>, On<"pod", Pod>, On<"fsdp", Fsdp>, On<"replica", Replica>>;

using Sum = Partial<>;
using Avg = Partial<PartialOp::avg>;

std::vector<TensorSpec> stacks() {
    return {{"up", {4, 6, 5}, tile({1, 2, 5})},
            {"down", {5, 3, 4}, rows(1)},
            {"gate", {3, 2, 7}, elements(3)},
            {"bias", {4, 3}},
            {"none", {0, 2, 2}},
            {"scale", {1, 1, 1}, whole()}};
}

} // namespace

TEST_CASE("experts on a mesh of three axes") {
    for (const std::array<int, 3> sizes : {std::array{2, 2, 2}, {1, 3, 2}, {2, 1, 4}})
        CHECK_NOTHROW(support::check_elements(
            Cube(sizes[0], sizes[1], sizes[2]),
            [](auto& suite) {
                suite.add(Experts<Replicate, RaggedEvenly, Shard<0>>{},
                          Experts<Replicate, Replicate, Shard<0>>{},
                          Experts<Replicate, Replicate, Replicate>{},
                          Experts<Replicate, RaggedByWeights, Shard<1>>{},
                          Experts<Replicate, RaggedOnRank, Shard<0>>{});
                suite.add(Experts<Sum, Avg, Shard<0>>{}, Experts<Replicate, RaggedEvenly, Shard<0>>{},
                          Experts<Replicate, RaggedOnRank, Shard<0>>{});
                suite.add(Experts<Avg, Sum, Shard<1>>{}, Experts<Replicate, RaggedByWeights, Shard<1>>{},
                          Experts<Shard<0>, RaggedEvenly, Shard<0>>{});
            },
            stacks()));
}

TEST_CASE("experts on a mesh of four axes") {
    CHECK_NOTHROW(support::check_elements(
        World(),
        [](auto& suite) {
            suite.add(All<Shard<0>, Replicate, RaggedEvenly, Shard<0>>{},
                      All<Replicate, Replicate, Replicate, Replicate>{},
                      All<Replicate, Shard<0>, RaggedByWeights, Shard<1>>{});
            suite.add(All<Sum, Avg, Sum, Shard<0>>{}, All<Replicate, Replicate, RaggedByWeights, Shard<0>>{},
                      All<Shard<0>, Replicate, RaggedEvenly, Shard<0>>{});
        },
        stacks()));
}
