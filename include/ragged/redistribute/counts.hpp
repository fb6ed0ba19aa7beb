// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Where the counts of collectives come from: the program that a rank worked out, or, between static layouts,
// constants.
#pragma once

#include <algorithm> // std::min
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <ragged/layout/portion.hpp>
#include <ragged/redistribute/route.hpp>

namespace ragged {

/// Counts that are known when the layouts are.
struct CountsAtRunTime {
    static constexpr bool folded = false;
};

/// Counts of a route between two static layouts, one table per step.
template <class From, class To>
class FoldedCounts {
    static constexpr Route steps = route<From, To>;
    static constexpr std::size_t num_ranks = From::num_ranks;

    /// Elements that `rank` holds before step `index`, or after it.
    static constexpr std::int64_t held(std::size_t index, std::int64_t rank, bool after) {
        std::int64_t elements = From::portion(0, rank).elements;
        for (std::size_t i = 0; i < index + (after ? 1 : 0); ++i) {
            const RouteStep& step = steps.steps[i];
            if (step.action == RouteStep::Action::all_reduce)
                continue;
            const std::int64_t stride = inner_ranks(step.axis), size = From::topology().size(step.axis);
            elements = step.even    ? Chunk(elements, size, rank / stride % size).extent
                       : step.of_to ? To::portion(0, rank, std::min(step.depth, To::max_depth)).elements
                                    : From::portion(0, rank, std::min(step.depth, From::max_depth)).elements;
        }
        return elements;
    }
    static constexpr std::int64_t inner_ranks(std::size_t axis) {
        std::int64_t product = 1;
        for (std::size_t inner = axis + 1; inner < From::topology_type::num_axes; ++inner)
            product *= From::topology().size(inner);
        return product;
    }

    template <std::size_t I>
    static constexpr auto table = [] {
        constexpr RouteStep step = steps.steps[I];
        constexpr bool one = step.action == RouteStep::Action::all_reduce;
        constexpr std::int64_t size = From::topology().size(step.axis), stride = inner_ranks(step.axis);
        std::array<std::array<std::int64_t, one ? 1 : static_cast<std::size_t>(size)>, num_ranks> counts{};
        for (std::int64_t rank = 0; rank < static_cast<std::int64_t>(num_ranks); ++rank)
            for (std::int64_t k = 0; k < (one ? 1 : size); ++k) {
                const std::int64_t peer = one ? rank : rank + (k - rank / stride % size) * stride;
                counts[static_cast<std::size_t>(rank)][static_cast<std::size_t>(k)] =
                    held(I, peer, step.action == RouteStep::Action::reduce_scatter);
            }
        return counts;
    }();

  public:
    static constexpr bool folded = true;

    /// Elements of each part of step `I`, for a rank of the mesh: one per rank of the axis, or one for an
    /// all-reduce.
    template <std::size_t I>
    static constexpr std::span<const std::int64_t> of(std::int64_t rank) {
        return table<I>[static_cast<std::size_t>(rank)];
    }
    /// Whether all parts of step `I` have the same size on every rank of the mesh.
    template <std::size_t I>
    static constexpr bool equal = [] {
        for (const auto& counts : table<I>)
            for (const std::int64_t count : counts)
                if (count != table<I>[0][0])
                    return false;
        return true;
    }();
};

namespace detail {

template <class From, class To>
struct CountsBetween {
    using type = CountsAtRunTime;
};
template <class From, class To>
requires(From::is_static&& To::is_static) struct CountsBetween<From, To> {
    using type = FoldedCounts<From, To>;
};

} // namespace detail

/// What a redistribution between two layouts counts with.
template <class From, class To>
using counts_between = typename detail::CountsBetween<From, To>::type;

} // namespace ragged
