// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// From specs to a checked plan. The policy decides where tensors lie; what it returns is checked here against
// the laws, so a user's policy is held to the same ones as ours.
//
//     ragged::Plan plan = ragged::make_plan(group, 1024);
//     ragged::ModelPlan all = ragged::make_plan(model, 1024);
#pragma once

#include <algorithm>
#include <initializer_list>
#include <unordered_map>
#include <vector>

#include <ragged/plan/policy/exact.hpp>

namespace ragged {

/// A set of element types.
class DTypes {
  public:
    constexpr DTypes() = default;
    constexpr DTypes(std::initializer_list<DType> dtypes) {
        for (DType dtype : dtypes)
            insert(dtype);
    }
    constexpr void insert(DType dtype) { bits_ |= 1u << static_cast<unsigned>(dtype); }
    constexpr bool contains(DType dtype) const { return (bits_ >> static_cast<unsigned>(dtype) & 1u) != 0; }
    constexpr bool operator==(const DTypes&) const = default;

  private:
    unsigned bits_ = 0;
};

struct PlanOptions {
    // Every tensor start and every shard is a multiple of this in each plane: a power of two.
    std::int64_t alignment_bytes = 128;
    // Element types of the planes laid over the plan, besides the tensors' own.
    DTypes planes{};

    constexpr bool operator==(const PlanOptions&) const = default;
};

/// All groups of a model over the same devices.
struct ModelPlan {
    std::string name;
    std::vector<Plan> groups;

