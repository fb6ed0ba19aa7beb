// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One stretch of a copy between two arrays: what a transfer between two layouts consists of.
#pragma once

#include <cstdint>

namespace ragged {

/// to[run.to + i] = from[run.from + i] for the i in [0, run.elements).
struct CopyRun {
    std::int64_t from; // flat element of the source
    std::int64_t to;   // flat element of the destination
    std::int64_t elements;

    constexpr bool operator==(const CopyRun&) const = default;
};

} // namespace ragged
