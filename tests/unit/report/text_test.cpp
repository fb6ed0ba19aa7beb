// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <sstream>

#include <ragged/report/text.hpp>

namespace detail = ragged::detail;

TEST_CASE("numbers for people") {
    CHECK(detail::grouped(0) == "0");
    CHECK(detail::grouped(999) == "999");
    CHECK(detail::grouped(1000) == "1,000");
    CHECK(detail::grouped(1234567) == "1,234,567");
    CHECK(detail::human_bytes(1023) == "1023 B");
    CHECK(detail::human_bytes(1536) == "1.50 KiB");
    CHECK(detail::human_bytes(-1023) == "-1023 B");
    CHECK(detail::human_bytes(-3 << 20) == "-3.00 MiB");
    CHECK(detail::percent(0.0123456) == "1.235 %");
    CHECK(detail::percent(2.5) == "250.0 %");
    CHECK(detail::shortened("abcdefghij", 10) == "abcdefghij");
    CHECK(detail::shortened("abcdefghijk", 10) == "...efghijk");
    CHECK(detail::shortened("abcd\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 6) ==
          "...\xc3\xa9\xc3\xa9\xc3\xa9"); // whole characters
    CHECK(detail::short_count(8) == "8");
    CHECK(detail::short_count(1000) == "1,000");
    CHECK(detail::short_count(1024) == "1k");
    CHECK(detail::short_count(16384) == "16k");
    CHECK(detail::short_count(std::int64_t{1} << 62) == "4E");
    CHECK(detail::short_count(0) == "0");
    CHECK(detail::human_count(999) == "999");
    CHECK(detail::human_count(11507286016) == "11.51 G");
}

TEST_CASE("names are one pattern, with a star where they differ and where only some go on") {
    CHECK(detail::common_pattern({}).empty());
    CHECK(detail::common_pattern({"layers.0.w"}) == "layers.0.w");
    CHECK(detail::common_pattern({"layers.0.mlp.up", "layers.0.mlp.down", "layers.1.mlp.up"}) ==
          "layers.*.mlp.*");
    CHECK(detail::common_pattern({"a.0.x.w", "a.1.y.w"}) == "a.*.w");
    CHECK(detail::common_pattern({"a.b", "a.b.c", "a.b"}) == "a.*");
    CHECK(detail::common_pattern({"a.b.c", "a.b"}) == "a.*");
    CHECK(detail::common_pattern({"head.w", "layers.0.w"}) == "*");
    CHECK(detail::common_pattern({"v", "w"}) == "*");
}

TEST_CASE(
    "the first column of a table is to the left, the others to the right, by characters and not bytes") {
    detail::TextTable table;
    table.row({"name", "n"});
    table.rule();
    table.row({"\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", "1,000"});
    table.row({"", ""});
    std::ostringstream out;
    table.write(out, "> ");
    CHECK(out.str() ==
          "> name      n\n> -----------\n> \xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9  1,000\n>            \n");
}

TEST_CASE("the last column of a table that is too wide is shortened, and no other") {
    detail::TextTable table;
    table.row({std::string(80, 'a'), std::string(80, 'b')});
    std::ostringstream out;
    table.write(out, "");
    CHECK(out.str() == std::string(80, 'a') + "  ..." + std::string(25, 'b') + "\n");
}
