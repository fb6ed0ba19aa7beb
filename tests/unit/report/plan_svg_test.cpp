// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <sstream>

#include <ragged/report/plan_svg.hpp>

#include "support/expect.hpp"
#include "support/random_group.hpp"

using support::contains;

namespace {

std::string drawn(const ragged::ModelSpec& model, std::int64_t devices) {
    std::ostringstream out;
    ragged::write_svg(out, ragged::make_plan(model, devices));
    return out.str();
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++found;
    return found;
}

} // namespace

TEST_CASE("one bar per device, names escaped, blocks marked, padding hatched") {
    const std::string svg =
        drawn({"a<b&\"c\"", {{"g", {{"w", {64, 64}, ragged::rows(16)}, {"v", {100}}}}}}, 3);
    CHECK(count(svg, ">device ") == 3);
    CHECK(contains(svg, "a&lt;b&amp;&quot;c&quot;: g"));
    CHECK(contains(svg, "url(#padding)"));
    CHECK(contains(svg, "stroke=\"#ffffff\"")); // lines between blocks
    CHECK(contains(svg, "64x64  rows:16"));
    CHECK(contains(svg, "</svg>"));
}

TEST_CASE("many devices and many tensors stay a bounded drawing") {
    ragged::ModelSpec model{"big", {}};
    for (int g = 0; g < 40; ++g) {
        model.groups.push_back({"g" + std::to_string(g), {}});
        for (int t = 0; t < 200; ++t)
            model.groups.back().tensors.push_back(
                {"expert." + std::to_string(t) + ".w", {8 + g, 64}, ragged::rows(1)});
    }
    const std::string svg = drawn(model, 5000);
    CHECK(count(svg, ">device ") == 8 * 24);
    CHECK(contains(svg, "24 of 5,000 devices are drawn, evenly chosen"));
    CHECK(contains(svg, ">device 4999<"));
    CHECK(contains(svg, "*.w  8x64  rows:1  (200 tensors)"));
    CHECK(svg.size() < 2'000'000);
}

TEST_CASE("random groups, empty ones among them, can be drawn") {
    for (std::uint32_t seed = 0; seed < 50; ++seed)
        CHECK(contains(drawn({"m", {support::random_group(seed)}}, 1 + seed % 8), "</svg>"));
}
