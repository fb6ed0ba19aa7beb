// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a plan says about itself: sums, places, owners, fingerprint and text.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <ragged/plan/make_plan.hpp>

#include "support/random_group.hpp"

namespace {

using ragged::DType;
using ragged::max_count;
using ragged::PlacedTensor;
using ragged::Plan;
using ragged::Shape;
using ragged::TensorSpec;

PlacedTensor placed(TensorSpec spec, std::int64_t segment, std::int64_t offset) {
    const ragged::CutPattern cuts = ragged::cuts_of(spec);
    return {std::move(spec), cuts, segment, offset};
}

/// Two segments of shards of 8 and 12 on 3 devices.
Plan two_segments() {
    Plan plan;
    plan.name = "layers.0";
    plan.policy = "by hand";
    plan.num_devices = 3;
    plan.alignment_bytes = 8;
    plan.alignment_elems = 4;
    plan.segments = {{8, 8, 19, -1}, {12, 8, 30, 2}};
    plan.tensors = {placed({"wq", {5, 3}, ragged::rows(1)}, 0, 0), placed({"norm", {4}}, 0, 16),
                    placed({"w1", {6, 5}, ragged::tile({2, 5})}, 1, 4)};
    return plan;
}

} // namespace

TEST_CASE("sums over segments") {
    const Plan plan = two_segments();
    CHECK(plan.elements() == 49);
    CHECK(plan.region_elems() == 20);
    CHECK(plan.padded_elements() == 60);
    CHECK(plan.padding_ratio() == doctest::Approx(11.0 / 49.0));
    CHECK(plan.region_offset(0, 0) == 0);
    CHECK(plan.region_offset(1, 0) == 8);
    CHECK(plan.segment_offset(0) == 0);
    CHECK(plan.segment_offset(1) == 24);
    CHECK(plan.segments[0].proven_optimal());
    CHECK_FALSE(plan.segments[1].proven_optimal());
}

TEST_CASE("a plan of nothing has no padding") {
    CHECK(Plan{}.elements() == 0);
    CHECK(Plan{}.padded_elements() == 0);
    CHECK(Plan{}.padding_ratio() == 0.0);
}

TEST_CASE("peak bytes: a region per plane, a gathered buffer per gather") {
    const Plan plan = two_segments(); // region 20, gathered 60
    const auto peak = [&](const std::vector<DType>& regions, const std::vector<DType>& gathered) {
        return plan.peak_bytes(regions, gathered);
    };
    CHECK(peak({}, {}) == 0);
    CHECK(peak({DType::f32}, {}) == 80);
    CHECK(peak({}, {DType::bf16}) == 120);
    // bf16 parameter, f32 master, f32 moments, 8-bit state; bf16 gathered, twice in flight
    CHECK(peak({DType::bf16, DType::f32, DType::f32, DType::f32, DType::i8}, {DType::bf16, DType::bf16}) ==
          20 * (2 + 4 + 4 + 4 + 1) + 60 * 4);
    CHECK(peak({DType::f64, DType::f8e4m3, DType::f8e5m2, DType::u8, DType::f16}, {}) == 20 * 13);

    Plan large;
    large.num_devices = 1;
    large.segments = {{max_count / 4, 0, 0, -1}};
    const std::array regions{DType::f32}, byte{DType::u8};
    CHECK(large.peak_bytes(regions, {}) == max_count / 4 * 4);
    CHECK_THROWS_AS(large.peak_bytes(regions, byte), ragged::PlanError);
    CHECK_THROWS_WITH_AS(large.peak_bytes(std::array{DType::f64}, {}),
                         "peak bytes: 2305843009213693951 * 8 does not fit 64 bits", ragged::PlanError);
}

TEST_CASE("tensors are found by name") {
    const Plan plan = two_segments();
    CHECK(plan.index_of("wq") == 0);
    CHECK(plan.index_of("w1") == 2);
    CHECK_THROWS_WITH_AS(plan.index_of("w2"), "group 'layers.0' has no tensor 'w2'", ragged::PlanError);
    CHECK_THROWS_AS(plan.index_of(""), ragged::PlanError);
    CHECK_THROWS_AS(plan.index_of("w"), ragged::PlanError);
}

TEST_CASE("owners and pieces of a plan by hand") {
    const Plan plan = two_segments();
    // wq [0, 15) over shards of 8, in rows of 3: the first boundary cuts a row
    CHECK_THROWS_AS(ragged::ragged_shard(plan, plan.tensors[0]), ragged::PlanError);
    // norm [16, 20) is on the last device
    CHECK(ragged::ragged_shard(plan, plan.tensors[1]) ==
          ragged::RaggedShard::on_rank(plan.tensors[1].cuts, 3, 2));
    CHECK(ragged::piece_of(plan, plan.tensors[1], 2) == ragged::Piece{0, 4, 0});
    CHECK(ragged::piece_of(plan, plan.tensors[1], 1) == ragged::Piece{0, 0, 8}); // empty, at the end
    // w1 [4, 34) over shards of 12
    CHECK(ragged::piece_of(plan, plan.tensors[2], 0) == ragged::Piece{0, 8, 4});
    CHECK(ragged::piece_of(plan, plan.tensors[2], 1) == ragged::Piece{8, 12, 0});
    CHECK(ragged::piece_of(plan, plan.tensors[2], 2) == ragged::Piece{20, 10, 0});
}

