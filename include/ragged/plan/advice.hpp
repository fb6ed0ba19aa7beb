// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What to do about padding: the tensor that forces it, and what each way out would give, found by planning
// the whole model that way. Data only; report/plan_table.hpp has the words.
//
//     for (const ragged::Advice& advice : ragged::advise(model, 1024))
//         use(advice.remedy, advice.saved_bytes_per_device);
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator> // std::ssize
#include <string>
#include <utility>
#include <vector>

#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/unequal_plan.hpp>

namespace ragged {

/// What forces the shards of one segment, and what that costs.
struct Blame {
    std::int64_t tensor = -1;    // index in Plan::tensors; -1: none, S is the fair share
    std::int64_t step_elems = 1; // its granularity
    std::int64_t lost_bytes = 0; // per device, beyond an even split, in the group's largest element type
};

/// One for each segment of the plan. @throws PlanError  bytes beyond 64 bits
inline std::vector<Blame> blame(const Plan& plan) {
    const std::int64_t bytes = size_bytes(detail::largest_dtype(plan));
    std::vector<Blame> result;
    for (const Segment& segment : plan.segments) {
        const std::int64_t lost = segment.shard_elems - ceil_div(segment.elements, plan.num_devices);
        result.push_back(
            {segment.set_by,
             segment.set_by < 0 ? 1 : plan.tensors[static_cast<std::size_t>(segment.set_by)].cuts.step,
             checked_mul(lost, bytes, "lost bytes")});
    }
    return result;
}

/// What the plan of a whole model takes on each device, each group in its largest element type.
struct PlanTotals {
    std::int64_t region_bytes = 0;           // of all groups
    std::int64_t gathered_bytes = 0;         // with padding, of all groups, each gathered once
    std::int64_t largest_gathered_bytes = 0; // of one group: gather buffers must hold it
    double padding_ratio = 0;
};

/// @throws PlanError  bytes beyond 64 bits
inline PlanTotals totals_of(const ModelPlan& model) {
    PlanTotals totals{.padding_ratio = model.padding_ratio()};
    for (const Plan& plan : model.groups) {
        const DType dtype[] = {detail::largest_dtype(plan)};
        const std::int64_t gathered = plan.peak_bytes({}, dtype);
        totals.region_bytes += plan.peak_bytes(dtype, {}); // not above what is gathered
        totals.gathered_bytes = checked_add(totals.gathered_bytes, gathered, "gathered bytes of a model");
        totals.largest_gathered_bytes = std::max(totals.largest_gathered_bytes, gathered);
    }
    return totals;
}

/// The same for regions of unequal sizes: of the device that has most.
inline PlanTotals totals_of(const UnequalModelPlan& model) {
    PlanTotals totals{.padding_ratio = model.padding_ratio()};
    std::vector<std::int64_t> regions; // bytes by device
    for (const UnequalPlan& plan : model.groups) {
        const std::int64_t bytes = size_bytes(detail::largest_dtype(plan));
        const std::int64_t gathered = checked_mul(plan.padded_elements(), bytes, "gathered bytes of a group");
        totals.gathered_bytes = checked_add(totals.gathered_bytes, gathered, "gathered bytes of a model");
        totals.largest_gathered_bytes = std::max(totals.largest_gathered_bytes, gathered);
        regions.resize(static_cast<std::size_t>(plan.num_devices), 0);
        for (std::int64_t rank = 0; rank < plan.num_devices; ++rank) // not above what is gathered
            regions[static_cast<std::size_t>(rank)] += plan.region_elems(rank) * bytes;
    }
    for (const std::int64_t bytes : regions)
        totals.region_bytes = std::max(totals.region_bytes, bytes);
    return totals;
}

enum class Remedy : std::uint8_t {
    more_segments, // Advice::max_segments
    slices,        // Advice::tensors are stacks, placed slice by slice
    more_layers,   // up to Advice::layers_per_group neighbours that differ in names only are one group
    replicas,      // Advice::num_devices share each group, and each region has Advice::replicas
    smaller_block, // Advice::tensors have Advice::block, half of what they had
    unequal,       // regions have sizes of their own and are gathered by counts: make_unequal_plan
};

/// One remedy, and what the plan of the whole model takes with it and nothing else changed. Fields that
/// Remedy does not name for it say how the model is planned already.
struct Advice {
    Remedy remedy{};
    std::int64_t max_segments = 1; // of a group
    std::int64_t layers_per_group = 1;
    std::int64_t num_devices = 1;       // on the shard axis
    std::int64_t replicas = 1;          // times num_devices: the devices there are
    std::vector<std::string> tensors{}; // changed, of all groups
    std::int64_t slices = 0;            // of these tensors together
    Block block{};
    PlanTotals totals{};
    std::int64_t saved_bytes_per_device = 0; // of regions; negative where the remedy takes more memory
    std::int64_t saved_gathered_bytes = 0;
};

namespace detail {

/// Stacks taken apart, but for those that must stay whole and those of tiles that span slices. Rows and runs
/// of elements are counted anew in each slice: a block that ran over two slices becomes two.
inline ModelSpec take_slices(ModelSpec model, Advice& advice) {
    for (GroupSpec& group : model.groups)
        for (TensorSpec& tensor : group.tensors) {
            const bool spans = tensor.block.kind == Block::Kind::whole || tensor.whole_from == 0 ||
                               (tensor.block.kind == Block::Kind::tile && tensor.block.sizes[0] != 1);
            if (tensor.sliced || tensor.shape.rank() < 3 || tensor.shape[0] < 2 || spans)
                continue;
            tensor.sliced = true;
            advice.tensors.push_back(tensor.name);
            advice.slices = std::min(advice.slices, max_count - tensor.shape[0]) + tensor.shape[0];
        }
    return model;
}

/// Up to `layers` neighbours that differ in names only as one group; at the end of their run it may be fewer.
inline ModelSpec join_layers(const ModelSpec& model, std::int64_t layers) {
    ModelSpec joined{model.name, {}};
    std::int64_t layer = 0; // of its run
    for (std::size_t g = 0; g < model.groups.size(); ++g) {
        const GroupSpec& group = model.groups[g];
        layer = g > 0 && same_tensors(model.groups[g - 1], group) ? layer + 1 : 0;
        if (layer % layers == 0)
            joined.groups.push_back({group.name, {}});
        for (const TensorSpec& tensor : group.tensors) {
            joined.groups.back().tensors.push_back(tensor);
            joined.groups.back().tensors.back().name = concat(layer, ".", tensor.name); // unique
        }
    }
    return joined;
}

/// Half as much of the dimension that decides where cuts lie; the same where that is 1, or the block whole.
constexpr Block half_of(const Block& block) {
    int dim = 0;
    while (dim + 1 < block.sizes.rank() && block.sizes[dim] == 1)
        ++dim;
    Block half{block.kind, {}};
    for (int i = 0; i < block.sizes.rank(); ++i)
        half.sizes.push_back(i == dim ? std::max<std::int64_t>(block.sizes[i] / 2, 1) : block.sizes[i]);
    return half;
}

inline ModelSpec halve_block(ModelSpec model, const Block& block, Advice& advice) {
    advice.block = half_of(block);
    for (GroupSpec& group : model.groups)
        for (TensorSpec& tensor : group.tensors)
            if (tensor.block == block) {
                tensor.block = advice.block;
                advice.tensors.push_back(tensor.name);
            }
    return model;
}

/// The blocks of tensors that force shards, as far as they can be smaller, the most expensive ones first.
inline std::vector<Block> blocks_to_blame(const ModelSpec& model, const ModelPlan& plans) {
    std::vector<std::pair<std::int64_t, Block>> found; // bytes lost per device, together within 64 bits
    for (std::size_t g = 0; g < plans.groups.size(); ++g)
        for (const auto& [tensor, step, lost] : blame(plans.groups[g])) {
            if (tensor < 0)
                continue;
            // The block of the model, of which a slice has a part only.
            const auto& specs = model.groups[g].tensors;
            const auto& name = plans.groups[g].tensors[static_cast<std::size_t>(tensor)].spec.name;
            const Block& block = std::find_if(specs.begin(), specs.end(), [&](const TensorSpec& spec) {
                                     return spec.name == name;
                                 })->block;
            if (half_of(block) == block)
                continue;
            const auto known = std::find_if(found.begin(), found.end(),
                                            [&](const auto& pair) { return pair.second == block; });
            if (known == found.end())
                found.emplace_back(lost, block);
            else
                known->first += lost;
        }
    std::stable_sort(found.begin(), found.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    std::vector<Block> blocks;
    for (const auto& [lost, block] : found)
        blocks.push_back(block);
    return blocks;
}

} // namespace detail

/// Price every remedy that applies to the plan of a model by planning the model with it; those that save most
/// bytes per device come first, equal ones in the order of Remedy. Remedies are not combined. One whose plan
/// does not fit 64 bits, or has too many slices to be planned here, is left out.
/// Host, local, deterministic, as make_plan.
/// @throws SpecError, PlanError  as make_plan with these arguments; bytes beyond 64 bits
/// Cost: a plan of the model as it is, and one for each remedy, at most 11
inline std::vector<Advice> advise(const ModelSpec& model, std::int64_t num_devices,
                                  const policy::Exact& policy = {}, const PlanOptions& options = {}) {
    constexpr std::int64_t max_slices = 1 << 18;  // of one plan: each takes memory and time
    constexpr std::size_t max_blocks = 4;         // that are halved
    constexpr std::int64_t max_regions = 1 << 22; // of unequal sizes, of all groups: each is listed
    const ModelPlan plan = make_plan(model, num_devices, policy, options);
    const PlanTotals now = totals_of(plan);
    const std::int64_t max_segments = policy.max_segments;
    std::vector<Advice> result;
    const auto add = [&](Advice advice) {
        advice.saved_bytes_per_device = now.region_bytes - advice.totals.region_bytes;
        advice.saved_gathered_bytes = now.gathered_bytes - advice.totals.gathered_bytes;
        result.push_back(std::move(advice));
    };
    const auto price = [&](Advice advice, const ModelSpec& changed) {
        policy::Exact with = policy;
        with.max_segments = advice.max_segments;
        try {
            advice.totals = totals_of(make_plan(changed, advice.num_devices, with, options));
        } catch (const PlanError&) {
            return;
        }
        add(std::move(advice));
    };

    std::int64_t most_runs = 0; // in one group: more segments have nothing to hold
    for (const Plan& group : plan.groups)
        most_runs = std::max(most_runs, static_cast<std::int64_t>(group.tensors.size()));
    for (const std::int64_t segments : {2, 3, 4}) // up to three, or one more
        if (segments > max_segments && (segments <= 3 || segments - 1 == max_segments) &&
            segments <= most_runs)
            price({.remedy = Remedy::more_segments, .max_segments = segments, .num_devices = num_devices},
                  model);

    Advice slices{.remedy = Remedy::slices, .max_segments = max_segments, .num_devices = num_devices};
    const ModelSpec sliced = detail::take_slices(model, slices);
    if (slices.slices > 0 && slices.slices <= max_slices)
        price(std::move(slices), sliced);

    std::size_t num_groups = model.groups.size();
    for (const std::int64_t layers : {2, 4}) {
        const ModelSpec joined = detail::join_layers(model, layers);
        if (joined.groups.size() < num_groups)
            price({.remedy = Remedy::more_layers,
                   .max_segments = max_segments,
                   .layers_per_group = layers,
                   .num_devices = num_devices},
                  joined);
        num_groups = joined.groups.size();
    }

    if (num_devices % 2 == 0)
        price({.remedy = Remedy::replicas,
               .max_segments = max_segments,
               .num_devices = num_devices / 2,
               .replicas = 2},
              model);

    const std::vector<Block> blocks = detail::blocks_to_blame(model, plan);
    for (std::size_t i = 0; i < std::min(blocks.size(), max_blocks); ++i) {
        Advice advice{
            .remedy = Remedy::smaller_block, .max_segments = max_segments, .num_devices = num_devices};
        const ModelSpec smaller = detail::halve_block(model, blocks[i], advice);
        price(std::move(advice), smaller);
    }

    if (num_devices > 1 && std::ssize(model.groups) - 1 < max_regions / num_devices)
        try {
            Advice advice{
                .remedy = Remedy::unequal, .max_segments = max_segments, .num_devices = num_devices};
            advice.totals = totals_of(make_unequal_plan(model, num_devices, options));
            add(std::move(advice));
        } catch (const PlanError&) { // all groups are counted together, and may not fit 64 bits
        }

    std::stable_sort(result.begin(), result.end(), [](const Advice& a, const Advice& b) {
        return a.saved_bytes_per_device > b.saved_bytes_per_device;
    });
    return result;
}

} // namespace ragged
