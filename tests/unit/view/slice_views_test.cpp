// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ragged/plan/make_plan.hpp>
#include <ragged/view/slice_views.hpp>

#include "support/expect.hpp"
#include "support/random_group.hpp"

using Line = ragged::Topology<ragged::Axis<"shard">>;
using Partial = ragged::DBuffer<float, Line, ragged::state::Partial>;

TEST_CASE("each slice is a view of its own run, and the stride is told where it is one") {
    ragged::GroupSpec group{"layer", {{"experts", {4, 8, 16}, ragged::rows(8)}, {"norm", {16}}}};
    group.tensors[0].sliced = true;
    const ragged::Plan plan = ragged::make_plan(group, 4);
    ragged::HostResource memory;
    const Partial buffer(plan, ragged::Place<Line>(Line(4), 1), memory);
    const auto experts = ragged::slices(buffer, "experts");
    REQUIRE(experts.size() == 4);
    CHECK(experts.shape() == ragged::Shape{8, 16});
    CHECK(experts.pointers().size() == 4);
    for (std::int64_t i = 0; i < 4; ++i) {
        const auto& placed = plan.tensors[static_cast<std::size_t>(i)];
        CHECK(experts[i].data() == buffer.segment_data(placed.segment) + placed.offset);
        CHECK(experts.pointers()[static_cast<std::size_t>(i)] == experts[i].data());
        experts[i](7, 15) = static_cast<float>(i);
        CHECK(buffer.values(0)[static_cast<std::size_t>(placed.offset + 127)] == static_cast<float>(i));
    }
    CHECK(experts.stride() == 192); // one per shard: 128 elements, and room for part of the norm
}

TEST_CASE("a stride is that of all slices or of none") {
    float values[12]{};
    using Views = ragged::SliceViews<float>;
    CHECK(Views({values, values + 4, values + 8}, {2, 2}).stride() == 4);
    CHECK(Views({values + 8, values + 4, values}, {2, 2}).stride() == -4);
    CHECK_FALSE(Views({values, values + 4, values + 9}, {2}).stride().has_value());
    CHECK(Views({values + 3}, {2, 3}).stride() == 6);
    CHECK(Views({}, {2, 3}).stride() == 6);
    CHECK(Views({}, {2, 3}).size() == 0);
}

TEST_CASE("random groups: slices keep their order, whatever the order of placement") {
    std::int64_t seen = 0, uniform = 0;
    for (std::uint32_t seed = 0; seed < 200; ++seed)
        for (std::int64_t ranks : {1, 3, 4}) {
            const ragged::Plan plan =
                ragged::make_plan(support::random_group(seed), ranks,
                                  ragged::policy::Exact{ragged::policy::Order::search, 3, {.latency_ns = 0}});
            ragged::HostResource memory;
            const Partial buffer(plan, ragged::Place<Line>(Line(ranks), 0), memory);
            for (const ragged::PlacedTensor& tensor : plan.tensors) {
                if (tensor.slice != 0)
                    continue;
                const auto views = ragged::slices(buffer, tensor.spec.name);
                CHECK(views.shape() == tensor.spec.shape);
                for (std::int64_t i = 1; i < views.size() && tensor.elements() > 0; ++i)
                    CHECK(views[i - 1].data() < views[i].data());
                ++seen;
                uniform += views.stride().has_value() ? 1 : 0;
            }
        }
    CHECK(seen > 100);
    CHECK(uniform > seen / 2);
}

TEST_CASE("a stack of no slices, and what is no stack") {
    ragged::GroupSpec group{"layer", {{"none", {0, 8, 16}}, {"w", {2, 4}}, {"experts", {2, 4}}}};
    group.tensors[0].sliced = group.tensors[2].sliced = true;
    const ragged::Plan plan = ragged::make_plan(group, 2);
    ragged::HostResource memory;
    const Partial buffer(plan, ragged::Place<Line>(Line(2), 0), memory);
    CHECK(ragged::slices(buffer, "none").size() == 0);
    CHECK(ragged::slices(buffer, "none").shape() == ragged::Shape{8, 16});
    CHECK(support::message_of([&] { static_cast<void>(ragged::slices(buffer, "w")); }) ==
          "group 'layer': tensor 'w' is not sliced");
    CHECK(support::message_of([&] { static_cast<void>(ragged::slices(buffer, "v")); }) ==
          "group 'layer' has no tensor 'v'");
    CHECK(support::message_of([&] { static_cast<void>(ragged::view(buffer, "experts")); }) ==
          "group 'layer': tensor 'experts' lies in 2 slices; ask for its slices");
}
