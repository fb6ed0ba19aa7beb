// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The same planner in a constant expression: a group written as a constant gives a plan whose padding can be
// asserted and whose tensors have their place and shape in the type.
//
//     constexpr auto plan = ragged::plan<layer>(64);
//     static_assert(plan.padding_ratio() < 0.01);
//     auto wq = ragged::view(gathered, plan.tensor<"wq">());      // extents known to the compiler
#pragma once

#include <array>

#include <ragged/core/fixed_string.hpp>
#include <ragged/plan/make_plan.hpp>

namespace ragged {

/// The place of one tensor, with its extents in the type. `index` is its position in the plan.
template <class StaticExtents>
struct StaticTensor {
    [[no_unique_address]] StaticExtents shape;
    std::size_t index;
    std::int64_t segment;
    std::int64_t offset; // elements from the start of the segment
};

/// The plan of `Layer`, a Group that is a constant with static storage.
template <const auto& Layer>
struct StaticPlan {
    static constexpr std::size_t num_tensors = Layer.tensors.size();

    std::string_view policy;
    std::int64_t num_devices;
    std::int64_t alignment_bytes;
    std::int64_t alignment_elems;
    std::array<Segment, 1> segments;
    std::array<std::int64_t, num_tensors> offsets;
    Violations violations;

    constexpr std::int64_t elements() const { return segments[0].elements; }
    constexpr std::int64_t padded_elements() const { return num_devices * segments[0].shard_elems; }
    constexpr double padding_ratio() const {
        return elements() == 0
                   ? 0.0
                   : static_cast<double>(padded_elements() - elements()) / static_cast<double>(elements());
    }

    /// The tensor called `Name`; a name that the group lacks does not compile.
    template <FixedString Name>
    constexpr auto tensor() const {
        constexpr std::size_t index = index_of<Name>();
        return [&]<std::size_t... Dim>(std::index_sequence<Dim...>) {
            constexpr Shape shape = Layer.tensors[index].shape;
            return StaticTensor<StaticShape<shape[static_cast<int>(Dim)]...>>{{}, index, 0, offsets[index]};
        }
        (std::make_index_sequence<static_cast<std::size_t>(Layer.tensors[index].shape.rank())>{});
    }

    /// The same plan for the run-time interfaces, with the group's name.
    Plan plan(std::string name) const {
        Plan result;
        result.name = std::move(name);
        result.policy = policy;
        result.num_devices = num_devices;
        result.alignment_bytes = alignment_bytes;
        result.alignment_elems = alignment_elems;
        result.violations = violations;
        result.segments.assign(segments.begin(), segments.end());
        for (std::size_t i = 0; i < num_tensors; ++i) {
            const Tensor& tensor = Layer.tensors[i];
            result.tensors.push_back({{std::string(tensor.name), tensor.shape, tensor.block, tensor.dtype},
                                      cuts_of(tensor),
                                      0,
                                      offsets[i]});
        }
        return result;
    }

  private:
    template <FixedString Name>
    static consteval std::size_t index_of() {
        constexpr std::size_t index = [] {
            std::size_t i = 0;
            while (i < num_tensors && Layer.tensors[i].name != Name.view())
                ++i;
            return i;
        }();
        static_assert(index < num_tensors, "ragged: the group has no tensor of this name");
        return index;
    }
};

/// Plan a constant group over `num_devices`, at compile time. Equal to make_plan of the same group.
/// A group that make_plan refuses does not compile; the compiler shows the throw that was reached.
template <const auto& Layer, planner_policy Policy = policy::Exact>
consteval auto plan(std::int64_t num_devices, const Policy& policy = {}, const PlanOptions& options = {}) {
    detail::check_num_devices(num_devices);
    const std::vector<PlanTensor> tensors = detail::plan_tensors(Layer.tensors);
    const PlanInput input{tensors, num_devices, detail::alignment_elems(tensors, options)};
    const detail::Arranged arranged = detail::arrange(input, policy);
    StaticPlan<Layer> result{Policy::name,       num_devices, options.alignment_bytes, input.alignment_elems,
                             {arranged.segment}, {},          arranged.violations};
    std::copy(arranged.offsets.begin(), arranged.offsets.end(), result.offsets.begin());
    return result;
}

} // namespace ragged
