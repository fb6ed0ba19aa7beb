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
    ragged::write_explanation(out, ragged::make_plan(primes, 4), {});
    CHECK(contains(out.str(), "impossible"));
}

TEST_CASE("a group of several element types is counted in the largest") {
    const ragged::ModelSpec mixed{
        "m", {{"g", {{"a", {64}, {}, ragged::DType::u8}, {"b", {64}, {}, ragged::DType::f32}}}}};
    std::ostringstream out;
    ragged::write_explanation(out, ragged::make_plan(mixed, 1), {});
    CHECK(contains(out.str(), "gathered the group takes 1.00 KiB, a shard 1.00 KiB in f32"));
}

TEST_CASE("the explanation names the tensor, its granularity and other layouts") {
    std::ostringstream out;
    ragged::write_explanation(out, ragged::make_plan(model(), 4), {});
    CHECK(contains(out.str(),
                   "a fair share is 1,025 elements, S is 1,600\n    padding costs 1.12 KiB per device"));
    CHECK(contains(out.str(), "S is set by w 40x100, cut in steps of 1,600 elements (rows:16)"));
    CHECK(contains(out.str(), "nothing forces S"));
    for (const char* layout : {"ragged, exact", "ZeRO, FSDP1", "FSDP2", "Megatron-FSDP", "concatenation"})
        CHECK(contains(out.str(), layout));
}

TEST_CASE("what other axes keep whole is in the explanation, and its cost a sentence") {
    const ragged::GroupSpec group{"g", {{"o\n", {4, 3000}, {}, ragged::DType::u8, 0, false, 1}}};
    std::ostringstream out;
    ragged::write_explanation(out, {"m", {ragged::make_plan(group, 3, {}, {.alignment_bytes = 1})}}, {});
    CHECK(contains(out.str(), "4x3000, cut in steps of 3,000 elements (elements:1 whole from dimension 1)"));

    ragged::WholeAxisCost cost = ragged::whole_axis_cost(group, 3, {}, {.alignment_bytes = 1});
    CHECK(ragged::to_string(cost) ==
          "group 'g' on 3 devices: keeping axes whole costs 50.0 % padding, 50.0 % instead of 0.000 %; "
          "'o\xef\xbf\xbd', whole from dimension 1, sets the shards");
    cost.whole_from = -1;
    CHECK(contains(ragged::to_string(cost), "0.000 %; 'o\xef\xbf\xbd' sets the shards"));
    cost.tensor = "";
    CHECK(ragged::to_string(cost) ==
          "group 'g' on 3 devices: keeping axes whole costs 50.0 % padding, 50.0 % instead of 0.000 %");
    CHECK(ragged::to_string(ragged::whole_axis_cost(group, 4, {}, {.alignment_bytes = 1})) ==
          "group 'g' on 4 devices: keeping axes whole costs nothing, padding is 0.000 %");
}

TEST_CASE("the explanation names each remedy with its numbers, in the order of the advice") {
    const auto advice = [](ragged::Remedy remedy, std::int64_t saved) {
        ragged::Advice result;
        result.remedy = remedy;
        result.max_segments = 3, result.layers_per_group = 2, result.num_devices = 512, result.replicas = 2;
        result.saved_bytes_per_device = saved, result.saved_gathered_bytes = 1000 * saved;
        result.totals = {5 << 20, 7 << 20, 11 << 20, 0.25};
        return result;
    };
    std::vector<ragged::Advice> all;
    for (const ragged::Remedy remedy : {ragged::Remedy::more_segments, ragged::Remedy::slices,
                                        ragged::Remedy::more_layers, ragged::Remedy::smaller_block})
        all.push_back(advice(remedy, (9 - static_cast<int>(all.size())) << 10));
    all.push_back(advice(ragged::Remedy::smaller_block, 1024));
    all.push_back(advice(ragged::Remedy::smaller_block, 1024));
    all.push_back(advice(ragged::Remedy::replicas, -3 << 20));
    all[1].tensors = {"layers.0.mlp.experts.up", "layers.1.mlp.experts.down"}, all[1].slices = 9216;
    all[3].block = ragged::rows(64), all[3].tensors = {"lm_head"};
    all[4].block = ragged::tile({1, 64, 128}), all[5].block = ragged::elements(2048);
    std::ostringstream out;
    ragged::write_explanation(out, ragged::make_plan(model(), 4), all);
    std::istringstream lines(out.str());
    const char* expected[] = {"this plan|54.3 %|9.75 KiB|12.50 KiB",
                              "3 segments per group|25.0 %|5.00 MiB|9.00 KiB|8.79 MiB|11.00 MiB|-",
                              "9,216 slices placed alone|8.00 KiB|.*.mlp.experts.*",
                              "2 layers per group|7.00 KiB",
                              "blocks of 64 rows|6.00 KiB|lm_head",
                              "blocks of 1x64x128|1.00 KiB",
                              "blocks of 2,048 elements|1.00 KiB",
                              "512 devices x 2 replicas|-3.00 MiB|-2.93 GiB"};
    std::string line;
    while (std::getline(lines, line) && !contains(line, "gathered saved"))
        ;
    std::getline(lines, line); // the rule
    for (const std::string row : expected) {
        REQUIRE(std::getline(lines, line));
        CHECK(line.size() <= 112);
        for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
            end = row.find('|', at);
            CHECK_MESSAGE(contains(line, row.substr(at, end - at)), line);
        }
    }
    CHECK((std::getline(lines, line) && line.empty()));
}

TEST_CASE("without advice there is no table of it") {
    std::ostringstream out;
    ragged::write_explanation(out, ragged::make_plan(model(), 4), {});
    CHECK_FALSE(contains(out.str(), "remed"));
}

TEST_CASE("slices, which share a name, are laid out otherwise too") {
    ragged::ModelSpec stacks{"m", {{"g", {{"stack", {3, 40, 8}, ragged::rows(16)}}}}};
    stacks.groups[0].tensors[0].sliced = true;
    std::ostringstream out;
    ragged::write_explanation(out, ragged::make_plan(stacks, 4), ragged::advise(stacks, 4));
    CHECK(contains(out.str(), "Megatron-FSDP"));
    CHECK_FALSE(contains(out.str(), "impossible"));
}

TEST_CASE("a model without groups, and a group without tensors, have a table") {
    std::ostringstream out;
    ragged::write_table(out, ragged::make_plan(ragged::ModelSpec{"empty", {}}, 4));
    ragged::write_explanation(out, ragged::make_plan(ragged::ModelSpec{"hollow", {{"g", {}}}}, 4), {});
    CHECK(contains(out.str(), "plan of empty"));
}
