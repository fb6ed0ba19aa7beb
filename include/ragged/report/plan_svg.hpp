// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A drawing of a plan: one bar per device, S elements long; tensors as coloured runs with lines between their
// blocks where there is room, padding hatched. Of many devices, or many groups, an even choice is drawn.
#pragma once

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/plan/make_plan.hpp>
#include <ragged/report/group_runs.hpp>
#include <ragged/report/svg.hpp>
#include <ragged/report/text.hpp>

namespace ragged {

namespace detail {

/// Draws panels one under another; all lengths in pixels.
class PlanDrawing {
  public:
    static constexpr double width = 1080, left = 92, right = 28, top = 24;
    static constexpr double bar_width = width - left - right;
    static constexpr std::int64_t max_devices = 24;
    static constexpr std::size_t max_legend = 12;

    void panel(const Plan& plan, std::string_view title) {
        canvas_.text(left, y_ + 15, 16, "#1f2933", title, "font-weight=\"600\"");
        y_ += 24;
        for (std::size_t s = 0; s < plan.segments.size(); ++s)
            segment(plan, static_cast<std::int64_t>(s));
        y_ += 26;
    }

    void note(std::string_view words) {
        canvas_.text(left, y_, 12, "#52606d", words);
        y_ += 20;
    }

    void write(std::ostream& out) const {
        canvas_.write(
            out, width, y_,
            "<defs><pattern id=\"padding\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
            "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#f1f3f5\"/>"
            "<line x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\" stroke=\"#b8c0c8\" "
            "stroke-width=\"2\"/></pattern></defs>\n");
    }

  private:
    /// Tensors whose names differ in numbers only, as experts do; they share a colour.
    struct Kind {
        std::string name; // without what all names have in common, numbers as *
        std::size_t first = 0;
        std::int64_t tensors = 0, elements = 0;
        std::string_view colour = "#9aa5b1";
    };
    struct Style {
        std::vector<Kind> kinds;
        std::vector<std::size_t> kind_of; // by tensor
        std::size_t prefix = 0;           // of names: what all tensors have in common up to a dot
    };

    static Style style_of(const Plan& plan) {
        constexpr std::string_view palette[max_legend] = {"#4e79a7", "#f28e2b", "#59a14f", "#e15759",
                                                          "#76b7b2", "#d4a72c", "#b07aa1", "#e8838f",
                                                          "#9c755f", "#6b9bd1", "#c2568a", "#7cb66d"};
        Style style;
        style.prefix = common_prefix(plan);
        for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
            std::string name;
            for (const char c : plan.tensors[t].spec.name.substr(style.prefix))
                if (c < '0' || c > '9')
                    name += c;
                else if (name.empty() || name.back() != '*')
                    name += '*';
            std::size_t k = 0;
            while (k < style.kinds.size() && style.kinds[k].name != name)
                ++k;
            if (k == style.kinds.size())
                style.kinds.push_back({name, t});
            ++style.kinds[k].tensors;
            style.kinds[k].elements += plan.tensors[t].elements();
            style.kind_of.push_back(k);
        }
        std::vector<std::size_t> largest(style.kinds.size());
        for (std::size_t k = 0; k < largest.size(); ++k)
            largest[k] = k;
        std::stable_sort(largest.begin(), largest.end(), [&](std::size_t x, std::size_t y) {
            return style.kinds[x].elements > style.kinds[y].elements;
        });
        largest.resize(std::min(largest.size(), max_legend));
        std::sort(largest.begin(), largest.end());
        for (std::size_t i = 0; i < largest.size(); ++i)
            style.kinds[largest[i]].colour = palette[i];
        return style;
    }

    void segment(const Plan& plan, std::int64_t index) {
        const Segment& segment = plan.segments[static_cast<std::size_t>(index)];
        const std::string forced =
            segment.set_by < 0
                ? "the fair share"
                : "set by " + shortened(plan.tensors[static_cast<std::size_t>(segment.set_by)].spec.name, 48);
        canvas_.text(left, y_ + 11, 12, "#52606d",
                     concat(grouped(plan.num_devices), " devices, S = ", grouped(segment.shard_elems),
                            " elements (", forced, "), padding ", percent(plan.padding_ratio())));
        y_ += 22;
        const Style style = style_of(plan);
        const std::int64_t shown = std::min(plan.num_devices, max_devices);
        const double high = shown <= 8 ? 26 : 15;
        std::int64_t before = -1;
        for (std::int64_t i = 0; i < shown; ++i) {
            const std::int64_t device = shown == 1 ? 0 : i * (plan.num_devices - 1) / (shown - 1);
            bar(plan, style, index, device, high, device != before + 1);
            before = device;
        }
        if (shown < plan.num_devices) {
            canvas_.text(
                left, y_ + 11, 11, "#7b8794",
                concat(shown, " of ", grouped(plan.num_devices), " devices are drawn, evenly chosen"));
            y_ += 18;
        }
        legend(plan, style);
    }

