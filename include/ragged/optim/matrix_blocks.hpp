// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The blocks of a tensor as small matrices, for optimizers that work on each alone. Blocks are whole on one
// rank, and so is the work on them.
#pragma once

#include <algorithm> // std::min, std::max
#include <cstdint>
#include <optional>

#include <ragged/layout/block_grid.hpp>

namespace ragged {

struct BlockSides {
    std::int64_t rows, columns;

    constexpr std::int64_t largest() const { return std::max(rows, columns); }
    constexpr bool operator==(const BlockSides&) const = default;
};

/// The largest block of a tensor as a matrix: a tile of its last two dimensions, rows(N), or whole() of two
/// dimensions. Nothing where blocks are no matrices: runs of elements, thicker tiles, fewer than two
/// dimensions.
inline std::optional<BlockSides> block_sides(const TensorSpec& tensor) {
    const Shape& shape = tensor.shape;
    const Shape& sizes = tensor.block.sizes;
    const int last = shape.rank() - 1;
    if (last < 1 || shape.elements() == 0)
        return std::nullopt;
    switch (tensor.block.kind) {
    case Block::Kind::rows:
        return BlockSides{std::min(sizes[0], shape.elements() / shape[last]), shape[last]};
    case Block::Kind::tile:
        for (int dim = 0; dim + 1 < last; ++dim)
            if (sizes[dim] != 1)
                return std::nullopt;
        return BlockSides{std::min(sizes[last - 1], shape[last - 1]), std::min(sizes[last], shape[last])};
    case Block::Kind::whole:
        if (last == 1)
            return BlockSides{shape[0], shape[1]};
        return std::nullopt;
    default:
        return std::nullopt;
    }
}

/// A block: its first element, counted from that of the tensor, and its sides. Rows lie as far apart as the
/// tensor's.
struct MatrixBlock {
    std::int64_t first, rows, columns;

    bool operator==(const MatrixBlock&) const = default;
};

/// Call body(MatrixBlock) for the blocks of a run of whole blocks, in their order.
/// @pre block_sides gave some; elements > 0
template <class Body>
void for_each_matrix_block(const TensorSpec& tensor, std::int64_t first, std::int64_t elements,
                           const Body& body) {
    const BlockGrid grid(tensor.shape, tensor.block);
    const std::int64_t row = tensor.shape[tensor.shape.rank() - 1];
    const std::int64_t end = grid.block_of(first + elements - 1);
    for (std::int64_t block = grid.block_of(first); block <= end; ++block) {
        const BlockGrid::Span span = grid.span_of(block);
        const std::int64_t length = span.last - span.first;
        body(MatrixBlock{span.first, length / row + 1, length % row + 1});
    }
}

} // namespace ragged
