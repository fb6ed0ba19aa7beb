// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The collectives of a DBuffer: gather its regions, reduce its contributions. Both work in place and copy
// nothing besides. They return a handle; waiting for it yields the buffer in its new state.
//
//     auto full = ragged::gather(std::move(weights), mesh);      // in flight
//     auto gathered = full.wait();                               // views may be taken
#pragma once

#include <algorithm> // std::all_of, std::any_of
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <ragged/buffer/dbuffer.hpp>
#include <ragged/comm/agree.hpp>
#include <ragged/comm/held_memory.hpp>
#include <ragged/comm/mesh.hpp>
#include <ragged/plan/unequal_plan.hpp>

namespace ragged {

/// A buffer whose collective is running. Owns the buffer, so its memory stays until the end.
/// Dropped without wait(), it waits, and a failure is lost. After a failure the memory is freed, unless the
/// communicator says that the engine holds on to it: then it stays until the process ends.
template <class Buffer, class Completion>
class [[nodiscard]] InFlight {
  public:
    InFlight(Buffer buffer, std::vector<Completion> operations)
        : buffer_(std::move(buffer))
        , operations_(std::move(operations)) {}
    InFlight(InFlight&& other) noexcept
        : buffer_(std::move(other.buffer_))
        , operations_(std::move(other.operations_))
        , waited_(std::exchange(other.waited_, true)) {}
    InFlight& operator=(InFlight&&) = delete;
    ~InFlight() {
        if (!waited_)
            try {
                finish();
            } catch (...) { // the communicator stays failed and says so in the next call
            }
    }

    /// Whether wait() would return, or throw, at once. Moves on what the engine can move on without blocking,
    /// so call it now and then while computing. Local.
    bool done() const requires requires(const Completion& operation) { operation.done(); }
    {
        return waited_ || std::all_of(operations_.begin(), operations_.end(),
                                      [](const Completion& operation) { return operation.done(); });
    }

    /// Block the host until the collective is done. @throws CommError, or BufferError when waited for before
    Buffer wait() {
        if (waited_)
            throw BufferError("the handle was waited for before: its buffer is gone");
        finish();
        return std::move(buffer_);
    }

    /// Order `stream` behind the collective: what is enqueued on it from now on sees the buffer's new state.
    /// Does not block the host; a failure shows at the next call that does.
    template <class Stream>
    Buffer wait(const Stream& stream) requires requires(Completion& operation) {
        operation.wait(stream);
    }
    {
        if (waited_)
            throw BufferError("the handle was waited for before: its buffer is gone");
        for (Completion& operation : operations_)
            operation.wait(stream);
        waited_ = true;
        return std::move(buffer_);
    }

  private:
    void finish() {
        waited_ = true;
        std::exception_ptr failure; // every operation ends before the memory may go
        for (Completion& operation : operations_)
            try {
                operation.wait();
            } catch (...) {
                failure = failure ? failure : std::current_exception();
            }
        if (!failure)
            return;
        if (std::any_of(operations_.begin(), operations_.end(), detail::holds_memory<Completion>))
            detail::keep(std::make_shared<Buffer>(std::move(buffer_)));
        std::rethrow_exception(failure);
    }

