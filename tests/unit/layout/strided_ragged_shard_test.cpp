// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Ragged shards of parts of a tensor: where they lie, who owns an element, errors. Those of every small
// layout are in property/tensor_layout.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <ragged/layout/strided_ragged_shard.hpp>

namespace {

using ragged::CutPattern;
using ragged::Portion;
using ragged::RaggedShard;
using ragged::StridedRaggedShard;

using Owner = StridedRaggedShard::Owner;
using Parts = std::vector<StridedRaggedShard::Part>;

/// Chunk `index` of `count` of dimension `dim` of [5, 2], cut at `offsets`.
constexpr StridedRaggedShard::Part part(int dim, std::int64_t count, std::int64_t index,
                                        const std::vector<std::int64_t>& offsets) {
    Portion box = Portion::of({5, 2});
    box.keep_chunk(dim, count, index);
    return {box, RaggedShard::from_offsets(
                     CutPattern{box.elements, 1, std::max<std::int64_t>(box.elements, 1)}, offsets)};
}

/// Rows 0 to 2 cut at 2, rows 3 and 4 at 1.
constexpr StridedRaggedShard rows() {
    return StridedRaggedShard(Parts{part(0, 2, 0, {0, 2}), part(0, 2, 1, {0, 1})});
}

} // namespace

TEST_CASE("parts of different sizes, each with cuts of its own") {
    static_assert(rows().num_parts() == 2 && rows().num_ranks() == 2);
    static_assert(rows().portion(0, 0).elements == 2 && rows().portion(0, 1).elements == 4);
    static_assert(rows().portion(1, 0).elements == 1 && rows().portion(1, 1).elements == 3);
    static_assert(rows().portion(0, 1).global(0) == 2 && rows().portion(1, 1).global(0) == 7);
    static_assert(rows().part(1).shard.offset(1) == 1 && rows().part(1).portion.elements == 4);
}

TEST_CASE("the owner of an element: part, rank and place") {
    static_assert(rows().owner(0) == Owner{0, 0, 0} && rows().owner(1) == Owner{0, 0, 1});
    static_assert(rows().owner(2) == Owner{0, 1, 0} && rows().owner(5) == Owner{0, 1, 3});
    static_assert(rows().owner(6) == Owner{1, 0, 0} && rows().owner(9) == Owner{1, 1, 2});
    // columns interleave in the tensor
    const StridedRaggedShard columns(Parts{part(1, 2, 0, {0, 3, 3}), part(1, 2, 1, {0, 0, 5})});
    for (std::int64_t element = 0; element < 10; ++element) {
        const auto [p, rank, local] = columns.owner(element);
        CHECK(p == element % 2);
        CHECK(rank == (p == 1 ? 1 : element < 6 ? 0 : 2));
        CHECK(columns.portion(p, rank).global(local) == element);
    }
}

TEST_CASE("no rank owns an element of an empty part, and none of no part") {
    const StridedRaggedShard shard(
        Parts{part(1, 3, 0, {0, 0}), part(1, 3, 1, {0, 5}), part(1, 3, 2, {0, 0})});
    CHECK(shard.portion(2, 0).elements == 0);
    CHECK(shard.portion(2, 1).elements == 0);
    for (std::int64_t element = 0; element < 10; ++element)
        CHECK(shard.owner(element) ==
              (element % 2 == 0 ? Owner{0, 1, element / 2} : Owner{1, 0, element / 2}));
    CHECK(StridedRaggedShard(Parts{part(0, 2, 1, {0, 1})}).owner(0) == Owner{-1, -1, -1});
}

TEST_CASE("equal when all parts lie and are cut alike") {
    static_assert(rows() == rows());
    CHECK_FALSE(rows() == StridedRaggedShard(Parts{part(0, 2, 0, {0, 3}), part(0, 2, 1, {0, 1})}));
    CHECK_FALSE(rows() == StridedRaggedShard(Parts{part(0, 2, 0, {0, 2})}));
    CHECK_FALSE(StridedRaggedShard(Parts{part(1, 2, 0, {0, 2})}) ==
                StridedRaggedShard(Parts{part(1, 2, 1, {0, 2})}));
}

TEST_CASE("errors of parts") {
    CHECK_THROWS_WITH_AS(StridedRaggedShard(Parts{}), "a strided ragged shard needs at least one part",
                         ragged::PlanError);
    CHECK_THROWS_WITH_AS(StridedRaggedShard(Parts{part(0, 2, 0, {0, 2}), part(0, 2, 1, {0, 1, 4})}),
                         "part 1 is cut over 3 ranks, part 0 over 2", ragged::PlanError);
    Parts parts{part(0, 2, 0, {0, 2}), part(0, 2, 1, {0, 1})};
    parts[1].shard = parts[0].shard;
    CHECK_THROWS_WITH_AS(StridedRaggedShard(std::move(parts)), "part 1 has 4 elements, its ragged shard 6",
                         ragged::PlanError);
}
