// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Merged grids keep every block's number and elements; tasks and rows are shared out without gaps.
#include <doctest/doctest.h>

#include <ragged/group/device_pieces.hpp>
#include <ragged/plan/make_plan.hpp>

#include "support/random_group.hpp"

namespace body = ragged::body;

namespace {

ragged::BlockGrid grid_of(const body::BlockGeometry& merged) {
    ragged::Shape shape, block;
    for (int dim = 0; dim < merged.rank; ++dim) {
        shape.push_back(merged.shape[dim]);
        block.push_back(merged.block[dim]);
    }
    return {shape, ragged::tile(block)};
}

int merged_rank(const ragged::Shape& shape, const ragged::Shape& block) {
    return body::BlockGeometry::of(ragged::BlockGrid(shape, ragged::tile(block))).rank;
}

} // namespace

TEST_CASE("a merged grid has the same block for every element") {
    const ragged::Shape shapes[] = {{7}, {4, 6}, {3, 5, 4}, {2, 3, 4, 6}, {1, 5, 1, 3}};
    for (const ragged::Shape& shape : shapes) {
        std::int64_t variants = 1;
        for (int dim = 0; dim < shape.rank(); ++dim)
            variants *= shape[dim];
        for (std::int64_t variant = 0; variant < variants; ++variant) {
            ragged::Shape block;
            std::int64_t rest = variant;
            for (int dim = 0; dim < shape.rank(); ++dim) {
                block.push_back(rest % shape[dim] + 1);
                rest /= shape[dim];
            }
            const ragged::BlockGrid grid(shape, ragged::tile(block));
            const auto merged = body::BlockGeometry::of(grid);
            const ragged::BlockGrid same = grid_of(merged);
            CHECK(same.num_blocks() == grid.num_blocks());
            for (std::int64_t i = 0; i < shape.elements(); ++i)
                CHECK(same.block_of(i) == grid.block_of(i));
        }
    }
}

TEST_CASE("what merges") {
    CHECK(merged_rank({64, 48}, {16, 48}) == 1);       // whole rows
    CHECK(merged_rank({64, 48}, {1, 16}) == 1);        // runs that divide a row
    CHECK(merged_rank({64, 48}, {1, 32}) == 2);        // runs that do not
    CHECK(merged_rank({64, 48}, {16, 16}) == 2);       // tiles
    CHECK(merged_rank({8, 64, 48}, {1, 32, 16}) == 2); // tiles of a stack, when they divide it
    CHECK(merged_rank({8, 64, 48}, {1, 48, 16}) == 3);
    CHECK(body::BlockGeometry::of(ragged::BlockGrid(ragged::Shape{}, ragged::tile({}))).rank == 1);
}

TEST_CASE("every task and row belongs to one piece") {
    for (std::uint32_t seed = 0; seed < 60; ++seed)
        for (std::int64_t rank : {0, 1, 2}) {
            const ragged::Plan plan = ragged::make_plan(support::random_group(seed), 3);
            const ragged::PieceTable table(plan, rank);
            const body::DevicePieces device(table);
            REQUIRE(device.pieces.size() == table.entries().size());
            const auto count = static_cast<std::int64_t>(device.pieces.size());
            std::int64_t blocks = 0, rows = 0, pieces = 0;
            for (std::int64_t task = 0; task < device.num_tasks; ++task) {
                const auto& piece =
                    body::entry_at(device.pieces.data(), count, task, &body::DevicePiece::first_task);
                const std::int64_t start = (task - piece.first_task) * piece.blocks_per_task;
                CHECK(start < piece.entry.num_blocks);
                blocks += std::min(piece.blocks_per_task, piece.entry.num_blocks - start);
            }
            for (std::int64_t row = 0; row < device.num_rows; ++row) {
                const auto& piece =
                    body::entry_at(device.pieces.data(), count, row, &body::DevicePiece::first_row);
                rows += row - piece.first_row < ragged::fold_order::num_rows(piece.entry.elements);
            }
            for (std::size_t t = 0; t < device.piece_of_tensor.size(); ++t)
                if (const std::int64_t piece = device.piece_of_tensor[t]; piece >= 0) {
                    CHECK(device.pieces[static_cast<std::size_t>(piece)].entry.tensor ==
                          static_cast<std::int64_t>(t));
                    ++pieces;
                }
            CHECK(blocks == table.num_blocks());
            CHECK(rows == device.num_rows);
            CHECK(pieces == count);
        }
}
