// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What ranks hold at one point of a redistribution: a layout, the first placements of it, or what a
// reduction leaves in between. One type for all layouts, so that everything about transfers is compiled once.
#pragma once

#include <algorithm> // std::min
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ragged/layout/group_layout.hpp>
#include <ragged/layout/placement.hpp>
#include <ragged/layout/portion.hpp>

namespace ragged {

// clang-format off
/// Tensors on a mesh: GroupLayout, PlanLayout, or your own.
///
/// | expression                                  | meaning                                                 |
/// | ------------------------------------------- | ------------------------------------------------------- |
/// | L::topology_type, L::placements_type        | Topology, Placements                                    |
/// | L::max_depth                                | placements                                              |
/// | l.topology()                                |                                                         |
/// | l.num_tensors()                             |                                                         |
/// | l.name(tensor), l.shape(tensor)             | how tensors of two layouts find each other              |
/// | l.portion(tensor, rank, depth)              | what the first `depth` placements leave to the rank     |
/// | l.holders(tensor)                           | positions, among the ranks whose replicated coordinates |
/// |                                             | are 0, of those that may hold some of it                |
/// | l.offsets(rank)                             | [tensors + 1]: starts in the rank's array, and its size |
/// | l.add_to(hash), l.describe()                | ranks compare layouts with them                         |
// clang-format on
template <class L>
concept group_layout = requires(const L& l, std::int64_t index, std::size_t depth, detail::Hash& hash) {
    typename L::topology_type;
    typename L::placements_type;
    { l.topology() } -> std::convertible_to<const typename L::topology_type&>;
    { l.num_tensors() } -> std::same_as<std::int64_t>;
    { l.name(index) } -> std::same_as<std::string>;
    { l.shape(index) } -> std::convertible_to<const Shape&>;
    { l.portion(index, index, depth) } -> std::same_as<Portion>;
    { l.holders(index) } -> std::same_as<Holders>;
    { l.offsets(index) } -> std::same_as<std::vector<std::int64_t>>;
    { l.describe() } -> std::same_as<std::vector<std::string>>;
    l.add_to(hash);
};

namespace detail {

template <class From, class To>
constexpr void require_group_layouts() {
    static_assert(
        group_layout<From> && group_layout<To>,
        "ragged: layouts of groups are redistributed; a single tensor is GroupLayout(tensor_layout), "
        "a buffer layout_of(buffer, mesh)");
}

/// A layout up to some depth. Refers to the layout, which outlives it.
class Stage {
  public:
    template <group_layout L>
    explicit Stage(const L& layout, std::size_t depth = L::max_depth)
        : layout_(&layout)
        , functions_(&functions_of<L>)
        , depth_(depth) {
        using Placements = typename L::placements_type;
        const auto& topology = layout.topology();
        for (std::size_t axis = 0; axis < L::topology_type::num_axes; ++axis)
            sizes_.push_back(topology.size(axis));
        strides_.assign(sizes_.size(), 1);
        for (std::size_t axis = sizes_.size() - 1; axis > 0; --axis)
            strides_[axis - 1] = strides_[axis] * sizes_[axis];
        for (std::size_t i = 0; i < L::max_depth; ++i)
            order_.emplace_back(L::topology_type::find(Placements::axes[i]), Placements::kinds[i].cuts());
        find_cuts();
    }

    /// What the first `depth` placements of the layout leave; all of them where it has fewer.
    Stage at_depth(std::size_t depth) const {
        Stage result = *this;
        result.depth_ = std::min(depth, order_.size());
        result.splits_.clear();
        result.find_cuts();
        return result;
    }

    /// The same, and then each rank of `axis` keeps an equal run of elements.
    Stage split(std::size_t axis) const {
        Stage result = *this;
        result.splits_.push_back(axis);
        result.cut_[axis] = true;
        return result;
    }

    std::int64_t num_ranks() const { return strides_[0] * sizes_[0]; }
    std::int64_t num_tensors() const { return functions_->num_tensors(layout_); }
    std::string name(std::int64_t tensor) const { return functions_->name(layout_, tensor); }
    const Shape& shape(std::int64_t tensor) const { return functions_->shape(layout_, tensor); }
    Holders holders(std::int64_t tensor) const { return functions_->holders(layout_, tensor); }
    void add_to(Hash& hash) const { functions_->add_to(layout_, hash); }
    std::vector<std::string> describe() const { return functions_->describe(layout_); }

    Portion portion(std::int64_t tensor, std::int64_t rank) const {
        Portion result = functions_->portion(layout_, tensor, rank, depth_);
        for (const std::size_t axis : splits_) {
            const Chunk chunk(result.elements, sizes_[axis], rank / stride(axis) % sizes_[axis]);
            result.keep_run(chunk.first, chunk.extent);
        }
        return result;
    }

    /// Where tensors start in the array of `rank`, and its elements. @pre the stage is the whole layout
    std::vector<std::int64_t> offsets(std::int64_t rank) const { return functions_->offsets(layout_, rank); }

    /// Ranks that hold different things: their coordinates along all other axes are 0. Ascending.
    std::vector<std::int64_t> primaries() const { return grid(true); }
    /// What to add to such a rank for each rank that holds the same.
    std::vector<std::int64_t> replicas() const { return grid(false); }
    /// Of the ranks that hold what `primary` holds, the one at the coordinates of `rank` along all axes that
    /// do not cut; a rank beyond this topology counts modulo its size.
    std::int64_t nearest(std::int64_t primary, std::int64_t rank) const {
        rank %= num_ranks();
        for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
            if (!cut_[axis])
                primary += rank / stride(axis) % sizes_[axis] * stride(axis);
        return primary;
    }

