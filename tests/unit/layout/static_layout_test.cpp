// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A static layout is the group of one tensor, as a constant.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include <ragged/layout/static_layout.hpp>

namespace {

using ragged::Axis;
using ragged::place;
using ragged::RaggedEvenly;
using ragged::Replicate;
using ragged::Shard;

template <const auto& Spec, class Mesh, const auto& Placed>
using Static = ragged::StaticLayout<Spec, Mesh, std::remove_cvref_t<decltype(Placed)>>;

constexpr ragged::Tensor wq{"wq", {4096, 4096}, ragged::tile({32, 32})};
constexpr auto columns = place<"shard">(Shard<1>{});
static_assert(Static<wq, ragged::Topology<Axis<"shard", 8>>, columns>::portion(0, 3).elements == 4096 * 512);

using Grid = ragged::Topology<Axis<"replica", 2>, Axis<"shard", 3>, Axis<"tensor", 2>>;
constexpr ragged::Tensor odd{"odd", {7, 5}, ragged::rows(2)};
constexpr auto after_columns =
    place<"tensor">(Shard<1>{}).then<"shard">(RaggedEvenly{}).then<"replica">(Replicate{});
constexpr auto before_rows =
    place<"shard">(RaggedEvenly{}).then<"tensor">(Shard<0>{}).then<"replica">(Replicate{});

template <class Layout>
void check_group_of_one() {
    const ragged::GroupLayout group(Layout::layout());
    CHECK(Layout::num_tensors() == group.num_tensors());
    CHECK(Layout::name(0) == group.name(0));
    CHECK(Layout::shape(0) == group.shape(0));
    CHECK(Layout::describe() == group.describe());
    for (std::int64_t rank = 0; rank < group.topology().num_ranks(); ++rank) {
        CHECK(Layout::offsets(rank) == group.offsets(rank));
        CHECK(Layout::storage_elems(rank) == group.storage_elems(rank));
        for (std::size_t depth = 0; depth <= Layout::max_depth; ++depth)
            CHECK(Layout::portion(0, rank, depth) == group.portion(0, rank, depth));
    }
    ragged::detail::Hash of_static, of_group;
    Layout::add_to(of_static);
    group.add_to(of_group);
    CHECK(of_static.value() == of_group.value());
}

} // namespace

TEST_CASE("everything is as in the group of the same tensor") {
    check_group_of_one<Static<odd, Grid, after_columns>>();
    check_group_of_one<Static<odd, Grid, before_rows>>();
}
