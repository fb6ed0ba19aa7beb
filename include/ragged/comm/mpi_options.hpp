// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a user decides about an MPI communicator and all that are split from it.
#pragma once

#include <chrono>

namespace ragged {

struct MpiOptions {
    /// For a rank that does not come. Which one it is takes up to 1 s more to find out.
    std::chrono::milliseconds timeout{60'000};
    bool shared_memory = true; // between ranks of one node, when all ranks want it; else MPI's calls alone
};

} // namespace ragged
