// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A route worked out for one rank: which elements each step copies, and the offsets and counts of its
// collectives. All numbers, derived once from the layouts; running it needs pointers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <ragged/core/error.hpp>
#include <ragged/core/integer.hpp>
#include <ragged/layout/copy_run.hpp>
#include <ragged/redistribute/exchange.hpp>
#include <ragged/redistribute/route.hpp>
#include <ragged/redistribute/stage.hpp>

namespace ragged::detail {

/// The arrays that a program works on.
enum class Area : std::uint8_t { source, destination, staging };

struct ProgramCopy {
    Area from = Area::source, to = Area::destination;
    std::vector<CopyRun> runs;
};

/// One collective on one tensor: parts of counts[r] elements one after another, from `offset` on.
struct ProgramCall {
    std::int64_t offset;
    std::vector<std::int64_t> counts; // one for an all-reduce, else one per rank of the line

    bool equal() const {
        for (const std::int64_t count : counts)
            if (count != counts.front())
                return false;
        return true;
    }
    /// The one rank that has a part; 0 when none has.
    int root() const {
        std::size_t rank = 0;
        while (rank + 1 < counts.size() && counts[rank] == 0)
            ++rank;
        return counts[rank] == 0 ? 0 : static_cast<int>(rank);
    }
    std::int64_t before(std::int64_t rank) const {
        std::int64_t sum = 0;
        for (std::int64_t peer = 0; peer < rank; ++peer)
            sum += counts[static_cast<std::size_t>(peer)];
        return sum;
    }
};

struct ProgramStep {
    ProgramCopy copy; // first
    Area area = Area::source;
    std::vector<ProgramCall> calls;
};

/// Built step by step in the order of a route. The members follow where this rank's part of every tensor is.
class Program {
  public:
    /// @param rank, num_ranks  of the world; a rank beyond a layout holds nothing there
    Program(const Stage& from, const Stage& to, int rank, int num_ranks)
        : to_(to)
        , rank_(rank)
        , num_ranks_(num_ranks)
        , match_(match_tensors(from, to))
        , source_offsets_(offsets_of(from))
        , destination_offsets_(offsets_of(to))
        , stage_(from) {
        for (std::size_t tensor = 0; tensor < match_.size(); ++tensor)
            if (match_[tensor] >= 0)
                tensors_.push_back({match_[tensor], static_cast<std::int64_t>(tensor),
                                    source_offsets_[static_cast<std::size_t>(match_[tensor])]});
    }

    std::int64_t source_elems() const { return source_offsets_.back(); }
    std::int64_t destination_elems() const { return destination_offsets_.back(); }
    std::int64_t staging_elems() const { return staging_elems_; }

    /// Keep what `next` leaves of what is held.
    /// @param contiguous  it is one run of it  @param last  straight into the destination
    ProgramStep slice(const Stage& next, bool contiguous, bool last) {
        ProgramStep step;
        if (!last && contiguous) {
            for (Tensor& tensor : tensors_)
                tensor.at += place_in(next_portion(next, tensor), held(tensor));
        } else {
            const Area to = last ? Area::destination : Area::staging;
            step.copy = {area_, to, {}};
            for (Tensor& tensor : tensors_) {
                const Portion now = held(tensor), kept = next_portion(next, tensor);
                const std::int64_t at = last ? destination_of(tensor) : reserve(kept.elements);
                kept.for_each_run([&](std::int64_t global, std::int64_t local, std::int64_t elements) {
                    append_run(step.copy.runs, tensor.at + now.local(global), at + local, elements);
                });
                tensor.at = at;
            }
            area_ = to;
        }
        move_on(next, true);
        return step;
    }

    /// Sum parts along `axis`; `next` says which part is whose.
    ProgramStep reduce_scatter(const Stage& next, bool next_of_to, std::size_t axis, bool contiguous) {
        ProgramStep step;
        if (!contiguous)
            step.copy = {area_, Area::staging, {}};
        for (Tensor& tensor : tensors_) {
            const Portion now = held(tensor);
            ProgramCall call{tensor.at, {}};
            if (!contiguous)
                call.offset = reserve(now.elements);
            std::int64_t end = call.offset;
            for (const std::int64_t rank : line(axis)) {
                const Portion part = next.portion(next_of_to ? tensor.to : tensor.from, rank);
                if (!contiguous)
                    part.for_each_run([&](std::int64_t global, std::int64_t local, std::int64_t elements) {
                        append_run(step.copy.runs, tensor.at + now.local(global), end + local, elements);
                    });
                call.counts.push_back(part.elements);
                end += part.elements;
            }
            tensor.at = call.offset + call.before(coordinate(axis));
            step.calls.push_back(std::move(call));
        }
        area_ = contiguous ? area_ : Area::staging;
        step.area = area_;
        move_on(next, next_of_to);
        return step;
    }

    /// Sum equal parts along `axis`, whatever `to` makes of them.
    ProgramStep split_reduce_scatter(std::size_t axis) {
        return reduce_scatter(stage_.split(axis), false, axis, true);
    }

    /// @param place  first copy what is held to where gathers that follow expect it: then nothing is left to
    /// copy between two collectives
    ProgramStep all_reduce(bool place) {
        ProgramStep step;
        if (place) {
            step.copy = {area_, Area::destination, {}};
            for (Tensor& tensor : tensors_) {
                const Portion now = held(tensor);
                const std::int64_t at = destination_of(tensor) + place_in(now, to_.portion(tensor.to, rank_));
                append_run(step.copy.runs, tensor.at, at, now.elements);
                tensor.at = at;
            }
            area_ = Area::destination;
        }
        step.area = area_;
        for (const Tensor& tensor : tensors_)
            step.calls.push_back({tensor.at, {held(tensor).elements}});
        return step;
    }

