// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Plans in constant expressions: numbers that a framework would assert, and equality with the run-time
// planner.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <type_traits>

#include <ragged/plan/policy/comparison.hpp>
#include <ragged/plan/static_plan.hpp>

namespace {

using ragged::DType;
using ragged::Tensor;

/// A layer of llama-3-8b with blocks as quantised training uses them.
constexpr ragged::Group llama{
    Tensor{"wq", {4096, 4096}, ragged::tile({32, 32})},
    Tensor{"wk", {1024, 4096}, ragged::tile({32, 32})},
    Tensor{"wv", {1024, 4096}, ragged::tile({32, 32})},
    Tensor{"wo", {4096, 4096}, ragged::tile({32, 32})},
    Tensor{"w1", {14336, 4096}, ragged::rows(16)},
    Tensor{"w3", {14336, 4096}, ragged::rows(16)},
    Tensor{"w2", {4096, 14336}, ragged::rows(16)},
    Tensor{"attention_norm", {4096}},
    Tensor{"ffn_norm", {4096}, ragged::whole(), DType::f32},
};

/// Odd sizes, a scalar, an empty tensor, a tail, every kind of block.
constexpr ragged::Group odd{
    Tensor{"embed", {2003, 192}, ragged::rows(1)},
    Tensor{"experts", {4, 12, 10}, ragged::tile({1, 4, 5})},
    Tensor{"empty", {0, 7}, ragged::rows(3)},
    Tensor{"scalar", {}, ragged::whole(), DType::f32},
    Tensor{"bias", {77}, ragged::elements(8), DType::f64},
};

constexpr ragged::Group one{Tensor{"only", {5}}};

/// Rows of 2880 and of 4096: together they force their common multiple, in segments of their own they do not.
constexpr ragged::Group two_lengths{
    Tensor{"wq", {4096, 2880}, ragged::rows(16)},
    Tensor{"wo", {2880, 4096}, ragged::rows(16)},
    Tensor{"w1", {5760, 2880}, ragged::rows(16)},
    Tensor{"norm", {2880}},
};

/// A short last tile in every slice, a stack placed slice by slice, starts aligned on their own.
constexpr ragged::Group stacks{
    Tensor{"tails", {3, 10, 8}, ragged::tile({1, 4, 8})},
    Tensor{"sliced", {3, 10, 8}, ragged::tile({1, 4, 8}), DType::f32, 0, true},
    Tensor{"aligned", {100}, {}, DType::bf16, 1024},
    Tensor{"packed", {10}, {}, DType::bf16, 16},
    Tensor{"none", {0, 4, 4}, {}, DType::bf16, 0, true},
};

/// What other axes shard stays whole, and a slice of which all does.
constexpr ragged::Group local{
    Tensor{"o_proj", {60, 36}, ragged::elements(8), DType::bf16, 0, false, 1},
    Tensor{"experts", {3, 10, 8}, ragged::tile({1, 4, 8}), DType::f32, 0, true, 1},
    Tensor{"never", {70}, {}, DType::bf16, 0, false, 0},
};

constexpr auto plan_64 = ragged::plan<llama>(64);
constexpr auto plan_16 = ragged::plan<llama>(16);

/// The compile-time plan is the run-time plan of the same group.
template <const auto& Layer, class Static, class Policy = ragged::policy::Exact>
void check_equal(const Static& constant, std::int64_t devices, const Policy& policy = {},
                 const ragged::PlanOptions& options = {}) {
    const ragged::Plan expected = ragged::make_plan(Layer.spec("g"), devices, policy, options);
    const ragged::Plan found = constant.plan("g");
    CHECK(found == expected);
    CHECK(ragged::fingerprint(found) == ragged::fingerprint(expected));
    CHECK(ragged::describe(found) == ragged::describe(expected));
    CHECK(constant.elements() == expected.elements());
    CHECK(constant.padded_elements() == expected.padded_elements());
    CHECK(constant.padding_ratio() == expected.padding_ratio());
    for (std::size_t i = 0; i < expected.tensors.size(); ++i)
        CHECK(found.tensors[i].cuts == expected.tensors[i].cuts);
}

} // namespace

