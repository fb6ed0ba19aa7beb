// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <ragged/spec/tensor_spec.hpp>

namespace {

using ragged::Block;
using ragged::Shape;
using ragged::TensorSpec;

bool accepted(const Shape& shape, const Block& block) {
    try {
        ragged::check_block(TensorSpec{"t", shape, block});
        return true;
    } catch (const ragged::SpecError&) {
        return false;
    }
}

constexpr ragged::Group layer{
    ragged::Tensor{"wq", {64, 32}, ragged::tile({32, 32})},
    ragged::Tensor{"norm", {32}, {}, ragged::DType::f32},
    ragged::Tensor{"experts", {4, 8, 8}, {}, ragged::DType::bf16, 16, true, 2},
};

} // namespace

TEST_CASE("blocks say what they are, in the words of the command line") {
    CHECK(ragged::to_string(ragged::elements(4)) == "elements:4");
    CHECK(ragged::to_string(ragged::rows(16)) == "rows:16");
    CHECK(ragged::to_string(ragged::tile({32, 16})) == "block:32x16");
    CHECK(ragged::to_string(ragged::whole()) == "whole");
    CHECK(ragged::to_string(Block{}) == "elements:1");
    CHECK(ragged::to_string(ragged::rows(16), -1) == "rows:16");
    CHECK(ragged::to_string(ragged::rows(16), 1) == "rows:16 whole from dimension 1");
}

TEST_CASE("blocks are equal when kind and sizes are") {
    static_assert(ragged::rows(1) == ragged::rows(1) && Block{} == ragged::elements(1));
    static_assert(!(ragged::rows(1) == ragged::rows(2)) && !(ragged::rows(1) == ragged::elements(1)));
    static_assert(!(ragged::tile({1, 2}) == ragged::tile({2, 1})));
    static_assert(!(ragged::tile({1}) == ragged::whole()));
}

TEST_CASE("a size below 1 is refused, with tensor, block and number") {
    CHECK_THROWS_WITH_AS(ragged::check_block(TensorSpec{"wq", {4, 4}, ragged::elements(0)}),
                         "tensor 'wq': block elements:0 has a size below 1", ragged::SpecError);
    CHECK_THROWS_WITH_AS(ragged::check_block(TensorSpec{"wq", {4, 4}, ragged::rows(0)}),
                         "tensor 'wq': block rows:0 has a size below 1", ragged::SpecError);
    CHECK_THROWS_WITH_AS(ragged::check_block(TensorSpec{"wq", {4, 4}, ragged::tile({2, 0})}),
                         "tensor 'wq': block block:2x0 has a size below 1", ragged::SpecError);
    CHECK_THROWS_WITH_AS(ragged::rows(-1), "extent -1 is negative", ragged::SpecError);
    CHECK_THROWS_AS(ragged::elements(-7), ragged::SpecError);
    CHECK_THROWS_AS(ragged::tile({4, -1}), ragged::SpecError);
    // a tensor without elements too: the block is wrong whatever the tensor
    CHECK_FALSE(accepted({0, 4}, ragged::tile({0, 1})));
}

TEST_CASE("a tile has the tensor's dimensions and fits in each of them") {
    CHECK_THROWS_WITH_AS(ragged::check_block(TensorSpec{"wq", {4, 6}, ragged::tile({2})}),
                         "tensor 'wq': block:2 has 1 dimensions, shape 4x6 has 2", ragged::SpecError);
    CHECK_THROWS_WITH_AS(ragged::check_block(TensorSpec{"e", {4, 6}, ragged::tile({1, 4, 6})}),
                         "tensor 'e': block:1x4x6 has 3 dimensions, shape 4x6 has 2", ragged::SpecError);
    CHECK_THROWS_WITH_AS(ragged::check_block(TensorSpec{"w1", {4, 6}, ragged::tile({2, 7})}),
                         "tensor 'w1': block:2x7 is larger than shape 4x6 in dimension 1", ragged::SpecError);
    for (std::int64_t rows = 1; rows <= 5; ++rows)
        for (std::int64_t columns = 1; columns <= 5; ++columns)
            for (std::int64_t a = 1; a <= 6; ++a)
                for (std::int64_t b = 1; b <= 6; ++b)
                    REQUIRE(accepted({rows, columns}, ragged::tile({a, b})) == (a <= rows && b <= columns));
}

