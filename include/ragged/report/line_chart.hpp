// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A drawing of ratios against counts where both go over many orders of magnitude: panels of lines over the
// same counts, under one legend. Both axes are logarithmic; ratios too small to matter lie in a band below.
//
//     ragged::write_svg(out, {.title = "padding", .x_label = "devices", .counts = {8, 16}, .panels = {...}});
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/report/svg.hpp>
#include <ragged/report/text.hpp>

namespace ragged {

struct ChartPoint {
    double ratio = std::numeric_limits<double>::quiet_NaN(); // there is no point where this is not finite
    bool dashed = false;                                     // drawn hollow, with dashes on both sides
};

struct ChartLine {
    std::string label{};
    std::string colour{};             // as SVG; the same for all lines of one label
    double thick = 1.6;               // pixels
    std::vector<ChartPoint> points{}; // for each count of the chart
};

struct ChartPanel {
    std::string title{};
    std::vector<ChartLine> lines{}; // drawn in order: a thin one shows on a thick one
};

struct LineChart {
    std::string title{};
    std::string x_label{};
    std::string dashed_label{};         // what dashes say; empty: not in the legend
    std::vector<std::int64_t> counts{}; // 1 or more, rising
    std::vector<ChartPanel> panels{};
};

namespace detail {

/// Draws the legend, then panels from left to right, three beside each other; all lengths in pixels.
class LineDrawing {
  public:
    explicit LineDrawing(const LineChart& chart)
        : chart_(chart) {
        double largest = 1;
        for (const ChartPanel& panel : chart.panels)
            for (const ChartLine& line : panel.lines)
                for (const ChartPoint& point : line.points)
                    if (exists(point))
                        largest = std::max(largest, point.ratio);
        top_decade_ = static_cast<int>(std::ceil(std::log10(largest)));

        heading(30);
        double y = legend(44) + 10;
        const std::size_t columns = std::clamp<std::size_t>(chart.panels.size(), 1, 3);
        panel_width_ = (width - left - right + gap) / static_cast<double>(columns) - gap;
        for (std::size_t p = 0; p < chart.panels.size(); ++p) {
            const std::size_t column = p % columns;
            panel(chart.panels[p], left + static_cast<double>(column) * (panel_width_ + gap), y, column == 0);
            if (column + 1 == columns || p + 1 == chart.panels.size())
                y += title_height + plot_height + axis_height;
        }
        height_ = y + 12;
    }

    void write(std::ostream& out) const { canvas_.write(out, width, height_); }

  private:
    static constexpr double width = 900, left = 76, right = 20, gap = 22;
    static constexpr double title_height = 24, plot_height = 310, axis_height = 44, band_height = 48;
    static constexpr double inset = 10;              // of lines, from the frame
    static constexpr double min_label_distance = 26; // between counts
    static constexpr int floor_decade = -4;          // 0.01 %
    static constexpr std::string_view dark = "#1f2933", words = "#52606d", frame = "#9aa5b1",
                                      grid = "#e4e7eb", dashes = "stroke-dasharray=\"5 3.5\"";

    static bool exists(const ChartPoint& point) { return std::isfinite(point.ratio); }

    /// What dashes say, at the right end.
    void heading(double y) {
        canvas_.text(left, y, 16, dark, shortened(chart_.title, 60), "font-weight=\"600\"");
        if (!chart_.dashed_label.empty())
            sample(width - right - sample_width(chart_.dashed_label), y - 4,
                   {"", std::string(words), 1.6, {}}, true, chart_.dashed_label);
    }

    /// One entry for each label that has points. Returns the bottom of the last row.
    double legend(double y) {
        double x = left;
        std::vector<std::string_view> seen;
        for (const ChartPanel& panel : chart_.panels)
            for (const ChartLine& line : panel.lines) {
                if (std::none_of(line.points.begin(), line.points.end(), exists) ||
                    std::find(seen.begin(), seen.end(), line.label) != seen.end())
                    continue;
                seen.push_back(line.label);
                const double wide = sample_width(line.label);
                if (x > left && x + wide > width - right)
                    x = left, y += 20;
                sample(x, y + 10, line, false, line.label);
                x += wide + 14;
            }
        return y + 20;
    }

    static constexpr std::size_t max_label = 48; // characters
    static double sample_width(std::string_view label) {
        return 32 + 6.4 * static_cast<double>(std::min(num_characters(label), max_label));
    }
    void sample(double x, double y, const ChartLine& line, bool dashed, std::string_view label) {
        canvas_.path(step('M', x, y) + step('L', x + 26, y), line.colour, line.thick, dashed ? dashes : "");
        mark(x + 13, y, line, dashed);
        canvas_.text(x + 32, y + 4, 11, dark, shortened(label, max_label));
    }

