// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ragged/comm/local_communicator.hpp>
#include <ragged/layout/tensor_layout.hpp>
#include <ragged/redistribute/from_local.hpp>

#include "support/expect.hpp"

using ragged::LocalCommunicator;
using ragged::Shape;
using support::contains;
using support::expect;
using support::message_of;

TEST_CASE("from-local on an empty rank: the whole is what all ranks bring") {
    const std::int64_t rows[] = {0, 4, 0, 2, 3};
    CHECK_NOTHROW(ragged::run_ranks(5, [&](LocalCommunicator world) {
        const auto found = ragged::from_local("w", {rows[world.rank()], 3, 2}, ragged::rows(2), world);
        expect(found.spec.shape == Shape{9, 3, 2}, "the rows of all ranks");
        expect(found.shard.offset(2) == 24 && found.shard.size(2) == 0 && found.shard.size(4) == 18, "runs");
        using Line = ragged::Topology<ragged::Axis<"shard">>;
        const ragged::TensorLayout layout(found.spec, Line(5), ragged::place<"shard">(found.shard));
        expect(layout.portion(world.rank()).elements == rows[world.rank()] * 6,
               "each rank holds what it brought");
    }));
}

TEST_CASE("a tensor of which no rank brings a row has none") {
    CHECK_NOTHROW(ragged::run_ranks(3, [](LocalCommunicator world) {
        const auto found = ragged::from_local("w", {0, 4}, ragged::tile({2, 2}), world);
        expect(found.spec.shape == Shape{0, 4} && found.shard.size(world.rank()) == 0, "0 elements");
    }));
}

TEST_CASE("local tensors that are not rows of one tensor are refused on every rank") {
    CHECK_NOTHROW(ragged::run_ranks(3, [](LocalCommunicator world) {
        expect(message_of([&] {
                   ragged::from_local("w", {1, world.rank() == 2 ? 5 : 4}, {}, world);
               }) == "local tensors differ: rank 2 has tensor 'w' with rows of 1x5 elements:1, rank 0 has "
                     "tensor 'w' "
                     "with rows of 1x4 elements:1",
               "the first difference");
        expect(contains(message_of([&] {
                            ragged::from_local("w", {world.rank() == 0 ? 3 : 2, 4}, ragged::rows(2), world);
                        }),
                        "tensor 'w': rank 1 starts at 12, which is no legal cut"),
               "two ranks share a block");
        expect(contains(message_of([&] { ragged::from_local("s", {}, {}, world); }), "tensor 's': a scalar"),
               "scalar");
    }));
}
