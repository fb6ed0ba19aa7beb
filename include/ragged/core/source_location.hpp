// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Where a call stands in the source, for errors of platforms. As std::source_location, which clang 14 lacks.
#pragma once

namespace ragged {

struct SourceLocation {
    const char* file;
    unsigned line;

    /// As a default argument: the place of the call.
    static constexpr SourceLocation current(const char* file = __builtin_FILE(),
                                            unsigned line = __builtin_LINE()) {
        return {file, line};
    }
};

} // namespace ragged
