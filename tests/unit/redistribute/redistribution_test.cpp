// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What is refused before anything moves, and what one may hand in.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/comm/local_communicator.hpp>
#include <ragged/comm/mesh.hpp>
#include <ragged/layout/group_layout.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/plan_layout.hpp>
#include <ragged/redistribute/redistribution.hpp>
#include <ragged/redistribute/transfer_list.hpp>

#include "support/expect.hpp"

using ragged::DType;
using ragged::GroupLayout;
using ragged::LocalCommunicator;
using ragged::Replicate;
using ragged::Shape;
using ragged::Shard;
using ragged::TensorLayout;
using ragged::TensorSpec;
using support::contains;
using support::expect;
using support::message_of;

namespace {

using Line = ragged::Topology<ragged::Axis<"shard">>;

template <class P>
auto group(const std::vector<TensorSpec>& specs, std::int64_t ranks, const P& placement) {
    const auto placements = ragged::place<"shard">(placement);
    std::vector<TensorLayout<Line, std::remove_cvref_t<decltype(placements)>>> tensors;
    for (const TensorSpec& spec : specs)
        tensors.emplace_back(spec, Line(ranks), placements);
    return GroupLayout(std::move(tensors), Line(ranks));
}

} // namespace

TEST_CASE("bytes beyond 64 bits are refused, not wrong") {
    const Shape huge{std::int64_t{1} << 62};
    const auto sharded = group({{"w", huge}}, 4, Shard<0>{});
    CHECK(ragged::cost(sharded, sharded, DType::i8).kept_bytes == std::int64_t{1} << 62);
    CHECK(contains(message_of([&] { ragged::cost(sharded, sharded, DType::f32); }),
                   "bytes of a redistribution"));
    CHECK(contains(message_of([&] {
                       ragged::cost(sharded, group({{"w", huge}}, 4, Replicate{}), DType::i8);
                   }),
                   "bytes of a redistribution"));
}

TEST_CASE("an array that is only read may be constant") {
    CHECK_NOTHROW(ragged::run_ranks(2, [](LocalCommunicator world) {
        ragged::Mesh mesh(Line(2), world);
        ragged::HostResource memory;
        const std::vector<float> source(3, 2.0f);
        std::vector<float> destination(6);
        ragged::redistribute(group({{"w", {6}}}, 2, Shard<0>{}), source.data(),
                             group({{"w", {6}}}, 2, Replicate{}), destination.data(), mesh, memory)
            .wait();
        expect(destination == std::vector<float>(6, 2.0f), "gathered");
    }));
}

TEST_CASE("ranks that lay one plan on different topologies are told") {
    using Plane = ragged::Topology<ragged::Axis<"replica">, ragged::Axis<"shard">>;
    const ragged::Plan plan = ragged::make_plan(ragged::GroupSpec{"g", {{"w", {8}}}}, 2);
    const auto whole = group({{"w", {8}}}, 1, Replicate{});
    CHECK_NOTHROW(ragged::run_ranks(4, [&](LocalCommunicator world) {
        ragged::HostResource memory;
        const ragged::PlanLayout layout(plan, Plane(world.rank() == 3 ? 1 : 2, 2));
        expect(
            message_of([&] { ragged::make_redistribution<float>(whole, layout, world, memory); }) ==
                "layouts differ: rank 3 has as destination, plan over 'replica' of 1, 'shard' of 2, rank 0 "
                "has as destination, plan over 'replica' of 2, 'shard' of 2",
            "the topology is compared");
    }));
}

TEST_CASE("staging memory beyond 64 bits is refused, not wrong") {
    const std::vector<TensorSpec> huge{{"w", {4, std::int64_t{1} << 60}}};
    CHECK_NOTHROW(ragged::run_ranks(2, [&](LocalCommunicator world) {
        ragged::Mesh mesh(Line(2), world);
        ragged::HostResource memory;
        expect(contains(message_of([&] {
                            ragged::make_redistribution<float>(group(huge, 2, Shard<1>{}),
                                                               group(huge, 2, Replicate{}), mesh, memory);
                        }),
                        "bytes of staging memory"),
               "2^64 bytes");
    }));
}
