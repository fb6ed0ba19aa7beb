// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Some tensors of a plan, cut exactly where the plan cuts them: what an optimizer that keeps a state for
// these only lays its state over. Beside the plan's own buffers each piece is found at its place, and nothing
// is exchanged.
//
//     const ragged::UnequalPlan matrices = ragged::subset(plan, ragged::IsMatrix{});
//     ragged::DBuffer<float, Mesh, state::Resident, ragged::UnequalPlan> momentum(matrices, mesh, memory);
#pragma once

#include <algorithm> // std::stable_sort
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ragged/plan/unequal_plan.hpp>

namespace ragged {

namespace detail {

/// One segment of a plan with some of its tensors, moved together so that regions end where the plan's end.
template <class SegmentType>
UnequalSegment close_up(const SegmentType& segment, std::int64_t num_devices, std::int64_t alignment,
                        const std::vector<PlacedTensor*>& tensors) {
    UnequalSegment result;
    std::int64_t end = 0, rank = 0;
    const auto begin_region = [&](std::int64_t begin) {
        result.begins.push_back(begin);
        ++rank;
    };
    for (PlacedTensor* tensor : tensors) {
        for (; rank < num_devices && segment.region_begin(rank) <= tensor->offset; end = result.begins.back())
            begin_region(round_up(end, alignment));
        // As far from a multiple of the alignment as before, so that the cuts inside of it stay on one.
        const std::int64_t before = std::exchange(
            tensor->offset, round_up(end - std::min(end, tensor->offset % alignment), alignment) +
                                tensor->offset % alignment);
        while (rank < num_devices && segment.region_begin(rank) < before + tensor->elements())
            begin_region(tensor->offset + segment.region_begin(rank) - before);
        end = tensor->offset + tensor->elements();
        result.elements += tensor->elements();
    }
    while (rank <= num_devices)
        begin_region(round_up(end, alignment));
    return result;
}

} // namespace detail

/// The tensors of a plan, of any kind, for which `wanted(const PlacedTensor&)` holds, in registration order.
/// Every rank's piece of each has the same elements as in the plan; a region is its pieces, closed up. Slices
/// of one tensor are wanted all or none. Host, local; every rank makes an equal one.
/// @post piece_of(subset, tensor, rank) is that of the plan but for region_offset   (test: unit/plan/subset)
/// @throws PlanError  the plan breaks a law, or has more than 2^20 devices
/// Source: this library
template <class SegmentType, class Wanted>
UnequalPlan subset(const BasicPlan<SegmentType>& plan, const Wanted& wanted) {
    if (plan.violations.any())
        throw PlanError(concat("group '", plan.name, "': the layout '", plan.policy,
                               "' breaks a law; subsets are of plans that keep them"));
    if (plan.num_devices > detail::max_unequal_devices)
        throw PlanError(concat("unequal regions are listed per device: ", plan.num_devices,
                               " devices are above ", detail::max_unequal_devices));
    UnequalPlan result{plan.name,
                       "subset of " + plan.policy,
                       plan.num_devices,
                       plan.alignment_bytes,
                       plan.alignment_elems,
                       {},
                       {},
                       {}};
    for (const PlacedTensor& tensor : plan.tensors)
        if (wanted(tensor))
            result.tensors.push_back(tensor);
    std::vector<std::vector<PlacedTensor*>> inside(plan.segments.size());
    for (PlacedTensor& tensor : result.tensors)
        inside[static_cast<std::size_t>(tensor.segment)].push_back(&tensor);
    for (std::size_t s = 0; s < inside.size(); ++s) {
        std::stable_sort(inside[s].begin(), inside[s].end(),
                         [](const PlacedTensor* a, const PlacedTensor* b) {
                             return std::pair(a->offset, a->elements()) < std::pair(b->offset, b->elements());
                         });
        result.segments.push_back(
            detail::close_up(plan.segments[s], plan.num_devices, plan.alignment_elems, inside[s]));
    }
    return result;
}

} // namespace ragged
