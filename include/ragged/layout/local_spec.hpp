// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What the other axes leave of a tensor, as a tensor of its own: the ragged axis is planned over it like over
// any other. A column shard of an [8, 12] projection over four ranks leaves [8, 3] of which no row is cut:
//
//     group.tensors.push_back(ragged::local_spec(o_proj, topology, columns, rank)); // 8x3, whole from 1
//     const ragged::Plan plan = ragged::make_plan(group, topology.size<"shard">());
//
// A buffer over such a plan lies on a mesh of the other data axes, without the axis that cut: see
// comm/mesh.hpp.
#pragma once

#include <algorithm> // std::max, std::min
#include <cstddef>
#include <cstdint>
#include <string_view>

#include <ragged/layout/placement.hpp>
#include <ragged/layout/portion.hpp>
#include <ragged/layout/topology.hpp>
#include <ragged/spec/tensor_spec.hpp>

namespace ragged {

namespace detail {

template <class Topology, class Placements>
constexpr void check_known_axes() {
    static_assert(
        [] {
            for (std::string_view axis : Placements::axes)
                if (Topology::find(axis) == Topology::num_axes)
                    return false;
            return true;
        }(),
        "ragged: the topology has no axis of a name that is given a placement");
}

/// @throws SpecError  a block that does not fit, or a Shard<dim> of a tensor that has no such dimension
template <class Placements, class Name>
constexpr void check_shards(const BasicTensorSpec<Name>& spec) {
    check_block(spec);
    for (std::size_t i = 0; i < Placements::size; ++i)
        if (const int dim = Placements::kinds[i].dim; dim >= spec.shape.rank())
            throw SpecError(concat("tensor '", spec.name, "': axis '", Placements::axes[i],
                                   "' shards dimension ", dim, ", shape ", to_string(spec.shape), " has ",
                                   spec.shape.rank(), " dimensions"));
}

/// The outermost dimension that runs of the ragged axis keep whole for the other axes; max_rank when there is
/// none. A shard of dimension 0 after the ragged axis takes whole rows of its run.
template <class Placements>
inline constexpr int kept_from = [] {
    int kept = max_rank;
    for (std::size_t i = 0; i < Placements::size; ++i)
        if (const int dim = Placements::kinds[i].dim;
            dim >= 1 || (dim == 0 && i > Placements::ragged_position))
            kept = std::min(kept, std::max(dim, 1));
    return kept;
}();

/// The part of a tensor that the ragged axis divides, as a tensor of its own: a tile larger than the part is
/// the part, and cuts leave whole what other axes shard.
template <class Placements, class Name>
constexpr BasicTensorSpec<Name> part_of(BasicTensorSpec<Name> tensor, const Shape& box) {
    if (tensor.block.kind == Block::Kind::tile) {
        Shape sizes;
        for (int dim = 0; dim < box.rank(); ++dim)
            sizes.push_back(std::min(tensor.block.sizes[dim], std::max<std::int64_t>(box[dim], 1)));
        tensor.block.sizes = sizes;
    }
    tensor.shape = box;
    if (constexpr int kept = kept_from<Placements>; kept < box.rank())
        tensor.whole_from = tensor.whole_from < 0 ? kept : std::min(tensor.whole_from, kept);
    return tensor;
}

} // namespace detail

/// What the axes other than the ragged one leave of a tensor to `rank`: the spec to plan the ragged axis
/// with. Its shape is the box of the placements before the ragged one, its block clipped to the box, and
/// whole_from the outermost dimension that any axis shards, before or behind, except dimension 0 before: the
/// cuts that TensorLayout allows. Axes without a placement, and a tensor without a ragged one, are taken as
/// if the ragged placement came last. Blocks are counted anew in each box.
/// @throws SpecError  as TensorLayout, naming the tensor
/// @throws PlanError  the topology has no such rank
/// Local; ranks that differ in nothing but the ragged axis and axes that replicate get equal specs.
template <class Topology, class... Along, class Name>
constexpr BasicTensorSpec<Name> local_spec(const BasicTensorSpec<Name>& spec, const Topology& topology,
                                           const Placements<Along...>&, std::int64_t rank) {
    using PlacementsType = Placements<Along...>;
    detail::check_known_axes<Topology, PlacementsType>();
    detail::check_shards<PlacementsType>(spec);
    const auto at = topology.coordinates(Place<Topology>(topology, rank).rank);
    Portion portion = Portion::of(spec.shape);
    for (std::size_t i = 0; i != PlacementsType::ragged_position; ++i)
        if (PlacementsType::kinds[i].cuts()) {
            const std::size_t axis = Topology::find(PlacementsType::axes[i]);
            portion.keep_chunk(PlacementsType::kinds[i].dim, topology.size(axis), at[axis]);
        }
    return detail::part_of<PlacementsType>(spec, portion.box);
}

} // namespace ragged
