// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Random numbers by their place: the same for any rank that asks, in any order.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include <ragged/core/hash.hpp>

namespace support {

/// A 64-bit number for a sequence and a place in it: each bit depends on all of theirs.
constexpr std::uint64_t random_bits(std::uint64_t sequence, std::uint64_t place) {
    std::uint64_t x = sequence + place * 0x9e3779b97f4a7c15u;
    for (const std::uint64_t factor : {0xff51afd7ed558ccdu, 0xc4ceb9fe1a85ec53u})
        x = (x ^ (x >> 33)) * factor;
    return x ^ (x >> 33);
}

/// A sequence of its own for everything that a run draws.
constexpr std::uint64_t random_sequence(std::uint64_t seed, std::string_view what) {
    ragged::detail::Hash hash;
    hash.add(static_cast<std::int64_t>(seed));
    hash.add(what);
    return hash.value();
}

/// In [-1, 1), a multiple of 2^-23.
constexpr float random_value(std::uint64_t sequence, std::uint64_t place) {
    return static_cast<float>(static_cast<std::int32_t>(random_bits(sequence, place) >> 40) - (1 << 23)) *
           0x1p-23f;
}

} // namespace support
