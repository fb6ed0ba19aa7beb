// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What is reported of repeated measurements on a noisy machine.
#pragma once

#include <algorithm>
#include <iterator> // std::ssize
#include <vector>

namespace bench {

/// @pre  values is not empty
inline double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
    return values[values.size() / 2];
}

} // namespace bench
