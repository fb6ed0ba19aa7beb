// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Another kind of plan: each device's region has a size of its own, so nothing but alignment is padded, and
// collectives take a count per rank. Where a block is larger than a fair share, equal shards pad every other
// device up to it; these do not. The price is a slower collective: see compare.
//
//     ragged::UnequalPlan plan = ragged::make_unequal_plan(group, 1024);
//     ragged::DBuffer<ragged::bf16, Mesh, ragged::state::Sharded, ragged::UnequalPlan> weights(plan, ...);
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ragged/plan/make_plan.hpp>

namespace ragged {

/// One contiguous region of shards that differ in size.
struct UnequalSegment {
    std::vector<std::int64_t> begins; // [num_devices + 1], elements from the start of the segment
    std::int64_t elements = 0;        // of the tensors in it

    constexpr std::int64_t region_begin(std::int64_t rank) const {
        return begins[static_cast<std::size_t>(rank)];
    }
    constexpr std::int64_t region_elems(std::int64_t rank) const {
        return region_begin(rank + 1) - region_begin(rank);
    }
    constexpr std::int64_t largest_region_elems() const {
        std::int64_t largest = 0;
        for (std::size_t rank = 1; rank < begins.size(); ++rank)
            largest = std::max(largest, begins[rank] - begins[rank - 1]);
        return largest;
    }
    constexpr void add_regions(detail::Hash& hash) const {
        for (std::int64_t begin : begins)
            hash.add(begin);
    }
    std::string describe_regions() const {
        std::string text = "regions that start at";
        for (std::int64_t begin : begins)
            text += concat(" ", begin);
        return text;
    }
    constexpr bool operator==(const UnequalSegment&) const = default;
};

using UnequalPlan = BasicPlan<UnequalSegment>;

namespace detail {

/// A list of regions has one entry per device; an unequal plan is for no more than this.
inline constexpr std::int64_t max_unequal_devices = 1 << 20;

/// Regions that bring no rank's load above `limit`, each as long as the legal cuts allow; nothing when they
/// do not reach `end`. A longer region never hurts the ranks behind it, so this is exact.
/// @param loads  of each rank, in bytes as `limit`; an element is `bytes` of them
inline std::vector<std::int64_t> cut_regions(const std::vector<Item>& items,
                                             const std::vector<std::int64_t>& starts, std::int64_t end,
                                             const std::vector<std::int64_t>& loads, std::int64_t limit,
                                             std::int64_t bytes, std::int64_t alignment) {
    std::vector<std::int64_t> begins{0};
    begins.reserve(loads.size() + 1);
    std::size_t at = 0;
    for (const std::int64_t load : loads) {
        const std::int64_t begin = begins.back();
        const std::int64_t allowed = round_down(std::max<std::int64_t>(limit - load, 0) / bytes, alignment);
        std::int64_t cut = end;
        if (allowed < end - begin) {
            while (at + 1 < items.size() && starts[at + 1] <= begin + allowed)
                ++at;
            // aligned, and no gap is as long as the alignment: the furthest cut is inside, or its start
            cut = std::max(begin, starts[at] + items[at].cut_below(begin + allowed - starts[at]));
        }
        begins.push_back(cut);
    }
    return begins.back() == end ? begins : std::vector<std::int64_t>{};
}

/// @param loads  [num_devices], bytes that each rank has of other groups, each in its largest element type;
/// those of this group are added
inline UnequalPlan plan_unequal(const GroupSpec& group, const PlanOptions& options,
                                std::vector<std::int64_t>& loads) {
    const auto num_devices = static_cast<std::int64_t>(loads.size());
    const Prepared prepared = prepare(group.tensors, options);
    const std::int64_t alignment = prepared.alignment_elems;
    UnequalPlan plan{
        group.name, "unequal regions", num_devices, alignment * prepared.planes.smallest, alignment, {{}}, {},
        {}};
    std::vector<Item> items = make_items(prepared.input(num_devices));
    std::vector<std::int64_t> starts;
    std::int64_t end = 0, sum = 0;
    for (Item& item : items) {
        const PlanTensor& tensor = prepared.tensors[static_cast<std::size_t>(item.tensor)];
        item = {item.cuts, alignment, item.tensor}; // region starts are aligned, and a head ends on one
        starts.push_back(end);
        plan.tensors.push_back(placed(tensor, {0, end}));
        end = checked_add(end, item.aligned_elems(), "aligned tensors");
    }
    const std::int64_t bytes = size_bytes(largest_dtype(plan));
    for (const std::int64_t load : loads)
        sum = checked_add(sum, load, "bytes of a model");
    const std::int64_t all =
        checked_add(sum, checked_mul(end, bytes, "bytes of a group"), "bytes of a model");
    UnequalSegment& segment = plan.segments.front();
    segment.elements = elements_of(items);
    const auto cut = [&](std::int64_t limit) {
        return cut_regions(items, starts, end, loads, limit, bytes, alignment);
    };
    // The largest load in bytes: `few` are too few, `enough` are enough.
    std::int64_t few = all / num_devices - 1, enough = all;
    while (enough - few > 1) {
        const std::int64_t limit = few + (enough - few) / 2;
        (cut(limit).empty() ? few : enough) = limit;
    }
    segment.begins = cut(enough);
    for (std::int64_t rank = 0; rank < num_devices; ++rank)
        loads[static_cast<std::size_t>(rank)] += segment.region_elems(rank) * bytes;
    return plan;
}

} // namespace detail

using UnequalModelPlan = BasicModelPlan<UnequalPlan>;

/// Plan every group of a model: tensors one after another in registration order, cut where the rank with most
/// bytes of all groups so far has fewest, each group counted in its largest element type. Tensor starts and
/// region starts are aligned; no block is cut. Host, local, deterministic.
/// @throws SpecError, PlanError  as make_plan; more than 2^20 devices
/// Source: this library
inline UnequalModelPlan make_unequal_plan(const ModelSpec& model, std::int64_t num_devices,
                                          const PlanOptions& options = {}) {
    detail::check_num_devices(num_devices);
    if (num_devices > detail::max_unequal_devices)
        throw PlanError(concat("unequal regions are listed per device: ", num_devices, " devices are above ",
                               detail::max_unequal_devices));
    UnequalModelPlan result{model.name, {}};
    std::vector<std::int64_t> loads(static_cast<std::size_t>(num_devices), 0);
    for (const GroupSpec& group : model.groups) {
        check_names(group);
        result.groups.push_back(
            detail::naming_group(group, [&] { return detail::plan_unequal(group, options, loads); }));
    }
    return result;
}

/// Plan one group; as for a model of that group alone: the largest region is as small as legal cuts allow.
inline UnequalPlan make_unequal_plan(const GroupSpec& group, std::int64_t num_devices,
                                     const PlanOptions& options = {}) {
    return std::move(make_unequal_plan(ModelSpec{"", {group}}, num_devices, options).groups.front());
}

/// Two plans of one group, in bytes of its largest element type that a device receives per gather, and the
/// price of the collectives in the same unit.
struct Comparison {
    std::int64_t equal_bytes = 0, equal_price = 0;
    std::int64_t unequal_bytes = 0, unequal_price = 0;

