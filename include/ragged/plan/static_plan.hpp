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
#include <span>

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
    /// Contiguous runs: tensors, and each slice of the sliced ones.
    static constexpr std::size_t num_runs = [] {
        std::int64_t runs = 0;
        for (const Tensor& tensor : Layer.tensors)
            runs += ragged::num_runs(tensor);
        return static_cast<std::size_t>(runs);
    }();

    std::string_view policy;
    std::int64_t num_devices;
    std::int64_t alignment_bytes;
    std::int64_t alignment_elems;
    std::size_t num_segments;
    std::array<Segment, num_runs + 1> segment_storage; // the first num_segments are used
    std::array<Arrangement::Start, num_runs> starts;
    Violations violations;
    PlanOptions options;

    constexpr std::span<const Segment> segments() const { return {segment_storage.data(), num_segments}; }
    constexpr std::int64_t elements() const {
        std::int64_t sum = 0;
        for (const Segment& segment : segments())
            sum += segment.elements;
        return sum;
    }
    constexpr std::int64_t padded_elements() const {
        std::int64_t sum = 0;
        for (const Segment& segment : segments())
            sum += segment.shard_elems;
        return num_devices * sum;
    }
    constexpr double padding_ratio() const { return detail::padding_ratio(padded_elements(), elements()); }

    /// The tensor called `Name`; a name that the group lacks, or a sliced tensor, does not compile.
    template <FixedString Name>
    constexpr auto tensor() const {
        constexpr std::size_t at = position_of<Name>();
        static_assert(!Layer.tensors[at].sliced,
                      "ragged: the tensor lies in slices; take one with slice<\"name\", i>()");
        return run<at>(run_of(at));
    }
    /// Slice `Index` of the sliced tensor called `Name`.
    template <FixedString Name, std::int64_t Index>
    constexpr auto slice() const {
        constexpr std::size_t at = position_of<Name>();
        static_assert(Layer.tensors[at].sliced, "ragged: the tensor is not sliced; take it with tensor()");
        static_assert(0 <= Index && Index < Layer.tensors[at].shape[0],
                      "ragged: the tensor has fewer slices");
        return run<at>(run_of(at) + static_cast<std::size_t>(Index));
    }

    /// The same plan for the run-time interfaces, with the group's name.
    Plan plan(std::string name) const {
        return detail::assembled(std::move(name), policy, num_devices,
                                 detail::prepare(Layer.tensors, options), segments(), starts, violations);
    }

  private:
    template <FixedString Name>
    static consteval std::size_t position_of() {
        constexpr std::size_t position = [] {
            std::size_t i = 0;
            while (i < Layer.tensors.size() && Layer.tensors[i].name != Name.view())
                ++i;
            return i;
        }();
        static_assert(position < Layer.tensors.size(), "ragged: the group has no tensor of this name");
        return position;
    }
    static constexpr std::size_t run_of(std::size_t position) {
        std::int64_t before = 0;
        for (std::size_t i = 0; i < position; ++i)
            before += ragged::num_runs(Layer.tensors[i]);
        return static_cast<std::size_t>(before);
    }
    template <std::size_t Position>
    constexpr auto run(std::size_t index) const {
        return [&]<std::size_t... Dim>(std::index_sequence<Dim...>) {
            constexpr Shape shape = Layer.tensors[Position].sliced ? slice_of(Layer.tensors[Position]).shape
                                                                   : Layer.tensors[Position].shape;
            return StaticTensor<StaticShape<shape[static_cast<int>(Dim)]...>>{
                {}, index, starts[index].segment, starts[index].offset};
        }
        (std::make_index_sequence<static_cast<std::size_t>(Layer.tensors[Position].shape.rank()) -
                                  (Layer.tensors[Position].sliced ? 1 : 0)>{});
    }
};

/// Plan a constant group over `num_devices`, at compile time. Equal to make_plan of the same group.
/// A group that make_plan refuses does not compile; the compiler shows the throw that was reached.
template <const auto& Layer, planner_policy Policy = policy::Exact>
consteval auto plan(std::int64_t num_devices, const Policy& policy = {}, const PlanOptions& options = {}) {
    detail::check_num_devices(num_devices);
    const detail::Prepared prepared = detail::prepare(Layer.tensors, options);
    const detail::Arranged arranged = detail::arrange(prepared.input(num_devices), policy);
    StaticPlan<Layer> result{Policy::name,
                             num_devices,
                             prepared.alignment_elems * prepared.planes.smallest,
                             prepared.alignment_elems,
                             arranged.segments.size(),
                             {},
                             {},
                             arranged.violations,
                             options};
    std::copy(arranged.segments.begin(), arranged.segments.end(), result.segment_storage.begin());
    std::copy(arranged.starts.begin(), arranged.starts.end(), result.starts.begin());
    return result;
}

} // namespace ragged
