// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <locale>
#include <sstream>
#include <string>

#include <ragged/plan/policy/comparison.hpp>
#include <ragged/report/plan_json.hpp>

#include "support/written_plan.hpp"

TEST_CASE("a plan is one object, with every name escaped") {
    const ragged::ModelSpec model{"m\"\\\n",
                                  {{"g", {{"t\t\x01", {2, 32}, ragged::rows(1)}, {"u", {0}}}}, {"none", {}}}};
    const std::string text = support::written(ragged::make_plan(model, 2));
    const std::string head = text.substr(0, text.find(", \"fingerprint\""));
    CHECK(
        head ==
        R"({"schema": "ragged.plan/1", "model": "m\"\\\u000a", "devices": 2, "alignment_bytes": 128, )"
        R"("order": "search", "max_segments": 3,)"
        "\n \"groups\": [\n  "
        R"({"name": "g", "policy": "exact", "alignment_bytes": 128, "alignment_elements": 64, )"
        R"("elements": 64, "padding_ratio": 1.0, "segments": [)"
        "\n   "
        R"({"shard_elements": 64, "lower_bound_shard_elements": 64, "proven_optimal": true, "set_by": null, )"
        R"("tensors": [)"
        "\n    "
        R"({"name": "t\u0009\u0001", "shape": [2, 32], "granularity": 32, "offset": 0, "elements": 64, )"
        R"("dtype": "bf16", "block": "rows:1", "align_bytes": 128},)"
        "\n    "
        R"({"name": "u", "shape": [0], "granularity": 1, "offset": 64, "elements": 0, )"
        R"("dtype": "bf16", "block": "elements:1", "align_bytes": 128}]}]},)"
        "\n  "
        R"({"name": "none", "policy": "exact", "alignment_bytes": 128, "alignment_elements": 128, )"
        R"("elements": 0, "padding_ratio": 0.0, "segments": [)"
        "\n   "
        R"({"shard_elements": 0, "lower_bound_shard_elements": 0, "proven_optimal": true, "set_by": null, )"
        R"("tensors": []}]}],)"
        "\n "
        R"("elements": 64, "padded_elements": 128, "padding_ratio": 1.0, "plan_seconds": 0.25)");
    CHECK(text.size() == head.size() + 37); // 16 hexadecimal digits
}

TEST_CASE("slices, stacks of none, several segments and stricter tensors add what only they need") {
    const std::string text = support::written(support::two_segments());
    const std::string start = text.substr(text.find("  {\"name\": \"g\""));
    CHECK(
        start.substr(0, start.find("  {\"name\": \"none\"")) ==
        "  "
        R"({"name": "g", "policy": "canned", "alignment_bytes": 8, "alignment_elements": 8, "elements": 84, )"
        R"("padding_ratio": 0.14285714285714285, "segments": [)"
        "\n   "
        R"({"shard_elements": 40, "lower_bound_shard_elements": 40, "proven_optimal": true, )"
        R"("set_by": {"name": "a"}, "tensors": [)"
        "\n    "
        R"({"name": "a", "shape": [6, 10], "granularity": 10, "offset": 0, "elements": 60, )"
        R"("dtype": "u8", "block": "rows:1", "align_bytes": 4},)"
        "\n    "
        R"({"name": "s", "shape": [8], "granularity": 8, "offset": 60, "elements": 8, )"
        R"("dtype": "u8", "block": "rows:1", "align_bytes": 4, "slice": 1, "index": 2},)"
        "\n    "
        R"({"name": "e", "shape": [0, 4], "granularity": 1, "offset": 68, "elements": 0, )"
        R"("dtype": "u8", "block": "block:1x2", "align_bytes": 4, "sliced": true, "index": 4}]},)"
        "\n   "
        R"({"shard_elements": 8, "lower_bound_shard_elements": 8, "proven_optimal": true, )"
        R"("set_by": {"name": "s", "slice": 0}, "tensors": [)"
        "\n    "
        R"({"name": "s", "shape": [8], "granularity": 8, "offset": 0, "elements": 8, )"
        R"("dtype": "u8", "block": "rows:1", "align_bytes": 4, "slice": 0, "index": 1},)"
        "\n    "
        R"({"name": "b", "shape": [8], "granularity": 1, "offset": 8, "elements": 8, )"
        R"("dtype": "u8", "block": "elements:1", "align_bytes": 8, "index": 3}]}]},)"
        "\n");
    CHECK(text.find(R"("devices": 2, "alignment_bytes": 4,)") != std::string::npos); // not the stricter 8
}

TEST_CASE("a model without groups") {
    CHECK(support::written({"m", {}}).starts_with(
        R"({"schema": "ragged.plan/1", "model": "m", "devices": 1, "alignment_bytes": 0,)"));
}

TEST_CASE("a plan is JSON, and names come back as they were") {
    const ragged::ModelSpec model{"m\"\\\n", {{"g", {{"t\t\x01\xc3\xa9", {2, 32}, ragged::rows(1)}}}}};
    const ragged::Json plan = ragged::Json::parse(support::written(ragged::make_plan(model, 2)));
    CHECK(plan.at("model").text() == model.name);
    CHECK(plan.at("plan_seconds").number() == 0.25);
    const auto tensors = plan.at("groups").items().at(0).at("segments").items().at(0).at("tensors").items();
    REQUIRE(tensors.size() == 1);
    CHECK(tensors[0].at("name").text() == model.groups[0].tensors[0].name);
    CHECK(tensors[0].at("shape").items().at(1).integer() == 32);
    CHECK(tensors[0].path() == "groups[0].segments[0].tensors[0]");
}

TEST_CASE("the locale of the stream does not matter") {
    struct Grouped : std::numpunct<char> {
        char do_thousands_sep() const override { return ','; }
        std::string do_grouping() const override { return "\3"; }
    };
    const ragged::ModelPlan plan = ragged::make_plan(ragged::ModelSpec{"m", {{"g", {{"t", {99999}}}}}}, 2000);
    std::ostringstream out;
    out.imbue(std::locale(std::locale::classic(), new Grouped));
    ragged::write_json(out, plan, {"search", 3, 0.25});
    CHECK(out.str() == support::written(plan));
}

TEST_CASE("what the schema cannot say is refused before anything is written") {
    const ragged::GroupSpec group{"g", {{"t", {3, 100}, ragged::rows(1)}}};
    std::ostringstream out;
    const ragged::ModelPlan lawless{"m", {ragged::make_plan(group, 2, ragged::policy::EvenRows{})}};
    CHECK_THROWS_WITH_AS(ragged::write_json(out, lawless, {}),
                         "group 'g': the layout of policy 'even rows per tensor (FSDP2)' breaks laws and is "
                         "not written as a plan",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(
        ragged::write_json(out, {"m", {ragged::make_plan(group, 2), ragged::make_plan(group, 3)}}, {}),
        "group 'g' is planned for 3 devices, the first group for 2", ragged::PlanError);
    CHECK(out.str().empty());
}
