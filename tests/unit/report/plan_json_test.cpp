// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <sstream>

#include <ragged/report/plan_json.hpp>

TEST_CASE("a plan is one object, with every name escaped") {
    const ragged::ModelSpec model{"m\"\\\n",
                                  {{"g", {{"t\t\x01", {2, 32}, ragged::rows(1)}, {"u", {0}}}}, {"none", {}}}};
    std::ostringstream out;
    ragged::write_json(out, ragged::make_plan(model, 2), {"search", 3, 0.25});
    const std::string text = out.str();
    const std::string head = text.substr(0, text.find(", \"fingerprint\""));
    CHECK(
        head ==
        R"({"schema": "ragged.plan/1", "model": "m\"\\\u000a", "devices": 2, "alignment_bytes": 128, )"
        R"("order": "search", "max_segments": 3,)"
        "\n \"groups\": [\n  "
        R"({"name": "g", "elements": 64, "padding_ratio": 1.0, "segments": [)"
        "\n   "
        R"({"shard_elements": 64, "lower_bound_shard_elements": 64, "proven_optimal": true, "tensors": [)"
        "\n    "
        R"({"name": "t\u0009\u0001", "shape": [2, 32], "granularity": 32, "offset": 0, "elements": 64},)"
        "\n    "
        R"({"name": "u", "shape": [0], "granularity": 1, "offset": 64, "elements": 0}]}]},)"
        "\n  "
        R"({"name": "none", "elements": 0, "padding_ratio": 0.0, "segments": [)"
        "\n   "
        R"({"shard_elements": 0, "lower_bound_shard_elements": 0, "proven_optimal": true, "tensors": []}]}],)"
        "\n "
        R"("elements": 64, "padded_elements": 128, "padding_ratio": 1.0, "plan_seconds": 0.25)");
    CHECK(text.size() == head.size() + 37); // 16 hexadecimal digits
}

TEST_CASE("a plan is JSON, and names come back as they were") {
    const ragged::ModelSpec model{"m\"\\\n", {{"g", {{"t\t\x01\xc3\xa9", {2, 32}, ragged::rows(1)}}}}};
    std::ostringstream out;
    ragged::write_json(out, ragged::make_plan(model, 2), {"search", 3, 0.25});
    const ragged::Json plan = ragged::Json::parse(out.str());
    CHECK(plan.at("model").text() == model.name);
    CHECK(plan.at("plan_seconds").number() == 0.25);
    const auto tensors = plan.at("groups").items().at(0).at("segments").items().at(0).at("tensors").items();
    REQUIRE(tensors.size() == 1);
    CHECK(tensors[0].at("name").text() == model.groups[0].tensors[0].name);
    CHECK(tensors[0].at("shape").items().at(1).integer() == 32);
    CHECK(tensors[0].path() == "groups[0].segments[0].tensors[0]");
}
