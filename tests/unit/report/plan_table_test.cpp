// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <sstream>

#include <ragged/report/plan_table.hpp>

#include "support/expect.hpp"

using support::contains;

namespace {

ragged::ModelSpec model() {
    ragged::ModelSpec result{"m", {}};
    for (const char* name : {"layers.0", "layers.1", "layers.2"})
        result.groups.push_back({name, {{"w", {40, 100}, ragged::rows(16)}, {"b", {100}}}});
    result.groups.push_back({"head", {{"v", {640}}}});
    return result;
}

} // namespace

TEST_CASE("equal groups share a line, and the totals count every group") {
    std::ostringstream out;
    ragged::write_table(out, ragged::make_plan(model(), 4));
    CHECK(contains(out.str(), "plan of m on 4 devices: 4 groups, 12,940 elements"));
    CHECK(contains(out.str(), "layers.0 .. layers.2 (3)"));
    CHECK(contains(out.str(), "head"));
    CHECK_FALSE(contains(out.str(), "layers.1"));
}

TEST_CASE("lines keep to a width that fits a page, and names to their own part") {
    ragged::ModelSpec wide{"m", {}};
    for (const char* group : {"layers.100", "layers.101"}) {
        wide.groups.push_back({group, {}});
        for (const char* name : {".self_attn.kv_a_proj_with_mqa.with_a_long_name", ".mlp.gate.weight"})
            wide.groups.back().tensors.push_back(
                {"model." + std::string(group) + name, {70001, 7168}, ragged::rows(128)});
    }
    std::ostringstream out;
    ragged::write_table(out, ragged::make_plan(wide, 3));
    std::istringstream lines(out.str());
    for (std::string line; std::getline(lines, line);)
        CHECK(line.size() <= 110);
    CHECK_FALSE(contains(out.str(), "model.layers"));
}

TEST_CASE("where a layout cannot exist the explanation says so") {
    ragged::ModelSpec primes{"m", {{"g", {}}}};
    for (const std::int64_t columns : {99991, 99989, 99971, 99961})
        primes.groups[0].tensors.push_back({std::to_string(columns), {64, columns}, ragged::rows(1)});
    std::ostringstream out;
    ragged::write_explanation(out, ragged::make_plan(primes, 4));
    CHECK(contains(out.str(), "impossible"));
}

TEST_CASE("a group of several element types is counted in the largest") {
    const ragged::ModelSpec mixed{
        "m", {{"g", {{"a", {64}, {}, ragged::DType::u8}, {"b", {64}, {}, ragged::DType::f32}}}}};
    std::ostringstream out;
    ragged::write_explanation(out, ragged::make_plan(mixed, 1));
    CHECK(contains(out.str(), "gathered the group takes 1.00 KiB, a shard 1.00 KiB in f32"));
}

TEST_CASE("the explanation names the tensor, its granularity and other layouts") {
    std::ostringstream out;
    ragged::write_explanation(out, ragged::make_plan(model(), 4));
    CHECK(contains(out.str(), "S is set by w 40x100, cut in steps of 1,600 elements (rows:16)"));
    CHECK(contains(out.str(), "nothing forces S"));
    for (const char* layout : {"ragged, exact", "ZeRO, FSDP1", "FSDP2", "Megatron-FSDP", "concatenation"})
        CHECK(contains(out.str(), layout));
}

TEST_CASE("a model without groups, and a group without tensors, have a table") {
    std::ostringstream out;
    ragged::write_table(out, ragged::make_plan(ragged::ModelSpec{"empty", {}}, 4));
    ragged::write_explanation(out, ragged::make_plan(ragged::ModelSpec{"hollow", {{"g", {}}}}, 4));
    CHECK(contains(out.str(), "plan of empty"));
}
