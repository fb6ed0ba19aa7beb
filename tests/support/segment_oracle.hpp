// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The cheapest plan of a small group by exhaustion: every assignment to segments, every order, every S, every
// start. Legal cuts come from the coordinates of each element alone. Shares no code with the planner.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <vector>

#include <ragged/spec/tensor_spec.hpp>

namespace oracle {

/// A contiguous run of elements: a tensor, or a slice of one.
struct Run {
    std::int64_t elements = 0;
    std::int64_t align = 1;
    std::vector<bool> legal; // [elements + 1], whether a cut there parts no block
};

/// What must stay together with an element: its block, for tiles its row of tiles. Tiles side by side are
/// interleaved in memory, so the dimensions inside of the first that has tiles thicker than one do not count.
/// (A last row of tiles that is one element thick could be cut further; layouts keep it whole.)
inline std::vector<std::int64_t> unit_of(const ragged::TensorSpec& tensor, std::int64_t element) {
    using Kind = ragged::Block::Kind;
    const ragged::Shape& shape = tensor.shape;
    const ragged::Block& block = tensor.block;
    if (block.kind == Kind::whole)
        return {0};
    if (block.kind == Kind::elements)
        return {element / block.sizes[0]};
    if (block.kind == Kind::rows)
        return {element / shape[shape.rank() - 1] / block.sizes[0]};
    std::vector<std::int64_t> result;
    std::int64_t inner = shape.elements();
    for (int dim = 0; dim < shape.rank(); ++dim) {
        inner /= shape[dim];
        result.push_back(element / inner % shape[dim] / block.sizes[dim]);
        if (block.sizes[dim] > 1)
            break;
    }
    return result;
}

inline Run run_of(const ragged::TensorSpec& tensor, std::int64_t align) {
    Run run{tensor.shape.elements(), align, {}};
    std::map<std::vector<std::int64_t>, std::pair<std::int64_t, std::int64_t>> spans; // unit -> first, last
    for (std::int64_t element = 0; element < run.elements; ++element)
        spans.emplace(unit_of(tensor, element), std::pair(element, element)).first->second.second = element;
    run.legal.assign(static_cast<std::size_t>(run.elements) + 1, true);
    for (const auto& [unit, span] : spans)
        for (std::int64_t cut = span.first + 1; cut <= span.second; ++cut)
            run.legal[static_cast<std::size_t>(cut)] = false;
    if (tensor.whole_from >= 0) { // no cut between elements that differ in no dimension before it
        std::int64_t whole = 1;
        for (int dim = tensor.whole_from; dim < tensor.shape.rank(); ++dim)
            whole *= tensor.shape[dim];
        for (std::int64_t cut = 1; cut < run.elements; ++cut)
            if (cut / whole == (cut - 1) / whole)
                run.legal[static_cast<std::size_t>(cut)] = false;
    }
    return run;
}

/// Tensors of 1-byte elements, slices apart.
inline std::vector<Run> runs_of(const ragged::GroupSpec& group, std::int64_t alignment) {
    std::vector<Run> runs;
    for (const ragged::TensorSpec& tensor : group.tensors) {
        const std::int64_t align = tensor.align_bytes == 0 ? alignment : tensor.align_bytes;
        if (!tensor.sliced || tensor.shape[0] == 0) {
            runs.push_back(run_of(tensor, align));
            continue;
        }
        ragged::TensorSpec slice = tensor;
        slice.shape = slice.block.sizes = {};
        slice.whole_from = tensor.whole_from > 0 ? tensor.whole_from - 1 : -1;
        for (int dim = 1; dim < tensor.shape.rank(); ++dim)
            slice.shape.push_back(tensor.shape[dim]);
        for (int dim = tensor.block.kind == ragged::Block::Kind::tile ? 1 : 0;
             dim < tensor.block.sizes.rank(); ++dim)
            slice.block.sizes.push_back(tensor.block.sizes[dim]);
        for (std::int64_t i = 0; i < tensor.shape[0]; ++i)
            runs.push_back(run_of(slice, align));
    }
    return runs;
}

inline bool may_start(const Run& run, std::int64_t start, std::int64_t shard, std::int64_t devices) {
    if (start % run.align != 0 || start + run.elements > shard * devices)
        return false;
    for (std::int64_t device = 1; device < devices; ++device) {
        const std::int64_t cut = device * shard - start;
        if (cut > 0 && cut < run.elements && !run.legal[static_cast<std::size_t>(cut)])
            return false;
    }
    return true;
}

/// S of the runs in this order, in one segment.
inline std::int64_t smallest_in_order(const std::vector<Run>& runs, std::int64_t devices,
                                      std::int64_t alignment) {
    for (std::int64_t shard = 0;; shard += alignment) {
        std::int64_t end = 0; // the first that can be reached; what follows may always start later
        for (const Run& run : runs) {
            while (end + run.elements <= shard * devices && !may_start(run, end, shard, devices))
                ++end;
            end += run.elements;
        }
        if (end <= shard * devices)
            return shard;
    }
}

/// S of each subset of the runs in a segment of their own, in its best order.
inline std::vector<std::int64_t> smallest_shards(const std::vector<Run>& runs, std::int64_t devices,
                                                 std::int64_t alignment) {
    const std::size_t subsets = std::size_t{1} << runs.size();
    std::vector<std::int64_t> smallest(subsets, -1);
    std::size_t unknown = subsets;
    for (std::int64_t shard = 0; unknown > 0; shard += alignment) {
        // the first end that any order of a subset can reach; what follows may always start later
        std::vector<std::int64_t> end(subsets, -1);
        end[0] = 0;
        for (std::size_t subset = 0; subset < subsets; ++subset) {
            for (std::size_t i = 0; i < runs.size(); ++i) {
                const std::size_t before = subset & ~(std::size_t{1} << i);
                if (before == subset || end[before] < 0)
                    continue;
                std::int64_t start = end[before];
                while (start + runs[i].elements <= shard * devices &&
                       !may_start(runs[i], start, shard, devices))
                    ++start;
                const std::int64_t found = start + runs[i].elements;
                if (found <= shard * devices && (end[subset] < 0 || found < end[subset]))
                    end[subset] = found;
            }
            if (smallest[subset] < 0 && end[subset] >= 0)
                smallest[subset] = shard, --unknown;
        }
    }
    return smallest;
}

/// The lowest cost of any plan: elements of the gathered group, and `price` for each segment but the first.
inline std::int64_t lowest_cost(const std::vector<Run>& runs, std::int64_t devices, std::int64_t alignment,
                                int max_segments, std::int64_t price) {
    const std::vector<std::int64_t> shard = smallest_shards(runs, devices, alignment);
    std::vector<std::int64_t> cost(shard.size()); // of each subset, with as many segments as allowed so far
    for (std::size_t subset = 0; subset < shard.size(); ++subset)
        cost[subset] = devices * shard[subset];
    for (int segment = 1; segment < max_segments; ++segment) {
        std::vector<std::int64_t> next = cost;
        for (std::size_t subset = 0; subset < shard.size(); ++subset)
            for (std::size_t part = subset; part > 0; part = (part - 1) & subset)
                if (part != subset)
                    next[subset] =
                        std::min(next[subset], devices * shard[part] + price + cost[subset & ~part]);
        cost = next;
    }
    return cost.back();
}

} // namespace oracle
