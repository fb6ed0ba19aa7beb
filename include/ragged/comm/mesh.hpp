// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A topology with live communicators: the world, and one per axis that joins the ranks which differ in that
// axis only.
//
//     ragged::Mesh mesh(ragged::Topology<ragged::Axis<"replica", 2>, ragged::Axis<"shard">>(4), world);
//     ragged::DBuffer<ragged::bf16, decltype(mesh)::topology_type> weights(plan, mesh, memory);
//
// Buffers lie on a mesh of data axes: to them every axis but "shard" replicates. Beside tensor parallelism
// each coordinate along "tensor" has a mesh of its own, over the ranks that share it:
//
//     auto data = all.part<"replica", "shard">();
#pragma once

#include <utility>
#include <vector>

#include <ragged/comm/communicator.hpp>
#include <ragged/layout/topology.hpp>

namespace ragged {

template <class Topology, communicator Communicator>
class Mesh {
    static_assert(has_split<Communicator>,
                  "ragged: a Mesh splits its communicator along the axes; it needs split()");

  public:
    using topology_type = Topology;
    using communicator_type = Communicator;

    /// Collective and blocking: splits the world once per axis.
    /// @throws PlanError  the world has another number of ranks than the topology
    /// @throws CommError  a split fails
    Mesh(const Topology& topology, Communicator world)
        : place_(topology, checked_rank(topology, world))
        , world_(std::move(world)) {
        const auto own = topology.coordinates(place_.rank);
        for (std::size_t axis = 0; axis < Topology::num_axes; ++axis) {
            auto origin = own;
            origin[axis] = 0; // ranks of one line along the axis share its first rank
            axes_.push_back(
                world_.split(static_cast<int>(topology.rank(origin)), static_cast<int>(own[axis])));
        }
    }

    /// The ranks that differ from this one along the named axes only, as a mesh of these axes in the order
    /// given: where a tensor-parallel axis cuts, buffers lie on the mesh of the others. Collective over the
    /// world and blocking. @throws CommError  a split fails
    template <FixedString... Names>
    auto part() {
        const auto topology = place_.topology.template part<Names...>();
        auto at = place_.topology.coordinates(place_.rank);
        const std::int64_t own = topology.rank({at[Topology::template axis<Names>()]...});
        ((at[Topology::template axis<Names>()] = 0), ...); // ranks of one part share its first rank
        return ragged::Mesh(topology,
                            world_.split(static_cast<int>(place_.topology.rank(at)), static_cast<int>(own)));
    }

    const Place<Topology>& place() const { return place_; }
    operator const Place<Topology>&() const { return place_; }

    Communicator& world() { return world_; }
    /// The ranks that differ from this one along axis `index` only; its rank there is the coordinate.
    Communicator& along(std::size_t index) { return axes_[index]; }
    template <FixedString Name>
    Communicator& along() {
        return axes_[Topology::template axis<Name>()];
    }

  private:
    static std::int64_t checked_rank(const Topology& topology, const Communicator& world) {
        if (topology.num_ranks() != world.size())
            throw PlanError(
                concat("the topology has ", topology.num_ranks(), " ranks, the communicator ", world.size()));
        return world.rank();
    }

    Place<Topology> place_;
    Communicator world_;
    std::vector<Communicator> axes_;
};

template <class Topology, class Communicator>
Mesh(const Topology&, Communicator) -> Mesh<Topology, Communicator>;

} // namespace ragged
