// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Plan every group of a model inventory and print, explain, export or draw the plan.
#include <chrono>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/ragged.hpp>
#include <ragged/report/plan_json.hpp>
#include <ragged/report/plan_svg.hpp>
#include <ragged/report/plan_table.hpp>

#include "support/granularity.hpp"
#include "support/options.hpp"
#include "support/program.hpp"

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
  [--explain]                      what forces the padding, what each remedy saves, and other layouts beside
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
    support::require_inventory(options);
    if (!options.has("--devices"))
        throw support::UsageError("--devices M is missing");
    const std::int64_t devices = options.number("--devices", 1, 1);
    const std::int64_t segments = options.number("--segments", 1, 1);
    const std::string order = options.value("--order", "as-given");
    support::Outputs outputs(options, {"--json", "--svg"}, options.positional(), "inventory");
    const ragged::policy::Exact policy{.order = order_of(order), .max_segments = segments};
    const ragged::PlanOptions plan_options{.alignment_bytes = options.number("--align-bytes", 1, 128)};
    const std::vector<support::Granularity> granularities =
        support::parse_granularities(options.values("--granularity"));

    ragged::ModelSpec model = support::read_model(options);
    support::apply(granularities, model); // to all groups: the same options serve each of them
    if (options.has("--group"))
        keep_group(model, options.value("--group"));

    const auto start = std::chrono::steady_clock::now();
    const ragged::ModelPlan plan = ragged::make_plan(model, devices, policy, plan_options);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    if (std::ostream* json = outputs.stream("--json"))
        ragged::write_json(*json, plan, {order, segments, seconds});
    if (std::ostream* svg = outputs.stream("--svg"))
        ragged::write_svg(*svg, plan);
    if (std::ostream* table = outputs.text()) {
        ragged::write_table(*table, plan);
        if (options.has("--explain")) {
            *table << '\n';
            ragged::write_explanation(*table, plan, ragged::advise(model, devices, policy, plan_options));
        }
    }
    outputs.publish();
}

} // namespace

int main(int count, char** arguments) {
    return support::run_program("plan_model", usage, count, arguments,
                                {{"--devices"},
                                 {.name = "--granularity", .repeats = true},
                                 {"--segments"},
                                 {"--order"},
                                 {"--align-bytes"},
                                 {"--group"},
                                 {"--json"},
                                 {"--svg"},
                                 {"--explain", false},
                                 {"--help", false}},
                                run);
}
