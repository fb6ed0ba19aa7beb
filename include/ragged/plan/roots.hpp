// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Which rank of an axis owns each matrix, for work that one device does on a whole matrix: Muon's
// Newton-Schulz iteration. A matrix travels to its owner and back, so the owners share the work evenly, and
// among even shares a matrix goes where much of it lies already.
//
//     const auto tasks = ragged::root_tasks(plan);   // or of layout_of(buffer, mesh), for replicas too
//     const ragged::Roots roots = ragged::choose_roots(tasks, plan.num_devices);
//     roots.owners[i], roots.imbalance();            // of tasks[i]; 1.0 is even
#pragma once

#include <algorithm> // std::min, std::max
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ragged/layout/group_layout.hpp>
#include <ragged/plan/root_search.hpp>

namespace ragged {

struct RootOptions {
    std::int64_t max_bytes_per_rank = 0; // of all tasks that a rank owns; 0: no limit

    constexpr bool operator==(const RootOptions&) const = default;
};

/// A function object from a task's shape to its cost, in any unit: operations, or nanoseconds as measured.
/// Integers, so that every machine chooses the same owners.
template <class Cost>
concept root_cost = requires(const Cost& cost, const Shape& shape) {
    { cost(shape) } -> std::integral;
};

/// Operations of Muon's iteration X <- aX + (bA + cA^2) X with A = X X^T. For m <= n, rows m of length n, a
/// step takes 2m^2 n for A, 2m^3 for A^2 and 2m^2 n for the product with X. A shape of more than two extents
/// is a stack of matrices of the last two.
/// Source: K. Jordan et al., Muon, 2024: the quintic Newton-Schulz iteration
struct NewtonSchulzFlops {
    std::int64_t steps = 5;

    /// @throws PlanError  a shape with fewer than two extents, negative steps, overflow
    constexpr std::int64_t operator()(const Shape& shape) const {
        if (shape.rank() < 2)
            throw PlanError(concat("shape ", to_string(shape), " is no matrix"));
        if (steps < 0)
            throw PlanError(concat(steps, " Newton-Schulz steps are negative"));
        if (shape.elements() == 0)
            return 0;
        const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
        const std::int64_t m = std::min(rows, columns), n = std::max(rows, columns);
        constexpr std::string_view what = "Newton-Schulz operations";
        const std::int64_t length = checked_add(checked_mul(2, n, what), m, what);
        const std::int64_t step = checked_mul(checked_mul(2 * m, m, what), length, what);
        return checked_mul(checked_mul(step, steps, what), shape.elements() / (rows * columns), what);
    }
    constexpr bool operator==(const NewtonSchulzFlops&) const = default;
};

static_assert(root_cost<NewtonSchulzFlops>);

namespace detail {

template <class Cost>
constexpr RootSearch::Task checked_task(const RootTask& given, std::size_t index, std::int64_t num_ranks,
                                        const Cost& cost) {
    try {
        const auto costs = static_cast<std::int64_t>(cost(given.shape));
        if (costs < 0)
            throw PlanError(concat("cost ", costs, " is negative"));
        const std::int64_t bytes =
            given.bytes ? *given.bytes
                        : checked_mul(given.shape.elements(), size_bytes(given.dtype), "bytes of a task");
        if (bytes < 0)
            throw PlanError(concat("size of ", bytes, " bytes is negative"));
        std::int64_t next = 0;
        for (const auto& [rank, elems] : given.held) {
            if (rank < 0 || rank >= num_ranks)
                throw PlanError(concat("holder ", rank, " is not in [0, ", num_ranks, ")"));
            if (rank < next)
                throw PlanError(concat("holder ", rank, " is listed behind ", next - 1));
            if (elems < 0 || elems > given.shape.elements())
                throw PlanError(
                    concat("rank ", rank, " holds ", elems, " elements of ", given.shape.elements()));
            next = rank + 1;
        }
        return {&given, index, costs, bytes};
    } catch (const PlanError& error) {
        throw PlanError(concat("task '", given.name, "': ", error.what()));
    }
}

} // namespace detail

/// Choose an owner for each task: costliest first, each to the rank with least load; then tasks move and
/// change places while that lowers the largest load, and while it saves travel and does not raise that load.
/// Host, local, deterministic. Without a limit the largest load is at most 4/3 - 1/(3 num_ranks) of the
/// smallest possible one. With one, tasks that do not fit costliest first go largest first, each to the first
/// rank with room; such a result may be less even.
/// @param num_ranks  the ranks that RootTask::held counts: the devices of a plan, or all of a layout's
/// @param cost  of a task by its shape; its unit is that of Roots::loads
/// @post no rank's bytes are above the limit                             (test: unit/plan/roots)
/// @throws PlanError  num_ranks < 1 or above 2^20; a negative cost, size or limit; holders that are no ranks,
/// not ascending, or have more than there is; sums beyond 64 bits; tasks that fit in neither order
/// Source: R. L. Graham, Bounds on multiprocessing timing anomalies, 1969: the first order and its bound
template <root_cost Cost = NewtonSchulzFlops>
constexpr Roots choose_roots(std::span<const RootTask> tasks, std::int64_t num_ranks,
                             const RootOptions& options = {}, const Cost& cost = {}) {
    if (num_ranks < 1 || num_ranks > detail::max_root_ranks)
        throw PlanError(concat("roots are for 1 to ", detail::max_root_ranks, " ranks, got ", num_ranks));
    if (options.max_bytes_per_rank < 0)
        throw PlanError(concat("a limit of ", options.max_bytes_per_rank, " bytes per rank is negative"));
    std::vector<detail::RootSearch::Task> checked;
    std::int64_t costs = 0, bytes = 0, elements = 0;
    for (const RootTask& task : tasks) {
        checked.push_back(detail::checked_task(task, checked.size(), num_ranks, cost));
        costs = checked_add(costs, checked.back().cost, "cost of all tasks");
        bytes = checked_add(bytes, checked.back().bytes, "bytes of all tasks");
        elements = checked_add(elements, task.shape.elements(), "elements of all tasks");
    }
    return detail::RootSearch(std::move(checked), static_cast<std::size_t>(num_ranks),
                              options.max_bytes_per_rank == 0 ? max_count : options.max_bytes_per_rank)
        .result();
}

/// Each task on its owner, along the one axis of `topology`: what its matrices are redistributed to and from.
/// @param alignment_elems  of where matrices start in a rank's array
/// @throws PlanError  another number of owners than tasks; an owner that is no rank of the axis
template <class OneAxis>
auto root_layout(std::span<const RootTask> tasks, const Roots& roots, const Topology<OneAxis>& topology,
                 std::int64_t alignment_elems = 1) {
    if (roots.owners.size() != tasks.size())
        throw PlanError(concat("got owners for ", roots.owners.size(), " tasks, there are ", tasks.size()));
    using OnRoot = decltype(place<OneAxis::key>(RaggedOnRank{}));
    std::vector<TensorLayout<Topology<OneAxis>, OnRoot>> matrices;
    for (std::size_t i = 0; i < tasks.size(); ++i)
        matrices.emplace_back(TensorSpec{tasks[i].name, tasks[i].shape, whole(), tasks[i].dtype}, topology,
                              place<OneAxis::key>(RaggedOnRank{roots.owners[i]}));
    return GroupLayout(std::move(matrices), topology, alignment_elems);
}

} // namespace ragged
