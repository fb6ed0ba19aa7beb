// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Extents of a row-major tensor, at run time (Shape) or in the type (StaticShape). Both answer the same
// questions, so everything that takes a shape takes either.
#pragma once

#include <algorithm> // std::max
#include <cstdint>
#include <initializer_list>
#include <string>

#include <ragged/core/config.hpp>
#include <ragged/core/integer.hpp>

namespace ragged {

inline constexpr int max_rank = 8;

/// Up to `max_rank` extents, stored inline; trivially copyable, so kernels may take it. Rank 0 is a scalar.
class Shape {
  public:
    constexpr Shape() = default;

    /// @throws SpecError  more than max_rank extents, a negative one, or a product beyond 64 bits
    constexpr Shape(std::initializer_list<std::int64_t> extents) {
        for (std::int64_t extent : extents)
            push_back(extent);
    }

    /// Append an innermost extent. @throws SpecError as the constructor
    constexpr void push_back(std::int64_t extent) {
        if (rank_ == max_rank)
            throw SpecError(concat("a shape has at most ", max_rank, " extents"));
        if (extent < 0)
            throw SpecError(concat("extent ", extent, " is negative"));
        // Zeros do not hide an overflow: products of inner extents are taken too.
        std::int64_t product = std::max<std::int64_t>(extent, 1);
        for (int dim = 0; dim < rank_; ++dim)
            product = checked_mul<SpecError>(product, std::max<std::int64_t>(extents_[dim], 1),
                                             "elements of a shape");
        elements_ *= extent;
        extents_[rank_++] = extent;
    }

    RAGGED_HOST_DEVICE constexpr int rank() const { return rank_; }
    RAGGED_HOST_DEVICE constexpr std::int64_t elements() const { return elements_; }
    RAGGED_HOST_DEVICE constexpr std::int64_t operator[](int dim) const { return extents_[dim]; }

    constexpr bool operator==(const Shape&) const = default;

  private:
    std::int64_t extents_[max_rank]{};
    std::int64_t elements_ = 1;
    int rank_ = 0;
};

/// Extents known to the compiler; an object of this type is empty.
template <std::int64_t... Extents>
class StaticShape {
    static_assert(sizeof...(Extents) <= max_rank, "ragged: a shape has at most 8 extents");
    static_assert(((Extents >= 0) && ...), "ragged: an extent is negative");
    static_assert(Shape{Extents...}.rank() == sizeof...(Extents), "ragged: the elements do not fit 64 bits");

  public:
    RAGGED_HOST_DEVICE static constexpr int rank() { return static_cast<int>(sizeof...(Extents)); }
    RAGGED_HOST_DEVICE static constexpr std::int64_t elements() { return (std::int64_t{1} * ... * Extents); }
    RAGGED_HOST_DEVICE constexpr std::int64_t operator[](int dim) const {
        constexpr std::int64_t extents[] = {Extents..., 1};
        return extents[dim];
    }
    constexpr bool operator==(const StaticShape&) const = default;

    constexpr operator Shape() const { return Shape{Extents...}; }
};

/// "128x2880x5760"; "scalar" for rank 0.
inline std::string to_string(const Shape& shape) {
    std::string text;
    for (int dim = 0; dim < shape.rank(); ++dim)
        text += concat(dim == 0 ? "" : "x", shape[dim]);
    return text.empty() ? "scalar" : text;
}

/// Elements of the dimensions after `dim`: the stride of a row-major tensor there. 0-extents count as they
/// are.
RAGGED_HOST_DEVICE constexpr std::int64_t inner_elements(const Shape& shape, int dim) {
    std::int64_t product = 1;
    for (int inner = dim + 1; inner < shape.rank(); ++inner)
        product *= shape[inner];
    return product;
}

} // namespace ragged
