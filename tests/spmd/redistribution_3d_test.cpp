// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Replicas x FSDP x tensor parallel: what training steps do, on three axes.
#include <doctest/doctest.h>

#include "support/redistribution_suite.hpp"

using namespace ragged;
using support::List;
using support::On;

namespace {

using Cube = Topology<Axis<"replica">, Axis<"fsdp">, Axis<"tp">>;

/// As a framework applies them: tensor parallel first.
template <class Replica, class Fsdp, class Tensor>
using Layer = List<On<"tp", Tensor>, On<"fsdp", Fsdp>, On<"replica", Replica>>;

using Sum = Partial<>;
using Avg = Partial<PartialOp::avg>;

template <class Add>
void check_on_cubes(const Add& add) {
    for (const std::array<int, 3> sizes : {std::array{2, 2, 2}, {1, 3, 2}, {2, 1, 4}, {1, 4, 1}})
        support::check_elements(Cube(sizes[0], sizes[1], sizes[2]), add);
}

} // namespace

TEST_CASE("weights are gathered, gradients are reduced") {
    CHECK_NOTHROW(check_on_cubes([](auto& suite) {
        suite.add(Layer<Replicate, RaggedEvenly, Shard<0>>{}, Layer<Replicate, Replicate, Shard<0>>{},
                  Layer<Replicate, Replicate, Replicate>{});
        suite.add(Layer<Replicate, RaggedByWeights, Shard<1>>{}, Layer<Replicate, Replicate, Shard<1>>{},
                  Layer<Replicate, Replicate, Replicate>{});
        suite.add(Layer<Sum, Avg, Shard<0>>{}, Layer<Replicate, RaggedEvenly, Shard<0>>{},
                  Layer<Sum, RaggedEvenly, Shard<0>>{});
        suite.add(Layer<Avg, Avg, Shard<1>>{}, Layer<Replicate, RaggedByWeights, Shard<1>>{});
        suite.add(Layer<Sum, Sum, Sum>{}, Layer<Replicate, RaggedEvenly, Shard<0>>{},
                  Layer<Replicate, RaggedByWeights, Shard<1>>{}, Layer<Replicate, Replicate, Replicate>{});
        suite.add(Layer<Sum, RaggedEvenly, Shard<0>>{}, Layer<Replicate, RaggedEvenly, Shard<0>>{},
                  Layer<Shard<0>, RaggedByWeights, Shard<1>>{});
    }));
}

TEST_CASE("whole matrices on roots, and other ways to be parallel") {
    CHECK_NOTHROW(check_on_cubes([](auto& suite) {
        suite.add(Layer<Replicate, RaggedEvenly, Shard<0>>{}, Layer<Replicate, RaggedOnRank, Replicate>{},
                  Layer<Replicate, RaggedOnRank, Shard<0>>{}, Layer<Replicate, RaggedByWeights, Shard<1>>{});
        suite.add(Layer<Replicate, RaggedOnRank, Replicate>{}, Layer<Replicate, RaggedByWeights, Shard<1>>{},
                  Layer<Replicate, Replicate, Replicate>{});
    }));
}
