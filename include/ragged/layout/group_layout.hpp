// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Several tensors under placements of the same kinds, and where each lies in one array per rank. Values may
// differ: every matrix on a root of its own. Tensors of other kinds (columns here, rows there) are a group of
// their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/core/hash.hpp>
#include <ragged/core/integer.hpp>
#include <ragged/layout/tensor_layout.hpp>

namespace ragged {

/// The positions [first, end) in a list of ranks: those that may hold some of a tensor.
struct Holders {
    std::int64_t first = 0;
    std::int64_t end = max_count;
};

/// Local; every rank makes an equal one. Rank r stores what it holds of tensor 0, then of tensor 1, and so
/// on.
template <class Topology, class PlacementsType, class Name = std::string>
class GroupLayout {
  public:
    using topology_type = Topology;
    using placements_type = PlacementsType;
    using tensor_type = TensorLayout<Topology, PlacementsType, Name>;
    static constexpr std::size_t max_depth = tensor_type::max_depth;

    /// @param alignment_elems  tensors start at multiples of it in every rank's array
    /// @throws PlanError  tensors on different topologies, or an alignment below 1
    constexpr explicit GroupLayout(std::vector<tensor_type> tensors, const Topology& topology,
                                   std::int64_t alignment_elems = 1)
        : tensors_(std::move(tensors))
        , topology_(topology)
        , alignment_elems_(alignment_elems) {
        if (alignment_elems < 1)
            throw PlanError(concat("tensors aligned to ", alignment_elems, " elements, at least 1"));
        for (const tensor_type& tensor : tensors_)
            if (tensor.topology() != topology)
                throw PlanError(concat("tensor '", tensor.spec().name, "' is laid out on ",
                                       tensor.num_ranks(), " ranks of another topology, the group on ",
                                       topology.num_ranks()));
    }
    /// A group of one.
    constexpr explicit GroupLayout(const tensor_type& tensor)
        : GroupLayout(std::vector{tensor}, tensor.topology()) {}

    constexpr const Topology& topology() const { return topology_; }
    constexpr std::int64_t num_tensors() const { return static_cast<std::int64_t>(tensors_.size()); }
    constexpr const tensor_type& tensor(std::int64_t index) const {
        return tensors_[static_cast<std::size_t>(index)];
    }

    std::string name(std::int64_t index) const { return std::string(tensor(index).spec().name); }
    constexpr const Shape& shape(std::int64_t index) const { return tensor(index).spec().shape; }
    constexpr Portion portion(std::int64_t index, std::int64_t rank, std::size_t depth = max_depth) const {
        return tensor(index).portion(rank, depth);
    }
    constexpr Holders holders(std::int64_t) const { return {}; }

    /// Where each tensor starts in the array of `rank`, and behind them the array's elements: [tensors + 1].
    constexpr std::vector<std::int64_t> offsets(std::int64_t rank) const {
        std::vector<std::int64_t> result;
        std::int64_t end = 0;
        for (std::int64_t index = 0; index < num_tensors(); ++index) {
            const std::int64_t start = round_up(end, alignment_elems_);
            result.push_back(start);
            end = checked_add(start, portion(index, rank).elements, "elements of a group");
        }
        result.push_back(end);
        return result;
    }
    /// Elements of the array of `rank`.
    constexpr std::int64_t storage_elems(std::int64_t rank) const { return offsets(rank).back(); }

    constexpr void add_to(detail::Hash& hash) const {
        hash.add(alignment_elems_);
        for (const tensor_type& tensor : tensors_)
            tensor.add_to(hash);
    }
    std::vector<std::string> describe() const {
        std::vector<std::string> lines{
            concat(num_tensors(), " tensors aligned to ", alignment_elems_, " elements")};
        for (const tensor_type& tensor : tensors_)
            lines.push_back(tensor.describe());
        return lines;
    }

  private:
    std::vector<tensor_type> tensors_;
    Topology topology_;
    std::int64_t alignment_elems_;
};

} // namespace ragged
