// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ragged/report/group_runs.hpp>

namespace detail = ragged::detail;

TEST_CASE("neighbours that differ in names only are one run, others and later ones are not") {
    const auto group = [](const char* name, std::int64_t columns) {
        return ragged::GroupSpec{name, {{"w", {40, columns}, ragged::rows(16)}, {"b", {columns}}}};
    };
    const ragged::ModelPlan plan = ragged::make_plan(
        ragged::ModelSpec{"m", {group("a", 8), group("b", 8), group("c", 16), group("d", 8)}}, 4);
    const std::vector<detail::GroupRun> runs = detail::group_runs(plan);
    REQUIRE(runs.size() == 3);
    CHECK(runs[0].first == 0);
    CHECK(runs[0].count == 2);
    CHECK(runs[2].first == 3);
    CHECK(runs[2].count == 1);
    CHECK(detail::run_name(plan, runs[0]) == "a .. b (2)");
    CHECK(detail::run_name(plan, runs[1]) == "c");
    CHECK(detail::group_runs(ragged::ModelPlan{}).empty());
}

TEST_CASE("what names have in common ends at a dot") {
    const auto common = [](const char* first, const char* second) {
        return detail::common_prefix(
            ragged::make_plan(ragged::GroupSpec{"g", {{first, {4}}, {second, {4}}}}, 2));
    };
    CHECK(common("layers.0.wq", "layers.0.wk") == 9);
    CHECK(common("layers.01", "layers.02") == 7);
    CHECK(common("wq", "wk") == 0);
    CHECK(detail::common_prefix(ragged::make_plan(ragged::GroupSpec{"g", {{"a.b", {4}}}}, 2)) == 0);
}
