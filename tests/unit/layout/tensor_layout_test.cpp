// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Named layouts, equality, descriptions and errors. All small layouts are in property/tensor_layout.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include <ragged/layout/tensor_layout.hpp>

namespace elsewhere {

/// All but the last unit on the first rank.
struct LastUnitApart {
    constexpr ragged::RaggedShard operator()(const ragged::CutPattern& cuts, std::int64_t num_ranks) const {
        std::vector<std::int64_t> counts(static_cast<std::size_t>(num_ranks), 0);
        counts.front() = cuts.num_units() - 1;
        counts.back() += 1;
        return ragged::RaggedShard::from_counts(cuts, counts);
    }
};

/// Cuts another tensor than it is asked for.
struct Stubborn {
    std::int64_t elements, step, ranks;

    constexpr ragged::RaggedShard operator()(const ragged::CutPattern&, std::int64_t) const {
        return ragged::RaggedEvenly()({elements, step, elements}, ranks);
    }
};

} // namespace elsewhere

namespace {

using ragged::Axis;
using ragged::place;
using ragged::Portion;
using ragged::RaggedByWeights;
using ragged::RaggedEvenly;
using ragged::RaggedOnRank;
using ragged::RaggedShard;
using ragged::Replicate;
using ragged::Shard;
using ragged::Tensor;
using ragged::TensorLayout;
using ragged::TensorSpec;
using ragged::Topology;

using List = std::vector<std::int64_t>;
using Line = Topology<Axis<"shard">>;
using Plane = Topology<Axis<"outer">, Axis<"inner">>;

/// The elements that `rank` holds, in the order in which they are stored.
template <class Layout>
constexpr List held(const Layout& layout, std::int64_t rank) {
    const Portion portion = layout.portion(rank);
    List elements;
    for (std::int64_t local = 0; local < portion.elements; ++local)
        elements.push_back(portion.global(local));
    return elements;
}

template <class Layout>
constexpr std::vector<List> held(const Layout& layout) {
    std::vector<List> ranks;
    for (std::int64_t rank = 0; rank < layout.num_ranks(); ++rank)
        ranks.push_back(held(layout, rank));
    return ranks;
}

template <class Layout>
std::uint64_t hash_of(const Layout& layout) {
    ragged::detail::Hash hash;
    layout.add_to(hash);
    return hash.value();
}

constexpr auto rows_then_blocks = place<"outer">(Shard<0>{}).then<"inner">(RaggedEvenly{});
constexpr auto blocks_then_rows = place<"inner">(RaggedEvenly{}).then<"outer">(Shard<0>{});

} // namespace

TEST_CASE("uneven strided shards have right offsets in two dimensions") {
    // 5 rows: 3 | 2; each in runs of elements over 3
    CHECK(held(TensorLayout(TensorSpec{"w", {5, 2}}, Plane(2, 3), rows_then_blocks)) ==
          std::vector<List>{{0, 1}, {2, 3}, {4, 5}, {6}, {7}, {8, 9}});
    // 7 rows: 4 | 3; each in runs of whole rows
    CHECK(held(TensorLayout(TensorSpec{"w", {7, 2}, ragged::rows(1)}, Plane(2, 3), rows_then_blocks)) ==
          std::vector<List>{{0, 1}, {2, 3}, {4, 5, 6, 7}, {8, 9}, {10, 11}, {12, 13}});
    // runs of 2, 2 and 3 rows first, then their rows: 1 | 1, 1 | 1, 2 | 1
    CHECK(held(TensorLayout(TensorSpec{"w", {7, 2}}, Plane(2, 3), blocks_then_rows)) ==
          std::vector<List>{{0, 1}, {4, 5}, {8, 9, 10, 11}, {2, 3}, {6, 7}, {12, 13}});
    // rows twice: 3 | 2, each over 3
    constexpr auto twice = place<"outer">(Shard<0>{}).then<"inner">(Shard<0>{});
    CHECK(held(TensorLayout(TensorSpec{"w", {5}}, Plane(2, 3), twice)) ==
          std::vector<List>{{0}, {1}, {2}, {3}, {4}, {}});
    CHECK(held(TensorLayout(TensorSpec{"w", {7}}, Plane(2, 3), twice)) ==
          std::vector<List>{{0, 1}, {2, 3}, {}, {4}, {5}, {6}});
    // the other order: over 3 first, each over 2
    constexpr auto inner_first = place<"inner">(Shard<0>{}).then<"outer">(Shard<0>{});
    CHECK(held(TensorLayout(TensorSpec{"w", {7}}, Plane(2, 3), inner_first)) ==
          std::vector<List>{{0, 1}, {3, 4}, {6}, {2}, {5}, {}});
    // rows, and columns of them
    constexpr auto both = place<"outer">(Shard<0>{}).then<"inner">(Shard<1>{});
    CHECK(held(TensorLayout(TensorSpec{"w", {3, 5}}, Plane(2, 3), both)) ==
          std::vector<List>{{0, 1, 5, 6}, {2, 3, 7, 8}, {4, 9}, {10, 11}, {12, 13}, {14}});
}

