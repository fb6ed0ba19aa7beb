// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A plan: where each tensor of a group lies in a buffer of equal shards. It is plain data that every rank
// derives from the same specs; buffers, views and collectives read it and never change it.
//
//     gathered buffer of a segment: num_devices shards of S elements; rank r owns [r*S, (r+1)*S)
//
// Regions of a size of their own are another kind of segment and another type of plan: unequal_plan.hpp.
#pragma once

#include <algorithm> // std::clamp
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/core/hash.hpp>
#include <ragged/layout/block_grid.hpp>
#include <ragged/layout/ragged_shard.hpp>

namespace ragged {

/// A contiguous tensor and its place: a tensor of the group, or one slice of a sliced one, under its name.
struct PlacedTensor {
    TensorSpec spec; // of the slice; align_bytes is never 0
    CutPattern cuts;
    std::int64_t segment = 0;
    std::int64_t offset = 0; // elements from the start of the segment
    std::int64_t slice = -1; // index along dimension 0 of a sliced tensor; -1: the whole tensor

    constexpr std::int64_t elements() const { return cuts.elements; }
    /// Of a slice with its number: "experts[2]".
    std::string full_name() const { return slice < 0 ? spec.name : concat(spec.name, "[", slice, "]"); }
    constexpr bool operator==(const PlacedTensor&) const = default;
};

/// One contiguous region of equal shards.
struct Segment {
    std::int64_t shard_elems = 0;       // S
    std::int64_t lower_bound_elems = 0; // no order of the tensors allows a smaller S
    std::int64_t elements = 0;          // of the tensors in it
    std::int64_t set_by = -1;           // index of the tensor that forced S; -1: S is the fair share

    constexpr bool proven_optimal() const { return shard_elems == lower_bound_elems; }
    /// Where the region of `rank` starts in the gathered segment; the end of the segment for num_devices.
    constexpr std::int64_t region_begin(std::int64_t rank) const { return rank * shard_elems; }
    constexpr std::int64_t region_elems(std::int64_t) const { return shard_elems; }
    constexpr std::int64_t largest_region_elems() const { return shard_elems; }
    constexpr void add_regions(detail::Hash& hash) const { hash.add(shard_elems); }
    std::string describe_regions() const { return concat("shards of ", shard_elems, " elements"); }
    constexpr bool operator==(const Segment&) const = default;
};

/// What a layout of another system gives up; all zero and false for a plan that keeps the laws.
struct Violations {
    std::int64_t blocks_cut = 0;        // blocks, and runs kept whole, that lie on more than one device
    std::int64_t misaligned = 0;        // tensor starts, and S, off the alignment
    std::int64_t copied_per_gather = 0; // elements one rank copies besides the collective's own traffic

    constexpr bool any() const { return blocks_cut != 0 || misaligned != 0 || copied_per_gather != 0; }
    constexpr bool operator==(const Violations&) const = default;
};

namespace detail {

constexpr double padding_ratio(std::int64_t padded, std::int64_t elements) {
    return elements == 0 ? 0.0 : static_cast<double>(padded - elements) / static_cast<double>(elements);
}

} // namespace detail

/// @tparam SegmentType  Segment, or UnequalSegment
template <class SegmentType>
struct BasicPlan {
    std::string name; // of the group
    std::string policy;
    std::int64_t num_devices = 1;
    std::int64_t alignment_bytes = 128; // of S: the option's, or that of the strictest tensor
    std::int64_t alignment_elems = 64;  // satisfies alignment_bytes for every plane declared over the plan
    std::vector<SegmentType> segments;
    std::vector<PlacedTensor> tensors; // registration order, slices one after another
    Violations violations;

    /// Elements of all tensors.
    constexpr std::int64_t elements() const {
        std::int64_t sum = 0;
        for (const SegmentType& segment : segments)
            sum += segment.elements;
        return sum;
    }
    /// Elements of one rank's regions together; without a rank, of the rank that has most.
    constexpr std::int64_t region_elems(std::int64_t rank) const {
        std::int64_t sum = 0;
        for (const SegmentType& segment : segments)
            sum += segment.region_elems(rank);
        return sum;
    }
    constexpr std::int64_t region_elems() const {
        std::int64_t sum = 0;
        for (const SegmentType& segment : segments)
            sum += segment.largest_region_elems();
        return sum;
    }
    /// Elements of the gathered buffer: the regions of all ranks.
    constexpr std::int64_t padded_elements() const {
        std::int64_t sum = 0;
        for (const SegmentType& segment : segments)
            sum += segment.region_begin(num_devices);
        return sum;
    }
    /// padded / elements - 1; 0 for a group without elements.
    constexpr double padding_ratio() const { return detail::padding_ratio(padded_elements(), elements()); }

