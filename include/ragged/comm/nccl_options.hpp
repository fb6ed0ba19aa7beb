// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a user decides about an NCCL communicator and all that are split from it.
#pragma once

#include <chrono>

namespace ragged {

struct NcclOptions {
    std::chrono::milliseconds timeout{600'000}; // for the other ranks, wherever the host waits for them
    bool check_pointers = false;                // ask CUDA where memory is before each call
    bool share_resources = true;                // between a communicator and what is split from it
    bool windows = true;                        // register memory as symmetric windows where that is possible
};

} // namespace ragged
