// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <sstream>

#include <ragged/report/svg.hpp>

namespace detail = ragged::detail;

TEST_CASE("words cannot end an element or an attribute") {
    CHECK(detail::xml_escaped("a<b>&\"c\"") == "a&lt;b&gt;&amp;&quot;c&quot;");
    CHECK(detail::xml_escaped("&amp;") == "&amp;amp;");
    CHECK(detail::xml_escaped("\x01\xff") == "\xef\xbf\xbd\xef\xbf\xbd"); // no XML at all
}

TEST_CASE("a drawing is its shapes in order on white ground") {
    detail::SvgCanvas canvas;
    canvas.rect(1, 2, 3.456, 4, "#111111", "rx=\"2\"");
    canvas.line(0, 0, 10, 5, "#222222", 0.7);
    canvas.circle(5, 5, 2, "#333333");
    canvas.path("M0 0L1 1", "#444444", 1.6);
    canvas.text(1, 2, 11, "#555555", "a & b");
    std::ostringstream out;
    canvas.write(out, 100, 50, "<defs></defs>\n");
    CHECK(out.str() ==
          R"(<svg xmlns="http://www.w3.org/2000/svg" width="100" height="50" viewBox="0 0 100 50" )"
          R"(font-family="Helvetica, Arial, 'DejaVu Sans', sans-serif">)"
          "\n<defs></defs>\n"
          R"(<rect width="100%" height="100%" fill="#ffffff"/>)"
          "\n"
          R"(<rect x="1.00" y="2.0" width="3.46" height="4.0" fill="#111111" rx="2"/>)"
          "\n"
          R"(<line x1="0.00" y1="0.0" x2="10.00" y2="5.0" stroke="#222222" stroke-width="0.7"/>)"
          "\n"
          R"(<circle cx="5.0" cy="5.0" r="2.0" fill="#333333" />)"
          "\n"
          R"(<path d="M0 0L1 1" fill="none" stroke="#444444" stroke-width="1.6" />)"
          "\n"
          R"(<text x="1.0" y="2.0" font-size="11" fill="#555555" >a &amp; b</text>)"
          "\n</svg>\n");
}
