// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads or as processes, for what happens before there is a communicator.
#pragma once

#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "support/expect.hpp"

namespace support {

/// Run `body(rank)` in a thread per rank. @return each rank's error, or ""
template <class Body>
std::vector<std::string> errors_of_threads(int ranks, const Body& body) {
    std::vector<std::string> errors(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
        threads.emplace_back(
            [&, rank] { errors[static_cast<std::size_t>(rank)] = message_of([&] { body(rank); }); });
    for (std::thread& thread : threads)
        thread.join();
    return errors;
}

/// Run `body(rank)` in a process per rank; rank r of them is a child. @return how many threw or died
template <class Body>
int failures_of_processes(int ranks, const Body& body) {
    std::vector<pid_t> children;
    for (int rank = 0; rank < ranks; ++rank) {
        const pid_t child = ::fork();
        if (child == 0)
            ::_exit(message_of([&] { body(rank); }).empty() ? 0 : 1);
        children.push_back(child);
    }
    int failures = 0;
    for (const pid_t child : children) {
        int status = 0;
        failures += ::waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    }
    return failures;
}

} // namespace support