    /// Join parts along `axis` to what `next` says; contiguous parts are joined where they belong in the
    /// destination, others are unpacked by finish().
    ProgramStep all_gather(const Stage& next, std::size_t axis, bool contiguous) {
        const Area to = contiguous ? Area::destination : Area::staging;
        ProgramStep step{{area_, to, {}}, to, {}};
        for (Tensor& tensor : tensors_) {
            const Portion now = held(tensor), joined = next.portion(tensor.from, rank_);
            ProgramCall call{0, {}};
            if (contiguous)
                call.offset = destination_of(tensor) + place_in(joined, to_.portion(tensor.to, rank_));
            else
                call.offset = reserve(joined.elements);
            std::int64_t end = call.offset;
            for (const std::int64_t rank : line(axis)) {
                const Portion part = stage_.portion(tensor.from, rank);
                if (!contiguous)
                    part.for_each_run([&](std::int64_t global, std::int64_t local, std::int64_t elements) {
                        append_run(finish_.runs, end + local, destination_of(tensor) + joined.local(global),
                                   elements);
                    });
                call.counts.push_back(part.elements);
                end += part.elements;
            }
            const std::int64_t own = call.offset + call.before(coordinate(axis));
            append_run(step.copy.runs, tensor.at, own, now.elements);
            tensor.at = contiguous ? call.offset : destination_of(tensor);
            step.calls.push_back(std::move(call));
        }
        if (!contiguous)
            finish_.from = Area::staging;
        area_ = Area::destination;
        move_on(next, false);
        return step;
    }

    /// Everything that is left, by messages between all ranks.
    /// @param messages  filled; offsets of packed parts count from the start of the staging memory
    ProgramStep exchange(Exchange& messages) {
        Starts places(source_offsets_.size());
        for (const Tensor& tensor : tensors_)
            places[static_cast<std::size_t>(tensor.from)] = tensor.at;
        messages = make_exchange(stage_, to_, match_, rank_, num_ranks_, places, destination_offsets_);
        const std::int64_t packed = reserve(messages.pack_elems), unpacked = reserve(messages.unpack_elems);
        for (CopyRun& run : messages.pack)
            run.to += packed;
        for (CopyRun& run : messages.unpack)
            run.from += unpacked;
        for (Exchange::Part& part : messages.sends)
            part.offset += part.packed ? packed : 0;
        for (Exchange::Part& part : messages.receives)
            part.offset += part.packed ? unpacked : 0;
        ProgramStep step{{area_, Area::destination, messages.kept}, area_, {}};
        finish_ = {Area::staging, Area::destination, messages.unpack};
        area_ = Area::destination;
        return step;
    }

    /// The copy after all steps.
    ProgramCopy finish() {
        if (area_ == Area::destination)
            return std::move(finish_);
        ProgramCopy copy{area_, Area::destination, {}};
        for (const Tensor& tensor : tensors_)
            append_run(copy.runs, tensor.at, destination_of(tensor), held(tensor).elements);
        return copy;
    }

    /// What the destination array holds, tensor by tensor: runs of it, `from` and `to` alike.
    std::vector<CopyRun> values() const {
        std::vector<CopyRun> runs;
        for (const Tensor& tensor : tensors_)
            append_run(runs, destination_of(tensor), destination_of(tensor),
                       is_beyond(to_) ? 0 : to_.portion(tensor.to, rank_).elements);
        return runs;
    }

  private:
    struct Tensor {
        std::int64_t from, to; // index in either layout
        std::int64_t at;       // where this rank's part starts in the present area
    };

    bool is_beyond(const Stage& stage) const { return rank_ >= stage.num_ranks(); }
    Starts offsets_of(const Stage& stage) const {
        return is_beyond(stage) ? Starts(static_cast<std::size_t>(stage.num_tensors()) + 1)
                                : stage.offsets(rank_);
    }
    std::int64_t destination_of(const Tensor& tensor) const {
        return destination_offsets_[static_cast<std::size_t>(tensor.to)];
    }
    Portion held(const Tensor& tensor) const {
        return stage_.portion(of_to_ ? tensor.to : tensor.from, rank_);
    }
    Portion next_portion(const Stage& next, const Tensor& tensor) const {
        return next.portion(tensor.to, rank_);
    }
    static std::int64_t place_in(const Portion& part, const Portion& whole) {
        return part.elements == 0 ? 0 : whole.local(part.global(0));
    }
    std::int64_t reserve(std::int64_t elements) {
        return std::exchange(staging_elems_,
                             checked_add<BufferError>(staging_elems_, elements, "staged elements"));
    }
    std::int64_t coordinate(std::size_t axis) const { return rank_ / to_.stride(axis) % to_.axis_size(axis); }
    std::vector<std::int64_t> line(std::size_t axis) const {
        std::vector<std::int64_t> ranks;
        for (std::int64_t i = 0; i < to_.axis_size(axis); ++i)
            ranks.push_back(rank_ + (i - coordinate(axis)) * to_.stride(axis));
        return ranks;
    }
    void move_on(const Stage& next, bool of_to) {
        stage_ = next;
        of_to_ = of_to;
    }

    Stage to_;
    int rank_, num_ranks_;
    std::vector<std::int64_t> match_;
    Starts source_offsets_, destination_offsets_;
    std::vector<Tensor> tensors_;
    Stage stage_; // what ranks hold at present
    bool of_to_ = false;
    Area area_ = Area::source;
    ProgramCopy finish_;
    std::int64_t staging_elems_ = 0;
};

} // namespace ragged::detail
