// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the tensors of a group start in each rank's array, what tells groups apart, and errors.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <ragged/layout/group_layout.hpp>

namespace {

using ragged::GroupLayout;
using ragged::place;
using ragged::RaggedOnRank;
using ragged::TensorSpec;
using Line = ragged::Topology<ragged::Axis<"shard">>;
using Matrix = ragged::TensorLayout<Line, decltype(place<"shard">(RaggedOnRank{}))>;
using Offsets = std::vector<std::int64_t>;

Matrix on(std::int64_t rank, TensorSpec spec, std::int64_t ranks = 3) {
    return {spec, Line(ranks), place<"shard">(RaggedOnRank{rank})};
}
GroupLayout<Line, Matrix::placements_type> three(std::int64_t alignment) {
    return GroupLayout(std::vector{on(0, {"a", {3, 5}}), on(1, {"b", {7}}), on(0, {"c", {2, 2}})}, Line(3),
                       alignment);
}
std::uint64_t print_of(const auto& layout) {
    ragged::detail::Hash hash;
    layout.add_to(hash);
    return hash.value();
}

} // namespace

TEST_CASE("tensors follow each other in every rank's array, each at a multiple of the alignment") {
    CHECK(three(1).offsets(0) == Offsets{0, 15, 15, 19});
    CHECK(three(1).offsets(1) == Offsets{0, 0, 7, 7});
    CHECK(three(8).offsets(0) == Offsets{0, 16, 16, 20});
    CHECK(three(8).offsets(1) == Offsets{0, 0, 8, 8});
    CHECK(three(8).storage_elems(0) == 20);
    CHECK(three(8).storage_elems(2) == 0);
    CHECK(three(1).portion(2, 0).elements == 4);
    CHECK(three(1).portion(2, 1).elements == 0);
    CHECK(three(1).portion(2, 1, 0).is_whole()); // before any placement
    CHECK(GroupLayout(on(0, {"a", {3, 5}})).offsets(0) == Offsets{0, 15});
}

TEST_CASE("a group of none has arrays of none") {
    const GroupLayout none(std::vector<Matrix>{}, Line(3));
    CHECK(none.num_tensors() == 0);
    CHECK(none.offsets(2) == Offsets{0});
}

TEST_CASE("groups that differ in alignment, tensors or roots differ in hash and in words") {
    CHECK(print_of(three(1)) == print_of(three(1)));
    CHECK(print_of(three(1)) != print_of(three(8)));
    CHECK(print_of(GroupLayout(on(0, {"a", {4}}))) != print_of(GroupLayout(on(1, {"a", {4}}))));
    CHECK(three(8).describe().size() == 4);
    CHECK(three(8).describe().front() == "3 tensors aligned to 8 elements");
}

TEST_CASE("errors: an alignment, and a tensor of another topology") {
    CHECK_THROWS_WITH_AS(three(0), "tensors aligned to 0 elements, at least 1", ragged::PlanError);
    CHECK_THROWS_WITH_AS(GroupLayout(std::vector{on(0, {"a", {4}}), on(0, {"b", {4}}, 2)}, Line(3)),
                         "tensor 'b' is laid out on 2 ranks of another topology, the group on 3",
                         ragged::PlanError);
}