    /// First element of a segment in the gathered buffer.
    constexpr std::int64_t segment_offset(std::int64_t segment) const {
        std::int64_t offset = 0;
        for (std::int64_t before = 0; before < segment; ++before)
            offset += segments[static_cast<std::size_t>(before)].region_begin(num_devices);
        return offset;
    }
    /// First element of a segment in the regions of `rank`, stored one after another.
    constexpr std::int64_t region_offset(std::int64_t segment, std::int64_t rank) const {
        std::int64_t offset = 0;
        for (std::int64_t before = 0; before < segment; ++before)
            offset += segments[static_cast<std::size_t>(before)].region_elems(rank);
        return offset;
    }

    /// Bytes one rank needs at the same time, the one with most: a region for each dtype of `regions`, a
    /// gathered buffer for each of `gathered`. Buffers over the plan allocate exactly this.
    constexpr std::int64_t peak_bytes(std::span<const DType> regions, std::span<const DType> gathered) const {
        std::int64_t per_region = 0, per_gathered = 0;
        for (DType dtype : regions)
            per_region += size_bytes(dtype);
        for (DType dtype : gathered)
            per_gathered += size_bytes(dtype);
        const std::int64_t region = checked_mul(region_elems(), per_region, "peak bytes");
        const std::int64_t full = checked_mul(padded_elements(), per_gathered, "peak bytes");
        return checked_add(region, full, "peak bytes");
    }

    /// Index of a tensor that is not sliced. @throws PlanError naming the tensor and the group
    constexpr std::size_t index_of(std::string_view tensor) const {
        const std::size_t found = first_of(tensor);
        if (tensors[found].slice >= 0)
            throw PlanError(concat("group '", name, "': tensor '", tensor, "' lies in ", num_slices(found),
                                   " slices; ask for its slices"));
        return found;
    }

    /// Indices [first, first + count) of the slices of a sliced tensor.
    /// @throws PlanError naming the tensor and the group: there is none, or it is not sliced
    struct Slices {
        std::size_t first;
        std::int64_t count;
    };
    constexpr Slices slices_of(std::string_view tensor) const {
        const std::size_t found = first_of(tensor);
        if (tensors[found].slice < 0 && !tensors[found].spec.sliced)
            throw PlanError(concat("group '", name, "': tensor '", tensor, "' is not sliced"));
        return {found, num_slices(found)};
    }

    constexpr bool operator==(const BasicPlan& other) const {
        return name == other.name && num_devices == other.num_devices &&
               alignment_bytes == other.alignment_bytes && alignment_elems == other.alignment_elems &&
               segments == other.segments && tensors == other.tensors;
    }

  private:
    constexpr std::size_t first_of(std::string_view tensor) const {
        for (std::size_t i = 0; i < tensors.size(); ++i)
            if (tensors[i].spec.name == tensor)
                return i;
        throw PlanError(concat("group '", name, "' has no tensor '", tensor, "'"));
    }
    constexpr std::int64_t num_slices(std::size_t first) const {
        std::size_t end = first;
        while (end < tensors.size() && tensors[end].slice == static_cast<std::int64_t>(end - first))
            ++end;
        return static_cast<std::int64_t>(end - first);
    }
};

using Plan = BasicPlan<Segment>;

/// What one rank holds of one tensor: a run of the tensor's flat elements, and where it lies in the rank's
/// region of the segment. An empty piece has no elements and lies at the region's end or start.
struct Piece {
    std::int64_t first = 0; // flat element of the tensor
    std::int64_t elements = 0;
    std::int64_t region_offset = 0;

