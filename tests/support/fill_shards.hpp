// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include <ragged/view/shard_view.hpp>

#include "support/random_group.hpp"

namespace support {

/// Write each element's known value into this rank's pieces.
template <class Buffer>
void fill_shards(Buffer& buffer) {
    for (std::size_t t = 0; t < buffer.plan().tensors.size(); ++t) {
        const auto piece = ragged::shard(buffer, t);
        for (std::int64_t i = 0; i < piece.elements(); ++i)
            piece[i] = typename Buffer::value_type(value_of(t, piece.first() + i));
    }
}

} // namespace support
