// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A model plan for people: a table with one line per kind of group, and an explanation of what its padding
// costs, which tensor forces it, and what today's layouts would do with the same tensors.
#pragma once

#include <ostream>
#include <string>

#include <ragged/core/utf8.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/policy/comparison.hpp>
#include <ragged/report/group_runs.hpp>
#include <ragged/report/text.hpp>

namespace ragged {

namespace detail {

/// The element type of the group's tensors; the largest where they differ.
inline DType largest_dtype(const Plan& plan) {
    DType largest = plan.tensors.empty() ? DType::bf16 : plan.tensors.front().spec.dtype;
    for (const PlacedTensor& tensor : plan.tensors)
        if (size_bytes(tensor.spec.dtype) > size_bytes(largest))
            largest = tensor.spec.dtype;
    return largest;
}

/// One group as a spec again, to plan it otherwise.
inline GroupSpec spec_of(const Plan& plan) {
    GroupSpec group{plan.name, {}};
    for (const PlacedTensor& tensor : plan.tensors)
        group.tensors.push_back(tensor.spec);
    return group;
}

struct LayoutSums {
    std::string name;
    std::int64_t padded = 0, blocks_cut = 0, copied_bytes = 0;
    std::int64_t shard_bytes = 0;
    bool possible = true;
};

inline void add_to(LayoutSums& sums, const Plan& plan, std::int64_t times) {
    const std::int64_t bytes = size_bytes(largest_dtype(plan));
    sums.name = plan.policy;
    sums.padded += plan.padded_elements() * times;
    sums.blocks_cut += plan.violations.blocks_cut * times;
    sums.copied_bytes += plan.violations.copied_per_gather * bytes * times;
    sums.shard_bytes += plan.region_elems() * bytes * times;
}

/// The same tensors laid out by `Policy`. Some layouts do not exist for some groups: a multiple of all rows
/// may not fit 64 bits.
template <class Policy>
void add_layout(LayoutSums& sums, const Plan& plan, std::int64_t times) {
    sums.name = Policy::name;
    try {
        add_to(
            sums,
            make_plan(spec_of(plan), plan.num_devices, Policy{}, {.alignment_bytes = plan.alignment_bytes}),
            times);
    } catch (const PlanError&) {
        sums.possible = false;
    }
}

} // namespace detail

/// One line per kind of group, and the totals.
inline void write_table(std::ostream& out, const ModelPlan& model) {
    using namespace detail;
    const std::int64_t devices = model.groups.empty() ? 1 : model.groups.front().num_devices;
    out << "plan of " << printable(model.name) << " on " << grouped(devices)
        << " devices: " << model.groups.size() << " groups, " << grouped(model.elements()) << " elements\n\n";
    TextTable table;
    table.row({"group", "tensors", "elements", "shard S", "lower bound", "padding", "optimal", "S set by"});
    table.rule();
    for (const GroupRun& run : group_runs(model)) {
        const Plan& plan = model.groups[run.first];
        const std::size_t prefix = common_prefix(plan);
        for (const Segment& segment : plan.segments)
            table.row({run_name(model, run), grouped(static_cast<std::int64_t>(plan.tensors.size())),
                       human_count(segment.elements), grouped(segment.shard_elems),
                       grouped(segment.lower_bound_elems), percent(plan.padding_ratio()),
                       segment.proven_optimal() ? "yes" : "no",
                       segment.set_by < 0 ? "fair share"
                                          : printable(plan.tensors[static_cast<std::size_t>(segment.set_by)]
                                                          .spec.name.substr(prefix))});
    }
    table.rule();
    std::int64_t shards = 0, tensors = 0;
    for (const Plan& plan : model.groups) {
        shards += plan.region_elems();
        tensors += static_cast<std::int64_t>(plan.tensors.size());
    }
    table.row({"all", grouped(tensors), human_count(model.elements()), grouped(shards), "",
               percent(model.padding_ratio())});
    table.write(out, "  ");
}

/// For each kind of group what forces its shard and what the padding costs, then other layouts beside this
/// one.
inline void write_explanation(std::ostream& out, const ModelPlan& model) {
    using namespace detail;
    LayoutSums ours, flat, even, common, concatenated;
    out << "why\n\n";
    for (const GroupRun& run : group_runs(model)) {
        const Plan& plan = model.groups[run.first];
        const auto times = static_cast<std::int64_t>(run.count);
        const DType dtype[] = {largest_dtype(plan)};
        const std::int64_t bytes = size_bytes(dtype[0]);
        add_to(ours, plan, times);
        add_layout<policy::FlatElements>(flat, plan, times);
        add_layout<policy::EvenRows>(even, plan, times);
        add_layout<policy::CommonRowMultiple>(common, plan, times);
        add_layout<policy::Concatenate>(concatenated, plan, times);

        for (const Segment& segment : plan.segments) {
            const std::int64_t fair = ceil_div(segment.elements, plan.num_devices);
            const std::int64_t lost = segment.shard_elems - fair;
            out << "  " << run_name(model, run) << ": a fair share is " << grouped(fair) << " elements, S is "
                << grouped(segment.shard_elems) << "\n    padding costs " << human_bytes(lost * bytes)
                << " per device and group in " << name(dtype[0]) << "\n    ";
            if (segment.set_by < 0)
                out << "nothing forces S: it is the fair share, aligned to " << plan.alignment_elems
                    << " elements\n";
            else {
                const PlacedTensor& tensor = plan.tensors[static_cast<std::size_t>(segment.set_by)];
                out << "S is set by " << shortened(tensor.spec.name, 48) << " "
                    << to_string(tensor.spec.shape) << ", cut in steps of " << grouped(tensor.cuts.step)
                    << " elements (" << to_string(tensor.spec.block) << ")\n";
            }
            out << "    gathered the group takes " << human_bytes(plan.peak_bytes({}, dtype)) << ", a shard "
                << human_bytes(plan.peak_bytes(dtype, {})) << " in " << name(dtype[0]) << "\n";
        }
    }
    out << "\nother layouts of the same tensors on the same devices\n\n";
    TextTable table;
    table.row({"layout", "padding", "bytes per device", "blocks cut", "copied per gather and device"});
    table.rule();
    const std::int64_t elements = model.elements();
    for (const LayoutSums* sums : {&ours, &flat, &concatenated, &common, &even}) {
        const std::string name = sums == &ours ? "ragged, " + sums->name : sums->name;
        if (sums->possible)
            table.row(
                {name,
                 percent(elements == 0
                             ? 0
                             : static_cast<double>(sums->padded - elements) / static_cast<double>(elements)),
                 human_bytes(sums->shard_bytes), grouped(sums->blocks_cut), human_bytes(sums->copied_bytes)});
        else
            table.row({name, "impossible", "-", "-", "-"});
    }
    table.write(out, "  ");
}

} // namespace ragged
