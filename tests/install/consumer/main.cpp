// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

int main() {
    const ragged::Plan plan = plan_layer(3);
    return plan.num_devices == 3 && plan.tensors.size() == 2 ? 0 : 1;
}