    constexpr bool unequal_wins() const { return unequal_bytes + unequal_price < equal_bytes + equal_price; }
};

/// Which of two plans of the same group costs less. An equal plan pays for each segment after the first, an
/// unequal one for each rank after the first: where libraries have no gather of different counts, it is a
/// group of broadcasts, one from each rank.
/// @throws PlanError  a price that does not fit 64 bits
constexpr Comparison compare(const Plan& equal, const UnequalPlan& unequal,
                             const CollectivePrice& price = {}) {
    const std::int64_t bytes = size_bytes(detail::largest_dtype(equal));
    const auto further = [&](std::int64_t collectives) {
        return checked_mul(price.bytes(), std::max<std::int64_t>(collectives, 1) - 1, "price of a plan");
    };
    return {checked_mul(equal.padded_elements(), bytes, "bytes of a gather"),
            further(static_cast<std::int64_t>(equal.segments.size())),
            checked_mul(unequal.padded_elements(), bytes, "bytes of a gather"), further(unequal.num_devices)};
}

/// The comparison in one sentence that says which and why.
inline std::string to_string(const Comparison& comparison) {
    const auto& c = comparison;
    return concat(
        c.unequal_wins() ? "unequal regions cost less: " : "equal shards cost less: ", "equal shards gather ",
        c.equal_bytes, " bytes and pay for collectives as for ", c.equal_price, ", unequal regions gather ",
        c.unequal_bytes, " and pay as for ", c.unequal_price);
}

} // namespace ragged
