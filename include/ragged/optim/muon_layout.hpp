// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Who does Muon's work on which matrix, and what memory that takes: everything that follows from the plans
// alone. Every rank makes an equal one.
#pragma once

#include <algorithm> // std::max
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <ragged/optim/newton_schulz.hpp>
#include <ragged/optim/routing.hpp>
#include <ragged/optim/subset_pieces.hpp>
#include <ragged/plan/model_plan.hpp>
#include <ragged/plan/roots.hpp>
#include <ragged/redistribute/redistribution_bytes.hpp>

namespace ragged::detail {

/// Matrices start at multiples of this in the arrays of their owners: 128 bytes of float.
inline constexpr std::int64_t matrix_alignment = 32;

using OwnerTopology = Topology<Axis<"rank">>;

/// One group that has matrices.
template <class Topology, class PlanType>
struct MuonGroup {
    using OnOwners = decltype(root_layout(std::span<const RootTask>(), Roots(),
                                          std::declval<const OwnerTopology&>(), matrix_alignment));

    std::size_t index;                      // of the group in the model
    PlanLayout<PlanType, Topology> regions; // of this rank's array, as the gradient has them
    OnOwners on_owners;
    std::vector<std::int64_t> owners;

    /// Call body(offset in the owner's array, rows, columns) for each matrix that `rank` owns.
    template <class Body>
    void for_each_owned(std::int64_t rank, const Body& body) const {
        const std::vector<std::int64_t> offsets = on_owners.offsets(rank);
        for (std::size_t task = 0; task < owners.size(); ++task) {
            if (owners[task] != rank)
                continue;
            const Shape& shape = on_owners.shape(static_cast<std::int64_t>(task));
            const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
            for (std::int64_t done = 0; done < shape.elements(); done += rows * columns)
                body(offsets[task] + done, rows, columns);
        }
    }
};

/// The matrices of a model: each has an owner among all ranks, so that replicas share the work.
template <class Topology, class PlanType>
class MuonLayout {
  public:
    using Group = MuonGroup<Topology, PlanType>;

    /// @throws PlanError  the rule takes a tensor that is no matrix; see choose_roots
    template <class Rule>
    MuonLayout(const BasicModelPlan<PlanType>& model, const Topology& topology, const Rule& rule) {
        const OwnerTopology ranks(topology.num_ranks());
        std::vector<std::vector<RootTask>> of_group;
        std::vector<RootTask> tasks;
        for (const PlanType& plan : model.groups) {
            for (const PlacedTensor& tensor : plan.tensors)
                if (tensor.spec.shape.rank() < 2 && rule(plan.name, tensor))
                    throw PlanError(concat("group '", plan.name, "': tensor '", tensor.full_name(),
                                           "' of shape ", to_string(tensor.spec.shape), " is no matrix"));
            of_group.push_back(root_tasks(PlanLayout(plan, topology), taken_by(rule, plan)));
            tasks.insert(tasks.end(), of_group.back().begin(), of_group.back().end());
        }
        const Roots roots = choose_roots(tasks, ranks.num_ranks());
        auto next = roots.owners.begin();
        for (std::size_t index = 0; index < model.groups.size(); ++index) {
            const PlanType& plan = model.groups[index];
            const auto end = next + static_cast<std::ptrdiff_t>(of_group[index].size());
            const Roots part{{next, end}, {}, {}};
            for (const PlacedTensor& tensor : plan.tensors) {
                const bool taken = rule(plan.name, tensor);
                routing_.push_back({plan.name, tensor.full_name(), tensor.spec.shape,
                                    taken ? "muon" : "adamw", taken ? *next++ : -1});
            }
            if (!part.owners.empty())
                groups_.push_back({index, PlanLayout(plan, topology),
                                   root_layout(of_group[index], part, ranks, matrix_alignment), part.owners});
        }
    }

    const std::vector<Group>& groups() const { return groups_; }
    const std::vector<RoutedTensor>& routing() const { return routing_; }

  private:
    std::vector<Group> groups_;
    std::vector<RoutedTensor> routing_;
};

/// What a step works in: offsets in bytes into one allocation.
struct MuonSpace {
    /// Matrices on their way to an owner, at work, and on their way back.
    static constexpr std::size_t num_arrays = 3;

    std::array<std::int64_t, num_arrays> arrays{};
    std::int64_t work = 0;                      // of the iteration
    std::int64_t collecting = 0, returning = 0; // staging memory
    std::int64_t collecting_bytes = 0, returning_bytes = 0;
    std::int64_t bytes = 0;  // of the allocation
    std::int64_t tables = 0; // bytes that the redistributions take besides

    /// @tparam E  executor of the redistributions
    template <class E, class Topology, class PlanType>
    static MuonSpace of(const MuonLayout<Topology, PlanType>& layout, std::int64_t rank,
                        std::int64_t num_ranks) {
        MuonSpace space;
        std::array<std::int64_t, num_arrays> array_bytes{};
        std::int64_t work_bytes = 0;
        for (std::size_t i = 0; i < layout.groups().size(); ++i) {
            const auto& group = layout.groups()[i];
            const auto to = redistribution_bytes<float, E>(group.regions, group.on_owners,
                                                           static_cast<int>(rank),
                                                           static_cast<int>(num_ranks)),
                       back = redistribution_bytes<float, E>(group.on_owners, group.regions,
                                                             static_cast<int>(rank),
                                                             static_cast<int>(num_ranks));
            space.tables += to.tables + back.tables;
            space.collecting_bytes = std::max(space.collecting_bytes, to.staging);
            space.returning_bytes = std::max(space.returning_bytes, back.staging);
            std::int64_t& array = array_bytes[i % num_arrays];
            array =
                std::max(array, checked_mul(group.on_owners.storage_elems(rank), sizeof(float), "matrices"));
            group.for_each_owned(rank, [&](std::int64_t, std::int64_t rows, std::int64_t columns) {
                work_bytes = std::max(work_bytes, NewtonSchulz::work_bytes(rows, columns));
            });
        }
        const auto take = [&](std::int64_t size) {
            constexpr std::int64_t alignment = matrix_alignment * static_cast<std::int64_t>(sizeof(float));
            const std::int64_t start = round_up(space.bytes, alignment);
            space.bytes = checked_add(start, size, "bytes of Muon");
            return start;
        };
        for (std::size_t i = 0; i < num_arrays; ++i)
            space.arrays[i] = take(array_bytes[i]);
        space.work = take(work_bytes);
        space.collecting = take(space.collecting_bytes);
        space.returning = take(space.returning_bytes);
        return space;
    }
};

} // namespace ragged::detail