    std::int64_t axis_size(std::size_t axis) const { return sizes_[axis]; }
    /// Ranks between neighbours along `axis`.
    std::int64_t stride(std::size_t axis) const { return strides_[axis]; }

  private:
    struct Functions {
        std::int64_t (*num_tensors)(const void*);
        std::string (*name)(const void*, std::int64_t);
        const Shape& (*shape)(const void*, std::int64_t);
        Portion (*portion)(const void*, std::int64_t, std::int64_t, std::size_t);
        Holders (*holders)(const void*, std::int64_t);
        std::vector<std::int64_t> (*offsets)(const void*, std::int64_t);
        void (*add_to)(const void*, Hash&);
        std::vector<std::string> (*describe)(const void*);
    };
    template <class L>
    static const L& as(const void* layout) {
        return *static_cast<const L*>(layout);
    }
    template <class L>
    static constexpr Functions functions_of{
        [](const void* l) { return as<L>(l).num_tensors(); },
        [](const void* l, std::int64_t tensor) { return as<L>(l).name(tensor); },
        [](const void* l, std::int64_t tensor) -> const Shape& { return as<L>(l).shape(tensor); },
        [](const void* l, std::int64_t tensor, std::int64_t rank, std::size_t depth) {
            return as<L>(l).portion(tensor, rank, depth);
        },
        [](const void* l, std::int64_t tensor) { return as<L>(l).holders(tensor); },
        [](const void* l, std::int64_t rank) { return as<L>(l).offsets(rank); },
        [](const void* l, Hash& hash) { as<L>(l).add_to(hash); },
        [](const void* l) { return as<L>(l).describe(); }};

    void find_cuts() {
        cut_.assign(sizes_.size(), false);
        for (std::size_t i = 0; i < depth_; ++i)
            cut_[order_[i].first] = order_[i].second;
    }

    std::vector<std::int64_t> grid(bool of_cut) const {
        std::vector<std::int64_t> ranks{0};
        for (std::size_t axis = 0; axis < sizes_.size(); ++axis)
            if (cut_[axis] == of_cut) {
                std::vector<std::int64_t> longer;
                for (const std::int64_t rank : ranks)
                    for (std::int64_t i = 0; i < sizes_[axis]; ++i)
                        longer.push_back(rank + i * stride(axis));
                ranks = std::move(longer);
            }
        return ranks;
    }

    const void* layout_;
    const Functions* functions_;
    std::size_t depth_;
    std::vector<std::int64_t> sizes_, strides_;       // of the topology's axes; there is one at least
    std::vector<std::pair<std::size_t, bool>> order_; // axis and whether it cuts, as placements are applied
    std::vector<bool> cut_;                           // axes along which ranks hold different things
    std::vector<std::size_t> splits_;
};

/// For each tensor of `to` its index in `from`, or -1. Tensors are found by name; one side may have more.
/// @throws PlanError  neither side has all tensors of the other, two of one name differ in shape, or a side
/// has two of one name
inline std::vector<std::int64_t> match_tensors(const Stage& from, const Stage& to) {
    std::unordered_map<std::string, std::int64_t> known;
    for (std::int64_t index = 0; index < from.num_tensors(); ++index)
        if (!known.emplace(from.name(index), index).second)
            throw PlanError(concat("tensor '", from.name(index), "' is twice in the source layout"));
    std::vector<std::int64_t> match;
    std::int64_t missing = -1;
    std::unordered_set<std::string> seen;
    for (std::int64_t index = 0; index < to.num_tensors(); ++index) {
        if (!seen.insert(to.name(index)).second)
            throw PlanError(concat("tensor '", to.name(index), "' is twice in the destination layout"));
        const auto found = known.find(to.name(index));
        match.push_back(found == known.end() ? -1 : found->second);
        if (found == known.end()) {
            missing = missing < 0 ? index : missing;
            continue;
        }
        if (from.shape(found->second) != to.shape(index))
            throw PlanError(concat("tensor '", to.name(index), "' has shape ",
                                   to_string(from.shape(found->second)), " in the source layout, ",
                                   to_string(to.shape(index)), " in the destination"));
        known.erase(found);
    }
    if (missing >= 0 && !known.empty()) {
        std::int64_t other = from.num_tensors();
        for (const auto& [name, index] : known)
            other = std::min(other, index);
        throw PlanError(concat("tensor '", to.name(missing),
                               "' is in the destination layout only and tensor '", from.name(other),
                               "' in the source only; one must have all tensors of the other"));
    }
    return match;
}

/// A route relies on it that a rule without members cuts alike in both layouts.
/// @throws PlanError  it does not, as a tensor has other blocks
inline void require_alike(const Stage& from, const Stage& to) {
    const std::vector<std::int64_t> match = match_tensors(from, to), ranks = to.primaries();
    for (std::int64_t tensor = 0; tensor < to.num_tensors(); ++tensor) {
        const std::int64_t source = match[static_cast<std::size_t>(tensor)];
        for (const std::int64_t rank : ranks)
            if (source >= 0 && from.portion(source, rank).elements != to.portion(tensor, rank).elements)
                throw PlanError(concat("tensor '", to.name(tensor), "': one ragged rule leaves rank ", rank,
                                       " ", from.portion(source, rank).elements,
                                       " elements in the source layout and ",
                                       to.portion(tensor, rank).elements,
                                       " in the destination, whose blocks differ; RaggedByWeights{1, 1, ...} "
                                       "is redistributed by what it cuts"));
    }
}

} // namespace detail

} // namespace ragged