TEST_CASE("6 elements on a 2 x 2 mesh") {
    const TensorSpec six{"w", {6}};
    CHECK(held(TensorLayout(six, Plane(2, 2), place<"outer">(Shard<0>{}).then<"inner">(Shard<0>{}))) ==
          std::vector<List>{{0, 1}, {2}, {3, 4}, {5}});
    CHECK(held(TensorLayout(six, Plane(2, 2), place<"inner">(Shard<0>{}).then<"outer">(Shard<0>{}))) ==
          std::vector<List>{{0, 1}, {3, 4}, {2}, {5}});
    CHECK(held(TensorLayout(six, Plane(2, 2), rows_then_blocks)) ==
          std::vector<List>{{0}, {1, 2}, {3}, {4, 5}});
    CHECK(held(TensorLayout(six, Plane(2, 2), blocks_then_rows)) ==
          std::vector<List>{{0, 1}, {3, 4}, {2}, {5}});
}

TEST_CASE("an empty shard has an offset of its own and owns nothing") {
    const TensorLayout chunks(TensorSpec{"w", {5}}, Line(4), place<"shard">(Shard<0>{}));
    CHECK(held(chunks) == std::vector<List>{{0, 1}, {2, 3}, {4}, {}});
    const TensorLayout twice(TensorSpec{"w", {3}}, Plane(4, 2),
                             place<"outer">(Shard<0>{}).then<"inner">(Shard<0>{}));
    const TensorLayout runs(TensorSpec{"w", {3, 2}}, Line(4), place<"shard">(RaggedByWeights{{0, 1, 0, 2}}));
    CHECK(held(runs) == std::vector<List>{{}, {0, 1}, {}, {2, 3, 4, 5}});
    const auto nobody_twice = [](const auto& layout) {
        for (std::int64_t element = 0; element < layout.spec().shape.elements(); ++element) {
            std::int64_t holders = 0;
            for (std::int64_t rank = 0; rank < layout.num_ranks(); ++rank)
                holders += layout.portion(rank).local(element) >= 0 ? 1 : 0;
            CHECK(holders == 1);
        }
        for (std::int64_t a = 0; a < layout.num_ranks(); ++a)
            for (std::int64_t b = 0; b < layout.num_ranks(); ++b)
                if (layout.portion(a).elements == 0 && layout.portion(b).elements > 0)
                    CHECK_FALSE(layout.portion(a) == layout.portion(b));
    };
    nobody_twice(chunks);
    nobody_twice(twice);
    nobody_twice(runs);
    // behind the last element, and where the run would start
    CHECK(chunks.portion(3).corner[0] == 5);
    CHECK(runs.portion(0).first == 0);
    CHECK(runs.portion(2).first == 2);
}

TEST_CASE("relative units that mean the same compare equal") {
    const TensorSpec spec{"w", {9, 4}, ragged::rows(1)};
    const auto weighted = [&](List weights) {
        return TensorLayout(spec, Line(2), place<"shard">(RaggedByWeights{std::move(weights)}));
    };
    CHECK(weighted({1, 2}) == weighted({50, 100}));
    CHECK(hash_of(weighted({1, 2})) == hash_of(weighted({50, 100})));
    CHECK_FALSE(weighted({1, 2}) == weighted({2, 1}));
    CHECK(hash_of(weighted({1, 2})) != hash_of(weighted({2, 1})));
    CHECK(weighted({1, 8}) == weighted({10, 79})); // the same units of this tensor
}