TEST_CASE("owner, piece and place of every element agree with the buffer's shards, on random groups") {
    for (std::uint32_t seed = 0; seed < 400; ++seed)
        for (const std::int64_t devices : {1, 2, 3, 5, 8}) {
            const Plan plan = ragged::make_plan(support::random_group(seed), devices, {},
                                                {.alignment_bytes = std::int64_t{4} << seed % 6});
            CAPTURE(seed);
            CAPTURE(devices);
            const std::int64_t shard = plan.segments[0].shard_elems;
            for (const PlacedTensor& tensor : plan.tensors) {
                const ragged::RaggedShard layout = ragged::ragged_shard(plan, tensor);
                REQUIRE(layout.num_ranks() == devices);
                REQUIRE(layout.elements() == tensor.elements());
                for (std::int64_t p = 0; p < tensor.elements(); ++p) {
                    const std::int64_t owner = (tensor.offset + p) / shard;
                    const ragged::Piece piece = ragged::piece_of(plan, tensor, owner);
                    if (layout.owner(p) != owner || p < piece.first || p >= piece.first + piece.elements ||
                        owner * shard + piece.region_offset + (p - piece.first) != tensor.offset + p)
                        FAIL_CHECK("element ", p, " of ", tensor.spec.name);
                }
                std::int64_t sum = 0;
                for (std::int64_t rank = 0; rank < devices; ++rank) {
                    const ragged::Piece piece = ragged::piece_of(plan, tensor, rank);
                    sum += piece.elements;
                    if (piece.first != layout.offset(rank) || piece.elements != layout.size(rank) ||
                        piece.region_offset < 0 || piece.region_offset + piece.elements > shard)
                        FAIL_CHECK("piece of rank ", rank, " of ", tensor.spec.name);
                }
                REQUIRE(sum == tensor.elements());
            }
        }
}

TEST_CASE("whatever decides where an element lies changes the fingerprint and equality") {
    const Plan plan = two_segments();
    const std::vector<std::function<void(Plan&)>> changes{
        [](Plan& p) { p.name = "layers.1"; },
        [](Plan& p) { p.num_devices = 4; },
        [](Plan& p) { p.alignment_bytes = 16; },
        [](Plan& p) { p.alignment_elems = 8; },
        [](Plan& p) { p.segments[0].shard_elems = 12; },
        [](Plan& p) { p.segments[1].shard_elems = 16; },
        [](Plan& p) { std::swap(p.segments[0], p.segments[1]); },
        [](Plan& p) { p.segments.pop_back(); },
        [](Plan& p) { p.segments.push_back({}); },
        [](Plan& p) { p.tensors[0].spec.name = "wk"; },
        [](Plan& p) { p.tensors[0].spec.name = "wq "; },
        [](Plan& p) {
            p.tensors[0].spec.shape = {3, 5};
        },
        [](Plan& p) {
            p.tensors[0].spec.shape = {5, 3, 1};
        },
        [](Plan& p) { p.tensors[0].spec.shape = {15}; },
        [](Plan& p) { p.tensors[0].spec.block = ragged::rows(2); },
        [](Plan& p) { p.tensors[0].spec.block = ragged::elements(1); },
        [](Plan& p) { p.tensors[0].spec.block = ragged::whole(); },
        [](Plan& p) {
            p.tensors[2].spec.block = ragged::tile({2, 1});
        },
        [](Plan& p) { p.tensors[0].spec.dtype = DType::f16; },
        [](Plan& p) { p.tensors[0].spec.dtype = DType::f32; },
        [](Plan& p) { p.tensors[0].spec.align_bytes = 8; },
        [](Plan& p) { p.tensors[0].spec.sliced = true; },
        [](Plan& p) { p.tensors[0].spec.whole_from = 0; },
        [](Plan& p) { p.tensors[0].spec.whole_from = 1; },
        [](Plan& p) { p.tensors[0].spec.sliced = true, p.tensors[0].spec.whole_from = 1; },
        [](Plan& p) { p.tensors[0].slice = 0; },
        [](Plan& p) { p.tensors[0].slice = 1; },
        [](Plan& p) { p.tensors[1].segment = 1; },
        [](Plan& p) { p.tensors[1].offset = 20; },
        [](Plan& p) { p.tensors.pop_back(); },
        [](Plan& p) { std::swap(p.tensors[0], p.tensors[1]); },
        [](Plan& p) { std::swap(p.tensors[0].offset, p.tensors[1].offset); },
    };
    std::set<std::uint64_t> seen{ragged::fingerprint(plan)};
    for (std::size_t i = 0; i < changes.size(); ++i) {
        Plan changed = plan;
        changes[i](changed);
        CAPTURE(i);
        CHECK_FALSE(changed == plan);
        CHECK(seen.insert(ragged::fingerprint(changed)).second); // differs from all others too
        CHECK(ragged::describe(changed) != ragged::describe(plan));
    }
}

