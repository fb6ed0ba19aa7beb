// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Blocks of small tensors by definition: the block of every element from its coordinates, and where no block
// is cut.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include <ragged/spec/tensor_spec.hpp>

namespace support {

using ragged::Block;
using ragged::Shape;

/// The block of every element, from its coordinates alone.
inline std::vector<std::int64_t> blocks_by_coordinates(const Shape& shape, const Block& block) {
    std::vector<std::int64_t> result;
    const std::int64_t columns = shape.rank() == 0 ? 1 : shape[shape.rank() - 1];
    for (std::int64_t position = 0; position < shape.elements(); ++position) {
        std::int64_t index = 0;
        switch (block.kind) {
        case Block::Kind::elements:
            index = position / block.sizes[0];
            break;
        case Block::Kind::rows:
            index = position / columns / block.sizes[0];
            break;
        case Block::Kind::tile: {
            std::array<std::int64_t, 4> coordinates{};
            std::int64_t rest = position;
            for (int dim = shape.rank() - 1; dim >= 0; --dim) {
                coordinates[static_cast<std::size_t>(dim)] = rest % shape[dim];
                rest /= shape[dim];
            }
            for (int dim = 0; dim < shape.rank(); ++dim) {
                const std::int64_t along = (shape[dim] + block.sizes[dim] - 1) / block.sizes[dim];
                index = index * along + coordinates[static_cast<std::size_t>(dim)] / block.sizes[dim];
            }
            break;
        }
        case Block::Kind::whole:
            break;
        }
        result.push_back(index);
    }
    return result;
}

struct Run {
    std::int64_t first, last;
};

/// First and last element of every block.
inline std::vector<Run> runs_of(const std::vector<std::int64_t>& blocks) {
    std::vector<Run> runs;
    for (std::size_t position = 0; position < blocks.size(); ++position) {
        const auto block = static_cast<std::size_t>(blocks[position]);
        const auto at = static_cast<std::int64_t>(position);
        if (block >= runs.size())
            runs.resize(block + 1, {-1, -1});
        if (runs[block].first < 0)
            runs[block].first = at;
        runs[block].last = at;
    }
    return runs;
}

/// For each p in [0, elements]: no block has elements on both sides of p.
inline std::vector<bool> legal_cuts(const std::vector<std::int64_t>& blocks) {
    std::vector<std::int64_t> change(blocks.size() + 2, 0);
    for (const Run& run : runs_of(blocks)) {
        ++change[static_cast<std::size_t>(run.first) + 1];
        --change[static_cast<std::size_t>(run.last) + 1];
    }
    std::vector<bool> legal;
    std::int64_t open = 0;
    for (std::size_t p = 0; p <= blocks.size(); ++p) {
        open += change[p];
        legal.push_back(open == 0);
    }
    return legal;
}

/// Call `use` with every combination of `rank` numbers, the one at d from [low, high(d)].
inline void for_each_combination(int rank, std::int64_t low, const std::function<std::int64_t(int)>& high,
                                 const std::function<void(const Shape&)>& use) {
    std::vector<std::int64_t> digits(static_cast<std::size_t>(rank), low);
    for (;;) {
        Shape numbers;
        for (const std::int64_t digit : digits)
            numbers.push_back(digit);
        use(numbers);
        int dim = rank - 1;
        while (dim >= 0 && digits[static_cast<std::size_t>(dim)] == high(dim))
            digits[static_cast<std::size_t>(dim--)] = low;
        if (dim < 0)
            return;
        ++digits[static_cast<std::size_t>(dim)];
    }
}

} // namespace support