TEST_CASE("layouts are equal when they hold the same everywhere") {
    const TensorSpec spec{"w", {6, 4}};
    CHECK(TensorLayout(spec, Plane(2, 3), rows_then_blocks) ==
          TensorLayout(spec, Plane(2, 3), rows_then_blocks));
    CHECK_FALSE(TensorLayout(spec, Plane(2, 3), rows_then_blocks) ==
                TensorLayout(spec, Plane(3, 2), rows_then_blocks));
    CHECK_FALSE(TensorLayout(spec, Plane(2, 3), rows_then_blocks) ==
                TensorLayout(TensorSpec{"w", {4, 6}}, Plane(2, 3), rows_then_blocks));
    // blocks matter by their cuts
    CHECK(TensorLayout(spec, Line(2), place<"shard">(RaggedEvenly{})) ==
          TensorLayout(TensorSpec{"w", {6, 4}, ragged::rows(3)}, Line(2), place<"shard">(RaggedEvenly{})));
    CHECK_FALSE(
        TensorLayout(spec, Line(2), place<"shard">(RaggedEvenly{})) ==
        TensorLayout(TensorSpec{"w", {6, 4}, ragged::rows(4)}, Line(2), place<"shard">(RaggedEvenly{})));
    CHECK(TensorLayout(spec, Line(2), place<"shard">(Shard<0>{})) ==
          TensorLayout(spec, Line(2), place<"shard">(Shard<0>{})));
    CHECK_FALSE(TensorLayout(spec, Line(2), place<"shard">(RaggedOnRank{0})) ==
                TensorLayout(spec, Line(2), place<"shard">(RaggedOnRank{1})));
}

