// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a user says of a whole plan: alignment in bytes, the planes that will lie over it, what communication
// costs.
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

/// What one more collective in a grouped call costs, as the bytes that a device could receive in its time.
struct CollectivePrice {
    std::int64_t latency_ns = 10'000;   // of a collective added to a group of them
    std::int64_t bytes_per_us = 50'000; // received by one device: 400 Gbit/s

    constexpr bool operator==(const CollectivePrice&) const = default;

    /// @throws PlanError  a negative latency or bandwidth, or a price that does not fit 64 bits
    constexpr std::int64_t bytes() const {
        if (latency_ns < 0 || bytes_per_us < 0)
            throw PlanError(concat("a collective of ", latency_ns, " ns at ", bytes_per_us,
                                   " bytes per us has no price"));
        return checked_mul(latency_ns, bytes_per_us, "price of a collective") / 1000;
    }
};

} // namespace ragged
