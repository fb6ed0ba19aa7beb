// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A plan as a layout: what each rank holds of the tensors of a group in its regions, and where. The axis
// "shard" is ragged, every other axis replicates. With it a buffer is redistributed, and its cost is known
// before there is a buffer:
//
//     const ragged::PlanLayout on_4(plan_4, Line(4)), on_6(plan_6, Line(6));
//     ragged::cost(on_4, on_6, ragged::DType::f32).moved_bytes;
#pragma once

#include <algorithm> // std::clamp
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ragged/layout/group_layout.hpp>
#include <ragged/layout/placement.hpp>
#include <ragged/layout/portion.hpp>
#include <ragged/layout/topology.hpp>
#include <ragged/plan/plan.hpp>

namespace ragged {

/// The rule of an axis that a plan cuts. Placements name it; the runs come from the plan.
struct RaggedByPlan {
    std::uint64_t fingerprint = 0; // of the plan; a rule with a member, so that no route takes two for alike

    [[noreturn]] RaggedShard operator()(const CutPattern&, std::int64_t) const {
        throw PlanError("a plan places whole groups; take its runs with ragged_shard(plan, tensor)");
    }
    constexpr bool operator==(const RaggedByPlan&) const = default;
};

namespace detail {

template <class Topology>
struct PlannedPlacements;
template <class... Axes>
struct PlannedPlacements<Topology<Axes...>> {
    using type = Placements<
        AlongAxis<Axes::key, std::conditional_t<Axes::name == "shard", RaggedByPlan, Replicate>>...>;
};

} // namespace detail

/// Where the regions of a rank lie in its array.
enum class RegionStorage : std::uint8_t {
    alone,   // one after another: a Resident buffer
    in_place // each at its place in the gathered buffer: a Sharded or Reduced one
};

/// A model of group_layout. Local; every rank makes an equal one. The plan must outlive the layout.
template <class PlanType, class Topology>
class PlanLayout {
  public:
    using topology_type = Topology;
    using placements_type = typename detail::PlannedPlacements<Topology>::type;
    static constexpr std::size_t max_depth = Topology::num_axes;

    /// @throws PlanError  axis "shard" has another number of ranks than the plan has devices
    PlanLayout(const PlanType& plan, const Topology& topology, RegionStorage storage = RegionStorage::alone)
        : plan_(&plan)
        , topology_(topology)
        , storage_(storage) {
        if (topology.template size<"shard">() != plan.num_devices)
            throw PlanError(concat("group '", plan.name, "' is planned for ", plan.num_devices,
                                   " devices, axis 'shard' has ", topology.template size<"shard">(),
                                   " ranks"));
    }
    PlanLayout(const PlanType&&, const Topology&, RegionStorage = RegionStorage::alone) = delete;

    const PlanType& plan() const { return *plan_; }
    const Topology& topology() const { return topology_; }
    std::int64_t num_tensors() const { return static_cast<std::int64_t>(plan_->tensors.size()); }

    std::string name(std::int64_t index) const { return placed(index).full_name(); }
    const Shape& shape(std::int64_t index) const { return placed(index).spec.shape; }
    Portion portion(std::int64_t index, std::int64_t rank, std::size_t depth = max_depth) const {
        Portion result = Portion::of(shape(index));
        if (depth > shard_axis) {
            const Piece piece = piece_of(*plan_, placed(index), topology_.coordinates(rank)[shard_axis]);
            result.keep_run(piece.first, piece.elements);
        }
        return result;
    }
    /// Coordinates along "shard" of the regions that a tensor reaches into.
    Holders holders(std::int64_t index) const {
        const PlacedTensor& tensor = placed(index);
        const auto& segment = plan_->segments[static_cast<std::size_t>(tensor.segment)];
        return {region_of(segment, tensor.offset),
                region_of(segment, tensor.offset + tensor.elements() - 1) + 1};
    }

    std::vector<std::int64_t> offsets(std::int64_t rank) const {
        const std::int64_t shard_rank = topology_.coordinates(rank)[shard_axis];
        std::vector<std::int64_t> starts, result;
        for (std::int64_t s = 0; s < static_cast<std::int64_t>(plan_->segments.size()); ++s)
            starts.push_back(storage_ == RegionStorage::alone
                                 ? plan_->region_offset(s, shard_rank)
                                 : plan_->segment_offset(s) +
                                       plan_->segments[static_cast<std::size_t>(s)].region_begin(shard_rank));
        for (const PlacedTensor& tensor : plan_->tensors)
            result.push_back(starts[static_cast<std::size_t>(tensor.segment)] +
                             piece_of(*plan_, tensor, shard_rank).region_offset);
        result.push_back(storage_ == RegionStorage::alone ? plan_->region_elems(shard_rank)
                                                          : plan_->padded_elements());
        return result;
    }
    std::int64_t storage_elems(std::int64_t rank) const { return offsets(rank).back(); }

    void add_to(detail::Hash& hash) const {
        for (std::size_t axis = 0; axis < Topology::num_axes; ++axis) {
            hash.add(Topology::names[axis]);
            hash.add(topology_.size(axis));
        }
        hash.add(static_cast<std::int64_t>(fingerprint(*plan_)));
    }
    std::vector<std::string> describe() const {
        std::string axes = "plan over";
        for (std::size_t axis = 0; axis < Topology::num_axes; ++axis)
            axes += concat(axis == 0 ? " '" : ", '", Topology::names[axis], "' of ", topology_.size(axis));
        std::vector<std::string> lines = ragged::describe(*plan_);
        lines.insert(lines.begin(), std::move(axes));
        return lines;
    }

  private:
    static constexpr std::size_t shard_axis = Topology::template axis<"shard">();

    const PlacedTensor& placed(std::int64_t index) const {
        return plan_->tensors[static_cast<std::size_t>(index)];
    }

    /// The last rank whose region starts at `position` of the segment or before.
    template <class SegmentType>
    std::int64_t region_of(const SegmentType& segment, std::int64_t position) const {
        std::int64_t low = 0, high = plan_->num_devices;
        while (high - low > 1) {
            const std::int64_t middle = low + (high - low) / 2;
            (segment.region_begin(middle) <= position ? low : high) = middle;
        }
        return low;
    }

    const PlanType* plan_;
    Topology topology_;
    RegionStorage storage_;
};

} // namespace ragged
