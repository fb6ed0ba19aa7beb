// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What the library asks of a communicator: the base concept, and one capability concept per collective. An
// algorithm asks for the capabilities it uses, so a communicator that lacks one fails to compile only there.
//
// Collectives are called by every rank in the same order with equal counts, element types and reductions;
// counts are elements, 64-bit and may be 0. The operations of one rank on a world and on what was split from
// it run one after the other in call order, as in a stream, so one may read what the one before it wrote.
// They are done when the completion was waited for, or says so; until then, whatever becomes of the
// completion, the memory they were given belongs to them, but spans of counts and messages are copied by the
// call. Where a result is "in place", the NCCL rule holds: rank r's part lies at base + r * count. In the v
// forms rank r's part has counts[r] elements and follows those of the ranks before it; counts are [size].
#pragma once

#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

#include <ragged/buffer/memory_space.hpp>
#include <ragged/spec/dtype.hpp>

namespace ragged {

/// One message of a send_receive: `count` elements to or from rank `peer`.
template <class T>
struct Message {
    T* data;
    std::int64_t count;
    int peer;
};

/// What the elements that the ranks bring become. `sum` is taken in accumulator_t and rounded once, but for
/// the sums of NCCL and of MPI's all-reduce, which are theirs. `max` is the largest number, exact in every
/// type, in any order of the ranks: NaN is above all, so that none gets lost, and +0 above -0. NCCL's max is
/// its own: it may lose a NaN.
enum class Reduction : std::uint8_t { sum, max };

constexpr std::string_view name(Reduction reduction) {
    return reduction == Reduction::max ? "max" : "sum";
}

/// | expression                    | meaning                                                            |
/// | ----------------------------- | ------------------------------------------------------------------ |
/// | c.rank(), c.size() -> int     | local                                                              |
/// | c.space() -> MemorySpace      | of the memory that its collectives take                            |
/// | C::Completion, x.wait()       | wait() returns when the operation is done; throws CommError        |
template <class C>
concept communicator = std::movable<typename C::Completion> &&
    requires(const C& c, typename C::Completion& x) {
    { c.rank() } -> std::same_as<int>;
    { c.size() } -> std::same_as<int>;
    { c.space() } -> std::same_as<MemorySpace>;
    x.wait();
};

/// c.holds_memory(), x.holds_memory() -> bool, where an engine cannot take a failed operation back: after a
/// collective or wait() threw, whether its memory may still be written, and so must not be freed.
template <class C>
concept has_held_memory = communicator<C> && requires(const C& c, const typename C::Completion& x) {
    { c.holds_memory() } -> std::same_as<bool>;
    { x.holds_memory() } -> std::same_as<bool>;
};

/// x.done() -> bool: whether wait() would return, or throw, at once. Moves on what the engine can move on
/// without blocking, and synchronises as wait() does where it is true. Engines may need wait() to get
/// anywhere, and it alone has the time-out, so it comes last in any case.
template <class C>
concept has_done = communicator<C> && requires(const typename C::Completion& x) {
    { x.done() } -> std::same_as<bool>;
};

/// x.wait(stream): what is enqueued on `stream` from now on runs after the operation. Does not block the
/// host.
template <class C, class Stream>
concept has_stream_wait = communicator<C> && requires(typename C::Completion& x, const Stream& stream) {
    x.wait(stream);
};

/// c.all_gather_host(base, bytes): [size * bytes] of host memory in place. Blocking. For communicators whose
/// collectives take device memory: ranks compare plans with it.
template <class C>
concept has_all_gather_host = communicator<C> && requires(C& c, std::uint8_t* base, std::int64_t bytes) {
    c.all_gather_host(base, bytes);
};

/// c.all_gather(base, count): [size * count] in place; rank r contributes its slot.
template <class C, class T>
concept has_all_gather = communicator<C> && requires(C& c, T* base, std::int64_t count) {
    { c.all_gather(base, count) } -> std::same_as<typename C::Completion>;
};

/// c.reduce_scatter(base, count, reduction = Reduction::sum): [size * count] in place; the reduction of slot
/// r over all ranks lands in rank r's slot, the other slots are unspecified afterwards.
template <class C, class T>
concept has_reduce_scatter = communicator<C> && requires(C& c, T* base, std::int64_t count) {
    { c.reduce_scatter(base, count) } -> std::same_as<typename C::Completion>;
    { c.reduce_scatter(base, count, Reduction::max) } -> std::same_as<typename C::Completion>;
};

/// c.all_gather_v(base, counts): [sum of counts] in place; rank r contributes its part.
template <class C, class T>
concept has_all_gather_v = communicator<C> && requires(C& c, T* base, std::span<const std::int64_t> counts) {
    { c.all_gather_v(base, counts) } -> std::same_as<typename C::Completion>;
};

/// c.reduce_scatter_v(base, counts, reduction = Reduction::sum): [sum of counts] in place; the reduction of
/// part r over all ranks lands in rank r's part, the other parts are unspecified afterwards.
template <class C, class T>
concept has_reduce_scatter_v = communicator<C> &&
    requires(C& c, T* base, std::span<const std::int64_t> counts) {
    { c.reduce_scatter_v(base, counts) } -> std::same_as<typename C::Completion>;
    { c.reduce_scatter_v(base, counts, Reduction::max) } -> std::same_as<typename C::Completion>;
};

/// c.all_reduce(base, count, reduction = Reduction::sum): [count] in place; the reduction over all ranks.
template <class C, class T>
concept has_all_reduce = communicator<C> && requires(C& c, T* base, std::int64_t count) {
    { c.all_reduce(base, count) } -> std::same_as<typename C::Completion>;
    { c.all_reduce(base, count, Reduction::max) } -> std::same_as<typename C::Completion>;
};

/// c.broadcast(base, count, root): [count] in place.
template <class C, class T>
concept has_broadcast = communicator<C> && requires(C& c, T* base, std::int64_t count) {
    { c.broadcast(base, count, 0) } -> std::same_as<typename C::Completion>;
};

/// c.send_receive(sends, receives): one grouped exchange; messages between two ranks match in order. Only
/// ranks that name each other take part.
template <class C, class T>
concept has_send_receive = communicator<C> &&
    requires(C& c, std::span<const Message<const T>> sends, std::span<const Message<T>> receives) {
    { c.send_receive(sends, receives) } -> std::same_as<typename C::Completion>;
};

/// c.all_to_all_v(send, send_counts, receive, receive_counts): counts are [size]; parts are packed in rank
/// order.
template <class C, class T>
concept has_all_to_all_v = communicator<C> &&
    requires(C& c, const T* send, T* receive, std::span<const std::int64_t> counts) {
    { c.all_to_all_v(send, counts, receive, counts) } -> std::same_as<typename C::Completion>;
};

/// c.barrier().
template <class C>
concept has_barrier = communicator<C> && requires(C& c) {
    { c.barrier() } -> std::same_as<typename C::Completion>;
};

/// c.group(body): calls body(); the collectives it calls on c may start together, as one launch, when it
/// returns. They are done as ever, when their completions were waited for, and none is waited for inside.
template <class C>
concept has_grouping = communicator<C> && requires(C& c, void (*body)()) {
    c.group(body);
};

/// c.split(color, key) -> C: ranks of equal color >= 0 form a communicator, ordered by key, then by rank.
/// Collective and blocking.
template <class C>
concept has_split = communicator<C> && requires(C& c) {
    { c.split(0, 0) } -> std::same_as<C>;
};

} // namespace ragged
