// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A tensor on a mesh: its spec, the topology and a placement per axis, resolved. Says what every rank holds.
//
//     const ragged::TensorLayout layout(spec, topology, column);
//     const ragged::Portion mine = layout.portion(rank);
//     mine.global(0);                                       // the tensor's element that is stored first
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <ragged/core/hash.hpp>
#include <ragged/layout/local_spec.hpp>
#include <ragged/layout/placement.hpp>
#include <ragged/layout/portion.hpp>
#include <ragged/layout/strided_ragged_shard.hpp>
#include <ragged/spec/tensor_spec.hpp>

namespace ragged {

namespace detail {

template <class Topology, class Placements>
constexpr void check_axes() {
    check_known_axes<Topology, Placements>();
    static_assert(
        Placements::size == Topology::num_axes,
        "ragged: give every axis of the topology a placement; Replicate{} where ranks hold the same");
}

/// What a rule says, checked once more: it may be anyone's.
constexpr RaggedShard checked_shard(const RaggedShard& shard, const CutPattern& cuts,
                                    std::int64_t num_ranks) {
    if (shard.num_ranks() != num_ranks || shard.elements() != cuts.elements)
        throw PlanError(concat("the rule cuts ", shard.elements(), " elements over ", shard.num_ranks(),
                               " ranks, there are ", cuts.elements, " over ", num_ranks));
    std::vector<std::int64_t> offsets;
    for (std::int64_t rank = 0; rank < num_ranks; ++rank)
        offsets.push_back(shard.offset(rank));
    return RaggedShard::from_offsets(cuts, offsets);
}

} // namespace detail

/// Local; every rank makes an equal one. A literal type: layouts of constants are constants inside a constant
/// expression.
/// Where another axis cuts a dimension behind the first, or cuts after the ragged axis, runs of the ragged
/// axis keep that dimension and all behind it whole: their step is the least common multiple of the block's
/// and that stride.
template <class Topology, class PlacementsType, class Name = std::string>
class TensorLayout {
  public:
    using topology_type = Topology;
    using placements_type = PlacementsType;
    /// Placements that are taken in turn; depth d is what the first d of them leave.
    static constexpr std::size_t max_depth = PlacementsType::size;

    /// @throws SpecError  a block that does not fit, a Shard<dim> of a tensor that has no such dimension, or
    /// a sliced tensor on a ragged axis
    /// @throws PlanError  a ragged rule that does not fit the tensor or the axis
    /// Both name the tensor.
    constexpr TensorLayout(const BasicTensorSpec<Name>& spec, const Topology& topology,
                           PlacementsType placements)
        : spec_(checked(spec))
        , topology_(topology)
        , placements_(std::move(placements))
        , ragged_(resolved()) {}

    constexpr const BasicTensorSpec<Name>& spec() const { return spec_; }
    constexpr const Topology& topology() const { return topology_; }
    constexpr const PlacementsType& placements() const { return placements_; }
    constexpr std::int64_t num_ranks() const { return topology_.num_ranks(); }

    /// What `rank` holds, or would after the first `depth` placements only.
    /// @pre 0 <= rank < num_ranks(), depth <= max_depth
    constexpr Portion portion(std::int64_t rank, std::size_t depth = max_depth) const {
        const auto at = topology_.coordinates(rank);
        Portion result = Portion::of(spec_.shape);
        std::int64_t part = 0; // of the ragged axis
        for (std::size_t i = 0; i < depth; ++i) {
            const PlacementKind& kind = PlacementsType::kinds[i];
            const std::size_t axis = axes[i];
            if (kind.kind == PlacementKind::Kind::shard) {
                result.keep_chunk(kind.dim, topology_.size(axis), at[axis]);
                part = part * topology_.size(axis) + at[axis];
            }
            if constexpr (has_ragged)
                if (i == ragged_position) {
                    const RaggedShard& shard = ragged_.part(part).shard;
                    result.keep_run(shard.offset(at[axis]), shard.size(at[axis]));
                }
        }
        return result;
    }

    /// How the ragged axis cuts: a RaggedShard, or a StridedRaggedShard where other axes cut before it.
    constexpr const auto& ragged() const {
        static_assert(has_ragged, "ragged: no axis of this layout is ragged");
        if constexpr (strided)
            return ragged_;
        else
            return ragged_.part(0).shard;
    }

    /// Layouts that hold the same everywhere by placements of the same kinds. Weights that mean the same are
    /// the same.
    constexpr bool operator==(const TensorLayout& other) const {
        return spec_.shape == other.spec_.shape && topology_ == other.topology_ && ragged_ == other.ragged_;
    }

