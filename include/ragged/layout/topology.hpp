// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// An N-D grid of ranks with named axes; sizes in the type where they are known, given at run time where not.
// Ranks are row-major: the last axis varies fastest.
//
//     using Mesh2D = ragged::Topology<ragged::Axis<"replica", 2>, ragged::Axis<"shard">>;
//     Mesh2D topology(8);                         // 2 x 8; one argument per size that is not in the type
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#include <ragged/core/fixed_string.hpp>
#include <ragged/core/integer.hpp>

namespace ragged {

inline constexpr std::int64_t dynamic_size = -1;

/// One axis: its name and its size, or dynamic_size.
template <FixedString Name, std::int64_t Size = dynamic_size>
struct Axis {
    static_assert(Size == dynamic_size || Size >= 1, "ragged: an axis has at least one rank");
    static constexpr FixedString key = Name; // to name the axis where only its type is known: nvcc does not
                                             // deduce Name from that
    static constexpr std::string_view name = Name.view();
    static constexpr std::int64_t size = Size;
};

/// Local; every rank makes an equal one.
template <class... Axes>
class Topology {
    static_assert(sizeof...(Axes) >= 1, "ragged: a topology has at least one axis");

  public:
    static constexpr std::size_t num_axes = sizeof...(Axes);
    static constexpr std::size_t num_dynamic = ((Axes::size == dynamic_size ? std::size_t{1} : 0) + ...);
    static constexpr std::array<std::string_view, num_axes> names{Axes::name...};

    /// Index of the axis called `name`, or num_axes.
    static constexpr std::size_t find(std::string_view name) {
        std::size_t index = 0;
        while (index < num_axes && names[index] != name)
            ++index;
        return index;
    }

    /// Index of the axis called `Name`; an unknown name does not compile.
    template <FixedString Name>
    static consteval std::size_t axis() {
        static_assert(find(Name.view()) < num_axes, "ragged: the topology has no axis of this name");
        return find(Name.view());
    }

    /// One size per dynamic axis, in axis order. @throws PlanError  a size below 1, a product beyond 64 bits
    template <std::integral... Sizes>
    constexpr explicit Topology(Sizes... sizes) {
        static_assert(sizeof...(Sizes) == num_dynamic,
                      "ragged: give one size for each axis whose size is not in its type");
        if constexpr (num_dynamic > 0)
            dynamic_ = {static_cast<std::int64_t>(sizes)...};
        std::int64_t product = 1;
        for (std::size_t axis = 0; axis < num_axes; ++axis) {
            if (size(axis) < 1)
                throw PlanError(concat("axis '", names[axis], "' has ", size(axis), " ranks, at least 1"));
            product = checked_mul(product, size(axis), "ranks of a topology");
        }
    }

    constexpr std::int64_t size(std::size_t axis) const {
        if constexpr (num_dynamic > 0)
            if (static_sizes[axis] == dynamic_size) {
                std::size_t before = 0;
                for (std::size_t i = 0; i < axis; ++i)
                    before += static_sizes[i] == dynamic_size ? 1 : 0;
                return dynamic_[before];
            }
        return static_sizes[axis];
    }
    template <FixedString Name>
    constexpr std::int64_t size() const {
        return size(axis<Name>());
    }

    constexpr std::int64_t num_ranks() const {
        std::int64_t product = 1;
        for (std::size_t axis = 0; axis < num_axes; ++axis)
            product *= size(axis);
        return product;
    }

    /// @pre 0 <= rank < num_ranks()
    constexpr std::array<std::int64_t, num_axes> coordinates(std::int64_t rank) const {
        std::array<std::int64_t, num_axes> result{};
        for (std::size_t axis = num_axes; axis-- > 0;) {
            result[axis] = rank % size(axis);
            rank /= size(axis);
        }
        return result;
    }
    constexpr std::int64_t rank(const std::array<std::int64_t, num_axes>& coordinates) const {
        std::int64_t result = 0;
        for (std::size_t axis = 0; axis < num_axes; ++axis)
            result = result * size(axis) + coordinates[axis];
        return result;
    }

    /// The named axes alone, in the order given.
    template <FixedString... Names>
    constexpr auto part() const {
        return std::apply(
            [](auto... sizes) {
                return Topology<std::tuple_element_t<axis<Names>(), std::tuple<Axes...>>...>(sizes...);
            },
            std::tuple_cat(size_if_dynamic<axis<Names>()>()...));
    }

    constexpr bool operator==(const Topology&) const = default;

  private:
    static constexpr std::array<std::int64_t, num_axes> static_sizes{Axes::size...};

    template <std::size_t Index>
    constexpr auto size_if_dynamic() const {
        if constexpr (static_sizes[Index] == dynamic_size)
            return std::tuple(size(Index));
        else
            return std::tuple();
    }

    struct NoSizes {
        constexpr bool operator==(const NoSizes&) const = default;
    };
    [[no_unique_address]] std::conditional_t<num_dynamic == 0, NoSizes, std::array<std::int64_t, num_dynamic>>
        dynamic_{};
};

/// One rank's position in a topology.
template <class Topology>
struct Place {
    Topology topology;
    std::int64_t rank = 0;

    /// @throws PlanError when the topology has no such rank
    constexpr Place(const Topology& grid, std::int64_t own_rank)
        : topology(grid)
        , rank(own_rank) {
        if (rank < 0 || rank >= topology.num_ranks())
            throw PlanError(concat("rank ", rank, " is not in [0, ", topology.num_ranks(), ")"));
    }

    template <FixedString Name>
    constexpr std::int64_t coordinate() const {
        return topology.coordinates(rank)[Topology::template axis<Name>()];
    }
};

} // namespace ragged
