// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What make_plan promises around a policy: it asks once per distinct group, checks the answer against the
// laws, and refuses bad input with the group, the tensor and the numbers. Optimality is in
// property/exact_planner and property/real_models.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/policy/comparison.hpp>

#include "support/random_group.hpp"

namespace {

using ragged::Arrangement;
using ragged::DType;
using ragged::GroupSpec;
using ragged::make_plan;
using ragged::max_count;
using ragged::ModelSpec;
using ragged::Plan;
using ragged::PlanInput;
using ragged::PlanOptions;
using ragged::Shape;

/// Counts how often it is asked.
struct Counting {
    static constexpr std::string_view name = "counting";
    static inline int calls = 0;

    Arrangement operator()(const PlanInput& input) const {
        ++calls;
        return ragged::policy::Exact{}(input);
    }
};

/// Returns what it was given.
struct Canned {
    static constexpr std::string_view name = "canned";
    Arrangement arrangement;
    Arrangement operator()(const PlanInput&) const { return arrangement; }
};

/// The same without a promise to keep the laws.
struct Lawless : Canned {
    static constexpr bool keeps_laws = false;
};

/// a: 6 rows of 10, b: 8 elements; bytes, so that every offset is aligned with alignment_bytes 1.
const GroupSpec two{"g", {{"a", {6, 10}, ragged::rows(1), DType::u8}, {"b", {8}, {}, DType::u8}}};
const PlanOptions unaligned{.alignment_bytes = 1};

Arrangement one_segment(std::int64_t shard, const std::vector<std::int64_t>& offsets) {
    Arrangement result{.segments = {{shard}}};
    for (std::int64_t offset : offsets)
        result.starts.push_back({0, offset});
    return result;
}

Plan canned(std::int64_t shard, const std::vector<std::int64_t>& offsets, std::int64_t devices = 4,
            PlanOptions options = unaligned) {
    return make_plan(two, devices, Canned{one_segment(shard, offsets)}, options);
}

GroupSpec one(const char* name, const Shape& shape, DType dtype = DType::bf16) {
    return {name, {{"t", shape, {}, dtype}}};
}

// One requirement of planner_policy is missing in each.
struct NoName {
    Arrangement operator()(const PlanInput&) const { return {}; }
};
struct NameIsNumber {
    [[maybe_unused]] static constexpr int name = 3;
    Arrangement operator()(const PlanInput&) const { return {}; }
};
struct ReturnsOffsets {
    [[maybe_unused]] static constexpr std::string_view name = "x";
    std::vector<std::int64_t> operator()(const PlanInput&) const { return {}; }
};
struct NotConst {
    [[maybe_unused]] static constexpr std::string_view name = "x";
    Arrangement operator()(const PlanInput&) { return {}; }
};
struct NotCopyable {
    [[maybe_unused]] static constexpr std::string_view name = "x";
    NotCopyable(const NotCopyable&) = delete;
    Arrangement operator()(const PlanInput&) const { return {}; }
};

} // namespace

TEST_CASE("at least one device") {
    CHECK_THROWS_WITH_AS(make_plan(two, 0), "a plan needs at least 1 device, got 0", ragged::PlanError);
    CHECK_THROWS_WITH_AS(make_plan(two, -1), "a plan needs at least 1 device, got -1", ragged::PlanError);
    CHECK_THROWS_AS(make_plan(ModelSpec{}, 0), ragged::PlanError); // without groups too
}

