// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What optimizers say of options that are out of their range.
#pragma once

#include <cmath> // std::isfinite
#include <string_view>

#include <ragged/core/error.hpp>

namespace ragged::detail {

inline bool is_finite_float(double x) {
    return std::isfinite(static_cast<float>(x));
}

/// Each throws BufferError with the name of the optimizer and of the option, the number found and the range.
struct OptionCheck {
    std::string_view optimizer;

    template <class Number>
    void require(bool good, std::string_view what, Number found, std::string_view range) const {
        if (!good)
            throw BufferError(concat(optimizer, ": ", what, " is ", found, ", it must be ", range));
    }
    void finite(std::string_view what, double found) const {
        require(is_finite_float(found), what, found, "finite");
    }
    /// Of an average that forgets.
    void below_one(std::string_view what, double found) const {
        require(found >= 0 && found < 1, what, found, "in [0, 1)");
    }
    /// Decay is decoupled: learning_rate * weight_decay * master is taken off the master.
    void rates(double learning_rate, double weight_decay) const {
        finite("learning_rate", learning_rate);
        require(is_finite_float(weight_decay) && is_finite_float(learning_rate * weight_decay),
                "weight_decay", weight_decay, "finite");
    }
};

} // namespace ragged::detail
