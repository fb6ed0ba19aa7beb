// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// DBuffer: one rank's memory over a plan. Its state is part of its type, so a buffer that is not gathered
// cannot be read as if it were, and a gradient that is not reduced cannot reach an optimizer:
//
//     Resident                      this rank's regions and nothing more: masters, moments
//     Sharded  --gather-->  Gathered  --release-->  Sharded         weights
//     Partial  --reduce-->  Reduced   --reset-->    Partial         gradients
//     Accumulated                   this rank's regions of Reduced buffers, added up
//
// The first collective of a buffer also compares the plan across ranks. The axis named "shard" is the one
// over which the plan divides; every other axis replicates, and reduce() sums over it too. Under tensor
// parallelism a buffer is on a mesh without the tensor axis, see comm/mesh.hpp.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/layout/topology.hpp>
#include <ragged/plan/plan.hpp>

namespace ragged {

namespace state {

/// Storage for this rank's regions only.
struct Resident {};
/// Storage for a gathered buffer, of which this rank's regions hold values.
struct Sharded {};
/// Every region holds values; they are equal on all ranks and read only.
struct Gathered {};
/// Every region holds this rank's contribution to a sum over ranks.
struct Partial {};
/// This rank's regions hold the sum over all ranks; the others are spent.
struct Reduced {};
/// Storage for this rank's regions only, which hold sums over all ranks and over micro-batches.
struct Accumulated {};

template <class State>
inline constexpr bool has_whole_tensors = std::is_same_v<State, Gathered> || std::is_same_v<State, Partial>;
/// Whether there is storage for this rank's regions only.
template <class State>
inline constexpr bool stores_own_regions =
    std::is_same_v<State, Resident> || std::is_same_v<State, Accumulated>;
/// Values may be written in every state but Gathered. (Not by way of a buffer, whose type nvcc cannot write
/// into the arguments of a kernel.)
template <class State, class T>
using access_t = std::conditional_t<std::is_same_v<State, Gathered>, const T, T>;
template <class State>
inline constexpr bool can_start =
    stores_own_regions<State> || std::is_same_v<State, Sharded> || std::is_same_v<State, Partial>;

} // namespace state

/// @tparam T         element type of the plane laid over the plan
/// @tparam Topology  has an axis named "shard" with plan.num_devices ranks
/// @tparam PlanType  Plan, or UnequalPlan: collectives then take a count per rank
template <element T, class Topology, class State = state::Sharded, class PlanType = Plan>
class DBuffer {
    static_assert(Topology::find("shard") < Topology::num_axes,
                  "ragged: a DBuffer needs a topology with an axis named \"shard\"");

  public:
    using value_type = T;
    using state_type = State;
    using access_type = state::access_t<State, T>;

    /// Allocate zeros: num_devices regions of each segment, or one for Resident and Accumulated. Local.
    /// The plan and the resource must outlive the buffer.
    /// @throws BufferError  the plan breaks a law, is for another number of devices, or is not aligned for T
    template <memory_resource R>
    DBuffer(const PlanType& plan, const Place<Topology>& place, R& resource) requires(state::can_start<State>)
        : plan_(check(plan, place.topology))
        , shard_rank_(place.template coordinate<"shard">())
        , memory_(resource, storage_bytes(plan, shard_rank_)) {}
    /// Lay the buffer over memory that exists, without a copy. Local. Its values become the buffer's; its
    /// padding must be zero (ragged::zero the buffer before filling it, where it may not be).
    /// @throws BufferError  as above; or the memory is too small, or misaligned for the plan
    DBuffer(const PlanType& plan, const Place<Topology>& place,
            Memory memory) requires(state::can_start<State>)
        : plan_(check(plan, place.topology))
        , shard_rank_(place.template coordinate<"shard">())
        , memory_(check(plan, std::move(memory), storage_bytes(plan, shard_rank_))) {}
    // A temporary plan would not outlive the buffer.
    template <memory_resource R>
    DBuffer(const PlanType&&, const Place<Topology>&, R&) = delete;
    DBuffer(const PlanType&&, const Place<Topology>&, Memory) = delete;

    DBuffer(DBuffer&& other) noexcept
        : plan_(std::exchange(other.plan_, nullptr))
        , shard_rank_(other.shard_rank_)
        , memory_(std::move(other.memory_))
        , agreed_(other.agreed_) {}
    DBuffer& operator=(DBuffer&& other) noexcept {
        plan_ = std::exchange(other.plan_, nullptr);
        shard_rank_ = other.shard_rank_;
        memory_ = std::move(other.memory_);
        agreed_ = other.agreed_;
        return *this;
    }

    /// @throws BufferError after the buffer was moved from
    const PlanType& plan() const {
        if (plan_ == nullptr)
            throw BufferError("the buffer was moved from: use the one that took its place");
        return *plan_;
    }
    std::int64_t shard_rank() const noexcept { return shard_rank_; }
    std::int64_t num_segments() const { return static_cast<std::int64_t>(plan().segments.size()); }

