// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A loss against the number of its step as SVG, both axes linear.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <string_view>

#include <ragged/report/svg.hpp>

namespace support {

/// A round number of units: 1, 2 or 5 times a power of ten, so that at most `count` of them span `range`.
inline double round_unit(double range, int count) {
    const double least = std::max(range, 1e-6) / count;
    const double decade = std::pow(10.0, std::floor(std::log10(least)));
    for (const double unit : {1.0, 2.0, 5.0})
        if (unit * decade >= least)
            return unit * decade;
    return 10 * decade;
}

/// @param losses  one per step, 1 or more; none is drawn where it is not finite
inline void write_loss_chart(std::ostream& out, std::string_view title, std::span<const double> losses) {
    using ragged::detail::fixed;
    constexpr double width = 760, height = 400, left = 60, right = 20, top = 50, bottom = 50;
    constexpr double wide = width - left - right, high = height - top - bottom;
    double least = 0, largest = 1;
    bool any = false;
    for (const double loss : losses)
        if (std::isfinite(loss)) {
            least = any ? std::min(least, loss) : loss;
            largest = any ? std::max(largest, loss) : loss;
            any = true;
        }
    const double loss_unit = round_unit(largest - least, 8);
    const double low = std::floor(least / loss_unit) * loss_unit;
    const double span = std::max(std::ceil(largest / loss_unit) * loss_unit - low, loss_unit);
    const auto steps = static_cast<double>(std::max<std::size_t>(losses.size() - 1, 1));
    const auto x = [&](double step) { return left + wide * step / steps; };
    const auto y = [&](double loss) { return top + high * (1 - (loss - low) / span); };

    ragged::detail::SvgCanvas canvas;
    const std::string_view words = "#52606d", grid = "#e4e7eb";
    canvas.text(left, 30, 16, "#1f2933", title, "font-weight=\"600\"");
    for (int i = 0; loss_unit * i <= span * 1.001; ++i) {
        const double loss = low + loss_unit * i;
        canvas.line(left, y(loss), width - right, y(loss), grid, 1);
        canvas.text(left - 8, y(loss) + 4, 11, words,
                    fixed(loss, loss_unit < 0.1 ? 3
                                : loss_unit < 1 ? 1
                                                : 0),
                    "text-anchor=\"end\"");
    }
    const double step_unit = std::max(round_unit(steps, 10), 1.0);
    for (int i = 0; step_unit * i <= steps; ++i)
        canvas.text(x(step_unit * i), height - bottom + 18, 11, words, fixed(step_unit * i, 0),
                    "text-anchor=\"middle\"");
    canvas.text(left + wide / 2, height - 12, 12, words, "step", "text-anchor=\"middle\"");

    std::string path;
    bool connected = false;
    for (std::size_t step = 0; step < losses.size(); ++step) {
        const bool finite = std::isfinite(losses[step]);
        if (finite)
            path += ragged::concat(connected ? "L" : "M", fixed(x(static_cast<double>(step)), 1), " ",
                                   fixed(y(losses[step]), 1));
        connected = finite;
    }
    if (!path.empty())
        canvas.path(path, "#0072b2", 1.8, "stroke-linejoin=\"round\"");
    canvas.write(out, width, height);
}

} // namespace support
