// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include <ragged/core/utf8.hpp>

namespace detail = ragged::detail;

namespace {

std::string encoded(std::uint32_t code) {
    const auto byte = [](std::uint32_t bits) { return static_cast<char>(static_cast<unsigned char>(bits)); };
    if (code < 0x80)
        return {byte(code)};
    if (code < 0x800)
        return {byte(0xc0 | code >> 6), byte(0x80 | (code & 63))};
    if (code < 0x10000)
        return {byte(0xe0 | code >> 12), byte(0x80 | (code >> 6 & 63)), byte(0x80 | (code & 63))};
    return {byte(0xf0 | code >> 18), byte(0x80 | (code >> 12 & 63)), byte(0x80 | (code >> 6 & 63)),
            byte(0x80 | (code & 63))};
}

} // namespace

TEST_CASE("every code point but surrogates is a character, and no shorter part of one is") {
    int wrong = 0;
    for (std::uint32_t code = 0; code < 0x110000; ++code) {
        const std::string text = encoded(code);
        const bool surrogate = code >= 0xd800 && code < 0xe000;
        std::string appended;
        detail::append_utf8(appended, code);
        wrong += appended != text ? 1 : 0;
        wrong += detail::utf8_length(text + "x") != (surrogate ? 0 : text.size()) ? 1 : 0;
        for (std::size_t part = 0; part < text.size(); ++part)
            wrong += detail::utf8_length(text.substr(0, part)) != 0 ? 1 : 0;
    }
    CHECK(wrong == 0);
    for (const char* text : {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xf0\x8f\xbf\xbf",
                             "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"})
        CHECK(detail::utf8_length(text) == 0);
}

TEST_CASE("printable text keeps characters and replaces the rest") {
    CHECK(detail::printable("layers.0 \xc3\xa9") == "layers.0 \xc3\xa9");
    CHECK(detail::printable("a\x1b[0m\xff\x7f") == "a\xef\xbf\xbd[0m\xef\xbf\xbd\xef\xbf\xbd");
    CHECK(detail::printable("\xef\xbf\xbf") == "\xef\xbf\xbd");
    CHECK(detail::num_characters("a\xc3\xa9z") == 3);
    CHECK(detail::printable("").empty());
}

TEST_CASE("an excerpt is short and ends between characters") {
    const std::string sixty(60, 'x');
    CHECK(detail::excerpt("") == "");
    CHECK(detail::excerpt(sixty) == sixty);
    CHECK(detail::excerpt(sixty + 'y') == sixty + "...");
    CHECK(detail::excerpt(sixty.substr(1) + "\xc3\xa9z") == sixty.substr(1) + "...");
    CHECK(detail::excerpt(sixty.substr(2) + "\xc3\xa9z") == sixty.substr(2) + "\xc3\xa9...");
    CHECK(detail::excerpt(std::string(100, '\x80')) == "..."); // no characters at all
}
