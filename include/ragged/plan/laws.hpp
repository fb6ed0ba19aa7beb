// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Law 2, checked from an arrangement alone: a policy, ours or a user's, is believed only where it holds.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <ragged/plan/planner.hpp>

namespace ragged::detail {

/// Rows of dimension 0 that an even cut gives each device, in elements: for the layouts that cut every tensor
/// apart.
constexpr std::int64_t even_run(const PlanTensor& tensor, std::int64_t num_devices) {
    const Shape& shape = tensor.spec.shape;
    return shape.rank() == 0 ? std::int64_t{1} : ceil_div(shape[0], num_devices) * inner_elements(shape, 0);
}

/// Tensors of one segment do not overlap and end inside of it.
/// @throws PlanError  they do not: no layout at all
constexpr void check_places(const PlanInput& input, const Arrangement& arrangement,
                            std::vector<std::size_t> tensors, std::int64_t shard) {
    const auto length = [&](std::size_t i) {
        return arrangement.interleaved ? even_run(input.tensors[i], input.num_devices)
                                       : input.tensors[i].elements();
    };
    std::sort(tensors.begin(), tensors.end(), [&](std::size_t a, std::size_t b) {
        const auto key = [&](std::size_t i) { return std::pair(arrangement.starts[i].offset, length(i)); };
        return key(a) != key(b) ? key(a) < key(b) : a < b;
    });
    const std::int64_t space = arrangement.interleaved ? shard : shard * input.num_devices;
    std::int64_t end = 0;
    for (std::size_t position = 0; position < tensors.size(); ++position) {
        const std::size_t i = tensors[position];
        const std::string_view name = input.tensors[i].spec.name;
        const std::int64_t offset = arrangement.starts[i].offset;
        if (offset < end)
            throw PlanError(concat("tensor '", name, "' at offset ", offset, " overlaps ",
                                   position == 0
                                       ? std::string("the start of the buffer")
                                       : concat("tensor '", input.tensors[tensors[position - 1]].spec.name,
                                                "' that ends at ", end)));
        if (length(i) > max_count - offset)
            throw PlanError(concat("tensor '", name, "' at offset ", offset, " leaves 64 bits"));
        end = offset + length(i);
        if (end > space)
            throw PlanError(concat("tensor '", name, "' ends at ", end, ", beyond the ", space,
                                   " elements of the ", arrangement.interleaved ? "shard" : "buffer"));
    }
}

/// The boundaries of shards that lie in a tensor: at `first` elements, and then every `distance`.
struct Boundaries {
    std::int64_t first;
    std::int64_t distance;
};

/// @pre check_layout accepted the arrangement; the tensor has elements
constexpr Boundaries boundaries_of(const PlanInput& input, const Arrangement& arrangement,
                                   std::size_t tensor) {
    if (arrangement.interleaved) {
        const std::int64_t even = even_run(input.tensors[tensor], input.num_devices);
        return {even, even};
    }
    const auto [segment, offset] = arrangement.starts[tensor];
    const std::int64_t shard = arrangement.segments[static_cast<std::size_t>(segment)].shard_elems;
    return {round_up(offset + 1, shard) - offset, shard};
}

/// The blocks of a tensor that lie on more than one device; where it is whole from a dimension, its units.
constexpr std::int64_t count_cut_blocks(const PlanTensor& tensor, Boundaries boundaries) {
    const auto [first, step] = boundaries;
    const CutPattern& cuts = tensor.cuts;
    if (cuts.are_cuts(first, step))
        return 0;
    const BlockGrid grid(tensor.spec.shape, tensor.spec.block);
    std::int64_t found = 0;
    for (std::int64_t boundary = first; boundary < tensor.elements();) {
        if (cuts.is_cut(boundary)) {
            boundary += step;
            continue;
        }
        // A unit is a row of blocks: look at each block of the unit that the boundary passes through. What
        // another axis keeps whole is one thing, wherever its blocks end.
        const std::int64_t unit = cuts.unit_of(boundary), unit_end = cuts.cut(unit + 1);
        const std::int64_t last_block = tensor.spec.whole_from < 0 ? grid.block_of(unit_end - 1) : -1;
        found += tensor.spec.whole_from < 0 ? 0 : 1;
        for (std::int64_t block = grid.block_of(cuts.cut(unit)); block <= last_block; ++block) {
            const BlockGrid::Span span = grid.span_of(block);
            const std::int64_t steps = span.first < first ? 0 : (span.first - first) / step + 1;
            found += first + steps * step <= span.last ? 1 : 0;
        }
        boundary = first + ceil_div(unit_end - first, step) * step;
    }
    return found;
}

/// Tensors lie in segments, those of one segment apart, and the segments together are a buffer.
/// @throws PlanError  they do not: no layout at all
constexpr void check_layout(const PlanInput& input, const Arrangement& arrangement) {
    const std::size_t count = input.tensors.size();
    if (arrangement.starts.size() != count)
        throw PlanError(
            concat("the policy returned ", arrangement.starts.size(), " starts for ", count, " tensors"));
    const auto num_segments = static_cast<std::int64_t>(arrangement.segments.size());
    if (num_segments == 0)
        throw PlanError("there is no segment, a plan has at least one");
    std::vector<std::vector<std::size_t>> inside(arrangement.segments.size(), std::vector<std::size_t>{});
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t segment = arrangement.starts[i].segment;
        if (segment < 0 || segment >= num_segments)
            throw PlanError(concat("tensor '", input.tensors[i].spec.name, "' lies in segment ", segment,
                                   ", the policy returned ", num_segments));
        inside[static_cast<std::size_t>(segment)].push_back(i);
    }
    std::int64_t region = 0;
    for (std::size_t segment = 0; segment < inside.size(); ++segment) {
        const auto [shard, set_by] = arrangement.segments[segment];
        if (shard < 0 || region > max_count / input.num_devices - shard)
            throw PlanError(concat("shards of ", shard, " elements behind ", region, " others on ",
                                   input.num_devices, " devices are not a buffer"));
        region += shard;
        if (set_by != -1 && !std::binary_search(inside[segment].begin(), inside[segment].end(),
                                                static_cast<std::size_t>(set_by)))
            throw PlanError(
                concat("segment ", segment, " is set by tensor ", set_by, ", which does not lie in it"));
        check_places(input, arrangement, std::move(inside[segment]), shard);
    }
}

