// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ragged/ragged.hpp>

ragged::Plan plan_layer(std::int64_t num_devices);
