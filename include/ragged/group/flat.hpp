// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Group operations that need no table: one pass over the contiguous values of a buffer, whatever the number
// of tensors. All are local. The executor, last and the host's by default, says where they run: the host's
// are done when they return, a device's are enqueued on its stream and block nobody. All refuse a buffer
// whose memory is not in the executor's space. Padding goes along: it is zero, and stays zero.
//
//     ragged::cast(master, weights);                   // fp32 masters into the bf16 slot
//     const bool good = ragged::all_finite(gradients);
//     ragged::sum_of_squares(gradients, on_device, executor);
#pragma once

#include <cmath> // std::fabs
#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <utility>

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

/// The buffer's memory is where the executor works.
template <class E, class... Buffers>
void require_executor(const E& executor, const Buffers&... buffers) {
    (require_space(buffers, executor.space(), "the executor"), ...);
}

/// A factor that is infinite in the type the operation computes in would turn zero padding into NaN.
template <class Compute>
void require_finite(double factor, std::string_view operation) {
    if (!(std::fabs(factor) <= static_cast<double>(std::numeric_limits<Compute>::max())))
        throw BufferError(
            concat(operation, ": factor ", factor, " is not finite and would turn zero padding into NaN"));
}

template <class T, class Topology, class State, class PlanType>
Values<T> written(const DBuffer<T, Topology, State, PlanType>& buffer, std::int64_t segment) {
    const auto values = buffer.values(segment);
    return {values.data(), static_cast<std::int64_t>(values.size())};
}
template <class T, class Topology, class State, class PlanType>
Values<const T> read(const DBuffer<T, Topology, State, PlanType>& buffer, std::int64_t segment) {
    const auto values = buffer.values(segment);
    return {values.data(), static_cast<std::int64_t>(values.size())};
}

template <class Op, class T, class Topology, class State, class PlanType, class Result, class E>
void reduce(const Op& op, const DBuffer<T, Topology, State, PlanType>& buffer, Result* result,
            const E& executor) {
    require_executor(executor, buffer);
    executor.reduce(
        op, buffer.num_segments(), [&](std::int64_t segment) { return read(buffer, segment); }, result);
}

} // namespace detail

/// Every value becomes zero.
/// @throws BufferError  the buffer is not in the executor's space (so do all operations here)
template <class T, class Topology, class State, class PlanType, group_executor E = HostExecutor>
void zero(DBuffer<T, Topology, State, PlanType>& buffer, const E& executor = {}) {
    detail::require_writable<State>();
    detail::require_executor(executor, buffer);
    for (std::int64_t segment = 0; segment < buffer.num_segments(); ++segment)
        if (const auto values = buffer.values(segment); !values.empty())
            executor.zero(values.data(), values.size_bytes());
}

/// dst = src. @throws BufferError when the buffers lie over different plans (so do all operations on two
/// buffers)
template <class T, class Topology, class From, class To, class PlanType, group_executor E = HostExecutor>
void copy(const DBuffer<T, Topology, From, PlanType>& src, DBuffer<T, Topology, To, PlanType>& dst,
          const E& executor = {}) {
    detail::require_writable<To>();
    detail::require_same_plan(src, dst);
    detail::require_executor(executor, src, dst);
    for (std::int64_t segment = 0; segment < dst.num_segments(); ++segment)
        if (const auto values = dst.values(segment); !values.empty())
            executor.copy(values.data(), src.values(segment).data(), values.size_bytes());
}

/// buffer *= factor. @throws BufferError when the factor is not finite
template <floating_element T, class Topology, class State, class PlanType, group_executor E = HostExecutor>
void scale(DBuffer<T, Topology, State, PlanType>& buffer, double factor, const E& executor = {}) {
    detail::require_writable<State>();
    detail::require_finite<compute_t<T>>(factor, "scale");
    detail::require_executor(executor, buffer);
    for (std::int64_t segment = 0; segment < buffer.num_segments(); ++segment)
        executor.map(op::Cast<T>{factor}, detail::written(buffer, segment),
                     detail::read(buffer, segment).data);
}

/// dst += src.
template <element T, class Topology, class From, class To, class PlanType, group_executor E = HostExecutor>
void add(const DBuffer<T, Topology, From, PlanType>& src, DBuffer<T, Topology, To, PlanType>& dst,
         const E& executor = {}) {
    detail::require_writable<To>();
    detail::require_same_plan(src, dst);
    detail::require_executor(executor, src, dst);
    for (std::int64_t segment = 0; segment < dst.num_segments(); ++segment)
        executor.map(op::Add{}, detail::written(dst, segment), detail::read(dst, segment).data,
                     detail::read(src, segment).data);
}

