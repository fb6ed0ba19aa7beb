// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Buffers as ends of a redistribution: from the regions of one plan to those of another, or to any layout of
// the same tensors and back.
//
//     auto moved = ragged::redistribute(masters, std::move(other), mesh, memory).wait();
//
//     const auto from = ragged::layout_of(gradients, mesh);
//     const auto to_roots = ragged::make_redistribution<float>(from, on_roots, world, memory);
//     to_roots.start(gradients.segment_data(0), matrices).wait();
#pragma once

#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <ragged/buffer/dbuffer.hpp>
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/held_memory.hpp>
#include <ragged/comm/mesh.hpp>
#include <ragged/plan/plan_layout.hpp>
#include <ragged/redistribute/redistribution.hpp>

namespace ragged {

/// This rank's regions of a buffer as a layout; its array starts at buffer.segment_data(0). Local. The
/// buffer's plan outlives it.
template <class T, class Topology, class State, class PlanType>
PlanLayout<PlanType, Topology> layout_of(const DBuffer<T, Topology, State, PlanType>& buffer,
                                         const std::type_identity_t<Place<Topology>>& place) {
    static_assert(
        !std::is_same_v<State, state::Partial>,
        "ragged: a partial buffer holds contributions; call reduce(std::move(buffer), mesh).wait() first");
    static_assert(
        !std::is_same_v<State, state::Gathered>,
        "ragged: the regions of a gathered buffer are read only; release it first, they stay as they are");
    return {buffer.plan(), place.topology,
            state::stores_own_regions<State> ? RegionStorage::alone : RegionStorage::in_place};
}

/// Fill the regions of `to` with the tensors of `from`, of which it may have more or fewer: all others, and
/// the padding, stay as they are. Collective and blocking until the plans were compared; then enqueues.
/// @param from  outlives the handle; @param to  consumed
/// @param resource, executor  as make_redistribution
/// @return a handle; wait() gives `to`
/// @throws what make_redistribution and start throw
template <class T, class Topology, class FromState, class FromPlan, class ToState, class ToPlan,
          class Communicator, memory_resource R, group_executor E = HostExecutor>
auto redistribute(const DBuffer<T, Topology, FromState, FromPlan>& from,
                  DBuffer<T, Topology, ToState, ToPlan>&& to, Mesh<Topology, Communicator>& mesh, R& resource,
                  const E& executor = detail::host_executor) {
    detail::require_space(from, mesh.world().space(), "the communicator");
    detail::require_space(to, mesh.world().space(), "the communicator");
    const auto move =
        make_redistribution<T>(layout_of(from, mesh), layout_of(to, mesh), mesh, resource, executor);
    std::vector<typename decltype(move)::Handle> started;
    try {
        started.push_back(move.start(from.segment_data(0), to.segment_data(0)));
    } catch (...) {
        if (detail::holds_memory(mesh.world()))
            detail::keep(std::make_shared<DBuffer<T, Topology, ToState, ToPlan>>(std::move(to)));
        throw;
    }
    return InFlight(std::move(to), std::move(started));
}

} // namespace ragged