TEST_CASE("runs of elements and rows may be longer than the tensor; whole always fits") {
    for (const Shape& shape : {Shape{}, Shape{1}, Shape{3, 2}, Shape{0, 2}, Shape{2, 0}}) {
        CHECK(accepted(shape, ragged::elements(100)));
        CHECK(accepted(shape, ragged::rows(100)));
        CHECK(accepted(shape, ragged::whole()));
    }
    CHECK(accepted({}, ragged::tile({})));
    CHECK_FALSE(accepted({}, ragged::tile({1})));
}

TEST_CASE("a tensor without elements takes any tile of its rank") {
    CHECK(accepted({0, 4}, ragged::tile({2, 8})));
    CHECK(accepted({4, 0}, ragged::tile({8, 8})));
    CHECK_FALSE(accepted({0, 4}, ragged::tile({2})));
}

TEST_CASE("what stays whole from a dimension is one of the tensor, behind the slices of a stack") {
    const auto with = [](const Shape& shape, int whole_from, bool sliced = false) {
        return TensorSpec{"wo", shape, {}, ragged::DType::bf16, 0, sliced, whole_from};
    };
    for (int dim = -1; dim < 3; ++dim)
        CHECK_NOTHROW(ragged::check_block(with({2, 4, 6}, dim)));
    CHECK_NOTHROW(ragged::check_block(with({0, 4}, 1)));
    CHECK_NOTHROW(ragged::check_block(with({2, 4}, 1, true)));
    CHECK_NOTHROW(ragged::check_block(with({}, -1)));
    CHECK_THROWS_WITH_AS(ragged::check_block(with({4, 6}, 2)),
                         "tensor 'wo': whole from dimension 2, shape 4x6 has 2 dimensions",
                         ragged::SpecError);
    CHECK_THROWS_WITH_AS(ragged::check_block(with({4, 6}, -2)),
                         "tensor 'wo': whole from dimension -2, shape 4x6 has 2 dimensions",
                         ragged::SpecError);
    CHECK_THROWS_WITH_AS(ragged::check_block(with({}, 0)),
                         "tensor 'wo': whole from dimension 0, shape scalar has 0 dimensions",
                         ragged::SpecError);
    CHECK_THROWS_WITH_AS(ragged::check_block(with({4, 6}, 0, true)),
                         "tensor 'wo': whole from dimension 0, of which a sliced tensor has its slices",
                         ragged::SpecError);

    static_assert(ragged::Tensor{}.whole_from == -1);
    CHECK(ragged::slice_of(with({2, 4, 6}, -1, true)).whole_from == -1);
    CHECK(ragged::slice_of(with({2, 4, 6}, 1, true)).whole_from == 0); // the slice is never cut
    CHECK(ragged::slice_of(with({2, 4, 6}, 2, true)).whole_from == 1);
    CHECK_FALSE(with({2, 4}, 1) == with({2, 4}, -1));
}

TEST_CASE("two tensors of one name are refused") {
    const ragged::GroupSpec good{"layers.0", {{"a", {1}}, {"b", {1}}, {"A", {1}}}};
    CHECK_NOTHROW(ragged::check_names(good));
    const ragged::GroupSpec bad{"layers.0", {{"a", {1}}, {"b", {1}}, {"a", {2}}}};
    CHECK_THROWS_WITH_AS(ragged::check_names(bad), "group 'layers.0': duplicate tensor 'a'",
                         ragged::SpecError);
    CHECK_NOTHROW(ragged::check_names(ragged::GroupSpec{"empty", {}}));
}

TEST_CASE("a group written as a constant is the same group at run time") {
    static_assert(layer.tensors.size() == 3 && layer.tensors[0].name == "wq");
    static_assert(layer.tensors[0].dtype == ragged::DType::bf16); // the default
    const ragged::GroupSpec group = layer.spec("layers.0");
    CHECK(group.name == "layers.0");
    REQUIRE(group.tensors.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(group.tensors[i].name == layer.tensors[i].name);
        CHECK(group.tensors[i].shape == layer.tensors[i].shape);
        CHECK(group.tensors[i].block == layer.tensors[i].block);
        CHECK(group.tensors[i].dtype == layer.tensors[i].dtype);
        CHECK(group.tensors[i].align_bytes == layer.tensors[i].align_bytes);
        CHECK(group.tensors[i].sliced == layer.tensors[i].sliced);
        CHECK(group.tensors[i].whole_from == layer.tensors[i].whole_from);
    }
}
