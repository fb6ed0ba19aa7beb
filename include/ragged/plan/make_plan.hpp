// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// From specs to a checked plan. The policy decides where tensors lie; what it returns is checked against the
// laws (laws.hpp), so a user's policy is held to the same ones as ours.
//
//     ragged::Plan plan = ragged::make_plan(group, 1024);
//     ragged::ModelPlan all = ragged::make_plan(model, 1024);
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ragged/plan/laws.hpp>
#include <ragged/plan/model_plan.hpp>
#include <ragged/plan/options.hpp>
#include <ragged/plan/policy/exact.hpp>

namespace ragged {

namespace detail {

template <class Policy>
constexpr bool keeps_laws = [] {
    if constexpr (requires { Policy::keeps_laws; })
        return static_cast<bool>(Policy::keeps_laws);
    else
        return true;
}();

/// The smallest and the largest element of a group's tensors and declared planes, in bytes.
struct PlaneBytes {
    std::int64_t smallest = max_count;
    std::int64_t largest = 1;
};

/// @throws PlanError  `bytes`, of a tensor or (empty) of the option, is not a power of two
constexpr std::int64_t checked_alignment(std::int64_t bytes, std::string_view tensor) {
    if (!is_power_of_two(bytes))
        throw PlanError(concat(tensor.empty() ? "" : "tensor '", tensor, tensor.empty() ? "" : "': ",
                               "alignment of ", bytes, " bytes is not a power of two"));
    return bytes;
}

/// Tensors of a group, slices apart: each takes memory.
inline constexpr std::int64_t max_runs = 1 << 24;

/// The tensors as a policy sees them, slices apart.
struct Prepared {
    std::vector<PlanTensor> tensors;
    std::int64_t alignment_elems; // of S: satisfies the strictest tensor in the smallest plane
    PlaneBytes planes;