    void panel(const ChartPanel& panel, double x, double y, bool first) {
        canvas_.text(x, y + 15, 13, dark, shortened(panel.title, static_cast<std::size_t>(panel_width_ / 8)),
                     "font-weight=\"600\"");
        y += title_height;
        const double bottom = y + plot_height;
        canvas_.rect(x, bottom - band_height, panel_width_, band_height, "#f1f3f5");
        const auto y_word = [&](double at, std::string_view text) {
            if (first)
                canvas_.text(x - 8, at + 4, 11, words, text, "text-anchor=\"end\"");
        };
        y_word(bottom - band_height / 2, "\xe2\x89\xa4 " + decade_word(floor_decade)); // less or equal
        const int stride = (top_decade_ - floor_decade - 1) / 10 + 1; // of huge ratios not every decade
        for (int decade = floor_decade; decade <= top_decade_; decade += stride) {
            const double at = bottom - above_floor(decade);
            canvas_.line(x, at, x + panel_width_, at, grid, 1);
            if (decade > floor_decade)
                y_word(at, decade_word(decade));
        }
        double last_word = -width;
        for (const std::int64_t count : chart_.counts) {
            const double at = x + across(count);
            canvas_.line(at, y, at, bottom, grid, 1);
            if (at < last_word + min_label_distance)
                continue;
            canvas_.text(at, bottom + 16, 11, words, short_count(count), "text-anchor=\"middle\"");
            last_word = at;
        }
        canvas_.text(x + panel_width_ / 2, bottom + 34, 12, words, chart_.x_label, "text-anchor=\"middle\"");
        canvas_.rect(x, y, panel_width_, plot_height, "none", concat("stroke=\"", frame, "\""));
        for (std::size_t lane = 0; lane < panel.lines.size(); ++lane)
            line(panel.lines[lane], x, bottom,
                 band_height * static_cast<double>(lane + 1) / static_cast<double>(panel.lines.size() + 1));
    }

    /// `lane` is the height in the band of ratios that lie there: lines must not hide each other.
    void line(const ChartLine& line, double x, double bottom, double lane) {
        struct Mark {
            double x, y;
            bool dashed;
        };
        std::vector<Mark> marks;
        std::string solid, dashed;
        bool connected = false;
        for (std::size_t i = 0; i < std::min(line.points.size(), chart_.counts.size()); ++i) {
            const ChartPoint& point = line.points[i];
            const bool before = connected;
            connected = exists(point);
            if (!connected)
                continue;
            const Mark to{x + across(chart_.counts[i]), bottom - height(point.ratio, lane), point.dashed};
            if (before)
                (marks.back().dashed || to.dashed ? dashed : solid) +=
                    step('M', marks.back().x, marks.back().y) + step('L', to.x, to.y);
            marks.push_back(to);
        }
        if (!solid.empty())
            canvas_.path(solid, line.colour, line.thick, "stroke-linecap=\"round\"");
        if (!dashed.empty())
            canvas_.path(dashed, line.colour, line.thick, dashes);
        for (const Mark& at : marks)
            mark(at.x, at.y, line, at.dashed);
    }

    void mark(double x, double y, const ChartLine& line, bool dashed) {
        canvas_.circle(x, y, line.thick / 2 + 1.3, dashed ? "#ffffff" : line.colour,
                       concat("stroke=\"", line.colour, "\" stroke-width=\"1.4\""));
    }

    double across(std::int64_t count) const {
        const auto log = [](std::int64_t of) { return std::log2(static_cast<double>(of)); };
        const double low = log(chart_.counts.front()), high = log(chart_.counts.back());
        return high > low ? inset + (log(count) - low) / (high - low) * (panel_width_ - 2 * inset)
                          : panel_width_ / 2;
    }

    double height(double ratio, double lane) const {
        const double decade = std::log10(std::max(ratio, 0.0));
        return decade <= floor_decade ? lane : above_floor(decade);
    }
    double above_floor(double decade) const {
        return band_height +
               (decade - floor_decade) * (plot_height - band_height - inset) / (top_decade_ - floor_decade);
    }

    static std::string decade_word(int decade) {
        const int power = decade + 2; // of percent
        if (power > 6)
            return concat("1e", power, " %");
        const double value = std::pow(10.0, power);
        return (power < 0 ? fixed(value, -power) : grouped(std::llround(value))) + " %";
    }

    static std::string step(char kind, double x, double y) {
        return concat(kind, fixed(x, 1), ' ', fixed(y, 1));
    }

    const LineChart& chart_;
    SvgCanvas canvas_;
    int top_decade_ = 0;
    double panel_width_ = 0, height_ = 0;
};

} // namespace detail

/// Draw the chart, 900 pixels wide. The caller checks the stream.
inline void write_svg(std::ostream& out, const LineChart& chart) {
    detail::LineDrawing(chart).write(out);
}

} // namespace ragged