    constexpr std::int64_t elements() const {
        std::int64_t sum = 0;
        for (const Plan& plan : groups)
            sum = checked_add(sum, plan.elements(), "elements of a model");
        return sum;
    }
    constexpr std::int64_t padded_elements() const {
        std::int64_t sum = 0;
        for (const Plan& plan : groups)
            sum = checked_add(sum, plan.padded_elements(), "padded elements of a model");
        return sum;
    }
    constexpr double padding_ratio() const {
        const std::int64_t sum = elements();
        return sum == 0 ? 0.0 : static_cast<double>(padded_elements() - sum) / static_cast<double>(sum);
    }
};

constexpr std::uint64_t fingerprint(const ModelPlan& model) {
    detail::Hash hash;
    hash.add(model.name);
    hash.add(static_cast<std::int64_t>(model.groups.size()));
    for (const Plan& plan : model.groups)
        hash.add(static_cast<std::int64_t>(fingerprint(plan)));
    return hash.value();
}

namespace detail {

template <class Policy>
constexpr bool keeps_laws = [] {
    if constexpr (requires { Policy::keeps_laws; })
        return static_cast<bool>(Policy::keeps_laws);
    else
        return true;
}();

/// Elements that satisfy the byte alignment for every dtype of the tensors and of the declared planes.
/// @throws PlanError  not a power of two, or not a multiple of an element
constexpr std::int64_t alignment_elems(std::span<const PlanTensor> tensors, const PlanOptions& options) {
    if (!is_power_of_two(options.alignment_bytes))
        throw PlanError(concat("alignment of ", options.alignment_bytes, " bytes is not a power of two"));
    std::int64_t result = 0;
    const auto satisfy = [&](DType dtype, std::string_view tensor) { // empty: a declared plane
        if (options.alignment_bytes % size_bytes(dtype) != 0)
            throw PlanError(concat(tensor.empty() ? "plane" : "tensor '", tensor, tensor.empty() ? "" : "'",
                                   ": alignment of ", options.alignment_bytes,
                                   " bytes is not a multiple of the ", size_bytes(dtype),
                                   "-byte elements of ", name(dtype)));
        result = std::max(result, options.alignment_bytes / size_bytes(dtype));
    };
    for (const PlanTensor& tensor : tensors)
        satisfy(tensor.spec.dtype, tensor.spec.name);
    for (DType dtype : all_dtypes)
        if (options.planes.contains(dtype))
            satisfy(dtype, "");
    return result == 0 ? options.alignment_bytes : result; // no dtype at all: any plane will do
}

/// What the arrangement leaves undone, in the words of law 2.
/// @throws PlanError  tensors overlap, or leave the buffer: no layout at all
constexpr Violations check_arrangement(const PlanInput& input, const Arrangement& arrangement) {
    const std::int64_t shard = arrangement.shard_elems;
    const std::size_t count = input.tensors.size();
    if (arrangement.offsets.size() != count)
        throw PlanError(
            concat("the policy returned ", arrangement.offsets.size(), " offsets for ", count, " tensors"));
    if (shard < 0 || shard > max_count / input.num_devices)
        throw PlanError(
            concat("shards of ", shard, " elements on ", input.num_devices, " devices are not a buffer"));

    // Rows that an even cut gives each device, for the layouts that cut every tensor apart.
    const auto even_run = [&](const PlanTensor& tensor) {
        const Shape& shape = tensor.spec.shape;
        return shape.rank() == 0 ? std::int64_t{1}
                                 : ceil_div(shape[0], input.num_devices) * inner_elements(shape, 0);
    };
    const auto length = [&](const PlanTensor& tensor) {
        return arrangement.interleaved ? even_run(tensor) : tensor.elements();
    };

    std::vector<std::size_t> by_offset;
    for (std::size_t i = 0; i < count; ++i)
        by_offset.push_back(i);
    std::sort(by_offset.begin(), by_offset.end(), [&](std::size_t a, std::size_t b) {
        const auto key = [&](std::size_t i) {
            return std::pair(arrangement.offsets[i], length(input.tensors[i]));
        };
        return key(a) != key(b) ? key(a) < key(b) : a < b;
    });
    std::int64_t end = 0;
    for (std::size_t position = 0; position < count; ++position) {
        const std::size_t i = by_offset[position];
        const PlanTensor& tensor = input.tensors[i];
        const std::int64_t offset = arrangement.offsets[i];
        if (offset < end)
            throw PlanError(concat("tensor '", tensor.spec.name, "' at offset ", offset, " overlaps ",
                                   position == 0
                                       ? std::string("the start of the buffer")
                                       : concat("tensor '", input.tensors[by_offset[position - 1]].spec.name,
                                                "' that ends at ", end)));
        if (length(tensor) > max_count - offset)
            throw PlanError(concat("tensor '", tensor.spec.name, "' at offset ", offset, " leaves 64 bits"));
        end = offset + length(tensor);
        const std::int64_t space = arrangement.interleaved ? shard : shard * input.num_devices;
        if (end > space)
            throw PlanError(concat("tensor '", tensor.spec.name, "' ends at ", end, ", beyond the ", space,
                                   " elements of the ", arrangement.interleaved ? "shard" : "buffer"));
    }

    Violations found;
    found.misaligned += shard % input.alignment_elems != 0 ? 1 : 0;
    for (std::size_t i = 0; i < count; ++i) {
        const PlanTensor& tensor = input.tensors[i];
        found.misaligned += arrangement.offsets[i] % input.alignment_elems != 0 ? 1 : 0;
        if (tensor.elements() == 0)
            continue;
        // Device boundaries inside the tensor, and the distinct blocks that they cut.
        const BlockGrid grid(tensor.spec.shape, tensor.spec.block);
        std::int64_t first = even_run(tensor), step = first;
        if (!arrangement.interleaved) {
            first = round_up(arrangement.offsets[i] + 1, shard) - arrangement.offsets[i];
            step = shard;
        }
        for (std::int64_t boundary = first; boundary < tensor.elements();) {
            if (tensor.cuts.is_cut(boundary)) {
                boundary += step;
                continue;
            }
            // A unit is a row of blocks: look at each block of the unit that the boundary passes through.
            const std::int64_t unit = tensor.cuts.unit_of(boundary), unit_end = tensor.cuts.cut(unit + 1);
            const std::int64_t last_block = grid.block_of(unit_end - 1);
            for (std::int64_t block = grid.block_of(tensor.cuts.cut(unit)); block <= last_block; ++block) {
                const BlockGrid::Span span = grid.span_of(block);
                const std::int64_t steps = span.first < first ? 0 : (span.first - first) / step + 1;
                found.blocks_cut += first + steps * step <= span.last ? 1 : 0;
            }
            boundary = first + ceil_div(unit_end - first, step) * step;
        }
    }
    if (arrangement.interleaved && input.num_devices > 1)
        found.copied_per_gather = shard + input.elements(); // in before the gather, out after it
    return found;
}

/// The part of a plan that does not depend on names: what groups of equal shapes share.
struct Arranged {
    std::vector<std::int64_t> offsets;
    Segment segment;
    Violations violations;
};

template <planner_policy Policy>
constexpr Arranged arrange(const PlanInput& input, const Policy& policy) {
    Arrangement arrangement = policy(input);
    const Violations found = check_arrangement(input, arrangement);
    if constexpr (keeps_laws<Policy>)
        if (found.any())
            throw PlanError(concat("policy '", std::string_view(Policy::name),
                                   "' broke a law: ", found.blocks_cut, " blocks cut, ", found.misaligned,
                                   " starts or shards misaligned, ", found.copied_per_gather,
                                   " elements copied per gather"));
    const AloneBound alone(make_items(input), input.alignment_elems);
    const std::int64_t elements = input.elements();
    return {std::move(arrangement.offsets),
            {arrangement.shard_elems, alone.next({ceil_div(elements, input.num_devices), -1}).shard_elems,
             elements, arrangement.set_by},
            found};
}

/// Everything that a policy may look at: all but the names.
inline bool same_tensors(const GroupSpec& a, const GroupSpec& b) {
    return std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                      [](const TensorSpec& x, const TensorSpec& y) {
                          return x.shape == y.shape && x.block == y.block && x.dtype == y.dtype;
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

template <class Tensors>
constexpr std::vector<PlanTensor> plan_tensors(const Tensors& tensors) {
    std::vector<PlanTensor> result;
    result.reserve(tensors.size());
    for (const auto& tensor : tensors)
        result.push_back({{tensor.name, tensor.shape, tensor.block, tensor.dtype}, cuts_of(tensor)});
    return result;
}

} // namespace detail

/// Plan every group of a model over `num_devices`. Groups that differ in names only are arranged once.
/// Host, local, deterministic: equal input gives an equal plan on every rank.
/// @throws SpecError  duplicate names in a group, a block that does not fit its tensor
/// @throws PlanError  num_devices < 1, a bad alignment, overflow, or a policy that broke a law
template <planner_policy Policy = policy::Exact>
ModelPlan make_plan(const ModelSpec& model, std::int64_t num_devices, const Policy& policy = {},
                    const PlanOptions& options = {}) {
    detail::check_num_devices(num_devices);
    std::unordered_multimap<std::uint64_t, std::size_t>
        planned; // tensors but for names -> group that has them
    ModelPlan result{model.name, {}};
    result.groups.reserve(model.groups.size());
    for (std::size_t g = 0; g < model.groups.size(); ++g) {
        const GroupSpec& group = model.groups[g];
        check_names(group);
        const std::uint64_t key = detail::hash_tensors(group);
        auto [found, end] = planned.equal_range(key);
        while (found != end && !detail::same_tensors(model.groups[found->second], group))
            ++found;
        Plan plan;
        plan.name = group.name;
        plan.policy = std::string(std::string_view(Policy::name));
        plan.num_devices = num_devices;
        plan.alignment_bytes = options.alignment_bytes;
        plan.tensors.reserve(group.tensors.size());
        if (found != end) {
            const Plan& same = result.groups[found->second];
            plan.alignment_elems = same.alignment_elems;
            plan.segments = same.segments;
            plan.violations = same.violations;
            for (std::size_t i = 0; i < group.tensors.size(); ++i)
                plan.tensors.push_back({group.tensors[i], same.tensors[i].cuts, 0, same.tensors[i].offset});
        } else {
            try {
                const std::vector<PlanTensor> tensors = detail::plan_tensors(group.tensors);
                const PlanInput input{tensors, num_devices, detail::alignment_elems(tensors, options)};
                const detail::Arranged arranged = detail::arrange(input, policy);
                plan.alignment_elems = input.alignment_elems;
                plan.segments = {arranged.segment};
                plan.violations = arranged.violations;
                for (std::size_t i = 0; i < tensors.size(); ++i)
                    plan.tensors.push_back({group.tensors[i], tensors[i].cuts, 0, arranged.offsets[i]});
            } catch (const SpecError& error) {
                throw SpecError(concat("group '", group.name, "': ", error.what()));
            } catch (const PlanError& error) {
                throw PlanError(concat("group '", group.name, "': ", error.what()));
            }
            planned.emplace(key, g);
        }
        result.groups.push_back(std::move(plan));
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