TEST_CASE("hashes tell layouts apart: names, shapes, sizes, axes and kinds") {
    const TensorSpec spec{"w", {4, 4}};
    std::vector<std::uint64_t> hashes{
        hash_of(TensorLayout(spec, Line(2), place<"shard">(Shard<0>{}))),
        hash_of(TensorLayout(spec, Line(2), place<"shard">(Shard<1>{}))),
        hash_of(TensorLayout(spec, Line(2), place<"shard">(Replicate{}))),
        hash_of(TensorLayout(spec, Line(2), place<"shard">(ragged::Partial<>{}))),
        hash_of(TensorLayout(spec, Line(2), place<"shard">(ragged::Partial<ragged::PartialOp::max>{}))),
        hash_of(TensorLayout(spec, Line(2), place<"shard">(RaggedEvenly{}))),
        hash_of(TensorLayout(spec, Line(2), place<"shard">(RaggedOnRank{0}))),
        hash_of(TensorLayout(spec, Line(2), place<"shard">(RaggedOnRank{1}))),
        hash_of(TensorLayout(spec, Line(3), place<"shard">(Shard<0>{}))),
        hash_of(TensorLayout(TensorSpec{"v", {4, 4}}, Line(2), place<"shard">(Shard<0>{}))),
        hash_of(TensorLayout(TensorSpec{"w", {16}}, Line(2), place<"shard">(Shard<0>{}))),
        hash_of(TensorLayout(TensorSpec{"w", {4}}, Plane(4, 2), rows_then_blocks)),
        hash_of(TensorLayout(spec, Plane(2, 2), rows_then_blocks)),
        hash_of(TensorLayout(spec, Plane(2, 2), blocks_then_rows)),
        // another topology of the same axes
        hash_of(TensorLayout(spec, Topology<Axis<"inner">, Axis<"outer">>(2, 2), rows_then_blocks)),
    };
    for (std::size_t a = 0; a < hashes.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            CHECK(hashes[a] != hashes[b]);
}

TEST_CASE("other axes' dimensions stay whole in runs") {
    // columns behind the blocks: runs are rows
    constexpr auto blocks_then_columns = place<"inner">(RaggedEvenly{}).then<"outer">(Shard<1>{});
    const TensorLayout after(TensorSpec{"w", {3, 4}}, Plane(2, 2), blocks_then_columns);
    CHECK(after.ragged().offset(1) == 4);
    CHECK(held(after) == std::vector<List>{{0, 1}, {4, 5, 8, 9}, {2, 3}, {6, 7, 10, 11}});
    // columns before the blocks: runs are rows of the columns
    constexpr auto columns_then_blocks = place<"outer">(Shard<1>{}).then<"inner">(RaggedEvenly{});
    const TensorLayout before(TensorSpec{"w", {3, 4}}, Plane(2, 2), columns_then_blocks);
    CHECK(before.ragged().part(1).shard.offset(1) == 2);
    CHECK(held(before) == std::vector<List>{{0, 1}, {4, 5, 8, 9}, {2, 3}, {6, 7, 10, 11}});
    // blocks of 3 elements and rows of 4: steps of 12
    const TensorLayout both(TensorSpec{"w", {6, 4}, ragged::elements(3)}, Plane(2, 2), blocks_then_columns);
    CHECK(both.ragged().offset(1) == 12);
    // rows before the blocks need nothing
    CHECK(TensorLayout(TensorSpec{"w", {2, 3}}, Plane(2, 3), rows_then_blocks)
              .ragged()
              .part(0)
              .shard.offset(1) == 1);
}

TEST_CASE("a tile larger than a part is the part") {
    const TensorSpec spec{"w", {5, 4}, ragged::tile({4, 3})};
    const TensorLayout layout(spec, Plane(2, 2), place<"outer">(Shard<0>{}).then<"inner">(RaggedEvenly{}));
    CHECK(held(layout, 0).empty());
    CHECK(held(layout, 1).size() == 12);
    CHECK(held(layout, 3).size() == 8);
    // also a part without elements
    CHECK(held(TensorLayout(spec, Plane(8, 2), rows_then_blocks), 15).empty());
}

TEST_CASE("axes that cut nothing, and depths") {
    const TensorLayout layout(TensorSpec{"w", {4}}, Topology<Axis<"a">, Axis<"b">, Axis<"c">>(2, 2, 2),
                              place<"c">(Shard<0>{}).then<"a">(Replicate{}).then<"b">(ragged::Partial<>{}));
    for (std::int64_t rank = 0; rank < 8; ++rank)
        CHECK(held(layout, rank) == (rank % 2 == 0 ? List{0, 1} : List{2, 3}));
    CHECK(layout.portion(7, 0).is_whole());
    CHECK(layout.portion(7, 1) == layout.portion(7));
    static_assert(decltype(layout)::max_depth == 3);
}

TEST_CASE("scalars and tensors without elements") {
    CHECK(held(TensorLayout(TensorSpec{"s", {}}, Line(3), place<"shard">(RaggedEvenly{}))) ==
          std::vector<List>{{}, {}, {0}});
    for (const ragged::Shape& shape : {ragged::Shape{0}, ragged::Shape{0, 3}, ragged::Shape{3, 0}}) {
        CHECK(held(TensorLayout(TensorSpec{"e", shape}, Plane(2, 2), rows_then_blocks)) ==
              std::vector<List>(4));
        CHECK(held(TensorLayout(TensorSpec{"e", shape}, Plane(2, 2), blocks_then_rows)) ==
              std::vector<List>(4));
    }
}

TEST_CASE("a rule of somebody else, a lambda, and a shard that is its own rule") {
    const TensorSpec spec{"w", {5, 2}, ragged::rows(1)};
    CHECK(held(TensorLayout(spec, Line(2), place<"shard">(elsewhere::LastUnitApart{})), 1) == List{8, 9});
    const auto first = [](const ragged::CutPattern& cuts, std::int64_t num_ranks) {
        return RaggedShard::on_rank(cuts, num_ranks, 0);
    };
    CHECK(held(TensorLayout(spec, Line(2), place<"shard">(first)), 1).empty());
    const RaggedShard shard = RaggedShard::from_offsets({10, 1, 10}, List{0, 4});
    CHECK(TensorLayout(spec, Line(2), place<"shard">(shard)).ragged() == shard);
}

TEST_CASE("errors of rules name the tensor and the axis") {
    const TensorSpec spec{"wq", {5, 2}, ragged::rows(1)};
    const auto lay = [&](auto rule) { return TensorLayout(spec, Line(2), place<"shard">(rule)); };
    CHECK_THROWS_WITH_AS(lay(RaggedByWeights{{1, 2, 3}}),
                         "tensor 'wq' along axis 'shard': got 3 weights for 2 ranks", ragged::PlanError);
    CHECK_THROWS_WITH_AS(lay(RaggedByWeights{{0, 0}}),
                         "tensor 'wq' along axis 'shard': all weights of a ragged shard are 0",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(lay(RaggedOnRank{2}), "tensor 'wq' along axis 'shard': owner 2 is not in [0, 2)",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(
        lay(elsewhere::Stubborn{12, 2, 2}),
        "tensor 'wq' along axis 'shard': the rule cuts 12 elements over 2 ranks, there are 10 over 2",
        ragged::PlanError);
    CHECK_THROWS_WITH_AS(
        lay(elsewhere::Stubborn{10, 2, 3}),
        "tensor 'wq' along axis 'shard': the rule cuts 10 elements over 3 ranks, there are 10 over 2",
        ragged::PlanError);
    CHECK_THROWS_WITH_AS(lay(elsewhere::Stubborn{10, 1, 2}),
                         "tensor 'wq' along axis 'shard': rank 1 starts at 5, which is no legal cut: "
                         "10 elements in steps of 2 per period of 2",
                         ragged::PlanError);
    // a shard of the whole tensor does not fit its parts
    const RaggedShard shard = RaggedShard::from_offsets({10, 2, 10}, List{0, 4});
    CHECK_THROWS_WITH_AS(
        TensorLayout(spec, Plane(2, 2), place<"outer">(Shard<0>{}).then<"inner">(shard)),
        "tensor 'wq' along axis 'inner': the rule cuts 10 elements over 2 ranks, there are 6 over 2",
        ragged::PlanError);
}

TEST_CASE("errors of tensors name the tensor") {
    CHECK_THROWS_WITH_AS(TensorLayout(TensorSpec{"norm", {8}}, Line(2), place<"shard">(Shard<1>{})),
                         "tensor 'norm': axis 'shard' shards dimension 1, shape 8 has 1 dimensions",
                         ragged::SpecError);
    CHECK_THROWS_WITH_AS(TensorLayout(TensorSpec{"s", {}}, Line(2), place<"shard">(Shard<0>{})),
                         "tensor 's': axis 'shard' shards dimension 0, shape scalar has 0 dimensions",
                         ragged::SpecError);
    CHECK_THROWS_WITH_AS(
        TensorLayout(TensorSpec{"w", {4, 6}, ragged::tile({5, 6})}, Line(2), place<"shard">(Shard<0>{})),
        "tensor 'w': block:5x6 is larger than shape 4x6 in dimension 0", ragged::SpecError);
    CHECK_THROWS_WITH_AS(TensorLayout(TensorSpec{"w", {4, 2}, ragged::rows(ragged::max_count)}, Line(2),
                                      place<"shard">(RaggedEvenly{})),
                         "tensor 'w': rows:9223372036854775807 on 4x2: elements of a shape: 2 * "
                         "9223372036854775807 does not fit 64 bits",
                         ragged::SpecError);
}

TEST_CASE("a layout in one line") {
    const TensorSpec spec{"wq", {8, 8}};
    CHECK(TensorLayout(spec, Topology<Axis<"shard">, Axis<"tensor">>(2, 2),
                       place<"tensor">(Shard<1>{}).then<"shard">(RaggedEvenly{}))
              .describe() ==
          "tensor 'wq' 8x8: 'tensor' of 2 Shard(1), then 'shard' of 2 RaggedShard at 0 16 | 0 16");
    CHECK(TensorLayout(spec, Line(3), place<"shard">(RaggedOnRank{1})).describe() ==
          "tensor 'wq' 8x8: 'shard' of 3 RaggedShard on one rank at 0 0 64");
    CHECK(TensorLayout(TensorSpec{"s", {}}, Plane(1, 2),
                       place<"inner">(ragged::Partial<ragged::PartialOp::avg>{}).then<"outer">(Replicate{}))
              .describe() == "tensor 's' scalar: 'inner' of 2 Partial(avg), then 'outer' of 1 Replicate");
}

TEST_CASE("in constant expressions") {
    using Fixed = Topology<Axis<"outer", 2>, Axis<"inner", 3>>;
    constexpr Tensor spec{"w", {5, 2}};
    static_assert(held(TensorLayout(spec, Fixed(), rows_then_blocks), 5) == List{8, 9});
    static_assert(held(TensorLayout(spec, Fixed(), blocks_then_rows), 2) == List{6, 7});
    static_assert(TensorLayout(spec, Fixed(), rows_then_blocks).ragged().owner(9).rank == 2);
    static_assert(TensorLayout(spec, Fixed(), blocks_then_rows).ragged().offset(1) == 2);
    static_assert(TensorLayout(spec, Line(2), place<"shard">(RaggedByWeights{{1, 2}})) ==
                  TensorLayout(spec, Line(2), place<"shard">(RaggedByWeights{{50, 100}})));
    static_assert(TensorLayout(spec, Line(2), place<"shard">(elsewhere::LastUnitApart{})).portion(1).first ==
                  9);
    constexpr TensorLayout even(spec, Fixed(),
                                place<"outer">(Shard<0>{}).then<"inner">(Replicate{})); // allocates nothing
    static_assert(even.portion(5).corner[0] == 3 && even.num_ranks() == 6 && even.spec().name == "w");
    static_assert(even.topology().num_ranks() == 6 && even.placements().size == 2);
}

TEST_CASE("a strided ragged shard as a placement cuts each part as it says") {
    using Grid = ragged::Topology<ragged::Axis<"shard", 3>, ragged::Axis<"tensor", 2>>;
    const ragged::TensorSpec spec{"w", {7, 4}, ragged::rows(1)};
    const ragged::TensorLayout even(
        spec, Grid(), ragged::place<"tensor">(ragged::Shard<0>{}).then<"shard">(ragged::RaggedEvenly{}));
    const ragged::TensorLayout weighted(
        spec, Grid(),
        ragged::place<"tensor">(ragged::Shard<0>{}).then<"shard">(ragged::RaggedByWeights{{0, 1, 2}}));
    const ragged::StridedRaggedShard mixed({even.ragged().part(0), weighted.ragged().part(1)});
    const ragged::TensorLayout layout(spec, Grid(),
                                      ragged::place<"tensor">(ragged::Shard<0>{}).then<"shard">(mixed));
    CHECK(layout.ragged() == mixed);
    for (std::int64_t rank = 0; rank < 6; ++rank)
        CHECK(layout.portion(rank) == (rank % 2 == 0 ? even.portion(rank) : weighted.portion(rank)));
    CHECK_THROWS_WITH_AS(
        (ragged::TensorLayout(spec, Grid(),
                              ragged::place<"shard">(mixed).then<"tensor">(ragged::Shard<0>{}))),
        "tensor 'w' along axis 'shard': the rule cuts 16 elements over 3 ranks, there are 28 over 3",
        ragged::PlanError);
    const ragged::StridedRaggedShard one({even.ragged().part(0)});
    CHECK_THROWS_WITH_AS(
        (ragged::TensorLayout(spec, Grid(), ragged::place<"tensor">(ragged::Shard<0>{}).then<"shard">(one))),
        "tensor 'w' along axis 'shard': part 1 is asked for, there are 1", ragged::PlanError);
}

TEST_CASE("a sliced tensor has no one layout over a ragged axis: its slices have") {
    using Line = ragged::Topology<ragged::Axis<"shard", 2>>;
    const ragged::TensorSpec stack{"experts", {4, 5, 4}, ragged::rows(2), ragged::DType::bf16, 0, true};
    CHECK_THROWS_WITH_AS(
        (ragged::TensorLayout(stack, Line(), ragged::place<"shard">(ragged::RaggedEvenly{}))),
        "tensor 'experts' is sliced: over a ragged axis each slice is a tensor of its own, see slice_of",
        ragged::SpecError);
    CHECK_NOTHROW((ragged::TensorLayout(stack, Line(), ragged::place<"shard">(ragged::Shard<0>{}))));
}
