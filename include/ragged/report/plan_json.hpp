// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A model plan as one JSON object, schema "ragged.plan/1", for programs that read plans.
#pragma once

#include <charconv>
#include <ostream>
#include <string>
#include <string_view>

#include <ragged/core/json.hpp>
#include <ragged/plan/make_plan.hpp>

namespace ragged {

/// What a plan does not know about how it was made.
struct PlanRun {
    std::string_view order = "as-given";
    std::int64_t max_segments = 1;
    double plan_seconds = 0; // planning only
};

namespace detail {

inline std::string hex(std::uint64_t value) {
    char text[16];
    const auto end = std::to_chars(text, text + sizeof text, value, 16).ptr;
    return std::string(static_cast<std::size_t>(text + sizeof text - end), '0') + std::string(text, end);
}

inline std::string json_of(const PlacedTensor& tensor) {
    std::string shape;
    for (int dim = 0; dim < tensor.spec.shape.rank(); ++dim)
        shape += concat(dim == 0 ? "" : ", ", tensor.spec.shape[dim]);
    return concat("{\"name\": ", json_string(tensor.spec.name), ", \"shape\": [", shape,
                  "], \"granularity\": ", tensor.cuts.step, ", \"offset\": ", tensor.offset,
                  ", \"elements\": ", tensor.elements(), "}");
}

} // namespace detail

/// Write the object and a newline. The caller checks the stream.
inline void write_json(std::ostream& out, const ModelPlan& model, const PlanRun& run) {
    const std::int64_t devices = model.groups.empty() ? 1 : model.groups.front().num_devices;
    const std::int64_t alignment = model.groups.empty() ? 0 : model.groups.front().alignment_bytes;
    out << "{\"schema\": \"ragged.plan/1\", \"model\": " << json_string(model.name)
        << ", \"devices\": " << devices << ", \"alignment_bytes\": " << alignment
        << ", \"order\": " << json_string(run.order) << ", \"max_segments\": " << run.max_segments
        << ",\n \"groups\": [";
    for (std::size_t g = 0; g < model.groups.size(); ++g) {
        const Plan& plan = model.groups[g];
        out << (g == 0 ? "\n" : ",\n") << "  {\"name\": " << json_string(plan.name)
            << ", \"elements\": " << plan.elements()
            << ", \"padding_ratio\": " << json_number(plan.padding_ratio()) << ", \"segments\": [";
        for (std::size_t s = 0; s < plan.segments.size(); ++s) {
            const Segment& segment = plan.segments[s];
            out << (s == 0 ? "\n" : ",\n") << "   {\"shard_elements\": " << segment.shard_elems
                << ", \"lower_bound_shard_elements\": " << segment.lower_bound_elems
                << ", \"proven_optimal\": " << (segment.proven_optimal() ? "true" : "false")
                << ", \"tensors\": [";
            bool first = true;
            for (const PlacedTensor& tensor : plan.tensors)
                if (tensor.segment == static_cast<std::int64_t>(s)) {
                    out << (first ? "\n    " : ",\n    ") << detail::json_of(tensor);
                    first = false;
                }
            out << "]}";
        }
        out << "]}";
    }
    out << "],\n \"elements\": " << model.elements() << ", \"padded_elements\": " << model.padded_elements()
        << ", \"padding_ratio\": " << json_number(model.padding_ratio())
        << ", \"plan_seconds\": " << json_number(run.plan_seconds) << ", \"fingerprint\": \""
        << detail::hex(fingerprint(model)) << "\"}\n";
}

} // namespace ragged