/// y += factor * x. @throws BufferError when the factor is not finite
template <floating_element X, floating_element Y, class Topology, class From, class To, class PlanType,
          group_executor E = HostExecutor>
void axpy(double factor, const DBuffer<X, Topology, From, PlanType>& x, DBuffer<Y, Topology, To, PlanType>& y,
          const E& executor = {}) {
    detail::require_writable<To>();
    detail::require_finite<compute_t<X, Y>>(factor, "axpy");
    detail::require_same_plan(x, y);
    detail::require_executor(executor, x, y);
    for (std::int64_t segment = 0; segment < y.num_segments(); ++segment)
        executor.map(op::Axpy{factor}, detail::written(y, segment), detail::read(y, segment).data,
                     detail::read(x, segment).data);
}

/// dst = src * factor in another element type; into a Sharded buffer this writes the slot that gather sends
/// from.
/// @throws BufferError when the factor is not finite
template <floating_element A, floating_element B, class Topology, class From, class To, class PlanType,
          group_executor E = HostExecutor>
void cast(const DBuffer<A, Topology, From, PlanType>& src, DBuffer<B, Topology, To, PlanType>& dst,
          double factor = 1.0, const E& executor = {}) {
    detail::require_writable<To>();
    detail::require_finite<compute_t<A, B>>(factor, "cast");
    detail::require_same_plan(src, dst);
    detail::require_executor(executor, src, dst);
    for (std::int64_t segment = 0; segment < dst.num_segments(); ++segment)
        executor.map(op::Cast<B>{factor}, detail::written(dst, segment), detail::read(src, segment).data);
}

/// *result = whether no value is infinite or NaN. This rank only.
/// @param result  in the executor's space
template <element T, class Topology, class State, class PlanType, group_executor E = HostExecutor>
void all_finite(const DBuffer<T, Topology, State, PlanType>& buffer, bool* result, const E& executor = {}) {
    detail::reduce(op::AllFinite{}, buffer, result, executor);
}
/// The same for a buffer in host memory.
template <element T, class Topology, class State, class PlanType>
bool all_finite(const DBuffer<T, Topology, State, PlanType>& buffer) {
    bool result = false;
    all_finite(buffer, &result);
    return result;
}

/// *result = sum of squares of the values, in double. This rank only. The order of the sum is fixed by the
/// buffer's length, so the bits are too: every executor gives the same.
/// @param result  in the executor's space
template <element T, class Topology, class State, class PlanType, group_executor E = HostExecutor>
void sum_of_squares(const DBuffer<T, Topology, State, PlanType>& buffer, double* result,
                    const E& executor = {}) {
    detail::reduce(op::SumOfSquares{}, buffer, result, executor);
}
/// The same for a buffer in host memory.
template <element T, class Topology, class State, class PlanType>
double sum_of_squares(const DBuffer<T, Topology, State, PlanType>& buffer) {
    double result = 0;
    sum_of_squares(buffer, &result);
    return result;
}

/// digits[] += the squares of the values, without rounding: however the values of a group are cut, and in
/// whatever order sums are added, exact_sum::rounded of all digits is the same double. This rank only.
/// @param digits  [exact_sum::num_digits] in the executor's space; zeros, or what other groups have added
template <element T, class Topology, class State, class PlanType, group_executor E = HostExecutor>
void exact_sum_of_squares(const DBuffer<T, Topology, State, PlanType>& buffer, double* digits,
                          const E& executor = {}) {
    detail::require_executor(executor, buffer);
    executor.exact_sum_of_squares(
        buffer.num_segments(), [&](std::int64_t segment) { return detail::read(buffer, segment); }, digits);
}

/// A spent gradient buffer, all zeros again, ready to accumulate. Local.
template <class T, class Topology, class PlanType, group_executor E = HostExecutor>
DBuffer<T, Topology, state::Partial, PlanType> reset(DBuffer<T, Topology, state::Reduced, PlanType>&& buffer,
                                                     const E& executor = {}) {
    detail::require_executor(executor, buffer); // before the buffer is spent
    auto partial = std::move(buffer).template into<state::Partial>();
    zero(partial, executor);
    return partial;
}

} // namespace ragged
