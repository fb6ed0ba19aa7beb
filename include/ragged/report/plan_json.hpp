// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A model plan as one JSON object, schema "ragged.plan/1", for programs that read plans; read_plan.hpp is
// one.
//
// Tensors are listed by segment, in the order of registration; one whose place in that order is not its place
// in the list of its group says so as "index". Each slice of a sliced tensor is an entry with the tensor's
// name and its "slice"; a stack of no slices is one entry with "sliced". One that other axes keep whole has
// "whole_from", counted in the dimensions of its "shape". "alignment_bytes" of the whole is what every group
// is aligned to at least; a group with a stricter tensor has a larger one.
#pragma once

#include <algorithm>
#include <charconv>
#include <ostream>
#include <string>
#include <string_view>

#include <ragged/core/json.hpp>
#include <ragged/plan/model_plan.hpp>

namespace ragged {

/// What a plan does not know about how it was made.
struct PlanRun {
    std::string_view order = "as-given";
    std::int64_t max_segments = 1;
    double plan_seconds = 0; // planning only
};

namespace detail {

inline constexpr std::string_view plan_schema = "ragged.plan/1";

inline std::string hex(std::uint64_t value) {
    char text[16];
    const auto end = std::to_chars(text, text + sizeof text, value, 16).ptr;
    return std::string(static_cast<std::size_t>(text + sizeof text - end), '0') + std::string(text, end);
}

inline std::int64_t common_alignment_bytes(const ModelPlan& model) {
    std::int64_t least = model.groups.empty() ? 0 : max_count;
    for (const Plan& plan : model.groups)
        least = std::min(least, plan.alignment_bytes);
    return least;
}

inline std::string json_of(std::int64_t value) {
    return concat(value);
}
inline std::string json_of(double value) {
    return json_number(value);
}
inline std::string json_of(bool value) {
    return value ? "true" : "false";
}
inline std::string json_of(const std::string& value) {
    return json_string(value);
}

/// @param listed  entries of the group before this one
inline std::string json_of(const Plan& plan, std::size_t index, std::size_t listed) {
    const PlacedTensor& tensor = plan.tensors[index];
    const TensorSpec& spec = tensor.spec;
    std::string shape;
    for (int dim = 0; dim < spec.shape.rank(); ++dim)
        shape += concat(dim == 0 ? "" : ", ", spec.shape[dim]);
    return concat("{\"name\": ", json_string(spec.name), ", \"shape\": [", shape,
                  "], \"granularity\": ", tensor.cuts.step, ", \"offset\": ", tensor.offset,
                  ", \"elements\": ", tensor.elements(), ", \"dtype\": \"", name(spec.dtype),
                  "\", \"block\": \"", to_string(spec.block), "\", \"align_bytes\": ", spec.align_bytes,
                  spec.sliced ? ", \"sliced\": true" : "",
                  spec.whole_from < 0 ? "" : concat(", \"whole_from\": ", spec.whole_from),
                  tensor.slice < 0 ? "" : concat(", \"slice\": ", tensor.slice),
                  index == listed ? "" : concat(", \"index\": ", index), "}");
}

/// Which tensor forced S.
inline std::string json_set_by(const Plan& plan, const Segment& segment) {
    if (segment.set_by < 0)
        return "null";
    const PlacedTensor& tensor = plan.tensors[static_cast<std::size_t>(segment.set_by)];
    return concat("{\"name\": ", json_string(tensor.spec.name),
                  tensor.slice < 0 ? "" : concat(", \"slice\": ", tensor.slice), "}");
}

} // namespace detail

/// Write the object and a newline. The caller checks the stream.
/// A byte of a name that is no UTF-8 becomes U+FFFD; read_plan_json then finds another fingerprint.
/// @throws PlanError  a layout that breaks laws, or groups over different numbers of devices; nothing is
///                    written then
inline void write_json(std::ostream& out, const ModelPlan& model, const PlanRun& run) {
    const std::int64_t devices = model.groups.empty() ? 1 : model.groups.front().num_devices;
    for (const Plan& plan : model.groups) {
        if (plan.violations.any()) // offsets need not mean the same there
            throw PlanError(concat("group '", plan.name, "': the layout of policy '", plan.policy,
                                   "' breaks laws and is not written as a plan"));
        if (plan.num_devices != devices)
            throw PlanError(concat("group '", plan.name, "' is planned for ", plan.num_devices,
                                   " devices, the first group for ", devices));
    }
    // whole lines: the locale of the stream does not get at their numbers
    out << concat("{\"schema\": \"", detail::plan_schema, "\", \"model\": ", json_string(model.name),
                  ", \"devices\": ", devices,
                  ", \"alignment_bytes\": ", detail::common_alignment_bytes(model),
                  ", \"order\": ", json_string(run.order), ", \"max_segments\": ", run.max_segments,
                  ",\n \"groups\": [");
    for (std::size_t g = 0; g < model.groups.size(); ++g) {
        const Plan& plan = model.groups[g];
        out << concat(g == 0 ? "\n" : ",\n", "  {\"name\": ", json_string(plan.name),
                      ", \"policy\": ", json_string(plan.policy),
                      ", \"alignment_bytes\": ", plan.alignment_bytes,
                      ", \"alignment_elements\": ", plan.alignment_elems, ", \"elements\": ", plan.elements(),
                      ", \"padding_ratio\": ", json_number(plan.padding_ratio()), ", \"segments\": [");
        std::size_t listed = 0;
        for (std::size_t s = 0; s < plan.segments.size(); ++s) {
            const Segment& segment = plan.segments[s];
            out << concat(s == 0 ? "\n" : ",\n", "   {\"shard_elements\": ", segment.shard_elems,
                          ", \"lower_bound_shard_elements\": ", segment.lower_bound_elems,
                          ", \"proven_optimal\": ", detail::json_of(segment.proven_optimal()),
                          ", \"set_by\": ", detail::json_set_by(plan, segment), ", \"tensors\": [");
            bool first = true;
            for (std::size_t i = 0; i < plan.tensors.size(); ++i)
                if (plan.tensors[i].segment == static_cast<std::int64_t>(s)) {
                    out << (first ? "\n    " : ",\n    ") << detail::json_of(plan, i, listed++);
                    first = false;
                }
            out << "]}";
        }
        out << "]}";
    }
    out << concat("],\n \"elements\": ", model.elements(), ", \"padded_elements\": ", model.padded_elements(),
                  ", \"padding_ratio\": ", json_number(model.padding_ratio()),
                  ", \"plan_seconds\": ", json_number(run.plan_seconds), ", \"fingerprint\": \"",
                  detail::hex(fingerprint(model)), "\"}\n");
}

} // namespace ragged
