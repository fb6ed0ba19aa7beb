// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A 64-bit hash that is the same on every machine and in constant expressions: for fingerprints that ranks
// compare, not against adversaries.
#pragma once

#include <cstdint>
#include <string_view>

namespace ragged::detail {

/// FNV-1a over 64-bit words and characters: short, constexpr, the same on every machine.
class Hash {
  public:
    constexpr void add(std::int64_t value) {
        for (int byte = 0; byte < 8; ++byte)
            add_byte(static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> (8 * byte)));
    }
    constexpr void add(std::string_view text) {
        add(static_cast<std::int64_t>(text.size()));
        for (char c : text)
            add_byte(static_cast<std::uint8_t>(c));
    }
    constexpr std::uint64_t value() const { return state_; }

  private:
    constexpr void add_byte(std::uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001b3u; }
    std::uint64_t state_ = 0xcbf29ce484222325u;
};

} // namespace ragged::detail