    constexpr void add_to(detail::Hash& hash) const {
        hash.add(spec_.name);
        hash.add(std::int64_t{spec_.shape.rank()});
        for (int dim = 0; dim < spec_.shape.rank(); ++dim)
            hash.add(spec_.shape[dim]);
        for (std::size_t axis = 0; axis < Topology::num_axes; ++axis) {
            hash.add(Topology::names[axis]);
            hash.add(topology_.size(axis));
        }
        for (std::size_t i = 0; i < max_depth; ++i) {
            const PlacementKind& kind = PlacementsType::kinds[i];
            hash.add(PlacementsType::axes[i]);
            hash.add(static_cast<std::int64_t>(kind.kind) * 64 + static_cast<std::int64_t>(kind.op) * 16 +
                     kind.dim);
        }
        if constexpr (has_ragged)
            for (std::int64_t p = 0; p < ragged_.num_parts(); ++p)
                for (std::int64_t rank = 0; rank < ragged_.num_ranks(); ++rank)
                    hash.add(ragged_.part(p).shard.offset(rank));
    }

    /// One line that tells everything: "tensor 'wq' 8x8: 'tensor' of 2 Shard(1), then 'shard' of 2
    /// RaggedShard at 0 16".
    std::string describe() const {
        std::string text = concat("tensor '", spec_.name, "' ", to_string(spec_.shape), ":");
        for (std::size_t i = 0; i < max_depth; ++i) {
            text += concat(i == 0 ? " '" : ", then '", PlacementsType::axes[i], "' of ",
                           topology_.size(axes[i]), " ", to_string(PlacementsType::kinds[i]));
            if constexpr (has_ragged)
                if (i == ragged_position) {
                    text += " at";
                    for (std::int64_t p = 0; p < ragged_.num_parts(); ++p)
                        for (std::int64_t rank = 0; rank < ragged_.num_ranks(); ++rank)
                            text +=
                                concat(rank == 0 && p > 0 ? " | " : " ", ragged_.part(p).shard.offset(rank));
                }
        }
        return text;
    }

  private:
    static constexpr std::size_t ragged_position = PlacementsType::ragged_position;
    static constexpr bool has_ragged = ragged_position < max_depth;
    static constexpr bool strided = [] {
        for (std::size_t i = 0; i != ragged_position && has_ragged; ++i)
            if (PlacementsType::kinds[i].cuts())
                return true;
        return false;
    }();

    /// Of the topology, in order of application.
    static constexpr std::array<std::size_t, max_depth> axes = [] {
        std::array<std::size_t, max_depth> result{};
        for (std::size_t i = 0; i < max_depth; ++i)
            result[i] = Topology::find(PlacementsType::axes[i]);
        return result;
    }();

    struct Nothing {
        constexpr bool operator==(const Nothing&) const = default;
    };

    static constexpr const BasicTensorSpec<Name>& checked(const BasicTensorSpec<Name>& spec) {
        detail::check_axes<Topology, PlacementsType>();
        detail::check_shards<PlacementsType>(spec);
        if (has_ragged && spec.sliced)
            throw SpecError(concat("tensor '", spec.name,
                                   "' is sliced: over a ragged axis each slice is a tensor of its own, see "
                                   "slice_of"));
        return spec;
    }

    /// The ragged axis over every part that the axes applied before it leave. Reads all members but ragged_.
    constexpr auto resolved() const {
        if constexpr (has_ragged) {
            std::int64_t num_parts = 1;
            for (std::size_t i = 0; i != ragged_position; ++i)
                if (PlacementsType::kinds[i].cuts())
                    num_parts *= topology_.size(axes[i]);
            std::vector<StridedRaggedShard::Part> parts;
            for (std::int64_t p = 0; p < num_parts; ++p) {
                const Portion part = portion_of_part(p);
                const CutPattern cuts = cuts_of(detail::part_of<PlacementsType>(spec_, part.box));
                parts.push_back({part, shard_of_part(p, cuts)});
            }
            return StridedRaggedShard(std::move(parts));
        } else {
            return Nothing{};
        }
    }

    /// What the placements before the ragged one leave to part `p`.
    constexpr Portion portion_of_part(std::int64_t p) const {
        std::array<std::int64_t, Topology::num_axes> at{};
        for (std::size_t i = ragged_position; i-- > 0;)
            if (PlacementsType::kinds[i].cuts()) {
                at[axes[i]] = p % topology_.size(axes[i]);
                p /= topology_.size(axes[i]);
            }
        return portion(topology_.rank(at), ragged_position);
    }

    constexpr RaggedShard shard_of_part(std::int64_t part, const CutPattern& cuts) const {
        const std::int64_t num_ranks = topology_.size(axes[ragged_position]);
        const auto& rule = placements_.template get<ragged_position>();
        try {
            if constexpr (detail::cuts_by_part<std::remove_cvref_t<decltype(rule)>>)
                return detail::checked_shard(rule(part, cuts, num_ranks), cuts, num_ranks);
            else
                return detail::checked_shard(rule(cuts, num_ranks), cuts, num_ranks);
        } catch (const PlanError& error) {
            throw PlanError(concat("tensor '", spec_.name, "' along axis '",
                                   PlacementsType::axes[ragged_position], "': ", error.what()));
        }
    }

    BasicTensorSpec<Name> spec_;
    Topology topology_;
    PlacementsType placements_;
    [[no_unique_address]] std::conditional_t<has_ragged, StridedRaggedShard, Nothing>
        ragged_; // the last member
};

} // namespace ragged
