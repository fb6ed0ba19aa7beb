// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ragged/plan/static_plan.hpp>
#include <ragged/view/tensor_view.hpp>

#include "support/expect.hpp"

using Line = ragged::Topology<ragged::Axis<"shard">>;
using Partial = ragged::DBuffer<float, Line, ragged::state::Partial>;
using support::message_of;

namespace {

constexpr auto layer = ragged::Group{ragged::Tensor{"w", {2, 3, 4}}, ragged::Tensor{"b", {5}},
                                     ragged::Tensor{"empty", {0, 7}}, ragged::Tensor{"scalar", {}}};
constexpr auto constant = ragged::plan<layer>(2);

static_assert(std::is_trivially_copyable_v<ragged::TensorView<const float>>);
static_assert(sizeof(ragged::TensorView<float, ragged::StaticShape<2, 3, 4>>) == sizeof(float*));

} // namespace

TEST_CASE("a view is row-major over base + offset, by name, index or constant") {
    const ragged::Plan plan = constant.plan("layer");
    ragged::HostResource memory;
    const Partial buffer(plan, ragged::Place<Line>(Line(2), 1), memory);
    for (std::size_t i = 0; i < buffer.values(0).size(); ++i)
        buffer.values(0)[i] = static_cast<float>(i);

    const auto by_name = ragged::view(buffer, "w");
    const auto by_index = ragged::view(buffer, 0);
    const auto fixed = ragged::view(buffer, constant.tensor<"w">());
    static_assert(
        std::is_same_v<decltype(fixed), const ragged::TensorView<float, ragged::StaticShape<2, 3, 4>>>);
    CHECK(by_name.data() == buffer.segment_data(0) + plan.tensors[0].offset);
    CHECK(by_index.data() == by_name.data());
    CHECK(fixed.data() == by_name.data());
    CHECK(by_name.rank() == 3);
    for (int dim = 0; dim < 3; ++dim) {
        CHECK(by_name.extent(dim) == fixed.extent(dim));
        CHECK(by_name.stride(dim) == fixed.stride(dim));
    }
    CHECK(by_name.stride(0) == 12);
    CHECK(by_name.stride(2) == 1);
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 3; ++j)
            for (int k = 0; k < 4; ++k) {
                CHECK(by_name(i, j, k) == static_cast<float>(plan.tensors[0].offset + i * 12 + j * 4 + k));
                CHECK(&fixed(i, j, k) == &by_name(i, j, k));
            }
    CHECK(by_name.flat().size() == 24);
    CHECK(ragged::view(buffer, "empty").elements() == 0);
    CHECK(ragged::view(buffer, "scalar").elements() == 1);
    CHECK(&ragged::view(buffer, "scalar")() == buffer.segment_data(0) + plan.tensors[3].offset);
}

TEST_CASE("a tensor that is not there, or of another plan, is refused by name and number") {
    const ragged::Plan plan = constant.plan("layer");
    ragged::HostResource memory;
    const Partial buffer(plan, ragged::Place<Line>(Line(2), 0), memory);
    CHECK(message_of([&] { static_cast<void>(ragged::view(buffer, "v")); }) ==
          "group 'layer' has no tensor 'v'");
    CHECK(message_of([&] { static_cast<void>(ragged::view(buffer, 4)); }) ==
          "group 'layer' has no tensor 4, it has 4");
    const ragged::Plan other = ragged::make_plan(ragged::GroupSpec{"other", {{"w", {4, 3, 2}}}}, 2);
    const Partial elsewhere(other, ragged::Place<Line>(Line(2), 0), memory);
    CHECK(message_of([&] { static_cast<void>(ragged::view(elsewhere, constant.tensor<"w">())); }) ==
          "group 'other': tensor 0 of the constant plan, 2x3x4 at 0 of segment 0, is not what the buffer's "
          "plan has there");
}

TEST_CASE("a constant tensor of another segment is refused, not read behind the buffer") {
    const ragged::Plan plan = constant.plan("layer");
    ragged::HostResource memory;
    const Partial buffer(plan, ragged::Place<Line>(Line(2), 0), memory);
    auto tensor = constant.tensor<"w">();
    tensor.segment = 1;
    CHECK(message_of([&] { static_cast<void>(ragged::view(buffer, tensor)); }) ==
          "group 'layer': tensor 0 of the constant plan, 2x3x4 at 0 of segment 1, is not what the buffer's "
          "plan "
          "has there");
}
