// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The last operation of an optimizer that has its direction ready.
#pragma once

#include <ragged/group/operations.hpp>

namespace ragged::op {

/// master - decay * master - rate * direction
struct DecayedStep {
    float decay, rate;

    RAGGED_HOST_DEVICE void operator()(float& master, const float& direction) const {
        master = fused_multiply_add(-rate, direction, fused_multiply_add(-decay, master, master));
    }
    /// The same, and the new master as T.
    template <class T>
    RAGGED_HOST_DEVICE void operator()(float& master, const float& direction, T& weights) const {
        (*this)(master, direction);
        weights = detail::narrowed<T>(master);
    }
};

} // namespace ragged::op
