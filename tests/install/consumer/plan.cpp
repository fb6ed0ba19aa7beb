// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

ragged::Plan plan_layer(std::int64_t num_devices) {
    const ragged::GroupSpec layer{"layer", {{"weight", {6, 4}, ragged::rows(1)}, {"bias", {6}}}};
    return ragged::make_plan(layer, num_devices);
}
