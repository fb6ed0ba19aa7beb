// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <ragged/comm/communicator.hpp>

namespace support {

// A communicator without collectives of different counts.
struct EqualOnly {
    struct Completion {
        void wait() {}
    };
    int rank() const { return 0; }
    int size() const { return 1; }
    static ragged::MemorySpace space() { return {}; }
    EqualOnly split(int, int) { return {}; }
    template <class T>
    Completion all_gather(T*, std::int64_t) {
        return {};
    }
    template <class T>
    Completion reduce_scatter(T*, std::int64_t, ragged::Reduction = {}) {
        return {};
    }
    template <class T>
    Completion all_reduce(T*, std::int64_t, ragged::Reduction = {}) {
        return {};
    }
};

} // namespace support
