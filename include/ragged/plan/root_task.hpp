// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Work that one device does on a whole matrix, and where the matrix lies before: what owners are chosen for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ragged/plan/model_plan.hpp>
#include <ragged/plan/plan_layout.hpp>

namespace ragged {

/// Elements that one rank holds before the work.
struct HeldElems {
    std::int64_t rank = 0;
    std::int64_t elems = 0;

    constexpr bool operator==(const HeldElems&) const = default;
};

/// The non-empty runs of a layout.
constexpr std::vector<HeldElems> held_elems(const RaggedShard& shard) {
    std::vector<HeldElems> held;
    for (std::int64_t rank = 0; rank < shard.num_ranks(); ++rank)
        if (shard.size(rank) > 0)
            held.push_back({rank, shard.size(rank)});
    return held;
}

/// What one owner does as a whole: a matrix, or a stack of matrices.
struct RootTask {
    std::string name; // for errors
    Shape shape;
    DType dtype = DType::bf16;
    std::optional<std::int64_t> bytes{}; // needed on the owner; none: of the elements
    std::vector<HeldElems> held{};       // by rank, ascending; ranks that are not listed hold nothing
};

namespace detail {

/// As held_elems(ragged_shard(plan, tensor)), without a look at every device.
template <class SegmentType>
constexpr std::vector<HeldElems> held_elems(const BasicPlan<SegmentType>& plan, const PlacedTensor& tensor) {
    const SegmentType& segment = plan.segments[static_cast<std::size_t>(tensor.segment)];
    std::int64_t rank = 0; // the first whose region ends behind the tensor's start
    for (std::int64_t end = plan.num_devices; rank < end;) {
        const std::int64_t middle = rank + (end - rank) / 2;
        if (segment.region_begin(middle + 1) <= tensor.offset)
            rank = middle + 1;
        else
            end = middle;
    }
    std::vector<HeldElems> held;
    for (; rank < plan.num_devices; ++rank) {
        if (segment.region_begin(rank) >= tensor.offset + tensor.elements())
            break;
        if (const Piece piece = piece_of(plan, tensor, rank); piece.elements > 0)
            held.push_back({rank, piece.elements});
    }
    return held;
}

} // namespace detail

/// What Muon works on.
struct IsMatrix {
    constexpr bool operator()(const PlacedTensor& tensor) const { return tensor.spec.shape.rank() >= 2; }
};

/// The tensors of a plan for which `wanted(const PlacedTensor&)` holds, each slice a task of its own, with
/// what each device of the plan holds of them: for owners along axis "shard". @pre plan.violations is empty
template <class SegmentType, class Wanted = IsMatrix>
std::vector<RootTask> root_tasks(const BasicPlan<SegmentType>& plan, const Wanted& wanted = {}) {
    std::vector<RootTask> tasks;
    for (const PlacedTensor& tensor : plan.tensors)
        if (wanted(tensor))
            tasks.push_back({tensor.full_name(),
                             tensor.spec.shape,
                             tensor.spec.dtype,
                             {},
                             detail::held_elems(plan, tensor)});
    return tasks;
}

/// The same of all groups, one after another: owners even out the work of the whole model.
template <class PlanType, class Wanted = IsMatrix>
std::vector<RootTask> root_tasks(const BasicModelPlan<PlanType>& model, const Wanted& wanted = {}) {
    std::vector<RootTask> tasks;
    for (const PlanType& plan : model.groups)
        for (RootTask& task : root_tasks(plan, wanted))
            tasks.push_back(std::move(task));
    return tasks;
}

/// The tasks of a plan with what each rank of the layout's topology holds: for owners among all ranks, so
/// that replicas share the work. Local; every rank makes equal ones.
template <class PlanType, class Topology, class Wanted = IsMatrix>
std::vector<RootTask> root_tasks(const PlanLayout<PlanType, Topology>& layout, const Wanted& wanted = {}) {
    std::vector<RootTask> tasks = root_tasks(layout.plan(), wanted);
    for (RootTask& task : tasks) {
        const std::vector<HeldElems> along_shard = std::exchange(task.held, {});
        for (std::int64_t rank = 0; rank < layout.topology().num_ranks(); ++rank) {
            const std::int64_t own = Place<Topology>(layout.topology(), rank).template coordinate<"shard">();
            for (const HeldElems& held : along_shard)
                if (held.rank == own)
                    task.held.push_back({rank, held.elems});
        }
    }
    return tasks;
}

} // namespace ragged
