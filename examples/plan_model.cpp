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

void run(const support::Options& options) {
    if (options.positional().empty())
        throw support::UsageError("which INVENTORY.tsv? --help shows the usage");
    if (!options.has("--devices"))
        throw support::UsageError("--devices M is missing");
    const std::int64_t devices = options.number("--devices", 1, 1);
    const std::int64_t segments = options.number("--segments", 1, 1);
    if (segments > 1)
        throw support::UsageError(ragged::concat(
            "--segments ", segments, ": plans with more than one segment are not available yet, use 1"));
    const std::string order = options.value("--order", "as-given"), json = options.value("--json"),
                      svg = options.value("--svg");
    const ragged::policy::Exact policy{order_of(order)};
    const std::int64_t alignment = options.number("--align-bytes", 1, 128);
    const std::vector<support::Granularity> granularities =
        support::parse_granularities(options.values("--granularity"));

    ragged::ModelSpec model = ragged::read_inventory(std::filesystem::path(options.positional()));
    if (options.has("--group"))
        keep_group(model, options.value("--group"));
    support::apply(granularities, model);

    const auto start = std::chrono::steady_clock::now();
    const ragged::ModelPlan plan = ragged::make_plan(model, devices, policy, {.alignment_bytes = alignment});
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const ragged::PlanRun plan_run{order, segments, seconds};

    // Every output is written in full before any gets its name.
    std::optional<support::OutputFile> json_file, svg_file;
    if (options.has("--json") && json != "-")
        ragged::write_json(json_file.emplace(json).stream(), plan, plan_run);
    if (options.has("--svg"))
        ragged::write_svg(svg_file.emplace(svg).stream(), plan);
    for (auto* file : {&json_file, &svg_file})
        if (file->has_value())
            (*file)->finish();
    if (json == "-") {
        ragged::write_json(std::cout, plan, plan_run);
    } else {
        ragged::write_table(std::cout, plan);
        if (options.has("--explain")) {
            std::cout << '\n';
            ragged::write_explanation(std::cout, plan);
        }
    }
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
        std::cerr << "plan_model: " << error.what() << '\n';
        return 2;
    }
}
