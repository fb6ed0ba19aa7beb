// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What other axes leave of a tensor, by hand. That plans over it and layouts agree on every cut is in
// property/local_plan.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>

#include <ragged/layout/tensor_layout.hpp>

namespace {

using ragged::Axis;
using ragged::local_spec;
using ragged::place;
using ragged::RaggedEvenly;
using ragged::Replicate;
using ragged::Shape;
using ragged::Shard;
using ragged::TensorSpec;

using Mesh = ragged::Topology<Axis<"replica", 2>, Axis<"shard">, Axis<"tensor", 4>>;
constexpr Mesh mesh(3);

constexpr auto replicated = place<"replica">(Replicate{});
constexpr auto columns = place<"tensor">(Shard<1>{});
constexpr auto rows = place<"tensor">(Shard<0>{});

/// The parts of a placement's tensor at one position along the tensor axis, the same for all other ones.
template <class Placements>
TensorSpec at(const TensorSpec& spec, const Placements& placements, std::int64_t tensor_rank) {
    const TensorSpec found = local_spec(spec, mesh, placements, mesh.rank({0, 0, tensor_rank}));
    for (std::int64_t replica = 0; replica < 2; ++replica)
        for (std::int64_t shard = 0; shard < 3; ++shard)
            CHECK(local_spec(spec, mesh, placements, mesh.rank({replica, shard, tensor_rank})) == found);
    return found;
}

} // namespace

TEST_CASE("columns over four ranks: a box of which no row is cut") {
    const TensorSpec spec{"o_proj", {8, 10}, ragged::tile({2, 4}), ragged::DType::f8e4m3, 64};
    const auto placed = columns.then<"shard">(RaggedEvenly{}).then<"replica">(Replicate{});
    CHECK(at(spec, placed, 0) ==
          TensorSpec{"o_proj", {8, 3}, ragged::tile({2, 3}), ragged::DType::f8e4m3, 64, false, 1});
    CHECK(at(spec, placed, 3) == // the short last chunk
          TensorSpec{"o_proj", {8, 1}, ragged::tile({2, 1}), ragged::DType::f8e4m3, 64, false, 1});
    CHECK(at({"o_proj", {8, 4}}, placed, 0).shape == Shape{8, 1});
    const TensorSpec none = at({"o_proj", {8, 3}, ragged::tile({2, 2})}, placed, 3); // 3 columns over 4 ranks
    CHECK(none.shape == Shape{8, 0});
    CHECK(none.block == ragged::tile({2, 1}));
    CHECK(ragged::cuts_of(none).elements == 0);
}

TEST_CASE("rows over four ranks: fewer rows, cut as the block says") {
    const TensorSpec spec{"q_proj", {10, 6}, ragged::rows(2)};
    const auto placed = rows.then<"shard">(RaggedEvenly{});
    CHECK(at(spec, placed, 0) == TensorSpec{"q_proj", {3, 6}, ragged::rows(2)});
    CHECK(at(spec, placed, 3) == TensorSpec{"q_proj", {1, 6}, ragged::rows(2)});
    CHECK(at(spec, replicated, 2) == spec);
    CHECK(at({"scalar", {}}, replicated, 0) == TensorSpec{"scalar", {}});
}

TEST_CASE("axes may be left out; a tensor without a ragged one is as if that came last") {
    const TensorSpec spec{"w", {8, 10}};
    const TensorSpec expected{"w", {8, 3}, {}, ragged::DType::bf16, 0, false, 1};
    CHECK(at(spec, columns, 1) == expected);
    CHECK(at(spec, columns.then<"shard">(RaggedEvenly{}), 1) == expected);
    CHECK(at(spec, replicated.then<"tensor">(Shard<1>{}).then<"shard">(RaggedEvenly{}), 1) == expected);
    CHECK(at(spec, columns.then<"replica">(ragged::Partial<>{}), 1) == expected);
    CHECK(at(spec, rows, 1) == TensorSpec{"w", {2, 10}});
}

TEST_CASE("shards behind the ragged axis: what that divides is whole, and stays whole in runs") {
    const auto first = place<"shard">(RaggedEvenly{});
    const TensorSpec matrix{"w", {8, 10}, ragged::tile({2, 4})}, vector{"b", {10}};
    TensorSpec whole = matrix;
    whole.whole_from = 1;
    CHECK(at(matrix, first.then<"tensor">(Shard<1>{}), 3) == whole);
    CHECK(at(matrix, first.then<"tensor">(Shard<0>{}), 3) == whole); // whole rows, to share them out
    CHECK(at(vector, first.then<"tensor">(Shard<0>{}), 3) == vector);
    CHECK(at({"e", {4, 8, 10}}, first.then<"tensor">(Shard<2>{}), 3).whole_from == 2);
    CHECK(at({"e", {4, 8, 10}}, first.then<"tensor">(Shard<2>{}).then<"replica">(Shard<0>{}), 3).whole_from ==
          1);
}

