// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Where memory is, and so who may touch it. Resources, buffers, executors and communicators each name theirs;
// what works together must name the same.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <ragged/core/error.hpp>

namespace ragged {

struct MemorySpace {
    enum class Kind : std::uint8_t { host, device };

    Kind kind = Kind::host;
    int device = 0; // its number in this process; 0 in host memory

    static constexpr MemorySpace of_device(int number) { return {Kind::device, number}; }

    constexpr bool operator==(const MemorySpace&) const = default;
};

inline constexpr MemorySpace host_space{};

inline std::string to_string(const MemorySpace& space) {
    return space.kind == MemorySpace::Kind::host ? std::string("host memory")
                                                 : concat("memory of device ", space.device);
}

namespace detail {

/// @throws BufferError when what works on a buffer works in another space than the buffer's memory
template <class Buffer>
void require_space(const Buffer& buffer, const MemorySpace& wanted, std::string_view who) {
    if (buffer.space() != wanted)
        throw BufferError(concat("group '", buffer.plan().name, "': the buffer is in ",
                                 to_string(buffer.space()), ", ", who, " works in ", to_string(wanted)));
}

} // namespace detail
} // namespace ragged
