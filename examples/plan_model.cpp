// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Plan every group of a model inventory and print, explain, export or draw the plan.
#include <chrono>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include <ragged/ragged.hpp>
#include <ragged/report/plan_json.hpp>
#include <ragged/report/plan_svg.hpp>
#include <ragged/report/plan_table.hpp>

#include "support/granularity.hpp"
#include "support/options.hpp"
#include "support/output_file.hpp"

namespace {

constexpr std::string_view usage =
    R"(plan_model INVENTORY.tsv --devices M
  [--granularity SPEC[@GLOB]]...   what must stay whole: elements:N | rows:N | block:AxBx... | whole
                                   later options win; default rows:1. rows and block are for 2-D and more
  [--segments N]                   at most N segments per group, default 1
  [--order as-given|search]        default as-given
  [--align-bytes B]                default 128
  [--group NAME]                   this group only
  [--json FILE|-]                  the plan as JSON; - is standard output, without the table
  [--svg FILE]                     the plan as a drawing
  [--explain]                      what forces the padding, and other layouts beside
)";

ragged::policy::Order order_of(const std::string& text) {
    if (text == "as-given")
        return ragged::policy::Order::as_given;
    if (text == "search")
        return ragged::policy::Order::search;
    throw support::UsageError(ragged::concat("--order '", text, "' is neither as-given nor search"));
}

void keep_group(ragged::ModelSpec& model, const std::string& name) {
    std::erase_if(model.groups, [&](const ragged::GroupSpec& group) { return group.name != name; });
    if (model.groups.empty())
        throw support::UsageError(
            ragged::concat("--group '", name, "': model '", model.name, "' has no such group"));
}

/// Refuse outputs that would destroy each other or the inventory.
void check_outputs(const std::string& inventory, const support::Options& options) {
    const std::string json = options.value("--json"), svg = options.value("--svg");
    if (svg == "-")
        throw support::UsageError("--svg needs a file, '-' is none");
    for (const std::string& output : {json, svg})
        if (!output.empty() && output != "-" && support::same_file(output, inventory))
            throw support::UsageError(
                ragged::concat("'", output, "' is the inventory, it is not overwritten"));
    const bool json_stdout = json == "-" || support::is_standard_output(json);
    if (!json.empty() && !svg.empty() &&
        (json_stdout ? support::is_standard_output(svg) : support::same_file(json, svg)))
        throw support::UsageError(ragged::concat("--json and --svg both name '", svg, "'"));
}

void run(const support::Options& options) {
    if (options.positional().empty())
        throw support::UsageError("which INVENTORY.tsv? --help shows the usage");
    if (!options.has("--devices"))
        throw support::UsageError("--devices M is missing");
    const std::int64_t devices = options.number("--devices", 1, 1);
    const std::int64_t segments = options.number("--segments", 1, 1);
    const std::string order = options.value("--order", "as-given"), svg = options.value("--svg");
    const bool has_svg = options.has("--svg"), has_json = options.has("--json");
    std::string json = options.value("--json");
    check_outputs(options.positional(), options);
    if (has_json && support::is_standard_output(json))
        json = "-"; // by another name
    const ragged::policy::Exact policy{.order = order_of(order), .max_segments = segments};
    const std::int64_t alignment = options.number("--align-bytes", 1, 128);
    const std::vector<support::Granularity> granularities =
        support::parse_granularities(options.values("--granularity"));

    ragged::ModelSpec model = ragged::read_inventory(std::filesystem::path(options.positional()));
    if (model.groups.empty())
        throw support::UsageError(ragged::concat(options.positional(), ": lists no tensor"));
    support::apply(granularities, model); // to all groups: the same options serve each of them
    if (options.has("--group"))
        keep_group(model, options.value("--group"));

    const auto start = std::chrono::steady_clock::now();
    const ragged::ModelPlan plan = ragged::make_plan(model, devices, policy, {.alignment_bytes = alignment});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const ragged::PlanRun plan_run{order, segments, seconds};

    // Every output is written in full before any gets its name, and standard output comes last.
    std::optional<support::OutputFile> json_file, svg_file;
    if (has_json && json != "-")
        json_file.emplace(json);
    if (has_svg && !support::is_standard_output(svg))
        svg_file.emplace(svg);
    std::ostringstream text;
    if (has_json)
        ragged::write_json(json_file ? json_file->stream() : text, plan, plan_run);
    if (has_svg)
        ragged::write_svg(svg_file ? svg_file->stream() : text, plan);
    if (text.view().empty()) { // else a program reads it
        ragged::write_table(text, plan);
        if (options.has("--explain")) {
            text << '\n';
            ragged::write_explanation(text, plan);
        }
    }
    for (auto* file : {&json_file, &svg_file})
        if (file->has_value())
            (*file)->finish();
    std::cout << text.view();
    support::finish_standard_output();
    for (auto* file : {&json_file, &svg_file})
        if (file->has_value())
            (*file)->publish();
}

} // namespace

int main(int count, char** arguments) {
    try {
        const support::Options options(count, arguments,
                                       {{"--devices"},
                                        {.name = "--granularity", .repeats = true},
                                        {"--segments"},
                                        {"--order"},
                                        {"--align-bytes"},
                                        {"--group"},
                                        {"--json"},
                                        {"--svg"},
                                        {"--explain", false},
                                        {"--help", false}});
        if (options.has("--help")) {
            std::cout << usage;
            support::finish_standard_output();
        } else {
            run(options);
        }
        return 0;
    } catch (const std::exception& error) {
        std::cerr << "plan_model: " << support::one_line(error.what()) << '\n';
        return 2;
    }
}