    /// The elements of a segment that hold values in this state, padding included: this rank's region, or
    /// the regions of all ranks when Gathered or Partial. Flat operations run over this.
    std::span<access_type> values(std::int64_t segment) const {
        if constexpr (state::has_whole_tensors<State>)
            return {segment_data(segment),
                    static_cast<std::size_t>(segment_of(segment).region_begin(plan_->num_devices))};
        else
            return region(segment);
    }

    /// This rank's region of a segment, [S] in a plan of equal shards. A partial buffer has none yet: its
    /// regions are not summed.
    std::span<access_type> region(std::int64_t segment) const
        requires(!std::is_same_v<State, state::Partial>) {
        const auto& regions = segment_of(segment);
        const std::int64_t before = state::stores_own_regions<State> ? 0 : regions.region_begin(shard_rank_);
        return {segment_data(segment) + before, static_cast<std::size_t>(regions.region_elems(shard_rank_))};
    }

    /// First element of a segment's storage: what an in-place collective is called with.
    T* segment_data(std::int64_t segment) const {
        const std::int64_t offset = state::stores_own_regions<State>
                                        ? plan().region_offset(segment, shard_rank_)
                                        : plan().segment_offset(segment);
        return static_cast<T*>(memory_.data()) + offset;
    }

    std::size_t bytes() const noexcept { return memory_.bytes(); }
    MemorySpace space() const noexcept { return memory_.space(); }

    /// Whether ranks have already agreed on the plan of this buffer.
    bool agreed() const noexcept { return agreed_; }
    void set_agreed() noexcept { agreed_ = true; }

    /// The same memory in another state. For collectives; users call gather, release, reduce and reset.
    template <class To>
    DBuffer<T, Topology, To, PlanType> into() && {
        static_assert(!state::stores_own_regions<To> && !state::stores_own_regions<State>,
                      "ragged: a resident or accumulated buffer has no storage for other ranks' regions");
        static_cast<void>(plan());
        return DBuffer<T, Topology, To, PlanType>(std::exchange(plan_, nullptr), shard_rank_,
                                                  std::move(memory_), agreed_);
    }

  private:
    template <element, class, class, class>
    friend class DBuffer;

    DBuffer(const PlanType* plan, std::int64_t shard_rank, Memory memory, bool agreed)
        : plan_(plan)
        , shard_rank_(shard_rank)
        , memory_(std::move(memory))
        , agreed_(agreed) {}

    const auto& segment_of(std::int64_t segment) const {
        return plan().segments[static_cast<std::size_t>(segment)];
    }

    static const PlanType* check(const PlanType& plan, const Topology& topology) {
        const std::int64_t ranks = topology.template size<"shard">();
        if (plan.num_devices != ranks)
            throw BufferError(concat("group '", plan.name, "' is planned for ", plan.num_devices,
                                     " devices, axis 'shard' has ", ranks, " ranks"));
        if (plan.violations.any())
            throw BufferError(concat("group '", plan.name, "': the layout '", plan.policy, "' cuts ",
                                     plan.violations.blocks_cut, " blocks, misaligns ",
                                     plan.violations.misaligned, " starts and copies ",
                                     plan.violations.copied_per_gather,
                                     " elements per gather; buffers take plans that keep the laws"));
        if (plan.alignment_bytes > static_cast<std::int64_t>(buffer_alignment))
            throw BufferError(concat("group '", plan.name, "': starts are to be aligned to ",
                                     plan.alignment_bytes, " bytes, the memory of buffers is to ",
                                     buffer_alignment));
        if (plan.alignment_elems * static_cast<std::int64_t>(sizeof(T)) % plan.alignment_bytes != 0)
            throw BufferError(concat("group '", plan.name, "': starts are aligned to ", plan.alignment_elems,
                                     " elements, in ", name(dtype_of<T>), " that is less than ",
                                     plan.alignment_bytes, " bytes; declare ", name(dtype_of<T>),
                                     " in PlanOptions::planes"));
        return &plan;
    }

    static Memory check(const PlanType& plan, Memory memory, std::size_t needed) {
        if (memory.bytes() < needed)
            throw BufferError(concat("group '", plan.name, "': the adopted memory has ", memory.bytes(),
                                     " bytes, the buffer needs ", needed));
        const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
        const auto alignment = static_cast<std::uintptr_t>(plan.alignment_bytes);
        if (needed > 0 && address % alignment != 0)
            throw BufferError(concat("group '", plan.name, "': the adopted memory lies ", address % alignment,
                                     " bytes behind a multiple of ", alignment,
                                     ", the alignment of the plan"));
        return memory;
    }

    static std::size_t storage_bytes(const PlanType& plan, std::int64_t rank) {
        return static_cast<std::size_t>(
            checked_mul(state::stores_own_regions<State> ? plan.region_elems(rank) : plan.padded_elements(),
                        static_cast<std::int64_t>(sizeof(T)), "bytes of a buffer"));
    }

    const PlanType* plan_;
    std::int64_t shard_rank_;
    Memory memory_;
    bool agreed_ = false;
};

/// Forget the gathered values; this rank's region stays. Local, no copy.
template <class T, class Topology, class PlanType>
DBuffer<T, Topology, state::Sharded, PlanType>
release(DBuffer<T, Topology, state::Gathered, PlanType>&& buffer) {
    return std::move(buffer).template into<state::Sharded>();
}

} // namespace ragged