TEST_CASE("a model's name, its groups and their order change its fingerprint and equality") {
    const Plan layer = two_segments();
    Plan other = layer;
    other.name = "layers.1";
    const ragged::ModelPlan model{"m", {layer, other}};
    std::set<std::uint64_t> seen{ragged::fingerprint(model)};
    for (const ragged::ModelPlan& changed :
         {ragged::ModelPlan{"n", {layer, other}}, ragged::ModelPlan{"m", {other, layer}},
          ragged::ModelPlan{"m", {layer}}, ragged::ModelPlan{"m", {layer, layer}},
          ragged::ModelPlan{"m", {}}}) {
        CHECK_FALSE(changed == model);
        CHECK(seen.insert(ragged::fingerprint(changed)).second);
    }
    CHECK(ragged::ModelPlan{"m", {layer, other}} == model);
}

TEST_CASE("neighbouring facts are not run together in the fingerprint") {
    // Without lengths these would be the same 32 bytes.
    Plan named, numbered;
    named.name = "abcdefgh", named.num_devices = 2, named.alignment_bytes = 128, named.alignment_elems = 64;
    numbered.num_devices = 0x6867666564636261, numbered.alignment_bytes = 2, numbered.alignment_elems = 128;
    numbered.segments = {{64, 0, 0, -1}};
    CHECK(ragged::fingerprint(named) != ragged::fingerprint(numbered));

    // Without ranks these would be the same six numbers: 4 0 1 2 0 0.
    Plan line, table;
    line.tensors = {{{"t", {4}, ragged::elements(1), DType::bf16}, {}, 0, 0}};
    table.tensors = {{{"t", {4, 0}, {ragged::Block::Kind::rows, {}}, DType::bf16}, {}, 0, 0}};
    CHECK(ragged::fingerprint(line) != ragged::fingerprint(table));
}

TEST_CASE("who made the plan, and what it is compared with, change neither equality nor fingerprint") {
    const Plan plan = two_segments();
    Plan same = plan;
    CHECK(same == plan);
    CHECK(ragged::fingerprint(same) == ragged::fingerprint(plan));
    same.policy = "another";
    same.violations.blocks_cut = 1;
    CHECK(same == plan);
    CHECK(ragged::fingerprint(same) == ragged::fingerprint(plan));
}

TEST_CASE("the fingerprint is the same on every machine: this one is a constant") {
    CHECK(ragged::fingerprint(Plan{}) != 0);
    static_assert(ragged::detail::Hash{}.value() == 0xcbf29ce484222325u); // FNV-1a of nothing
    constexpr auto hash_of_a = [] {
        ragged::detail::Hash hash;
        hash.add(std::int64_t{'a'}); // one byte 0x61 and seven zero bytes
        return hash.value();
    }();
    std::uint64_t expected = 0xcbf29ce484222325u;
    for (int byte = 0; byte < 8; ++byte)
        expected = (expected ^ (byte == 0 ? 0x61u : 0u)) * 0x100000001b3u;
    CHECK(hash_of_a == expected);
}

TEST_CASE("the plan as text, one fact a line") {
    CHECK(ragged::describe(two_segments()) ==
          std::vector<std::string>{
              "group 'layers.0' with 3 tensors on 3 devices",
              "alignment of 8 bytes, 4 elements",
              "segment 0 with shards of 8 elements",
              "segment 1 with shards of 12 elements",
              "tensor 'wq' bf16 5x3 rows:1 aligned to 0 bytes at offset 0 of segment 0",
              "tensor 'norm' bf16 4 elements:1 aligned to 0 bytes at offset 16 of segment 0",
              "tensor 'w1' bf16 6x5 block:2x5 aligned to 0 bytes at offset 4 of segment 1",
          });
}

TEST_CASE("what other axes keep whole stands in the text where there is something") {
    Plan plan = two_segments();
    plan.tensors[0].spec.whole_from = 1;
    CHECK(ragged::describe(plan)[4] ==
          "tensor 'wq' bf16 5x3 rows:1 whole from dimension 1 aligned to 0 bytes at offset 0 of segment 0");
}

TEST_CASE("violations: any of the three") {
    static_assert(!ragged::Violations{}.any());
    static_assert(ragged::Violations{1, 0, 0}.any() && ragged::Violations{0, 1, 0}.any() &&
                  ragged::Violations{0, 0, 1}.any());
}

TEST_CASE("segments and tensors are not run together in the fingerprint") {
    Plan a, b;
    b.segments = {{7, 0, 0, -1}};
    b.tensors = {{{"abcdefgh", {4}, ragged::elements(1), ragged::DType::bf16}, {}, 0, 0}};
    for (std::int64_t s : {std::int64_t{7}, std::int64_t{8}, std::int64_t{0x6867666564636261},
                           std::int64_t{1}, std::int64_t{4}, std::int64_t{0}, std::int64_t{1},
                           std::int64_t{1}, std::int64_t{2}, std::int64_t{0}, std::int64_t{0}})
        a.segments.push_back({s, 0, 0, -1});
    CHECK(ragged::fingerprint(a) != ragged::fingerprint(b));
}
