// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/report/line_chart.hpp>

#include "support/expect.hpp"

using ragged::ChartLine;
using ragged::LineChart;
using support::contains;

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

struct Element {
    std::string name;
    std::map<std::string, std::string> attributes;
    std::string words;

    double number(const std::string& attribute) const { return std::stod(attributes.at(attribute)); }
};

/// Text up to `end`. @throws std::runtime_error  < and & that are no markup
std::string words_before(std::string_view& text, char end) {
    const std::string_view words = text.substr(0, text.find(end));
    for (std::size_t at = words.find_first_of("<&"); at != std::string_view::npos;
         at = words.find_first_of("<&", at + 1)) {
        const std::string_view rest = words.substr(at);
        support::expect(rest.starts_with("&amp;") || rest.starts_with("&lt;") || rest.starts_with("&gt;") ||
                            rest.starts_with("&quot;"),
                        "an escaped character");
    }
    text.remove_prefix(words.size());
    return std::string(words);
}

/// Every element of a drawing in order. @throws std::runtime_error  no well-formed XML
std::vector<Element> parse(std::string_view text) {
    std::vector<Element> result;
    std::vector<std::size_t> open;
    const auto take = [&](std::string_view part) {
        const bool there = text.starts_with(part);
        text.remove_prefix(there ? part.size() : 0);
        return there;
    };
    while (support::expect(take("<"), "an element"), !text.empty()) {
        if (take("/")) {
            support::expect(!open.empty() && take(result[open.back()].name) && take(">"), "an end");
            open.pop_back();
        } else {
            Element element;
            while (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
                element.name += text[0], text.remove_prefix(1);
            while (take(" "))
                if (!text.starts_with(" ") && !text.starts_with("/") && !text.starts_with(">")) {
                    const std::string name = words_before(text, '=');
                    support::expect(take("=\""), "a value in quotes");
                    element.attributes[name] = words_before(text, '"');
                    support::expect(take("\""), "the end of a value");
                }
            const bool whole = take("/");
            support::expect(take(">"), "the end of a tag");
            if (!whole)
                open.push_back(result.size());
            result.push_back(element);
        }
        const std::string words = words_before(text, '<');
        if (open.empty())
            return support::expect(text.empty(), "one element about all"), result;
        result[open.back()].words += words;
    }
    throw std::runtime_error("the drawing stops in the middle");
}

/// What a reader sees of a chart.
struct Drawing {
    std::vector<Element> all;

    explicit Drawing(const LineChart& chart) {
        std::ostringstream out;
        ragged::write_svg(out, chart);
        all = parse(out.str());
        for (const Element& element : all)
            for (const auto& [name, value] : element.attributes)
                CHECK_FALSE((contains(value, "nan") || contains(value, "inf")));
    }

    std::vector<Element> named(const std::string& name) const {
        std::vector<Element> result;
        std::copy_if(all.begin(), all.end(), std::back_inserter(result),
                     [&](const Element& element) { return element.name == name; });
        return result;
    }
    /// The frame of each panel.
    std::vector<Element> frames() const {
        std::vector<Element> result = named("rect");
        std::erase_if(result, [](const Element& rect) { return rect.attributes.at("fill") != "none"; });
        return result;
    }
    /// Points of the lines: the legend's are above the first frame.
    std::vector<Element> points() const {
        std::vector<Element> result = named("circle");
        std::erase_if(result, [&](const Element& circle) {
            return frames().empty() || circle.number("cy") < frames()[0].number("y");
        });
        return result;
    }
    std::ptrdiff_t count(const std::string& words) const {
        return std::count_if(all.begin(), all.end(),
                             [&](const Element& element) { return element.words == words; });
    }
};

ChartLine line(const std::string& label, const std::vector<double>& ratios) {
    ChartLine result{label, "#0072b2"};
    for (const double ratio : ratios)
        result.points.push_back({ratio});
    return result;
}

/// One line over 8, 16, 32, ...
LineChart chart(const std::vector<double>& ratios) {
    LineChart result{"t", "devices", "", {}, {{"p", {line("a", ratios)}}}};
    for (std::size_t i = 0; i < ratios.size(); ++i)
        result.counts.push_back(std::int64_t{8} << i);
    return result;
}

} // namespace

TEST_CASE("equal factors are equal distances on both axes") {
    const auto at = Drawing(chart({0.001, 0.01, 0.1, 1})).points();
    REQUIRE(at.size() == 4);
    const double across = at[1].number("cx") - at[0].number("cx"),
                 up = at[0].number("cy") - at[1].number("cy");
    CHECK(across > 10);
    CHECK(up > 10);
    for (std::size_t i = 2; i < 4; ++i) {
        CHECK(at[i].number("cx") - at[i - 1].number("cx") == doctest::Approx(across).epsilon(0.01));
        CHECK(at[i - 1].number("cy") - at[i].number("cy") == doctest::Approx(up).epsilon(0.01));
    }
}

TEST_CASE("ratios up to 0.01 % share a height, and each line has its own") {
    LineChart two = chart({0, 1e-9, 1e-4, 2e-4, -1});
    two.panels[0].lines.push_back(line("b", {0, 0, 0, 0, 0}));
    const Drawing drawing(two);
    const auto at = drawing.points();
    REQUIRE(at.size() == 10);
    for (const std::size_t i : {1u, 2u, 4u})
        CHECK(at[i].number("cy") == at[0].number("cy"));
    CHECK(at[3].number("cy") < at[0].number("cy") - 10);
    CHECK(at[5].number("cy") != at[0].number("cy"));
    CHECK(drawing.count("\xe2\x89\xa4 0.01 %") == 1);
}