TEST_CASE("a llama-3-8b layer on 64 devices, as constants") {
    static_assert(plan_64.num_runs == 9 && plan_64.elements() == 218'112'000);
    static_assert(plan_64.num_devices == 64 && plan_64.alignment_bytes == 128);
    static_assert(plan_64.alignment_elems == 64); // of bf16; the f32 norm needs 32
    // Every matrix but wk and wv covers whole shards: S is a multiple of lcm(32 * 4096, 16 * 14336) = 917504,
    // and the fair share 3408000 lies between 3 and 4 of them.
    static_assert(plan_64.segments()[0].shard_elems == 4 * 917'504);
    static_assert(plan_64.segments()[0].proven_optimal());
    static_assert(plan_64.padded_elements() == std::int64_t{64} * 4 * 917'504);
    static_assert(plan_64.padding_ratio() > 0.0768 && plan_64.padding_ratio() < 0.0769);
    // One after another; before w2 a gap, so that the boundary 44 * S falls between two of its runs of 16
    // rows.
    static_assert(plan_64.starts[0].offset == 0 && plan_64.starts[1].offset == 16'777'216);
    static_assert(plan_64.starts[2].offset == 20'971'520 && plan_64.starts[3].offset == 25'165'824);
    static_assert(plan_64.starts[4].offset == 41'943'040 && plan_64.starts[5].offset == 100'663'296);
    static_assert(plan_64.starts[6].offset == 100'663'296 + 58'720'256 + 32'768);
    static_assert(44 * plan_64.segments()[0].shard_elems - plan_64.starts[6].offset == 9 * 16 * 14'336);
    static_assert(plan_64.starts[7].offset == plan_64.starts[6].offset + 58'720'256);
    static_assert(plan_64.starts[8].offset == plan_64.starts[7].offset + 4'096);
}

TEST_CASE("on 16 devices 15 of these multiples are nearly the fair share: padding below 1 %") {
    static_assert(plan_16.segments()[0].shard_elems == 15 * 917'504);
    static_assert(plan_16.padding_ratio() < 0.01);
}

TEST_CASE("a tensor of the plan knows its extents and place") {
    constexpr auto w2 = plan_64.tensor<"w2">();
    static_assert(std::is_same_v<decltype(w2.shape), ragged::StaticShape<4096, 14336>>);
    static_assert(w2.index == 6 && w2.segment == 0 && w2.offset == plan_64.starts[6].offset);
    constexpr auto norm = plan_64.tensor<"attention_norm">();
    static_assert(norm.shape[0] == 4096 && norm.index == 7);
    constexpr auto plan_3 = ragged::plan<odd>(3);
    static_assert(plan_3.tensor<"scalar">().shape.rank() == 0);
    static_assert(plan_3.tensor<"empty">().shape.elements() == 0);
    static_assert(std::is_same_v<decltype(plan_3.tensor<"experts">().shape), ragged::StaticShape<4, 12, 10>>);
}

TEST_CASE("equal to make_plan for every number of devices and option tried") {
    check_equal<llama>(plan_64, 64);
    check_equal<llama>(ragged::plan<llama>(1), 1);
    check_equal<llama>(ragged::plan<llama>(5), 5);
    check_equal<llama>(ragged::plan<llama>(8192), 8192);
    check_equal<odd>(ragged::plan<odd>(1), 1);
    check_equal<odd>(ragged::plan<odd>(2), 2);
    check_equal<odd>(ragged::plan<odd>(3), 3);
    check_equal<odd>(ragged::plan<odd>(7), 7);
    check_equal<odd>(ragged::plan<odd>(64), 64);
    check_equal<one>(ragged::plan<one>(8), 8);
    constexpr ragged::PlanOptions options{.alignment_bytes = 512, .planes = {DType::i8}};
    check_equal<odd>(ragged::plan<odd>(3, ragged::policy::Exact{}, options), 3, ragged::policy::Exact{},
                     options);
    constexpr ragged::policy::Exact search{ragged::policy::Order::search};
    check_equal<odd>(ragged::plan<odd>(5, search), 5, search);
    check_equal<odd>(ragged::plan<odd>(3, ragged::policy::Concatenate{}), 3, ragged::policy::Concatenate{});
}

TEST_CASE("a constant plan of a comparison layout keeps its violations, so that buffers refuse it") {
    static constexpr ragged::Group layer{ragged::Tensor{"w", {6, 10}, ragged::rows(1), ragged::DType::u8},
                                         ragged::Tensor{"b", {9}, {}, ragged::DType::u8}};
    constexpr ragged::PlanOptions options{.alignment_bytes = 1};
    const ragged::Plan expected =
        ragged::make_plan(layer.spec("g"), 4, ragged::policy::FlatElements{}, options);
    const ragged::Plan found = ragged::plan<layer>(4, ragged::policy::FlatElements{}, options).plan("g");
    CHECK(expected.violations.any());
    CHECK(found.violations == expected.violations);
    CHECK(found.policy == expected.policy);
}

TEST_CASE("a constant plan of several segments") {
    using ragged::policy::Exact, ragged::policy::Order;
    constexpr Exact split{.order = Order::search, .max_segments = 3, .price = {.latency_ns = 0}};
    constexpr auto whole = ragged::plan<two_lengths>(256);
    constexpr auto parts = ragged::plan<two_lengths>(256, split);
    static_assert(whole.segments().size() == 1 && whole.padding_ratio() > 12);
    static_assert(parts.segments().size() == 2 && parts.padding_ratio() < 0.3);
    static_assert(parts.tensor<"wo">().segment != parts.tensor<"wq">().segment);
    check_equal<two_lengths>(parts, 256, split);
    constexpr Exact given{.max_segments = 2, .price = {.latency_ns = 0}};
    constexpr auto ordered = ragged::plan<two_lengths>(256, given);
    check_equal<two_lengths>(ordered, 256, given);
}

TEST_CASE("constant plans of tails, slices and starts of their own alignment") {
    constexpr auto plan_3 = ragged::plan<stacks>(3);
    check_equal<stacks>(plan_3, 3);
    check_equal<stacks>(ragged::plan<stacks>(1), 1);
    check_equal<stacks>(ragged::plan<stacks>(8), 8);
    constexpr auto local_4 = ragged::plan<local>(4);
    check_equal<local>(local_4, 4);
    static_assert(local_4.segments()[0].shard_elems % 72 == 0); // two rows of o_proj: 8 does not divide 36
    static_assert(plan_3.num_runs == 7 && plan_3.alignment_bytes == 1024);
    constexpr auto slice = plan_3.slice<"sliced", 2>();
    static_assert(std::is_same_v<decltype(slice.shape), ragged::StaticShape<10, 8>>);
    static_assert(slice.index == 3 && slice.offset == plan_3.starts[3].offset);
    static_assert(plan_3.tensor<"aligned">().index == 4 && plan_3.tensor<"aligned">().offset % 512 == 0);
}
