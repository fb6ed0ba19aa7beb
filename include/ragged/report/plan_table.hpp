// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A model plan for people: a table with one line per kind of group, and an explanation of what its padding
// costs, which tensor forces it, what each remedy would save, and what today's layouts would do with the same
// tensors.
#pragma once

#include <algorithm> // std::count_if
#include <ostream>
#include <string>
#include <vector>

#include <ragged/core/utf8.hpp>
#include <ragged/plan/advice.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/policy/comparison.hpp>
#include <ragged/plan/whole_axis_cost.hpp>
#include <ragged/report/group_runs.hpp>
#include <ragged/report/text.hpp>

namespace ragged {

namespace detail {

/// One group as a spec again, to plan it otherwise; numbers as names, for slices share theirs.
inline GroupSpec spec_of(const Plan& plan) {
    GroupSpec group{plan.name, {}};
    for (const PlacedTensor& tensor : plan.tensors) {
        group.tensors.push_back(tensor.spec);
        group.tensors.back().name = std::to_string(group.tensors.size());
    }
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
        for (std::size_t i = 0; i < plan.segments.size(); ++i) {
            const Segment& segment = plan.segments[i];
            const auto inside =
                std::count_if(plan.tensors.begin(), plan.tensors.end(), [&](const PlacedTensor& tensor) {
                    return tensor.segment == static_cast<std::int64_t>(i);
                });
            table.row({i == 0 ? run_name(model, run) : concat("  + segment ", i + 1), grouped(inside),
                       human_count(segment.elements), grouped(segment.shard_elems),
                       grouped(segment.lower_bound_elems),
                       percent(padding_ratio(segment.region_begin(plan.num_devices), segment.elements)),
                       segment.proven_optimal() ? "yes" : "no",
                       segment.set_by < 0 ? "fair share"
                                          : printable(plan.tensors[static_cast<std::size_t>(segment.set_by)]
                                                          .spec.name.substr(prefix))});
        }
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

namespace detail {

/// What is planned otherwise, in a few words.
inline std::string remedy_name(const Advice& advice) {
    switch (advice.remedy) {
    case Remedy::more_segments:
        return concat(advice.max_segments, " segments per group");
    case Remedy::slices:
        return concat(grouped(advice.slices), " slices placed alone");
    case Remedy::more_layers:
        return concat(advice.layers_per_group, " layers per group");
    case Remedy::replicas:
        return concat(grouped(advice.num_devices), " devices x ", advice.replicas, " replicas");
    case Remedy::unequal:
        return "unequal regions";
    default:
        return "blocks of " + (advice.block.kind == Block::Kind::tile
                                   ? to_string(advice.block.sizes)
                                   : concat(grouped(advice.block.sizes[0]),
                                            advice.block.kind == Block::Kind::rows ? " rows" : " elements"));
    }
}

/// Whether regions of unequal sizes would cost less, and why.
inline void write_comparison(std::ostream& out, const Plan& plan) {
    if (plan.num_devices > max_unequal_devices)
        return;
    const Comparison cost = compare(
        plan, make_unequal_plan(spec_of(plan), plan.num_devices, {.alignment_bytes = plan.alignment_bytes}));
    out << "    " << (cost.unequal_wins() ? "unequal regions" : "equal shards") << " cost less: equal shards "
        << human_bytes(cost.equal_bytes) << " + " << human_bytes(cost.equal_price)
        << " of collectives, unequal regions " << human_bytes(cost.unequal_bytes) << " + "
        << human_bytes(cost.unequal_price) << "\n";
}

/// The remedies beside the plan as it is.
inline void write_advice(std::ostream& out, const ModelPlan& model, const std::vector<Advice>& advice) {
    out << "\nremedies, each planned anew; bytes are per device, of all groups\n\n";
    TextTable table;
    table.row({"remedy", "padding", "shards", "saved", "gathered saved", "largest gather", "tensors"});
    table.rule();
    const PlanTotals now = totals_of(model);
    table.row({"this plan", percent(now.padding_ratio), human_bytes(now.region_bytes), "-", "-",
               human_bytes(now.largest_gathered_bytes), "-"});
    for (const Advice& each : advice)
        table.row({remedy_name(each), percent(each.totals.padding_ratio),
                   human_bytes(each.totals.region_bytes), human_bytes(each.saved_bytes_per_device),
                   human_bytes(each.saved_gathered_bytes), human_bytes(each.totals.largest_gathered_bytes),
                   each.tensors.empty() ? "-" : common_pattern(each.tensors)});
    table.write(out, "  ");
}

} // namespace detail

/// "group 'layers.0' on 16 devices: keeping axes whole costs 2.100 % padding, 2.300 % instead of 0.200 %;
/// 'o_proj', whole from dimension 1, sets the shards".
inline std::string to_string(const WholeAxisCost& cost) {
    using detail::percent, detail::printable;
    const std::string start =
        concat("group '", printable(cost.group), "' on ", detail::grouped(cost.num_devices),
               " devices: keeping axes whole costs ");
    if (cost.added() <= 0)
        return concat(start, "nothing, padding is ", percent(cost.padding_ratio));
    std::string text = concat(start, percent(cost.added()), " padding, ", percent(cost.padding_ratio),
                              " instead of ", percent(cost.blocks_padding_ratio));
    if (!cost.tensor.empty())
        text += concat("; '", printable(cost.tensor), "'",
                       cost.whole_from < 0 ? "" : concat(", whole from dimension ", cost.whole_from, ","),
                       " sets the shards");
    return text;
}

/// For each kind of group what forces its shard and what the padding costs, then the remedies and other
/// layouts beside this plan.
/// @param advice  of advise() for the same model, devices, policy and options
inline void write_explanation(std::ostream& out, const ModelPlan& model, const std::vector<Advice>& advice) {
    using namespace detail;
    LayoutSums ours, flat, even, common, concatenated;
    out << "why\n\n";
    for (const GroupRun& run : group_runs(model)) {
        const Plan& plan = model.groups[run.first];
        const auto times = static_cast<std::int64_t>(run.count);
        const DType dtype[] = {largest_dtype(plan)};
        add_to(ours, plan, times);
        add_layout<policy::FlatElements>(flat, plan, times);
        add_layout<policy::EvenRows>(even, plan, times);
        add_layout<policy::CommonRowMultiple>(common, plan, times);
        add_layout<policy::Concatenate>(concatenated, plan, times);

        const std::vector<Blame> blames = blame(plan);
        for (std::size_t i = 0; i < blames.size(); ++i) {
            const Segment& segment = plan.segments[i];
            out << "  " << run_name(model, run) << ": a fair share is "
                << grouped(ceil_div(segment.elements, plan.num_devices)) << " elements, S is "
                << grouped(segment.shard_elems) << "\n    padding costs " << human_bytes(blames[i].lost_bytes)
                << " per device and group in " << name(dtype[0]) << "\n    ";
            if (blames[i].tensor < 0)
                out << "nothing forces S: it is the fair share, aligned to " << plan.alignment_elems
                    << " elements\n";
            else {
                const PlacedTensor& tensor = plan.tensors[static_cast<std::size_t>(blames[i].tensor)];
                out << "S is set by " << shortened(tensor.spec.name, 48) << " "
                    << to_string(tensor.spec.shape) << ", cut in steps of " << grouped(blames[i].step_elems)
                    << " elements (" << to_string(tensor.spec.block, tensor.spec.whole_from) << ")\n";
            }
        }
        out << "    gathered the group takes " << human_bytes(plan.peak_bytes({}, dtype)) << ", a shard "
            << human_bytes(plan.peak_bytes(dtype, {})) << " in " << name(dtype[0]) << "\n";
        write_comparison(out, plan);
    }
    if (!advice.empty())
        write_advice(out, model, advice);
    out << "\nother layouts of the same tensors on the same devices\n\n";
    TextTable table;
    table.row({"layout", "padding", "bytes per device", "blocks cut", "copied per gather and device"});
    table.rule();
    const std::int64_t elements = model.elements();
    for (const LayoutSums* sums : {&ours, &flat, &concatenated, &common, &even}) {
        const std::string name = sums == &ours ? "ragged, " + sums->name : sums->name;
        if (sums->possible)
            table.row({name, percent(padding_ratio(sums->padded, elements)), human_bytes(sums->shard_bytes),
                       grouped(sums->blocks_cut), human_bytes(sums->copied_bytes)});
        else
            table.row({name, "impossible", "-", "-", "-"});
    }
    table.write(out, "  ");
}

} // namespace ragged