    void bar(const Plan& plan, const Style& style, std::int64_t segment, std::int64_t device, double high,
             bool gap) {
        if (gap)
            y_ += 3;
        canvas_.text(left - 10, y_ + high / 2 + 4, 11, "#52606d",
                     concat(device < 100'000 ? "device " : "", device), "text-anchor=\"end\"");
        const std::int64_t shard = plan.segments[static_cast<std::size_t>(segment)].shard_elems;
        if (shard == 0) {
            canvas_.rect(left, y_, bar_width, high, "none", "stroke=\"#9aa5b1\"");
            y_ += high + 4;
            return;
        }
        const double scale = bar_width / static_cast<double>(shard);
        canvas_.rect(left, y_, bar_width, high, "url(#padding)");
        for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
            const PlacedTensor& tensor = plan.tensors[t];
            const Piece piece = piece_of(plan, tensor, device);
            if (tensor.segment != segment || piece.elements == 0)
                continue;
            const double x = left + static_cast<double>(piece.region_offset) * scale;
            const double wide = static_cast<double>(piece.elements) * scale;
            const std::string_view colour = style.kinds[style.kind_of[t]].colour;
            canvas_.rect(x, y_, std::max(wide, 0.4), high, colour);
            blocks(tensor, piece, x, scale, high);
            const std::string name = printable(tensor.spec.name.substr(style.prefix));
            const auto room = static_cast<std::size_t>(wide / 6.8);
            if (room >= std::min<std::size_t>(num_characters(name), 14))
                // the outline keeps block lines out of the words
                canvas_.text(x + wide / 2, y_ + high / 2 + 3.5, 10, "#ffffff", shortened(name, room),
                             concat("text-anchor=\"middle\" font-weight=\"600\" paint-order=\"stroke\" "
                                    "stroke-width=\"3\" "
                                    "stroke=\"",
                                    colour, "\""));
        }
        canvas_.rect(left, y_, bar_width, high, "none", "stroke=\"#7b8794\" stroke-width=\"0.8\"");
        y_ += high + 4;
    }

    /// Lines at the legal cuts of a piece, and darker ones where the tensor itself starts or ends.
    void blocks(const PlacedTensor& tensor, const Piece& piece, double x, double scale, double high) {
        const auto line = [&](std::int64_t at, std::string_view colour, double thick) {
            const double position = x + static_cast<double>(at - piece.first) * scale;
            canvas_.line(position, y_, position, y_ + high, colour, thick);
        };
        const std::int64_t end = piece.first + piece.elements;
        if (static_cast<double>(std::min(tensor.cuts.step, tensor.cuts.period)) * scale >= 4)
            for (std::int64_t unit = tensor.cuts.unit_of(piece.first) + 1; tensor.cuts.cut(unit) < end;
                 ++unit)
                line(tensor.cuts.cut(unit), "#ffffff", 0.7);
        if (static_cast<double>(piece.elements) * scale >= 3)
            for (std::int64_t at : {std::int64_t{0}, tensor.elements()})
                if (at >= piece.first && at <= end)
                    line(at, "#1f2933", 0.8);
    }

    void legend(const Plan& plan, const Style& style) {
        y_ += 6;
        constexpr std::size_t columns = 2;
        std::size_t entries = 0;
        std::int64_t grey = 0;
        for (const Kind& kind : style.kinds) {
            if (kind.colour == Kind{}.colour) {
                grey += kind.tensors;
                continue;
            }
            const TensorSpec& spec = plan.tensors[kind.first].spec;
            const double x = left + static_cast<double>(entries % columns) * bar_width / columns;
            canvas_.rect(x, y_, 12, 12, kind.colour, "rx=\"2\"");
            canvas_.text(x + 18, y_ + 10, 11, "#323f4b",
                         concat(shortened(kind.name, 40), "  ", to_string(spec.shape), "  ",
                                to_string(spec.block, spec.whole_from),
                                kind.tensors > 1 ? concat("  (", kind.tensors, " tensors)") : std::string()));
            if (++entries % columns == 0)
                y_ += 18;
        }
        const double x = left + static_cast<double>(entries % columns) * bar_width / columns;
        canvas_.rect(x, y_, 12, 12, "url(#padding)", "stroke=\"#b8c0c8\" stroke-width=\"0.8\"");
        canvas_.text(x + 18, y_ + 10, 11, "#323f4b",
                     grey > 0 ? concat("padding; ", grey, " small tensors are grey")
                              : std::string("padding"));
        y_ += 18;
    }

    SvgCanvas canvas_;
    double y_ = top;
};

} // namespace detail

/// Draw one panel per kind of group, at most 8. The caller checks the stream.
inline void write_svg(std::ostream& out, const ModelPlan& model) {
    constexpr std::size_t max_panels = 8;
    detail::PlanDrawing drawing;
    std::vector<const Plan*> drawn;
    std::size_t left_out = 0; // groups
    for (const detail::GroupRun& run : detail::group_runs(model)) {
        const Plan& plan = model.groups[run.first];
        const bool seen = std::any_of(drawn.begin(), drawn.end(), [&](const Plan* other) {
            return detail::same_arrangement(*other, plan);
        });
        if (seen)
            continue;
        if (drawn.size() == max_panels) {
            left_out += run.count;
            continue;
        }
        drawn.push_back(&plan);
        drawing.panel(plan, concat(model.name, ": ", detail::run_name(model, run)));
    }
    if (left_out > 0)
        drawing.note(concat(left_out, left_out == 1 ? " more group is" : " more groups are", " not drawn"));
    drawing.write(out);
}

} // namespace ragged
