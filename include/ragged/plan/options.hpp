// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a user says of a whole plan: alignment in bytes, and the planes that will lie over it.
#pragma once

#include <initializer_list>

#include <ragged/core/integer.hpp>
#include <ragged/spec/dtype.hpp>

namespace ragged {

/// A set of element types.
class DTypes {
  public:
    constexpr DTypes() = default;
    constexpr DTypes(std::initializer_list<DType> dtypes) {
        for (DType dtype : dtypes)
            insert(dtype);
    }
    constexpr void insert(DType dtype) { bits_ |= 1u << static_cast<unsigned>(dtype); }
    constexpr bool contains(DType dtype) const { return (bits_ >> static_cast<unsigned>(dtype) & 1u) != 0; }
    constexpr bool operator==(const DTypes&) const = default;

  private:
    unsigned bits_ = 0;
};

struct PlanOptions {
    // Every tensor start and every shard is a multiple of this in each plane: a power of two.
    std::int64_t alignment_bytes = 128;
    // Element types of the planes laid over the plan, besides the tensors' own.
    DTypes planes{};

    constexpr bool operator==(const PlanOptions&) const = default;
};

} // namespace ragged
