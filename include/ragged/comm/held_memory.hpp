// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory that an engine may still write to after an operation failed is not freed.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace ragged {

namespace detail {

/// Until the process ends, and past every static object: an engine may yet write there.
inline void keep(std::shared_ptr<void> memory) {
    static std::mutex mutex;
    static auto* const kept = new std::vector<std::shared_ptr<void>>;
    const std::lock_guard lock(mutex);
    kept->push_back(std::move(memory));
}

/// After a failure: whether `engine`, a communicator or a completion, may yet write to the memory it was
/// given.
template <class Engine>
bool holds_memory(const Engine& engine) {
    if constexpr (requires { engine.holds_memory(); })
        return engine.holds_memory();
    else
        return false;
}

} // namespace detail

} // namespace ragged