    Buffer buffer_;
    std::vector<Completion> operations_;
    bool waited_ = false;
};

namespace detail {

template <class Buffer, class Topology, class Communicator>
void agree_once(Buffer& buffer, Mesh<Topology, Communicator>& mesh) {
    const auto& place = mesh.place();
    if (place.topology.template size<"shard">() != buffer.plan().num_devices ||
        place.template coordinate<"shard">() != buffer.shard_rank())
        throw BufferError(concat("group '", buffer.plan().name, "': the buffer is rank ", buffer.shard_rank(),
                                 " of ", buffer.plan().num_devices, ", the mesh puts this rank at ",
                                 place.template coordinate<"shard">(), " of ",
                                 place.topology.template size<"shard">(), " along 'shard'"));
    require_space(buffer, mesh.world().space(), "the communicator");
    if (buffer.agreed())
        return;
    agree(buffer.plan(), mesh);
    buffer.set_agreed();
}

/// Start one collective per segment: together, as one launch, where the communicator can group them. A
/// failure may show here already; then the buffer is spent where the engine holds on to its memory.
template <class Communicator, class Buffer, class Start>
void start_each(Communicator& communicator, Buffer& buffer,
                std::vector<typename Communicator::Completion>& operations, const Start& start) {
    const auto all = [&] {
        for (std::int64_t segment = 0, count = buffer.num_segments(); segment < count; ++segment)
            operations.push_back(start(segment));
    };
    try {
        if constexpr (has_grouping<Communicator>)
            communicator.group(all);
        else
            all();
    } catch (...) {
        if (holds_memory(communicator))
            keep(std::make_shared<Buffer>(std::move(buffer)));
        throw;
    }
}

/// Elements of each rank's region of a segment, [num_devices].
inline std::vector<std::int64_t> counts_of(const UnequalPlan& plan, std::int64_t segment) {
    std::vector<std::int64_t> counts;
    for (std::int64_t rank = 0; rank < plan.num_devices; ++rank)
        counts.push_back(plan.segments[static_cast<std::size_t>(segment)].region_elems(rank));
    return counts;
}

template <class PlanType>
inline constexpr bool equal_shards = std::is_same_v<PlanType, Plan>;

} // namespace detail

/// Gather every rank's regions along axis "shard", in place.
/// @param buffer  the regions of all ranks per segment, this rank's filled; consumed
/// @return a handle; wait() gives the Gathered buffer
/// @post every region equals that of the rank that owns it, at the same address as before
/// Collective: ranks of the axis, same order. Sync: enqueues; the first call per buffer compares plans and
/// blocks. Cost: the gathered bytes but for its own received per rank; no other copy. All segments are one
/// launch where the communicator can group.
/// @throws CommError  plans differ (wait() throws what the collective throws), BufferError after a move
template <class T, class Topology, class State, class Communicator, class PlanType>
auto gather(DBuffer<T, Topology, State, PlanType>&& buffer, Mesh<Topology, Communicator>& mesh) {
    static_assert(
        std::is_same_v<State, state::Sharded>,
        "ragged: only a sharded buffer can be gathered; a resident one has no room for other "
        "regions (cast it into a sharded one), a partial one is reduced, a gathered one is complete");
    constexpr bool equal = detail::equal_shards<PlanType>;
    static_assert(!equal || has_all_gather<Communicator, T>,
                  "ragged: gather needs a communicator with all_gather");
    static_assert(equal || has_all_gather_v<Communicator, T>,
                  "ragged: regions of unequal sizes need a communicator with all_gather_v; use a Plan of "
                  "equal shards on this one");
    detail::agree_once(buffer, mesh);
    const PlanType& plan = buffer.plan();
    auto& line = mesh.template along<"shard">();
    std::vector<typename Communicator::Completion> operations;
    detail::start_each(line, buffer, operations, [&](std::int64_t segment) {
        T* base = buffer.segment_data(segment);
        if constexpr (equal)
            return line.all_gather(base, plan.segments[static_cast<std::size_t>(segment)].shard_elems);
        else
            return line.all_gather_v(base, detail::counts_of(plan, segment));
    });
    return InFlight(std::move(buffer).template into<state::Gathered>(), std::move(operations));
}

/// Sum the contributions of all ranks, in place: reduce-scatter along axis "shard", then all-reduce of this
/// rank's regions along every other axis: (Partial, Partial) -> (Replicate, Shard).
/// @param buffer  the regions of all ranks per segment, filled on every rank; consumed
/// @return a handle; wait() gives the Reduced buffer
/// @post this rank's regions hold sums, not averages; scale in the operation that uses them
/// @pre ranks along every axis hold contributions to the same tensors: the mesh has no tensor-parallel axis
/// Collective: all ranks, same order. Sync: enqueues; the first call per buffer compares plans and blocks.
/// Cost: a reduce-scatter of the gathered bytes, an all-reduce of this rank's regions per further axis; no
/// other copy. All segments are one launch where the communicator can group.
/// @throws CommError  plans differ (wait() throws what the collective throws), BufferError after a move
template <class T, class Topology, class State, class Communicator, class PlanType>
auto reduce(DBuffer<T, Topology, State, PlanType>&& buffer, Mesh<Topology, Communicator>& mesh) {
    static_assert(std::is_same_v<State, state::Partial>,
                  "ragged: only a partial buffer can be reduced; gradients start in DBuffer<T, Topology, "
                  "state::Partial>");
    constexpr bool equal = detail::equal_shards<PlanType>;
    static_assert(has_all_reduce<Communicator, T> && (!equal || has_reduce_scatter<Communicator, T>),
                  "ragged: reduce needs a communicator with reduce_scatter and all_reduce");
    static_assert(equal || has_reduce_scatter_v<Communicator, T>,
                  "ragged: regions of unequal sizes need a communicator with reduce_scatter_v; use a Plan of "
                  "equal shards on this one");
    detail::agree_once(buffer, mesh);
    const PlanType& plan = buffer.plan();
    constexpr std::size_t shard_axis = Topology::find("shard");
    auto& line = mesh.along(shard_axis);
    std::vector<typename Communicator::Completion> operations;
    detail::start_each(line, buffer, operations, [&](std::int64_t segment) {
        T* base = buffer.segment_data(segment);
        if constexpr (equal)
            return line.reduce_scatter(base, plan.segments[static_cast<std::size_t>(segment)].shard_elems);
        else
            return line.reduce_scatter_v(base, detail::counts_of(plan, segment));
    });
    for (std::size_t axis = 0; axis < Topology::num_axes; ++axis)
        if (axis != shard_axis)
            detail::start_each(mesh.along(axis), buffer, operations, [&](std::int64_t segment) {
                const auto& regions = plan.segments[static_cast<std::size_t>(segment)];
                const std::int64_t rank = buffer.shard_rank();
                return mesh.along(axis).all_reduce(buffer.segment_data(segment) + regions.region_begin(rank),
                                                   regions.region_elems(rank));
            });
    return InFlight(std::move(buffer).template into<state::Reduced>(), std::move(operations));
}

} // namespace ragged
