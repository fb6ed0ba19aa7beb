// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A string that can be a template argument: axis names and tensor names in types.
#pragma once

#include <cstddef>
#include <string_view>

namespace ragged {

template <std::size_t N>
struct FixedString {
    char chars[N]{};

    constexpr FixedString(const char (&text)[N]) {
        for (std::size_t i = 0; i < N; ++i)
            chars[i] = text[i];
    }

    constexpr std::string_view view() const { return {chars, N - 1}; }
    constexpr operator std::string_view() const { return view(); }

    template <std::size_t M>
    constexpr bool operator==(const FixedString<M>& other) const {
        return view() == other.view();
    }
};

} // namespace ragged