/// Law 2, of what check_layout accepted. Time does not depend on how many boundaries or blocks there are.
/// @throws PlanError  the first thing that breaks it
constexpr void check_law(const PlanInput& input, const Arrangement& arrangement) {
    if (arrangement.interleaved && input.num_devices > 1)
        throw PlanError("tensors are interleaved, a gather would have to copy them");
    for (std::size_t s = 0; s < arrangement.segments.size(); ++s) {
        const std::int64_t shard = arrangement.segments[s].shard_elems;
        if (shard % input.alignment_elems != 0)
            throw PlanError(concat("segment ", s, ": shards of ", shard, " elements are no multiple of the ",
                                   input.alignment_elems, " of the alignment"));
    }
    for (std::size_t i = 0; i < input.tensors.size(); ++i) {
        const PlanTensor& tensor = input.tensors[i];
        const Arrangement::Start& start = arrangement.starts[i];
        if (start.offset % tensor.align_elems != 0)
            throw PlanError(concat("tensor '", tensor.spec.name, "' at offset ", start.offset, " of segment ",
                                   start.segment, " is off its alignment of ", tensor.align_elems,
                                   " elements"));
        if (tensor.elements() == 0)
            continue;
        const auto [first, distance] = boundaries_of(input, arrangement, i);
        if (!tensor.cuts.are_cuts(first, distance))
            throw PlanError(concat("tensor '", tensor.spec.name, "' at offset ", start.offset, " of segment ",
                                   start.segment, ": shards of ", distance, " elements cut a block of ",
                                   to_string(tensor.spec.block, tensor.spec.whole_from)));
    }
}

/// What the arrangement of a policy that does not promise law 2 leaves undone. @pre check_layout accepted it
constexpr Violations count_violations(const PlanInput& input, const Arrangement& arrangement) {
    Violations found;
    std::int64_t region = 0;
    for (const Arrangement::Region& segment : arrangement.segments) {
        region += segment.shard_elems;
        found.misaligned += segment.shard_elems % input.alignment_elems != 0 ? 1 : 0;
    }
    for (std::size_t i = 0; i < input.tensors.size(); ++i) {
        const PlanTensor& tensor = input.tensors[i];
        found.misaligned += arrangement.starts[i].offset % tensor.align_elems != 0 ? 1 : 0;
        if (tensor.elements() > 0)
            found.blocks_cut += count_cut_blocks(tensor, boundaries_of(input, arrangement, i));
    }
    if (arrangement.interleaved && input.num_devices > 1)
        found.copied_per_gather = region + input.elements(); // in before the gather, out after it
    return found;
}

} // namespace ragged::detail