    constexpr PlanInput input(std::int64_t num_devices) const {
        return {tensors, num_devices, alignment_elems, planes.largest};
    }
};

/// @throws SpecError  a block that does not fit its tensor
/// @throws PlanError  an alignment that is no power of two, or no multiple of an element; too many slices
template <class Tensors>
constexpr Prepared prepare(const Tensors& tensors, const PlanOptions& options) {
    PlaneBytes planes;
    std::int64_t strictest = checked_alignment(options.alignment_bytes, "");
    std::int64_t loosest = strictest;
    std::int64_t count = 0;
    for (const auto& tensor : tensors) {
        if (tensor.align_bytes != 0) {
            loosest = std::min(loosest, checked_alignment(tensor.align_bytes, tensor.name));
            strictest = std::max(strictest, tensor.align_bytes);
        }
        check_block(tensor);
        if (num_runs(tensor) > max_runs - count)
            throw PlanError(concat("tensor '", tensor.name, "': ", num_runs(tensor), " slices behind ", count,
                                   " other tensors are more than the ", max_runs, " of a group"));
        count += num_runs(tensor);
    }
    const auto satisfy = [&](DType dtype, std::string_view tensor) { // empty: a declared plane
        const std::int64_t bytes = size_bytes(dtype);
        if (loosest % bytes != 0)
            throw PlanError(concat(tensor.empty() ? "plane" : "tensor '", tensor, tensor.empty() ? "" : "'",
                                   ": alignment of ", loosest, " bytes is not a multiple of the ", bytes,
                                   "-byte elements of ", name(dtype)));
        planes.smallest = std::min(planes.smallest, bytes);
        planes.largest = std::max(planes.largest, bytes);
    };
    for (const auto& tensor : tensors)
        satisfy(tensor.dtype, tensor.name);
    for (DType dtype : all_dtypes)
        if (options.planes.contains(dtype))
            satisfy(dtype, "");
    if (planes.smallest == max_count)
        planes.smallest = 1; // no dtype at all: any plane will do

    std::vector<PlanTensor> result;
    result.reserve(static_cast<std::size_t>(count));
    for (const auto& tensor : tensors) {
        const Tensor whole{tensor.name,
                           tensor.shape,
                           tensor.block,
                           tensor.dtype,
                           tensor.align_bytes == 0 ? options.alignment_bytes : tensor.align_bytes,
                           tensor.sliced,
                           tensor.whole_from};
        const bool stacked = whole.sliced && whole.shape[0] > 0;
        const Tensor run = stacked ? slice_of(whole) : whole;
        const CutPattern cuts = cuts_of(run);
        for (std::int64_t i = 0; i < num_runs(whole); ++i)
            result.push_back({run, cuts, run.align_bytes / planes.smallest, stacked ? i : -1});
    }
    return {std::move(result), strictest / planes.smallest, planes};
}

/// The part of a plan that does not depend on names: what groups of equal shapes share.
struct Arranged {
    std::vector<Arrangement::Start> starts;
    std::vector<Segment> segments;
    Violations violations;
};

template <planner_policy Policy>
constexpr Arranged arrange(const PlanInput& input, const Policy& policy) {
    Arrangement arrangement = policy(input);
    check_layout(input, arrangement);
    Violations found;
    if constexpr (keeps_laws<Policy>) {
        try {
            check_law(input, arrangement);
        } catch (const PlanError& error) {
            throw PlanError(
                concat("policy '", std::string_view(Policy::name), "' broke a law: ", error.what()));
        }
    } else {
        found = count_violations(input, arrangement);
    }
    std::vector<std::vector<Item>> inside(arrangement.segments.size(), std::vector<Item>{});
    for (const Item& item : make_items(input))
        inside[static_cast<std::size_t>(arrangement.starts[static_cast<std::size_t>(item.tensor)].segment)]
            .push_back(item);
    Arranged result{std::move(arrangement.starts), {}, found};
    for (std::size_t i = 0; i < inside.size(); ++i) {
        const std::int64_t elements = elements_of(inside[i]);
        Candidate bound{ceil_div(elements, input.num_devices), -1};
        if constexpr (keeps_laws<Policy>)
            bound = AloneBound(std::move(inside[i]), input.alignment_elems).next(bound);
        result.segments.push_back({arrangement.segments[i].shard_elems, bound.shard_elems, elements,
                                   arrangement.segments[i].set_by});
    }
    return result;
}

/// Everything that a policy may look at: all but the names.
inline bool same_tensors(const GroupSpec& a, const GroupSpec& b) {
    return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                      [](const TensorSpec& x, const TensorSpec& y) {
                          return x.shape == y.shape && x.block == y.block && x.dtype == y.dtype &&
                                 x.align_bytes == y.align_bytes && x.sliced == y.sliced &&
                                 x.whole_from == y.whole_from;
                      });
}

inline std::uint64_t hash_tensors(const GroupSpec& group) {
    Hash hash;
    for (const TensorSpec& tensor : group.tensors)
        hash.add(tensor.shape.elements());
    return hash.value();
}

constexpr void check_num_devices(std::int64_t num_devices) {
    if (num_devices < 1)
        throw PlanError(concat("a plan needs at least 1 device, got ", num_devices));
}

inline PlacedTensor placed(const PlanTensor& tensor, const Arrangement::Start& start) {
    const Tensor& spec = tensor.spec;
    return {{std::string(spec.name), spec.shape, spec.block, spec.dtype, spec.align_bytes, spec.sliced,
             spec.whole_from},
            tensor.cuts,
            start.segment,
            start.offset,
            tensor.slice};
}

/// A plan from its parts: starts in the order of `prepared.tensors`.
inline Plan assembled(std::string name, std::string_view policy, std::int64_t num_devices,
                      const Prepared& prepared, std::span<const Segment> segments,
                      std::span<const Arrangement::Start> starts, const Violations& violations) {
    Plan plan{std::move(name),
              std::string(policy),
              num_devices,
              prepared.alignment_elems * prepared.planes.smallest,
              prepared.alignment_elems,
              {segments.begin(), segments.end()},
              {},
              violations};
    plan.tensors.reserve(prepared.tensors.size());
    for (std::size_t i = 0; i < prepared.tensors.size(); ++i)
        plan.tensors.push_back(placed(prepared.tensors[i], starts[i]));
    return plan;
}

template <planner_policy Policy>
Plan plan_group(const GroupSpec& group, std::int64_t num_devices, const Policy& policy,
                const PlanOptions& options) {
    const Prepared prepared = prepare(group.tensors, options);
    const Arranged arranged = arrange(prepared.input(num_devices), policy);
    return assembled(group.name, Policy::name, num_devices, prepared, arranged.segments, arranged.starts,
                     arranged.violations);
}

/// What `plan` returns; what it throws names the group.
template <class Plan>
auto naming_group(const GroupSpec& group, const Plan& plan) {
    try {
        return plan();
    } catch (const SpecError& error) {
        throw SpecError(concat("group '", group.name, "': ", error.what()));
    } catch (const PlanError& error) {
        throw PlanError(concat("group '", group.name, "': ", error.what()));
    }
}

/// The plan of a group that differs in names only.
inline Plan renamed(Plan plan, const GroupSpec& group) {
    plan.name = group.name;
    std::size_t at = 0;
    for (const TensorSpec& tensor : group.tensors)
        for (std::int64_t i = num_runs(tensor); i > 0; --i)
            plan.tensors[at++].spec.name = tensor.name;
    return plan;
}

} // namespace detail

/// Plan every group of a model over `num_devices`. Groups that differ in names only are arranged once.
/// Host, local, deterministic: equal input gives an equal plan on every rank, machine and compiler.
/// @throws SpecError  duplicate names in a group, a block that does not fit its tensor
/// @throws PlanError  num_devices < 1, a bad alignment, overflow, or a policy that broke a law
template <planner_policy Policy = policy::Exact>
ModelPlan make_plan(const ModelSpec& model, std::int64_t num_devices, const Policy& policy = {},
                    const PlanOptions& options = {}) {
    detail::check_num_devices(num_devices);
    // tensors but for names -> group that has them
    std::unordered_multimap<std::uint64_t, std::size_t> planned;
    ModelPlan result{model.name, {}};
    result.groups.reserve(model.groups.size());
    for (std::size_t g = 0; g < model.groups.size(); ++g) {
        const GroupSpec& group = model.groups[g];
        check_names(group);
        const std::uint64_t key = detail::hash_tensors(group);
        auto [found, end] = planned.equal_range(key);
        while (found != end && !detail::same_tensors(model.groups[found->second], group))
            ++found;
        if (found != end) {
            result.groups.push_back(detail::renamed(result.groups[found->second], group));
            continue;
        }
        result.groups.push_back(detail::naming_group(
            group, [&] { return detail::plan_group(group, num_devices, policy, options); }));
        planned.emplace(key, g);
    }
    return result;
}

/// Plan one group; as for a model of that group alone.
template <planner_policy Policy = policy::Exact>
Plan make_plan(const GroupSpec& group, std::int64_t num_devices, const Policy& policy = {},
               const PlanOptions& options = {}) {
    return std::move(make_plan(ModelSpec{"", {group}}, num_devices, policy, options).groups.front());
}

} // namespace ragged
