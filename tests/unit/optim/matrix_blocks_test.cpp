// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <vector>

#include <ragged/optim/matrix_blocks.hpp>

using ragged::block_sides;
using ragged::BlockSides;
using ragged::MatrixBlock;
using ragged::TensorSpec;

TEST_CASE("tiles of the last two dimensions, strips of rows and whole matrices are matrices") {
    CHECK(block_sides(TensorSpec{"w", {64, 48}, ragged::tile({32, 32})}) == BlockSides{32, 32});
    CHECK(block_sides(TensorSpec{"w", {20, 48}, ragged::tile({32, 32})}) == BlockSides{20, 32});
    CHECK(block_sides(TensorSpec{"w", {4, 64, 48}, ragged::tile({1, 32, 16})}) == BlockSides{32, 16});
    CHECK(block_sides(TensorSpec{"w", {64, 48}, ragged::rows(16)}) == BlockSides{16, 48});
    CHECK(block_sides(TensorSpec{"w", {2, 3, 48}, ragged::rows(16)}) == BlockSides{6, 48});
    CHECK(block_sides(TensorSpec{"w", {7, 5}, ragged::whole()}) == BlockSides{7, 5});
    CHECK(block_sides(TensorSpec{"w", {4, 64, 48}, ragged::tile({2, 32, 16})}) == std::nullopt);
    CHECK(block_sides(TensorSpec{"w", {2, 7, 5}, ragged::whole()}) == std::nullopt);
    CHECK(block_sides(TensorSpec{"w", {7, 5}, ragged::elements(5)}) == std::nullopt);
    CHECK(block_sides(TensorSpec{"w", {7}, ragged::rows(2)}) == std::nullopt);
    CHECK(block_sides(TensorSpec{"w", {0, 5}, ragged::rows(2)}) == std::nullopt);
    CHECK(block_sides(TensorSpec{"w", {}}) == std::nullopt);
}

TEST_CASE(
    "blocks of runs between legal cuts hold every element once, and each is of one block of the tensor") {
    std::mt19937 random(1);
    const auto draw = [&](std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
    };
    for (int turn = 0; turn < 200; ++turn) {
        CAPTURE(turn);
        TensorSpec spec{"w", {draw(1, 12), draw(1, 12)}, ragged::whole()};
        switch (turn % 4) {
        case 0:
            spec.block = ragged::tile({draw(1, spec.shape[0]), draw(1, spec.shape[1])});
            break;
        case 1:
            spec.block = ragged::rows(draw(1, 5));
            break;
        case 2:
            spec.shape = {draw(1, 3), draw(1, 9), draw(1, 9)};
            spec.block = ragged::tile({1, draw(1, spec.shape[1]), draw(1, spec.shape[2])});
            break;
        default:
            break;
        }
        const auto cuts = ragged::cuts_of(spec);
        const std::int64_t row = spec.shape[spec.shape.rank() - 1], from = draw(0, cuts.num_units() - 1);
        const std::int64_t first = cuts.cut(from), last = cuts.cut(draw(from + 1, cuts.num_units()));
        const ragged::BlockGrid grid(spec.shape, spec.block);
        std::set<std::int64_t> seen;
        std::vector<std::int64_t> blocks;
        ragged::for_each_matrix_block(spec, first, last - first, [&](const MatrixBlock& block) {
            blocks.push_back(grid.block_of(block.first));
            for (std::int64_t i = 0; i < block.rows; ++i)
                for (std::int64_t j = 0; j < block.columns; ++j) {
                    const std::int64_t position = block.first + i * row + j;
                    CHECK(seen.insert(position).second);
                    CHECK(first <= position);
                    CHECK(position < last);
                    CHECK(grid.block_of(position) == blocks.back());
                }
            CHECK(block.rows <= block_sides(spec)->rows);
            CHECK(block.columns <= block_sides(spec)->columns);
        });
        CHECK(static_cast<std::int64_t>(seen.size()) == last - first);
        for (std::size_t i = 1; i < blocks.size(); ++i)
            CHECK(blocks[i] == blocks[i - 1] + 1);
    }
}
