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

/// The blocks of a tensor that lie on more than one device, when a boundary is at `first` and then every
/// `step` elements.
constexpr std::int64_t count_cut_blocks(const PlanTensor& tensor, std::int64_t first, std::int64_t step) {
    if (first >= tensor.elements())
        return 0;
    const CutPattern& cuts = tensor.cuts;
    if (cuts.uniform() && first % cuts.step == 0 && step % cuts.step == 0)
        return 0;
    const BlockGrid grid(tensor.spec.shape, tensor.spec.block);
    std::int64_t found = 0;
    for (std::int64_t boundary = first; boundary < tensor.elements();) {
        if (cuts.is_cut(boundary)) {
            boundary += step;
            continue;
        }
        // A unit is a row of blocks: look at each block of the unit that the boundary passes through.
        const std::int64_t unit = cuts.unit_of(boundary), unit_end = cuts.cut(unit + 1);
        const std::int64_t last_block = grid.block_of(unit_end - 1);
        for (std::int64_t block = grid.block_of(cuts.cut(unit)); block <= last_block; ++block) {
            const BlockGrid::Span span = grid.span_of(block);
            const std::int64_t steps = span.first < first ? 0 : (span.first - first) / step + 1;
            found += first + steps * step <= span.last ? 1 : 0;
        }
        boundary = first + ceil_div(unit_end - first, step) * step;
    }
    return found;
}

/// What the arrangement leaves undone, in the words of law 2.
/// @throws PlanError  tensors overlap, leave the buffer, or lie in no segment: no layout at all
constexpr Violations check_arrangement(const PlanInput& input, const Arrangement& arrangement) {
    const std::size_t count = input.tensors.size();
    if (arrangement.starts.size() != count)
        throw PlanError(
            concat("the policy returned ", arrangement.starts.size(), " starts for ", count, " tensors"));
    const auto num_segments = static_cast<std::int64_t>(arrangement.segments.size());
    std::vector<std::vector<std::size_t>> inside(arrangement.segments.size(), std::vector<std::size_t>{});
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t segment = arrangement.starts[i].segment;
        if (segment < 0 || segment >= num_segments)
            throw PlanError(concat("tensor '", input.tensors[i].spec.name, "' lies in segment ", segment,
                                   ", the policy returned ", num_segments));
        inside[static_cast<std::size_t>(segment)].push_back(i);
    }
    Violations found;
    std::int64_t region = 0;
    for (std::size_t segment = 0; segment < inside.size(); ++segment) {
        const std::int64_t shard = arrangement.segments[segment].shard_elems;
        if (shard < 0 || region > max_count / input.num_devices - shard)
            throw PlanError(concat("shards of ", shard, " elements behind ", region, " others on ",
                                   input.num_devices, " devices are not a buffer"));
        region += shard;
        check_places(input, arrangement, inside[segment], shard);
        found.misaligned += shard % input.alignment_elems != 0 ? 1 : 0;
        for (std::size_t i : inside[segment]) {
            const PlanTensor& tensor = input.tensors[i];
            const std::int64_t offset = arrangement.starts[i].offset;
            found.misaligned += offset % tensor.align_elems != 0 ? 1 : 0;
            if (tensor.elements() == 0)
                continue;
            const std::int64_t even = even_run(tensor, input.num_devices);
            found.blocks_cut += arrangement.interleaved
                                    ? count_cut_blocks(tensor, even, even)
                                    : count_cut_blocks(tensor, round_up(offset + 1, shard) - offset, shard);
        }
    }
    if (arrangement.interleaved && input.num_devices > 1)
        found.copied_per_gather = region + input.elements(); // in before the gather, out after it
    return found;
}

} // namespace ragged::detail
