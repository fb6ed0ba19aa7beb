// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Law 2 in words and in numbers. What make_plan says of layouts that are none is in make_plan_test, the count
// of each layout of today in policy/comparison_test.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <ragged/plan/make_plan.hpp>

#include "support/expect.hpp"
#include "support/random_group.hpp"
#include "support/segment_oracle.hpp"

namespace {

using ragged::Arrangement;
using ragged::detail::check_law;
using ragged::detail::check_layout;

const ragged::GroupSpec two{
    "g", {{"a", {6, 10}, ragged::rows(1), ragged::DType::u8}, {"b", {8}, {}, ragged::DType::u8}}};

/// What is wrong with an arrangement of the two on 4 devices, aligned to 2 bytes.
std::string broken(const Arrangement& arrangement) {
    const auto prepared = ragged::detail::prepare(two.tensors, {.alignment_bytes = 2});
    return support::message_of([&] {
        check_layout(prepared.input(4), arrangement);
        check_law(prepared.input(4), arrangement);
    });
}

} // namespace

TEST_CASE("the first broken law, with the tensor and the numbers") {
    CHECK(broken({.segments = {{20}}, .starts = {{0, 0}, {0, 60}}}) == "");
    CHECK(broken({.segments = {{20}, {3}}, .starts = {{0, 0}, {1, 0}}}) ==
          "segment 1: shards of 3 elements are no multiple of the 2 of the alignment");
    CHECK(broken({.segments = {{20}}, .starts = {{0, 0}, {0, 61}}}) ==
          "tensor 'b' at offset 61 of segment 0 is off its alignment of 2 elements");
    CHECK(broken({.segments = {{18}}, .starts = {{0, 0}, {0, 60}}}) ==
          "tensor 'a' at offset 0 of segment 0: shards of 18 elements cut a block of rows:1");
    CHECK(broken({.segments = {{28}}, .starts = {{0, 0}, {0, 20}}, .interleaved = true}) ==
          "tensors are interleaved, a gather would have to copy them");
}

TEST_CASE("a run that another axis keeps whole is one block, wherever its own blocks end") {
    const std::vector<ragged::TensorSpec> tensors{
        {"o", {4, 6}, ragged::elements(2), ragged::DType::u8, 0, false, 1}};
    const auto prepared = ragged::detail::prepare(tensors, {.alignment_bytes = 2});
    const Arrangement cut{.segments = {{8}}, .starts = {{0, 0}}}; // rows 1 and 2, of rows 0 to 3
    CHECK(support::message_of([&] { check_law(prepared.input(3), cut); }) ==
          "tensor 'o' at offset 0 of segment 0: shards of 8 elements cut a block of elements:2 whole from "
          "dimension 1");
    CHECK(ragged::detail::count_violations(prepared.input(3), cut) == ragged::Violations{2, 0, 0});
    const Arrangement between{.segments = {{12}}, .starts = {{0, 0}}};
    CHECK(support::message_of([&] { check_law(prepared.input(2), between); }) == "");
    CHECK_FALSE(ragged::detail::count_violations(prepared.input(2), between).any());
}

TEST_CASE("a plan has a segment, and what sets its shards lies in it") {
    CHECK(broken({.segments = {}, .starts = {{0, 0}, {0, 60}}}) ==
          "there is no segment, a plan has at least one");
    for (const std::int64_t set_by : {std::int64_t{-2}, std::int64_t{1}, std::int64_t{2}, ragged::max_count})
        CHECK(broken({.segments = {{20, set_by}, {2, 1}}, .starts = {{0, 0}, {1, 0}}}) ==
              ragged::concat("segment 0 is set by tensor ", set_by, ", which does not lie in it"));
    CHECK(broken({.segments = {{20, 0}, {2, 1}}, .starts = {{0, 0}, {1, 0}}}) == "");
}

TEST_CASE("random arrangements keep the law just when they do by the oracle; then no violation is counted") {
    std::int64_t kept = 0, broke = 0;
    for (std::uint32_t seed = 0; seed < 4000; ++seed) {
        const ragged::GroupSpec group = support::awkward_group(seed);
        const std::int64_t devices = 1 + seed % 5;
        const auto prepared = ragged::detail::prepare(group.tensors, {.alignment_bytes = 8});
        const ragged::PlanInput input = prepared.input(devices);
        std::mt19937 random(seed);
        Arrangement arrangement; // one tensor after another, most of them aligned; S mostly as well
        std::vector<oracle::Run> runs;
        std::int64_t end = 0;
        for (const ragged::PlanTensor& tensor : prepared.tensors) {
            end = ragged::round_up(end, tensor.align_elems) + (random() % 16 == 0 ? 1 : 0);
            arrangement.starts.push_back({0, end});
            end += tensor.elements();
            const ragged::Tensor& spec = tensor.spec;
            runs.push_back(oracle::run_of({"", spec.shape, spec.block, spec.dtype, 0, false, spec.whole_from},
                                          tensor.align_elems));
        }
        const std::int64_t step = random() % 8 == 0 ? 1 : prepared.alignment_elems;
        const std::int64_t shard = ragged::round_up(ragged::ceil_div(end, devices), step) +
                                   step * static_cast<std::int64_t>(random() % 8);
        arrangement.segments = {{shard}};
        check_layout(input, arrangement);

        bool keeps = shard % prepared.alignment_elems == 0;
        for (std::size_t i = 0; i < runs.size(); ++i)
            keeps = keeps && oracle::may_start(runs[i], arrangement.starts[i].offset, shard, devices);
        CAPTURE(seed);
        CHECK(support::message_of([&] { check_law(input, arrangement); }).empty() == keeps);
        // a row of tiles that is one element thick is kept whole, and not counted
        CHECK((!keeps || !ragged::detail::count_violations(input, arrangement).any()));
        ++(keeps ? kept : broke);
    }
    CHECK(kept > 500);
    CHECK(broke > 500);
}

TEST_CASE("how many boundaries there are does not matter") {
    // 2^40 devices, and a boundary inside of the tensor for each
    const std::int64_t many = std::int64_t{1} << 40;
    const std::vector<ragged::TensorSpec> tensors{
        {"t", {many, 3, 5}, ragged::tile({1, 2, 5}), ragged::DType::u8}};
    const auto prepared = ragged::detail::prepare(tensors, {.alignment_bytes = 1});
    const auto keeps = [&](std::int64_t shard) {
        return support::message_of([&] {
                   check_law(prepared.input(many), {.segments = {{shard}}, .starts = {{0, 0}}});
               })
            .empty();
    };
    CHECK(keeps(15));
    CHECK_FALSE(keeps(20));
    CHECK(ragged::detail::count_violations(prepared.input(many), {.segments = {{15}}, .starts = {{0, 0}}}) ==
          ragged::Violations{});
}
