// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The order between what a communicator moves and what an executor computes. On the host each is done when it
// returns, or was waited for. On a device both enqueue on streams, and one stream waits for the other.
#pragma once

#include <type_traits>
#include <utility>

#include <ragged/comm/communicator.hpp>

namespace ragged::detail {

/// Whether streams order the executor's work and the communicator's; else the host waits for one before it
/// starts the other.
template <class Communicator, class E>
inline constexpr bool on_stream = [] {
    if constexpr (requires(const E& executor) { executor.stream(); })
        return has_stream_wait<Communicator,
                               std::remove_cvref_t<decltype(std::declval<const E&>().stream())>>;
    else
        return false;
}();

/// An executor on a stream goes with communicators whose operations a stream can wait for.
template <class Communicator, class E>
inline constexpr bool can_be_ordered = on_stream<Communicator, E> || !requires(const E& executor) {
    executor.stream();
};

/// What `next`, a communicator or another executor, starts from now on comes behind the executor's work so
/// far. Does not block.
template <class Next, class E>
void order_behind(const Next& next, const E& executor) {
    if constexpr (requires { next.stream().wait_for(executor.stream()); })
        if (!(next.stream() == executor.stream()))
            next.stream().wait_for(executor.stream());
}

/// What the executor does from now on comes behind `operation`, a completion or a handle: by its stream, or
/// because the host waits. @return what operation.wait() gives
template <class Communicator, class E, class Operation>
auto wait_behind(Operation& operation, const E& executor) {
    if constexpr (on_stream<Communicator, E>)
        return operation.wait(executor.stream());
    else
        return operation.wait();
}

} // namespace ragged::detail
