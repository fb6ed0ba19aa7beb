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

TEST_CASE("numbers read back as the same double, and bytes that are no UTF-8 do not reach the text") {
    CHECK(ragged::detail::json_number(0) == "0.0");
    CHECK(ragged::detail::json_number(0.1) == "0.1");
    CHECK(ragged::detail::json_number(1e-7) == "1e-07");
    for (const double value : {1.0 / 3, 5.4364477706697967e-05, 191.0, 1e300})
        CHECK(std::stod(ragged::detail::json_number(value)) == value);
    CHECK(ragged::detail::json_string("\xc3\xa9\xff\x80") == "\"\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\"");
}
