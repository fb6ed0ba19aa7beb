// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ragged/plan/whole_axis_cost.hpp>

namespace {

using ragged::DType;
using ragged::GroupSpec;
using ragged::WholeAxisCost;

/// [4, 30] on 3 devices: 40 elements each, or two rows of 30.
GroupSpec rows_kept() {
    return {"layer", {{"o_proj", {4, 30}, {}, DType::u8, 0, false, 1}, {"norm", {3}, {}, DType::u8}}};
}
const ragged::PlanOptions bytes{.alignment_bytes = 1};

} // namespace

TEST_CASE("both paddings, and the tensor that sets the shards") {
    const WholeAxisCost cost = ragged::whole_axis_cost(rows_kept(), 3, {}, bytes);
    CHECK(cost == WholeAxisCost{"layer", 3, 57.0 / 123.0, 0, "o_proj", 1});
    CHECK(cost.added() == 57.0 / 123.0);
}

TEST_CASE("where whole rows fit the shards, or nothing is kept whole, it costs nothing") {
    CHECK(ragged::whole_axis_cost({"g", {{"o", {4, 30}, {}, DType::u8, 0, false, 1}}}, 4, {}, bytes) ==
          WholeAxisCost{"g", 4, 0, 0, "", -1});
    CHECK(ragged::whole_axis_cost({"g", {}}, 4) == WholeAxisCost{"g", 4, 0, 0, "", -1});
    const WholeAxisCost rows =
        ragged::whole_axis_cost({"g", {{"w", {4, 30}, ragged::rows(1), DType::u8}}}, 3, {}, bytes);
    CHECK(rows == WholeAxisCost{"g", 3, 0.5, 0.5, "w", -1}); // its block forces the same
    CHECK(rows.added() == 0);
}

TEST_CASE("a slice that is never cut is a stack that is whole from dimension 1") {
    const GroupSpec group{"g", {{"experts", {2, 2, 30}, {}, DType::u8, 0, true, 1}}};
    CHECK(ragged::whole_axis_cost(group, 3, {}, bytes) == WholeAxisCost{"g", 3, 0.5, 0, "experts", 1});
}

TEST_CASE("of several segments the one that pads most is to blame; the policy and options are the caller's") {
    const GroupSpec group{"g",
                          {{"a", {4, 30}, {}, DType::u8, 0, false, 1},
                           {"b", {4, 700}, {}, DType::u8, 0, false, 1},
                           {"rest", {300}, {}, DType::u8}}};
    const ragged::policy::Exact policy{ragged::policy::Order::search, 3, {0, 0}};
    const WholeAxisCost cost = ragged::whole_axis_cost(group, 3, policy, bytes);
    CHECK(cost.tensor == "b");
    CHECK(cost.padding_ratio == ragged::make_plan(group, 3, policy, bytes).padding_ratio());
    CHECK(cost.added() > 0);
}

TEST_CASE("what make_plan refuses is refused") {
    CHECK_THROWS_AS(ragged::whole_axis_cost(rows_kept(), 0), ragged::PlanError);
    GroupSpec group = rows_kept();
    group.tensors[0].whole_from = 2;
    CHECK_THROWS_WITH_AS(
        ragged::whole_axis_cost(group, 3),
        "group 'layer': tensor 'o_proj': whole from dimension 2, shape 4x30 has 2 dimensions",
        ragged::SpecError);
}
