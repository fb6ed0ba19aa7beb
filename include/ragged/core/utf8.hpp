// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Names may hold any bytes; JSON, XML and a terminal take valid UTF-8 only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ragged {

namespace detail {

/// Bytes of the UTF-8 character at the start of `text`, 0 where there is none (overlong forms, surrogates and
/// code points beyond U+10FFFF are none).
inline std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
    };
    const unsigned lead = byte(0);
    if (lead < 0x80)
        return text.empty() ? 0 : 1;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (lead < 0xc2 || lead > 0xf4 || byte(1) < low || byte(1) > high)
        return 0;
    for (std::size_t i = 2; i < length; ++i)
        if (byte(i) < 0x80 || byte(i) > 0xbf)
            return 0;
    return length;
}

/// Append a character. @pre `code` is at most U+10FFFF and no surrogate
inline void append_utf8(std::string& text, std::uint32_t code) {
    constexpr std::uint32_t lead[] = {0x00, 0xc0, 0xe0, 0xf0};
    int rest = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3; // bytes after the first
    text += static_cast<char>(lead[rest] | code >> (6 * rest));
    while (rest-- > 0)
        text += static_cast<char>(0x80u | (code >> (6 * rest) & 0x3fu));
}

inline constexpr std::string_view utf8_replacement = "\xef\xbf\xbd"; // U+FFFD

/// The text with U+FFFD for each control character and each byte that is no UTF-8: what a terminal and XML
/// can show.
inline std::string printable(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view character = text.substr(0, length);
        const bool control = length == 1 && (static_cast<unsigned char>(text[0]) < 0x20 || text[0] == 0x7f);
        const bool no_character =
            character == "\xef\xbf\xbe" || character == "\xef\xbf\xbf"; // U+FFFE, U+FFFF
        result += length == 0 || control || no_character ? utf8_replacement : character;
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return result;
}

/// Whether a byte is one after the first of a character.
inline bool continues_utf8(char byte) {
    return (static_cast<unsigned char>(byte) & 0xc0u) == 0x80;
}

/// Characters of printable text: one column each in a table.
inline std::size_t num_characters(std::string_view text) {
    std::size_t count = 0;
    for (const char c : text)
        count += continues_utf8(c) ? 0 : 1;
    return count;
}

/// As much of a text as a message can take: whole characters from its start.
inline std::string excerpt(std::string_view text) {
    std::size_t length = 60;
    if (text.size() <= length)
        return std::string(text);
    while (length > 0 && continues_utf8(text[length]))
        --length;
    return std::string(text.substr(0, length)) + "...";
}

} // namespace detail

} // namespace ragged