TEST_CASE("several axes: the outermost dimension that one of them shards") {
    using Wide = ragged::Topology<Axis<"expert", 4>, Axis<"shard">, Axis<"tensor", 2>>;
    const Wide wide(3);
    const TensorSpec spec{"e", {10, 8, 6}, ragged::tile({1, 8, 4})};
    const auto placed = place<"expert">(Shard<0>{}).then<"tensor">(Shard<2>{});
    const TensorSpec local = local_spec(spec, wide, placed, wide.rank({3, 0, 1}));
    CHECK(local == TensorSpec{"e", {1, 8, 3}, ragged::tile({1, 8, 3}), ragged::DType::bf16, 0, false, 2});
    // what the spec says itself holds too
    TensorSpec stricter = spec;
    for (int dim = 0; dim < 3; ++dim) {
        stricter.whole_from = dim;
        CHECK(local_spec(stricter, wide, placed, 0).whole_from == dim);
        CHECK(local_spec(stricter, wide, place<"expert">(Shard<1>{}), 0).whole_from == std::min(dim, 1));
        CHECK(local_spec(stricter, wide, place<"expert">(Shard<0>{}), 0).whole_from == dim);
    }
}

TEST_CASE("a stack of experts stays one: a rank has some of them") {
    const TensorSpec experts{"experts", {10, 8, 6}, ragged::rows(1), ragged::DType::bf16, 0, true};
    const auto placed = rows.then<"shard">(RaggedEvenly{});
    CHECK(at(experts, placed, 0) ==
          TensorSpec{"experts", {3, 8, 6}, ragged::rows(1), ragged::DType::bf16, 0, true});
    CHECK(at(experts, placed, 3).shape == Shape{1, 8, 6});
    CHECK(ragged::num_runs(at(experts, placed, 0)) == 3);
    const TensorSpec columns_of = at(experts, place<"tensor">(Shard<2>{}), 0);
    CHECK(ragged::slice_of(columns_of) ==
          TensorSpec{"experts", {8, 2}, ragged::rows(1), ragged::DType::bf16, 0, false, 1});
    CHECK(ragged::cuts_of(ragged::slice_of(at(experts, columns, 0))).num_units() == 1); // each slice whole
    const TensorSpec few{"experts", {3, 8, 6}, {}, ragged::DType::bf16, 0, true};
    CHECK(ragged::num_runs(at(few, placed, 3)) == 1); // a stack of none
}

TEST_CASE("in a constant expression") {
    static constexpr ragged::Tensor spec{"o_proj", {8, 12}, ragged::rows(2)};
    constexpr ragged::Tensor local = local_spec(spec, mesh, columns, 0);
    static_assert(local.shape == Shape{8, 3} && local.whole_from == 1 && local.name == "o_proj");
    static_assert(ragged::cuts_of(local) == ragged::CutPattern{24, 6, 24});
}

TEST_CASE("a plan over what is left is a rule for the ragged axis of a layout") {
    const TensorSpec spec{"o_proj", {6, 8}};
    const ragged::CutPattern cuts = ragged::cuts_of(local_spec(spec, mesh, columns, 0));
    CHECK(cuts == ragged::CutPattern{12, 2, 12});
    const auto with = [&](const ragged::RaggedShard& shard) {
        const auto placed = columns.then<"shard">(shard).then<"replica">(Replicate{});
        return ragged::TensorLayout(spec, mesh, placed);
    };
    const std::int64_t starts[] = {0, 8, 10};
    const auto layout = with(ragged::RaggedShard::from_offsets(cuts, starts));
    CHECK(layout.portion(mesh.rank({1, 1, 2})).first == 8);
    CHECK(layout.portion(mesh.rank({1, 1, 2})).elements == 2);
    const std::int64_t within[] = {0, 7, 10}; // legal where no row must stay whole
    CHECK_THROWS_WITH_AS(with(ragged::RaggedShard::from_offsets({12, 1, 12}, within)),
                         "tensor 'o_proj' along axis 'shard': rank 1 starts at 7, which is no legal cut: 12 "
                         "elements in steps of 2 per period of 12",
                         ragged::PlanError);
}

TEST_CASE("what does not fit is refused with the tensor's name") {
    CHECK_THROWS_WITH_AS(local_spec(TensorSpec{"norm", {8}}, mesh, columns, 0),
                         "tensor 'norm': axis 'tensor' shards dimension 1, shape 8 has 1 dimensions",
                         ragged::SpecError);
    CHECK_THROWS_WITH_AS(local_spec(TensorSpec{"w", {8, 2}, ragged::tile({1, 4})}, mesh, columns, 0),
                         "tensor 'w': block:1x4 is larger than shape 8x2 in dimension 1", ragged::SpecError);
    CHECK_THROWS_WITH_AS(
        local_spec(TensorSpec{"w", {8, 2}, {}, ragged::DType::bf16, 0, false, 2}, mesh, columns, 0),
        "tensor 'w': whole from dimension 2, shape 8x2 has 2 dimensions", ragged::SpecError);
    CHECK_THROWS_WITH_AS(local_spec(TensorSpec{"w", {8, 2}}, mesh, columns, 24), "rank 24 is not in [0, 24)",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(local_spec(TensorSpec{"w", {8, 2}}, mesh, columns, -1), "rank -1 is not in [0, 24)",
                         ragged::PlanError);
}
