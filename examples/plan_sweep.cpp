// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Padding of a whole model against the number of devices: our planner and the layouts of today's systems, as
// a table, as CSV or as a chart.
#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/ragged.hpp>
#include <ragged/report/line_chart.hpp>
#include <ragged/report/plan_json.hpp>

#include "support/granularity.hpp"
#include "support/options.hpp"
#include "support/program.hpp"
#include "support/sweep.hpp"

namespace {

constexpr std::string_view usage =
    R"(plan_sweep INVENTORY.tsv --devices A..B
  --devices LIST        numbers and ranges, as 8..16384,100; A..B is A, 2A, 4A, ... up to B
  [--rows LIST]         rows that must stay whole together in each tensor of 2-D and more, default 1,16,128
  [--segments LIST]     at most so many segments per group in our plans, default 1,2,3
  [--align-bytes B]     default 128
  [--csv FILE|-]        one line per layout and number of devices; - is standard output, without the table
  [--svg FILE]          a chart with one panel per number of rows
)";

constexpr std::string_view ours = "ragged";

ragged::policy::Exact planner(std::int64_t segments) {
    return {.order = ragged::policy::Order::search, .max_segments = segments};
}

/// Thicker and lighter the more lines follow, which may hide it.
ragged::ChartLine our_line(std::int64_t segments, std::size_t following) {
    constexpr std::string_view blues[] = {"#08306b", "#2171b5", "#6baed6"};
    return {ragged::concat("ragged, ", segments, segments == 1 ? " segment" : " segments"),
            std::string(blues[std::min(following, std::size(blues) - 1)]),
            3.2 + 1.2 * static_cast<double>(following)};
}

void write_csv(std::ostream& out, const support::Sweep& sweep) {
    std::string model;
    for (const char c : ragged::detail::printable(sweep.model.name))
        model += c == '"' ? "\"\"" : std::string(1, c);
    out << "model,layout,rows,segments,devices,elements,padded_elements,padding_ratio,blocks_cut\n";
    for (const support::Curve& curve : sweep.curves)
        for (std::size_t d = 0; d < sweep.devices.size(); ++d) {
            out << '"' << model << "\"," << curve.layout << ',' << curve.rows << ',' << curve.segments << ','
                << sweep.devices[d] << ',' << sweep.curves.front().outcomes[d]->elements << ',';
            if (const auto& outcome = curve.outcomes[d])
                out << outcome->padded_elements << ',' << ragged::json_number(outcome->padding_ratio) << ','
                    << outcome->blocks_cut << '\n';
            else
                out << ",,\n";
        }
}

void write_table(std::ostream& out, const support::Sweep& sweep) {
    using namespace ragged::detail;
    out << "padding of " << printable(sweep.model.name) << " where so many rows must stay whole together\n"
        << "ragged, N: at most N segments per group; cut: blocks on more than one device\n\n";
    const std::size_t layouts = sweep.curves.size() / sweep.rows.size();
    TextTable table;
    std::vector<std::string> header{"rows", "devices"};
    for (std::size_t c = 0; c < layouts; ++c) {
        const support::Curve& curve = sweep.curves[c];
        header.emplace_back(curve.layout);
        if (curve.layout == ours)
            header.back() += ragged::concat(", ", curve.segments);
        else
            header.emplace_back("cut");
    }
    table.row(std::move(header));
    for (std::size_t first = 0; first < sweep.curves.size(); first += layouts) {
        table.rule();
        for (std::size_t d = 0; d < sweep.devices.size(); ++d) {
            std::vector<std::string> cells{grouped(sweep.curves[first].rows), grouped(sweep.devices[d])};
            for (std::size_t c = first; c < first + layouts; ++c) {
                const auto& outcome = sweep.curves[c].outcomes[d];
                cells.push_back(outcome ? percent(outcome->padding_ratio) : "");
                if (sweep.curves[c].layout != ours)
                    cells.push_back(outcome ? human_count(outcome->blocks_cut) : "");
            }
            table.row(std::move(cells));
        }
    }
    table.write(out, "  ");
}

void write_chart(std::ostream& out, const support::Sweep& sweep) {
    ragged::LineChart chart;
    chart.title = "Padding of " + sweep.model.name + " against the number of devices";
    chart.x_label = "devices";
    chart.dashed_label = "some blocks are cut";
    chart.counts = sweep.devices;
    for (const std::int64_t rows : sweep.rows) {
        ragged::ChartPanel& panel = chart.panels.emplace_back();
        panel.title =
            rows == 1 ? "each row stays whole" : ragged::concat("blocks of ", rows, " rows stay whole");
        for (const support::Curve& curve : sweep.curves)
            if (curve.rows == rows)
                panel.lines.push_back(curve.line);
    }
    ragged::write_svg(out, chart);
}

void run(const support::Options& options) {
    support::require_inventory(options);
    const std::vector<std::int64_t> segments = options.numbers("--segments", 1, "1,2,3");
    support::Sweep sweep{.model = {},
                         .options = {.alignment_bytes = options.number("--align-bytes", 1, 128)},
                         .rows = options.numbers("--rows", 1, "1,16,128"),
                         .devices = options.numbers("--devices", 1, "", support::Ranges::doubling)};
    support::Outputs outputs(options, {"--csv", "--svg"}, options.positional(), "inventory");
    sweep.model = support::read_model(options);
    for (const std::int64_t rows : sweep.rows) {
        support::apply({{"", ragged::rows(rows)}}, sweep.model);
        for (std::size_t i = 0; i < segments.size(); ++i)
            sweep.add({ours, segments[i], rows, our_line(segments[i], segments.size() - 1 - i)},
                      planner(segments[i]));
        const auto add = [&](const char* layout, const char* colour, const auto& policy) {
            sweep.add({layout, 1, rows, {layout, colour}}, policy);
        };
        add("FSDP1/ZeRO", "#e69f00", ragged::policy::FlatElements{});
        add("FSDP2", "#cc79a7", ragged::policy::EvenRows{});
        add("Megatron-FSDP", "#009e73", ragged::policy::CommonRowMultiple{});
    }
    if (std::ostream* csv = outputs.stream("--csv"))
        write_csv(*csv, sweep);
    if (std::ostream* svg = outputs.stream("--svg"))
        write_chart(*svg, sweep);
    if (std::ostream* table = outputs.text())
        write_table(*table, sweep);
    outputs.publish();
}

} // namespace

int main(int count, char** arguments) {
    return support::run_program("plan_sweep", usage, count, arguments,
                                {{"--devices"},
                                 {"--rows"},
                                 {"--segments"},
                                 {"--align-bytes"},
                                 {"--csv"},
                                 {"--svg"},
                                 {"--help", false}},
                                run);
}