TEST_CASE("the alignment is a power of two and holds every element") {
    const auto aligned = [](std::int64_t bytes) { return make_plan(two, 4, {}, {.alignment_bytes = bytes}); };
    CHECK_THROWS_WITH_AS(aligned(0), "group 'g': alignment of 0 bytes is not a power of two",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(aligned(3), "group 'g': alignment of 3 bytes is not a power of two",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(aligned(96), "group 'g': alignment of 96 bytes is not a power of two",
                         ragged::PlanError);
    CHECK_THROWS_AS(aligned(-128), ragged::PlanError);
    CHECK_NOTHROW(aligned(1));
    CHECK_THROWS_WITH_AS(
        make_plan(one("g", {4}, DType::f32), 4, {}, {.alignment_bytes = 2}),
        "group 'g': tensor 't': alignment of 2 bytes is not a multiple of the 4-byte elements of f32",
        ragged::PlanError);
    CHECK_NOTHROW(make_plan(one("g", {4}, DType::f32), 4, {}, {.alignment_bytes = 4}));
    CHECK_THROWS_WITH_AS(
        make_plan(one("g", {4}, DType::u8), 4, {}, {.alignment_bytes = 4, .planes = {DType::f64}}),
        "group 'g': plane: alignment of 4 bytes is not a multiple of the 8-byte elements of f64",
        ragged::PlanError);
}

TEST_CASE("alignment in elements satisfies every dtype of the group and of the planes") {
    const auto elems = [](DType dtype, ragged::DTypes planes, std::int64_t bytes = 128) {
        return make_plan(one("g", {100}, dtype), 4, {}, {bytes, planes}).alignment_elems;
    };
    CHECK(elems(DType::bf16, {}) == 64);
    CHECK(elems(DType::f64, {}) == 16);
    CHECK(elems(DType::f32, {DType::f64}) == 32);
    CHECK(elems(DType::f32, {DType::f32, DType::bf16}) == 64);
    CHECK(elems(DType::bf16, {DType::i8}) == 128);
    CHECK(elems(DType::bf16, {DType::f32}) == 64);
    CHECK(elems(DType::f8e5m2, {}, 16) == 16);
    CHECK(elems(DType::u8, {}, 1) == 1);
    const GroupSpec mixed{"g", {{"a", {10}, {}, DType::f64}, {"b", {10}, {}, DType::u8}}};
    CHECK(make_plan(mixed, 2).alignment_elems == 128);
    CHECK(make_plan(mixed, 2).tensors[1].offset % 128 == 0);
    CHECK(make_plan(mixed, 2).segments[0].shard_elems % 128 == 0);
}

TEST_CASE("a set of element types") {
    static_assert(!ragged::DTypes{}.contains(DType::f32));
    static_assert(ragged::DTypes{DType::f32, DType::u8}.contains(DType::u8));
    static_assert(!ragged::DTypes{DType::f32, DType::u8}.contains(DType::f64));
    static_assert(ragged::DTypes{DType::f32, DType::u8} == ragged::DTypes{DType::u8, DType::f32, DType::u8});
    for (const DType inside : ragged::all_dtypes)
        for (const DType other : ragged::all_dtypes)
            CHECK(ragged::DTypes{inside}.contains(other) == (inside == other));
}

TEST_CASE("names and blocks are checked before planning") {
    const GroupSpec twice{"layers.3", {{"a", {1}}, {"a", {2}}}};
    CHECK_THROWS_WITH_AS(make_plan(twice, 2), "group 'layers.3': duplicate tensor 'a'", ragged::SpecError);
    const GroupSpec wide{"g", {{"w1", {4, 4}, ragged::tile({4, 5})}}};
    CHECK_THROWS_WITH_AS(make_plan(wide, 2),
                         "group 'g': tensor 'w1': block:4x5 is larger than shape 4x4 in dimension 1",
                         ragged::SpecError);
}

TEST_CASE("short blocks in every slice of a stack are planned; no cut mixes two slices") {
    // periods of 30 in steps of 20: cuts at 20, 30, 50, 60
    const GroupSpec group{
        "g", {{"a", {8}, {}, DType::u8}, {"experts", {2, 6, 5}, ragged::tile({1, 4, 2}), DType::u8}}};
    const Plan plan = make_plan(group, 2, {}, unaligned);
    // the fair share is 34: a head of 20 leaves 40 for the second device, a head of 30 leaves 30
    CHECK(plan.segments[0].shard_elems == 38);
    CHECK(plan.tensors[1].offset == 8);
    CHECK(plan.tensors[1].cuts == ragged::CutPattern{60, 20, 30});
}

TEST_CASE("counts beyond 64 bits are refused") {
    CHECK_THROWS_AS(make_plan(two, max_count), ragged::PlanError);
    const GroupSpec huge{"g", {{"a", {max_count}}, {"b", {1}}}};
    CHECK_THROWS_WITH_AS(make_plan(huge, 2),
                         "group 'g': elements of a group: 9223372036854775807 + 1 does not fit 64 bits",
                         ragged::PlanError);
    CHECK_THROWS_AS(make_plan(one("g", {max_count}), 2), ragged::PlanError);
    const Plan large = make_plan(one("g", {std::int64_t{1} << 60}), 1 << 14); // beyond any model, and fine
    CHECK(large.segments[0].shard_elems == std::int64_t{1} << 46);
}

TEST_CASE("a policy answers for every tensor, with a buffer") {
    CHECK_THROWS_WITH_AS(canned(20, {0}), "group 'g': the policy returned 1 starts for 2 tensors",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(canned(20, {0, 60, 70}), "group 'g': the policy returned 3 starts for 2 tensors",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(canned(-1, {0, 60}),
                         "group 'g': shards of -1 elements behind 0 others on 4 devices are not a buffer",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(
        canned(max_count / 4 + 1, {0, 60}),
        "group 'g': shards of 2305843009213693952 elements behind 0 others on 4 devices are not a buffer",
        ragged::PlanError);
}

TEST_CASE("tensors that overlap or leave the buffer are no layout, from a lawless policy either") {
    const auto lawless = [](std::int64_t shard, const std::vector<std::int64_t>& offsets) {
        return make_plan(two, 4, Lawless{{one_segment(shard, offsets)}}, unaligned);
    };
    for (const bool with_promise : {true, false}) {
        const auto plan = [&](std::int64_t shard, const std::vector<std::int64_t>& offsets) {
            return with_promise ? canned(shard, offsets) : lawless(shard, offsets);
        };
        CHECK_THROWS_WITH_AS(plan(20, {0, 59}),
                             "group 'g': tensor 'b' at offset 59 overlaps tensor 'a' that ends at 60",
                             ragged::PlanError);
        CHECK_THROWS_WITH_AS(plan(20, {7, 0}),
                             "group 'g': tensor 'a' at offset 7 overlaps tensor 'b' that ends at 8",
                             ragged::PlanError);
        CHECK_THROWS_WITH_AS(plan(20, {0, 0}),
                             "group 'g': tensor 'a' at offset 0 overlaps tensor 'b' that ends at 8",
                             ragged::PlanError);
        CHECK_THROWS_WITH_AS(plan(20, {-1, 60}),
                             "group 'g': tensor 'a' at offset -1 overlaps the start of the buffer",
                             ragged::PlanError);
        CHECK_THROWS_WITH_AS(plan(20, {0, 73}),
                             "group 'g': tensor 'b' ends at 81, beyond the 80 elements of the buffer",
                             ragged::PlanError);
        CHECK_THROWS_WITH_AS(plan(20, {0, max_count - 7}),
                             "group 'g': tensor 'b' at offset 9223372036854775800 leaves 64 bits",
                             ragged::PlanError);
        CHECK_THROWS_AS(plan(0, {0, 0}), ragged::PlanError);
        CHECK_NOTHROW(plan(20, {0, 72}));
        CHECK_NOTHROW(plan(20, {20, 0}));
    }
}

TEST_CASE("a policy that promises the laws and breaks one is refused; a lawless one is counted") {
    // shards of 17: the boundaries 17, 34 and 51 each cut a row of a
    const std::string start = "group 'g': policy 'canned' broke a law: ";
    CHECK_THROWS_WITH_AS(
        canned(17, {0, 60}),
        (start + "tensor 'a' at offset 0 of segment 0: shards of 17 elements cut a block of rows:1").c_str(),
        ragged::PlanError);
    CHECK_THROWS_WITH_AS(
        canned(20, {0, 62}, 4, {.alignment_bytes = 4}),
        (start + "tensor 'b' at offset 62 of segment 0 is off its alignment of 4 elements").c_str(),
        ragged::PlanError);
    CHECK_THROWS_WITH_AS(
        canned(30, {0, 60}, 4, {.alignment_bytes = 4}),
        (start + "segment 0: shards of 30 elements are no multiple of the 4 of the alignment").c_str(),
        ragged::PlanError);
    Arrangement interleaved = one_segment(28, {0, 20});
    interleaved.interleaved = true;
    CHECK_THROWS_WITH_AS(make_plan(two, 4, Canned{interleaved}, unaligned),
                         (start + "tensors are interleaved, a gather would have to copy them").c_str(),
                         ragged::PlanError);

    const Plan plan = make_plan(two, 4, Lawless{{one_segment(17, {0, 60})}}, unaligned);
    CHECK(plan.violations == ragged::Violations{3, 0, 0});
    CHECK_FALSE(canned(20, {0, 60}).violations.any());
}

TEST_CASE("every tensor lies in a segment that the policy returned, and segments are checked one by one") {
    const auto plan = [](Arrangement arrangement) {
        return make_plan(two, 4, Canned{std::move(arrangement)}, unaligned);
    };
    const Plan split = plan({.segments = {{20}, {2, 1}}, .starts = {{0, 0}, {1, 0}}});
    CHECK(split.segments == std::vector<ragged::Segment>{{20, 20, 60, -1}, {2, 2, 8, 1}});
    CHECK(split.tensors[0].segment == 0);
    CHECK(split.tensors[1].segment == 1);
    CHECK(split.padded_elements() == 88);
    CHECK(split.segment_offset(1) == 80);
    CHECK(split.region_offset(1, 0) == 20);
    CHECK_THROWS_WITH_AS(plan({.segments = {{20}}, .starts = {{0, 0}, {1, 0}}}),
                         "group 'g': tensor 'b' lies in segment 1, the policy returned 1", ragged::PlanError);
    CHECK_THROWS_WITH_AS(plan({.segments = {{20}}, .starts = {{-1, 0}, {0, 0}}}),
                         "group 'g': tensor 'a' lies in segment -1, the policy returned 1",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(plan({.segments = {{20}, {2}}, .starts = {{0, 0}, {1, 1}}}),
                         "group 'g': tensor 'b' ends at 9, beyond the 8 elements of the buffer",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(plan({.segments = {{20}, {max_count / 4}}, .starts = {{0, 0}, {1, 0}}}),
                         "group 'g': shards of 2305843009213693951 elements behind 20 others on 4 devices "
                         "are not a buffer",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(plan({.segments = {{17}, {2}}, .starts = {{0, 0}, {1, 0}}}),
                         "group 'g': policy 'canned' broke a law: tensor 'a' at offset 0 of segment 0: "
                         "shards of 17 elements cut a block of rows:1",
                         ragged::PlanError);
}

TEST_CASE("a tensor's own alignment: the start of it alone, S for the strictest") {
    GroupSpec group{"g", {{"a", {3}}, {"b", {5}}, {"c", {7}}}};
    group.tensors[1].align_bytes = 16;
    group.tensors[2].align_bytes = 1024;
    const Plan plan = make_plan(group, 1);
    CHECK(plan.alignment_bytes == 1024);
    CHECK(plan.alignment_elems == 512);
    CHECK(plan.tensors[0].offset == 0);
    CHECK(plan.tensors[1].offset == 8); // 16 bytes; the default of 128 would be 64 elements
    CHECK(plan.tensors[2].offset == 512);
    CHECK(plan.segments[0].shard_elems == 1024);
    CHECK(plan.tensors[0].spec.align_bytes == 128);
    CHECK(plan.tensors[1].spec.align_bytes == 16);
    // for all declared planes at once
    const Plan bytes = make_plan(group, 1, {}, {.planes = {DType::i8, DType::f32}});
    CHECK(bytes.tensors[1].offset == 16);
    CHECK(bytes.tensors[2].offset == 1024);

    group.tensors[1].align_bytes = 24;
    CHECK_THROWS_WITH_AS(make_plan(group, 1),
                         "group 'g': tensor 'b': alignment of 24 bytes is not a power of two",
                         ragged::PlanError);
    group.tensors[1].align_bytes = 2;
    CHECK_THROWS_WITH_AS(
        make_plan(group, 1, {}, {.planes = {DType::f32}}),
        "group 'g': plane: alignment of 2 bytes is not a multiple of the 4-byte elements of f32",
        ragged::PlanError);
}

TEST_CASE("slices of a stack are placed apart, under one name") {
    GroupSpec group{"g", {{"w", {3, 4, 5}, ragged::rows(4), DType::u8}, {"b", {4}, {}, DType::u8}}};
    group.tensors[0].sliced = true;
    const Plan plan = make_plan(group, 4, {}, unaligned);
    REQUIRE(plan.tensors.size() == 4);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(plan.tensors[i].slice == static_cast<std::int64_t>(i));
        CHECK(plan.tensors[i].spec.name == "w");
        CHECK(plan.tensors[i].spec.shape == Shape{4, 5});
        CHECK(plan.tensors[i].offset == static_cast<std::int64_t>(20 * i));
    }
    CHECK(plan.segments[0].shard_elems == 20); // each slice is one block
    CHECK(plan.tensors[3].slice == -1);
    CHECK(plan.index_of("b") == 3);
    CHECK(plan.slices_of("w").first == 0);
    CHECK(plan.slices_of("w").count == 3);
    CHECK_THROWS_WITH_AS(plan.index_of("w"), "group 'g': tensor 'w' lies in 3 slices; ask for its slices",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(plan.slices_of("b"), "group 'g': tensor 'b' is not sliced", ragged::PlanError);
    CHECK_THROWS_WITH_AS(plan.slices_of("x"), "group 'g' has no tensor 'x'", ragged::PlanError);

    group.tensors[0].shape = {0, 4, 5};
    const Plan none = make_plan(group, 4, {}, unaligned);
    CHECK(none.tensors.size() == 2);
    CHECK(none.slices_of("w").count == 0);

    group.tensors[0].shape = {std::int64_t{1} << 50, 1};
    CHECK_THROWS_WITH_AS(
        make_plan(group, 4),
        "group 'g': tensor 'w': 1125899906842624 slices behind 0 other tensors are more than the "
        "16777216 of a group",
        ragged::PlanError);
    group.tensors[0] = {"w", {8}, {}, DType::u8, 0, true};
    CHECK_THROWS_WITH_AS(
        make_plan(group, 4),
        "group 'g': tensor 'w': shape 8 has no slices; a sliced tensor has 2 dimensions or more",
        ragged::SpecError);
    group.tensors[0] = {"w", {3, 4, 5}, ragged::tile({2, 2, 5}), DType::u8, 0, true};
    CHECK_THROWS_WITH_AS(
        make_plan(group, 4),
        "group 'g': tensor 'w': block:2x2x5 spans 2 slices of dimension 0, a sliced tensor allows 1",
        ragged::SpecError);
    group.tensors[0].block = ragged::tile({1, 2, 5});
    CHECK(make_plan(group, 4, {}, unaligned).tensors[2].spec.block == ragged::tile({2, 5}));
}

TEST_CASE("what the policy returned is in the plan, in registration order") {
    const Plan plan =
        make_plan(two, 4, Canned{{.segments = {{20, 1}}, .starts = {{0, 20}, {0, 8}}}}, unaligned);
    CHECK(plan.name == "g");
    CHECK(plan.policy == "canned");
    CHECK(plan.num_devices == 4);
    CHECK(plan.alignment_bytes == 1);
    CHECK(plan.alignment_elems == 1);
    CHECK(plan.segments == std::vector<ragged::Segment>{{20, 20, 68, 1}});
    REQUIRE(plan.tensors.size() == 2);
    CHECK(plan.tensors[0].spec.name == "a");
    CHECK(plan.tensors[0].offset == 20);
    CHECK(plan.tensors[1].offset == 8);
    CHECK(plan.tensors[1].segment == 0);
    CHECK(plan.tensors[0].cuts == ragged::CutPattern{60, 10, 10});
}

TEST_CASE(
    "small groups in which a tensor stops covering a whole shard as S grows: the smallest S all the same") {
    struct Case {
        std::vector<std::pair<std::int64_t, std::int64_t>> tensors; // elements, granularity
        std::int64_t devices, alignment, smallest;
    };
    // S from trying every start of every tensor; each needs S just where fewer whole shards are covered.
    const Case cases[] = {
        {{{12, 4}, {17, 2}}, 3, 1, 11},
        {{{32, 8}, {16, 4}, {33, 4}}, 3, 1, 29},
        {{{24, 6}, {0, 5}, {0, 6}, {22, 9}, {60, 7}}, 4, 2, 32},
    };
    for (const Case& one_case : cases) {
        GroupSpec group{"g", {}};
        for (const auto& [elements, granularity] : one_case.tensors)
            group.tensors.push_back({ragged::concat("t", group.tensors.size()), Shape{elements},
                                     ragged::elements(granularity), DType::u8});
        CHECK(make_plan(group, one_case.devices, {}, {.alignment_bytes = one_case.alignment})
                  .segments[0]
                  .shard_elems == one_case.smallest);
    }
}

TEST_CASE("groups that differ in names only are arranged once") {
    const auto calls = [](std::vector<GroupSpec> groups) {
        Counting::calls = 0;
        make_plan(ModelSpec{"m", std::move(groups)}, 4, Counting{});
        return Counting::calls;
    };
    const auto pair = [](const char* name, ragged::TensorSpec first, ragged::TensorSpec second) {
        return GroupSpec{name, {std::move(first), std::move(second)}};
    };
    const GroupSpec layer = pair("layers.0", {"l.0.a", {6, 4}, ragged::rows(2)}, {"l.0.b", {4}});
    CHECK(calls({layer}) == 1);
    CHECK(calls({layer, pair("layers.1", {"l.1.a", {6, 4}, ragged::rows(2)}, {"l.1.b", {4}}),
                 pair("layers.2", {"l.2.a", {6, 4}, ragged::rows(2)}, {"l.2.b", {4}})}) == 1);
    CHECK(calls({layer, one("head", {7}), layer, one("embed", {7}), layer}) == 2);
    // every difference but names is one
    CHECK(calls({layer, pair("x", {"a", {4, 6}, ragged::rows(2)}, {"b", {4}})}) == 2);
    CHECK(calls({layer, pair("x", {"a", {6, 4}, ragged::rows(1)}, {"b", {4}})}) == 2);
    CHECK(calls({layer, pair("x", {"a", {6, 4}, ragged::elements(8)}, {"b", {4}})}) == 2); // cuts alike
    CHECK(calls({layer, pair("x", {"a", {6, 4}, ragged::rows(2), DType::f32}, {"b", {4}})}) == 2);
    CHECK(calls({layer, pair("x", {"b", {4}}, {"a", {6, 4}, ragged::rows(2)})}) == 2);
    CHECK(calls({layer, pair("x", {"a", {6, 4}, ragged::rows(2), DType::bf16, 0, false, 1}, {"b", {4}})}) ==
          2); // cuts alike
    CHECK(calls({layer, GroupSpec{"x", {layer.tensors[0]}}}) == 2);
    CHECK(calls({GroupSpec{"x", {}}, GroupSpec{"y", {}}}) == 1);
    CHECK(calls({}) == 0);
}

TEST_CASE("tensors of one size and granularity but another shape get their own plan") {
    const ragged::ModelPlan model = make_plan(ModelSpec{"m", {one("a", {8, 2}), one("b", {2, 8})}}, 3,
                                              ragged::policy::EvenRows{}, {.alignment_bytes = 2});
    CHECK(model.groups[0].segments[0].shard_elems == 6); // 3 rows of 2
    CHECK(model.groups[1].segments[0].shard_elems == 8); // 1 row of 8
}

TEST_CASE("a model is its groups, each as if alone") {
    ModelSpec model{"m", {}};
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
        model.groups.push_back(support::random_group(seed % 20)); // each thrice
        model.groups.back().name += " at " + std::to_string(seed);
    }
    const ragged::ModelPlan all = make_plan(model, 5);
    CHECK(all.name == "m");
    REQUIRE(all.groups.size() == model.groups.size());
    std::int64_t elements = 0, padded = 0;
    for (std::size_t i = 0; i < all.groups.size(); ++i) {
        CHECK(all.groups[i] == make_plan(model.groups[i], 5));
        elements += all.groups[i].elements();
        padded += 5 * all.groups[i].segments[0].shard_elems;
    }
    CHECK(all.elements() == elements);
    CHECK(all.padded_elements() == padded);
    CHECK(all.padding_ratio() ==
          doctest::Approx(static_cast<double>(padded) / static_cast<double>(elements) - 1));
    CHECK(ragged::ModelPlan{}.padding_ratio() == 0.0);

    CHECK(ragged::fingerprint(all) == ragged::fingerprint(make_plan(model, 5)));
    CHECK(ragged::fingerprint(all) != ragged::fingerprint(make_plan(model, 4)));
    ragged::ModelPlan changed = all;
    changed.name = "n";
    CHECK(ragged::fingerprint(changed) != ragged::fingerprint(all));
    changed = all;
    std::swap(changed.groups[0], changed.groups[1]);
    CHECK(ragged::fingerprint(changed) != ragged::fingerprint(all));
}

TEST_CASE("nothing to place: no tensors, no elements") {
    const Plan none = make_plan(GroupSpec{"g", {}}, 8);
    CHECK(none.padded_elements() == 0);
    CHECK(none.segments.size() == 1);
    const GroupSpec empty{"g", {{"a", {0, 4}, ragged::rows(2)}, {"b", {4, 0}, ragged::tile({2, 2})}}};
    const Plan plan = make_plan(empty, 8);
    CHECK(plan.elements() == 0);
    CHECK(plan.segments[0].shard_elems == 0);
    CHECK(plan.padding_ratio() == 0.0);
    CHECK(ragged::ragged_shard(plan, plan.tensors[0]).size(7) == 0);
}

TEST_CASE("one device: the tensors one after another, aligned, whatever their blocks") {
    for (std::uint32_t seed = 0; seed < 200; ++seed) {
        const GroupSpec group = support::random_group(seed);
        const Plan plan = make_plan(group, 1);
        const std::int64_t alignment = plan.alignment_elems;
        const std::int64_t smallest = plan.alignment_bytes / alignment; // element, in bytes
        std::int64_t end = 0;
        for (const ragged::PlacedTensor& tensor : plan.tensors) {
            const std::int64_t own = tensor.spec.align_bytes / smallest;
            const std::int64_t start = (end + own - 1) / own * own;
            if (tensor.elements() > 0)
                end = start + tensor.elements();
        }
        CHECK(plan.segments[0].shard_elems == (end + alignment - 1) / alignment * alignment);
    }
}

TEST_CASE("concept planner_policy: models and one anti-model per requirement") {
    static_assert(ragged::planner_policy<Canned> && ragged::planner_policy<Counting> &&
                  ragged::planner_policy<ragged::policy::Exact>);
    static_assert(!ragged::planner_policy<NoName> && !ragged::planner_policy<NameIsNumber> &&
                  !ragged::planner_policy<ReturnsOffsets> && !ragged::planner_policy<NotConst> &&
                  !ragged::planner_policy<NotCopyable> && !ragged::planner_policy<int>);
}

TEST_CASE("odd cuts under a large alignment, and many coprime row lengths, are planned in bounded work") {
    // aligned cuts are rare: one in 4096 periods
    const GroupSpec stack{"g", {{"w", {4096, 1001, 1001}, ragged::tile({1, 2, 1001})}}};
    CHECK(make_plan(stack, 7, {}, {.alignment_bytes = 1 << 21}).segments[0].shard_elems > 0);
    GroupSpec primes{"g", {}};
    for (std::int64_t p : {101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157})
        primes.tensors.push_back({"w" + std::to_string(p), {65536, p}, ragged::rows(1)});
    const Plan plan = make_plan(primes, 256, ragged::policy::Exact{.max_segments = 100});
    CHECK(plan.segments.size() <= 4);
    CHECK(plan.padded_elements() <= make_plan(primes, 256).padded_elements());
}
