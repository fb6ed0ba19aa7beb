// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a user decides about an MPI communicator and all that are split from it.
#pragma once

#include <chrono>

namespace ragged {

struct MpiOptions {
    std::chrono::milliseconds timeout{60'000}; // for a rank that does not come
    bool shared_memory = true; // between ranks of one node, when all ranks want it; else MPI's calls alone
};

} // namespace ragged