TEST_CASE("huge ratios stay inside the frame, beside few words") {
    for (const double huge : {1.0, 1.0001, 99.0, 1e12, 1e300}) {
        const Drawing drawing(chart({0.5, huge, 0}));
        const auto at = drawing.points();
        REQUIRE(at.size() == 3);
        CHECK(at[1].number("cy") > drawing.frames()[0].number("y"));
        CHECK(at[1].number("cy") < at[0].number("cy"));
        CHECK(at[0].number("cy") < at[2].number("cy"));
        CHECK(drawing.named("text").size() < 20);
    }
    CHECK(Drawing(chart({90})).count("10,000 %") == 1);
    CHECK(Drawing(chart({1e4})).count("1,000,000 %") == 1);
    CHECK(Drawing(chart({1e6})).count("1e8 %") == 1);
}

TEST_CASE("where there is no ratio there is no point, and no line across") {
    const Drawing drawing(chart({0.1, 0.2, none, 0.3, std::numeric_limits<double>::infinity(), 0.4}));
    CHECK(drawing.points().size() == 4);
    const auto paths = drawing.named("path");
    REQUIRE(paths.size() == 2); // the legend's first
    const std::string steps = paths[1].attributes.at("d");
    CHECK(std::count(steps.begin(), steps.end(), 'L') == 1);
    CHECK(Drawing(chart({none, none})).count("a") == 0); // not in the legend either
}

TEST_CASE("dashes lie on both sides of a hollow point, and the legend says what they mean") {
    LineChart dashed = chart({0.1, 0.2, 0.3, 0.4});
    for (const Element& path : Drawing(dashed).named("path"))
        CHECK_FALSE(path.attributes.contains("stroke-dasharray"));
    dashed.panels[0].lines[0].points[1].dashed = true;
    const Drawing drawing(dashed);
    const auto paths = drawing.named("path");
    REQUIRE(paths.size() == 3); // legend, solid, dashed
    for (const std::size_t i : {1u, 2u}) {
        const std::string steps = paths[i].attributes.at("d");
        CHECK(std::count(steps.begin(), steps.end(), 'L') == static_cast<std::ptrdiff_t>(i));
        CHECK(paths[i].attributes.contains("stroke-dasharray") == (i == 2));
    }
    CHECK(drawing.points()[0].attributes.at("fill") == "#0072b2");
    CHECK(drawing.points()[1].attributes.at("fill") == "#ffffff");
    dashed.dashed_label = "cut";
    CHECK(Drawing(dashed).count("cut") == 1);
}

TEST_CASE("panels stand three in a row under one legend, with counts that do not touch") {
    LineChart many = chart(std::vector<double>(12, 0.1));
    many.panels.assign(5, many.panels[0]);
    const Drawing drawing(many);
    CHECK(drawing.count("a") == 1);
    CHECK(drawing.count("p") == 5);
    CHECK(drawing.count("devices") == 5);
    CHECK(drawing.count("100 %") == 2);
    CHECK(drawing.count("8") == 5);
    CHECK(drawing.count("16") == 0);
    CHECK(drawing.count("8k") == 5);
    const auto frames = drawing.frames();
    REQUIRE(frames.size() == 5);
    CHECK(frames[4].number("x") == frames[1].number("x"));
    CHECK(frames[4].number("y") > frames[1].number("y") + frames[1].number("height"));
    CHECK(frames[2].number("x") + frames[2].number("width") < 900);
    const Element& whole = drawing.all[0];
    CHECK(whole.number("width") == 900);
    CHECK(frames[4].number("y") + frames[4].number("height") < whole.number("height"));
}

TEST_CASE("a legend goes on in the next row where the chart ends") {
    LineChart many = chart({0.1});
    for (int i = 0; i < 8; ++i)
        many.panels[0].lines.push_back(line("a line with a long name, number " + std::to_string(i), {0.1}));
    for (const Element& circle : Drawing(many).named("circle"))
        CHECK(circle.number("cx") < 880);
}

TEST_CASE("one point, no point, no line, no panel and no count are charts too") {
    CHECK(Drawing(chart({0.1})).points().size() == 1);
    CHECK(Drawing(chart({})).points().empty());
    LineChart bare{"t", "devices", "", {8, 16}, {{"p", {}}}};
    CHECK(Drawing(bare).count("p") == 1);
    bare.panels.clear();
    CHECK(Drawing(bare).count("t") == 1);
    CHECK(Drawing({}).frames().empty());
}

TEST_CASE("names may hold any characters") {
    const std::string odd = "<a> & \"b\" \x01";
    const Drawing drawing({odd, odd, odd, {8}, {{odd, {line(odd, {0.1})}}}});
    CHECK(drawing.count("&lt;a&gt; &amp; &quot;b&quot; \xef\xbf\xbd") == 5);
    for (const char* no_xml : {"<a b=\"<\"/>", "<a>&</a>", "<a></b>", "<a>", "<a/><b/>", "a", "<a b=c/>"})
        CHECK_THROWS(parse(no_xml));
}
