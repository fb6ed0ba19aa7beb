// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Checks for rank threads. A throwing assertion of the test framework inside a rank would leave the others
// waiting; an exception travels through run_ranks, which fails the others at once, and is asserted on the
// main thread.
#pragma once

#include <exception>
#include <stdexcept>
#include <string>

namespace support {

inline void expect(bool holds, const std::string& what) {
    if (!holds)
        throw std::runtime_error("expected: " + what);
}

/// The text of what `body` throws, or "" when it does not.
template <class Body>
std::string message_of(Body body) {
    try {
        body();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace support
