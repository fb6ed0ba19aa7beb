// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The values of the 8-bit code of optimizer state as a list, written from its description, and the nearest of
// them by comparing with all.
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace support {

/// By code, from 0 up to 1.0: of the codes that are not negative.
template <class Code>
std::vector<float> code_book() {
    const int bits = std::same_as<Code, std::int8_t> ? 7 : 8;
    const int lowest = -4 * (bits - 2); // exponent of the lowest octave with a value of its own
    std::vector<float> book{0.0f, std::ldexp(1.0f, lowest - 4), std::ldexp(1.0f, lowest - 2)};
    for (int octave = lowest; octave < 0; ++octave) {
        const int values = 1 << ((octave - lowest) / 4);
        for (int i = 0; i < values; ++i)
            book.push_back(std::ldexp(1.0f + static_cast<float>(i) / static_cast<float>(values), octave));
    }
    book.push_back(1.0f);
    return book;
}

/// The larger of two that are as near; without a sign, 0 for zero alone. @pre x >= 0
template <class Code>
Code nearest(const std::vector<float>& book, float x) {
    std::size_t best = 0;
    for (std::size_t i = 1; i < book.size(); ++i)
        if (std::fabs(double{book[i]} - x) <= std::fabs(double{book[best]} - x) || (x > 1 && x > book[i]))
            best = i;
    if (std::same_as<Code, std::uint8_t> && best == 0 && x > 0)
        best = 1;
    return static_cast<Code>(best);
}

} // namespace support
