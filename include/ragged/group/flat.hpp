// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Group operations that need no table: one pass over the contiguous values of a buffer, whatever the number
// of tensors. All are local and run on the host before they return. Padding goes along: it is zero, and stays
// zero.
//
//     ragged::cast(master, weights);                   // fp32 masters into the bf16 slot
//     const bool good = ragged::all_finite(gradients);
#pragma once

#include <cmath> // std::fabs
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include <ragged/buffer/dbuffer.hpp>
#include <ragged/group/host_executor.hpp>

namespace ragged {

namespace detail {

template <class State>
constexpr void require_writable() {
    static_assert(!std::is_same_v<State, state::Gathered>,
                  "ragged: gathered values are read only; release the buffer and write this rank's region");
}

/// Two buffers whose values lie alike: regions beside regions, or whole buffers beside whole buffers.
template <class A, class B>
void require_same_plan(const A& a, const B& b) {
    static_assert(
        state::has_whole_tensors<typename A::state_type> == state::has_whole_tensors<typename B::state_type>,
        "ragged: one buffer holds this rank's regions here, the other whole tensors; reduce or gather first");
    if (&a.plan() != &b.plan() && fingerprint(a.plan()) != fingerprint(b.plan()))
        throw BufferError(concat("buffers over different plans: group '", a.plan().name, "' with ",
                                 a.plan().region_elems(), " elements per rank and group '", b.plan().name,
                                 "' with ", b.plan().region_elems()));
    if (a.shard_rank() != b.shard_rank())
        throw BufferError(concat("group '", a.plan().name, "': buffers of rank ", a.shard_rank(),
                                 " and rank ", b.shard_rank()));
}

/// A factor that is infinite in the type the operation computes in would turn zero padding into NaN.
template <class Compute>
void require_finite(double factor, std::string_view operation) {
    if (!(std::fabs(factor) <= static_cast<double>(std::numeric_limits<Compute>::max())))
        throw BufferError(
            concat(operation, ": factor ", factor, " is not finite and would turn zero padding into NaN"));
}

template <class T>
std::span<const T> const_span(std::span<T> values) {
    return values;
}

} // namespace detail

/// Every value becomes zero.
template <class T, class Topology, class State, class PlanType>
void zero(DBuffer<T, Topology, State, PlanType>& buffer) {
    detail::require_writable<State>();
    for (std::int64_t segment = 0; segment < buffer.num_segments(); ++segment)
        if (const auto values = buffer.values(segment); !values.empty())
            std::memset(static_cast<void*>(values.data()), 0, values.size_bytes());
}

/// dst = src. @throws BufferError when the buffers lie over different plans (so do all operations on two
/// buffers)
template <class T, class Topology, class From, class To, class PlanType>
void copy(const DBuffer<T, Topology, From, PlanType>& src, DBuffer<T, Topology, To, PlanType>& dst) {
    detail::require_writable<To>();
    detail::require_same_plan(src, dst);
    for (std::int64_t segment = 0; segment < dst.num_segments(); ++segment)
        if (const auto values = dst.values(segment); !values.empty())
            std::memmove(static_cast<void*>(values.data()), src.values(segment).data(), values.size_bytes());
}

/// buffer *= factor. @throws BufferError when the factor is not finite
template <floating_element T, class Topology, class State, class PlanType>
void scale(DBuffer<T, Topology, State, PlanType>& buffer, double factor) {
    detail::require_writable<State>();
    detail::require_finite<compute_t<T>>(factor, "scale");
    for (std::int64_t segment = 0; segment < buffer.num_segments(); ++segment)
        host::update(op::Cast<T>{factor}, buffer.values(segment));
}

/// dst += src.
template <element T, class Topology, class From, class To, class PlanType>
void add(const DBuffer<T, Topology, From, PlanType>& src, DBuffer<T, Topology, To, PlanType>& dst) {
    detail::require_writable<To>();
    detail::require_same_plan(src, dst);
    for (std::int64_t segment = 0; segment < dst.num_segments(); ++segment)
        host::update(op::Add{}, dst.values(segment), detail::const_span(src.values(segment)));
}

/// y += factor * x. @throws BufferError when the factor is not finite
template <floating_element X, floating_element Y, class Topology, class From, class To, class PlanType>
void axpy(double factor, const DBuffer<X, Topology, From, PlanType>& x,
          DBuffer<Y, Topology, To, PlanType>& y) {
    detail::require_writable<To>();
    detail::require_finite<compute_t<X, Y>>(factor, "axpy");
    detail::require_same_plan(x, y);
    for (std::int64_t segment = 0; segment < y.num_segments(); ++segment)
        host::update(op::Axpy{factor}, y.values(segment), detail::const_span(x.values(segment)));
}

/// dst = src * factor in another element type; into a Sharded buffer this writes the slot that gather sends
/// from.
/// @throws BufferError when the factor is not finite
template <floating_element A, floating_element B, class Topology, class From, class To, class PlanType>
void cast(const DBuffer<A, Topology, From, PlanType>& src, DBuffer<B, Topology, To, PlanType>& dst,
          double factor = 1.0) {
    detail::require_writable<To>();
    detail::require_finite<compute_t<A, B>>(factor, "cast");
    detail::require_same_plan(src, dst);
    for (std::int64_t segment = 0; segment < dst.num_segments(); ++segment)
        host::map(op::Cast<B>{factor}, dst.values(segment), detail::const_span(src.values(segment)));
}

/// Whether no value is infinite or NaN. This rank only.
template <element T, class Topology, class State, class PlanType>
bool all_finite(const DBuffer<T, Topology, State, PlanType>& buffer) {
    std::uint32_t found = 0;
    for (std::int64_t segment = 0; segment < buffer.num_segments(); ++segment)
        found |= host::reduce(op::NonFinite{}, detail::const_span(buffer.values(segment)));
    return found == 0;
}

/// Sum of squares of the values in double. This rank only; the order of the sum is fixed by the buffer's
/// length.
template <element T, class Topology, class State, class PlanType>
double sum_of_squares(const DBuffer<T, Topology, State, PlanType>& buffer) {
    double sum = 0;
    for (std::int64_t segment = 0; segment < buffer.num_segments(); ++segment)
        sum += host::reduce(op::SumOfSquares{}, detail::const_span(buffer.values(segment)));
    return sum;
}

/// A spent gradient buffer, all zeros again, ready to accumulate. Local.
template <class T, class Topology, class PlanType>
DBuffer<T, Topology, state::Partial, PlanType>
reset(DBuffer<T, Topology, state::Reduced, PlanType>&& buffer) {
    auto partial = std::move(buffer).template into<state::Partial>();
    zero(partial);
    return partial;
}

} // namespace ragged
