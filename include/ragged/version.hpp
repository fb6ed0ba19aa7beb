// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The version, once. CMake reads it from this file.
#pragma once

#define RAGGED_VERSION_MAJOR 0
#define RAGGED_VERSION_MINOR 1
#define RAGGED_VERSION_PATCH 0