    constexpr bool operator==(const Piece&) const = default;
};

/// @pre plan.violations is empty, 0 <= rank < plan.num_devices
template <class SegmentType>
constexpr Piece piece_of(const BasicPlan<SegmentType>& plan, const PlacedTensor& tensor, std::int64_t rank) {
    const SegmentType& segment = plan.segments[static_cast<std::size_t>(tensor.segment)];
    const std::int64_t begin = segment.region_begin(rank), size = segment.region_elems(rank);
    const std::int64_t first = std::clamp<std::int64_t>(begin - tensor.offset, 0, tensor.elements());
    const std::int64_t last = std::clamp<std::int64_t>(begin + size - tensor.offset, 0, tensor.elements());
    return {first, last - first, std::clamp<std::int64_t>(tensor.offset - begin, 0, size)};
}

/// The pieces of a tensor on all ranks, as a layout.
template <class SegmentType>
constexpr RaggedShard ragged_shard(const BasicPlan<SegmentType>& plan, const PlacedTensor& tensor) {
    std::vector<std::int64_t> offsets;
    for (std::int64_t rank = 0; rank < plan.num_devices; ++rank)
        offsets.push_back(piece_of(plan, tensor, rank).first);
    return RaggedShard::from_offsets(tensor.cuts, offsets);
}

namespace detail {

/// The element type of the group's tensors; the largest where they differ.
template <class SegmentType>
constexpr DType largest_dtype(const BasicPlan<SegmentType>& plan) {
    DType largest = plan.tensors.empty() ? DType::bf16 : plan.tensors.front().spec.dtype;
    for (const PlacedTensor& tensor : plan.tensors)
        if (size_bytes(tensor.spec.dtype) > size_bytes(largest))
            largest = tensor.spec.dtype;
    return largest;
}

} // namespace detail

/// 64 bits over everything that decides where an element lies. Equal plans have equal fingerprints on every
/// machine; ranks compare it before their first collective.
template <class SegmentType>
constexpr std::uint64_t fingerprint(const BasicPlan<SegmentType>& plan) {
    detail::Hash hash;
    const auto add = [&hash](const Shape& shape) {
        hash.add(std::int64_t{shape.rank()});
        for (int dim = 0; dim < shape.rank(); ++dim)
            hash.add(shape[dim]);
    };
    hash.add(plan.name);
    hash.add(plan.num_devices);
    hash.add(plan.alignment_bytes);
    hash.add(plan.alignment_elems);
    hash.add(static_cast<std::int64_t>(plan.segments.size()));
    for (const SegmentType& segment : plan.segments)
        segment.add_regions(hash);
    hash.add(static_cast<std::int64_t>(plan.tensors.size()));
    for (const PlacedTensor& tensor : plan.tensors) {
        hash.add(tensor.spec.name);
        add(tensor.spec.shape);
        hash.add(static_cast<std::int64_t>(tensor.spec.block.kind));
        add(tensor.spec.block.sizes);
        hash.add(static_cast<std::int64_t>(tensor.spec.dtype));
        hash.add(tensor.spec.align_bytes);
        hash.add((tensor.spec.sliced ? 1 : 0) + std::int64_t{2} * (tensor.spec.whole_from + 1));
        hash.add(tensor.slice);
        hash.add(tensor.segment);
        hash.add(tensor.offset);
    }
    return hash.value();
}

/// The plan as lines of text, one fact each, in an order that makes the first differing line of two plans the
/// first difference worth reporting.
template <class SegmentType>
std::vector<std::string> describe(const BasicPlan<SegmentType>& plan) {
    std::vector<std::string> lines{
        concat("group '", plan.name, "' with ", plan.tensors.size(), " tensors on ", plan.num_devices,
               " devices"),
        concat("alignment of ", plan.alignment_bytes, " bytes, ", plan.alignment_elems, " elements")};
    for (std::size_t i = 0; i < plan.segments.size(); ++i)
        lines.push_back(concat("segment ", i, " with ", plan.segments[i].describe_regions()));
    for (const PlacedTensor& tensor : plan.tensors)
        lines.push_back(concat(
            "tensor '", tensor.spec.name, "' ",
            tensor.slice < 0 ? std::string() : concat("slice ", tensor.slice, " "),
            tensor.spec.sliced ? "sliced " : "", name(tensor.spec.dtype), " ", to_string(tensor.spec.shape),
            " ", to_string(tensor.spec.block, tensor.spec.whole_from), " aligned to ",
            tensor.spec.align_bytes, " bytes at offset ", tensor.offset, " of segment ", tensor.segment));
    return lines;
}

} // namespace ragged
