// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Cut patterns by their definition, named examples of block grids, and errors. Every small tensor is checked
// against coordinates in property/layout.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include <ragged/layout/block_grid.hpp>

namespace {

using ragged::BlockGrid;
using ragged::CutPattern;
using ragged::max_count;
using ragged::Shape;
using ragged::TensorSpec;

using Positions = std::vector<std::int64_t>;

/// All legal cuts of a tensor, asked one position after another.
Positions cuts_of(const Shape& shape, const ragged::Block& block) {
    const CutPattern cuts = ragged::cuts_of(TensorSpec{"t", shape, block});
    Positions result;
    for (std::int64_t p = 0; p <= cuts.elements; ++p)
        if (cuts.is_cut(p))
            result.push_back(p);
    return result;
}

/// k * period + min(i * step, period), and the end.
Positions cuts_by_definition(const CutPattern& cuts) {
    Positions result;
    for (std::int64_t start = 0; start < cuts.elements; start += cuts.period)
        for (std::int64_t inside = 0; inside < cuts.period; inside += cuts.step)
            if (start + inside < cuts.elements)
                result.push_back(start + inside);
    result.push_back(cuts.elements);
    return result;
}

} // namespace

TEST_CASE("cut patterns: every number of small elements, steps and periods, by definition") {
    for (std::int64_t elements = 0; elements <= 40; ++elements)
        for (std::int64_t period = 1; period <= 14; ++period)
            for (std::int64_t step = 1; step <= 16; ++step) {
                const CutPattern cuts{elements, step, period};
                const Positions expected = cuts_by_definition(cuts);
                CAPTURE(elements);
                CAPTURE(period);
                CAPTURE(step);
                REQUIRE(cuts.num_units() == static_cast<std::int64_t>(expected.size()) - 1);
                std::int64_t unit = -1;
                for (std::int64_t p = 0; p <= elements; ++p) {
                    const bool is_cut = std::binary_search(expected.begin(), expected.end(), p);
                    unit += is_cut ? 1 : 0;
                    REQUIRE(cuts.is_cut(p) == is_cut);
                    REQUIRE(cuts.unit_of(p) == unit);
                    if (is_cut)
                        REQUIRE(cuts.cut(unit) == p);
                }
            }
}

TEST_CASE("a row of positions is all cuts or not, by asking one after another; far ones at once") {
    for (std::int64_t elements = 0; elements <= 26; ++elements)
        for (std::int64_t period = 1; period <= 13; ++period)
            for (std::int64_t step = 1; step <= 14; ++step) {
                const CutPattern cuts{elements, step, period};
                for (std::int64_t first = 0; first <= elements + 1; ++first)
                    for (std::int64_t distance = 1; distance <= 28; ++distance) {
                        bool all = true;
                        for (std::int64_t p = first; p < elements; p += distance)
                            all = all && cuts.is_cut(p);
                        if (cuts.are_cuts(first, distance) != all)
                            FAIL_CHECK(elements, " ", step, " ", period, ": from ", first, " by ", distance);
                    }
            }
    constexpr CutPattern uniform{max_count - 1, 2, max_count - 1}; // 2^62 - 1 cuts
    static_assert(uniform.are_cuts(0, 2) && !uniform.are_cuts(0, 1) && !uniform.are_cuts(1, 2));
    static_assert(uniform.are_cuts(2, max_count) && uniform.are_cuts(max_count, max_count));
    constexpr CutPattern tails{max_count / 15 * 15, 10, 15};
    static_assert(tails.are_cuts(10, 15) && !tails.are_cuts(10, 5) && !tails.are_cuts(0, 10));
    constexpr CutPattern long_period{max_count / 3 * 3, 2, max_count / 3};
    static_assert(long_period.are_cuts(max_count / 3, 2 * (max_count / 3)));
}

TEST_CASE("the cuts on multiples of a stride of the tensor, by asking each cut") {
    for (std::int64_t a = 0; a <= 5; ++a)
        for (std::int64_t b = 0; b <= 5; ++b)
            for (std::int64_t c = 0; c <= 5; ++c) {
                const Shape shape{a, b, c};
                std::vector<ragged::Block> blocks{ragged::whole()};
                for (const std::int64_t count : {1, 2, 3, 4, 6, 7, 25, 1000}) {
                    blocks.push_back(ragged::elements(count));
                    blocks.push_back(ragged::rows(count));
                }
                for (std::int64_t x = 1; x <= std::max<std::int64_t>(a, 1); ++x)
                    for (std::int64_t y = 1; y <= std::max<std::int64_t>(b, 1); ++y)
                        for (std::int64_t z = 1; z <= std::max<std::int64_t>(c, 1); ++z)
                            blocks.push_back(ragged::tile({x, y, z}));
                for (const ragged::Block& block : blocks)
                    for (const std::int64_t stride : {std::int64_t{1}, c, b * c, a * b * c}) {
                        if (stride == 0)
                            continue;
                        const CutPattern cuts = ragged::cuts_of(TensorSpec{"t", shape, block});
                        const CutPattern some = cuts.every(stride);
                        std::int64_t unit = 0;
                        for (std::int64_t p = 0; p <= cuts.elements; ++p) {
                            const bool expected = cuts.is_cut(p) && p % stride == 0;
                            if (some.is_cut(p) != expected || (expected && some.cut(unit) != p))
                                FAIL_CHECK(ragged::to_string(shape), " in ", ragged::to_string(block),
                                           ", every ", stride, ": ", p);
                            unit += expected ? 1 : 0;
                        }
                        if (some.elements != cuts.elements || some.num_units() != unit - 1)
                            FAIL_CHECK(ragged::to_string(shape), " in ", ragged::to_string(block), ", every ",
                                       stride, ": units");
                    }
            }
    static_assert(CutPattern{60, 4, 60}.every(6) == CutPattern{60, 12, 60});
    static_assert(CutPattern{60, 20, 30}.every(30) == CutPattern{60, 30, 60}); // slices of [2, 6, 5]
    static_assert(CutPattern{60, 20, 30}.every(5) == CutPattern{60, 20, 30});  // its rows
    static_assert(CutPattern{12, max_count, 12}.every(3) == CutPattern{12, max_count, 12}); // whole
    static_assert(CutPattern{0, 1, 1}.every(8) == CutPattern{0, 1, 1});
}

TEST_CASE("is_cut is false outside the tensor") {
    constexpr CutPattern cuts{30, 10, 30};
    static_assert(cuts.is_cut(0) && cuts.is_cut(10) && cuts.is_cut(30));
    static_assert(!cuts.is_cut(-10) && !cuts.is_cut(40) && !cuts.is_cut(-1) && !cuts.is_cut(31));
    static_assert(!cuts.is_cut(max_count));
}

TEST_CASE("uniform: every cut but the end is a multiple of the step") {
    static_assert(CutPattern{30, 20, 30}.uniform());  // one period
    static_assert(!CutPattern{60, 20, 30}.uniform()); // 0 20 30 50 60
    static_assert(CutPattern{60, 15, 30}.uniform());
    static_assert(CutPattern{0, 1, 1}.uniform());
    for (std::int64_t periods = 1; periods <= 4; ++periods)
        for (std::int64_t period = 1; period <= 14; ++period)
            for (std::int64_t step = 1; step <= 16; ++step) {
                const CutPattern cuts{periods * period, step, period};
                const Positions positions = cuts_by_definition(cuts);
                const bool expected = std::all_of(positions.begin(), positions.end() - 1,
                                                  [&](std::int64_t p) { return p % step == 0; });
                REQUIRE(cuts.uniform() == expected);
            }
}

TEST_CASE("elements, rows and whole") {
    CHECK(cuts_of({2, 5}, ragged::elements(4)) == Positions{0, 4, 8, 10});
    CHECK(cuts_of({2, 2}, ragged::elements(1)) == Positions{0, 1, 2, 3, 4});
    CHECK(cuts_of({2, 5}, ragged::elements(100)) == Positions{0, 10});
    CHECK(cuts_of({5, 3}, ragged::rows(2)) == Positions{0, 6, 12, 15});
    CHECK(cuts_of({2, 3, 2}, ragged::rows(4)) == Positions{0, 8, 12}); // rows count through the outer dims
    CHECK(cuts_of({7}, ragged::rows(1)) == Positions{0, 7});           // one row of 7 columns
    CHECK(cuts_of({}, ragged::rows(1)) == Positions{0, 1});
    CHECK(cuts_of({3, 4}, ragged::whole()) == Positions{0, 12});
    CHECK(cuts_of({}, ragged::whole()) == Positions{0, 1});
}

TEST_CASE("tiles: the outermost dimension in which a tile is thicker than one element decides") {
    CHECK(cuts_of({6, 5}, ragged::tile({4, 2})) == Positions{0, 20, 30});
    CHECK(cuts_of({2, 6, 5}, ragged::tile({1, 4, 2})) == Positions{0, 20, 30, 50, 60});
    CHECK(cuts_of({3, 4}, ragged::tile({1, 4})) == Positions{0, 4, 8, 12});
    CHECK(cuts_of({2, 5}, ragged::tile({1, 2})) == Positions{0, 2, 4, 5, 7, 9, 10});
    CHECK(cuts_of({4, 1, 3}, ragged::tile({1, 1, 1})).size() == 13);
    CHECK(cuts_of({3, 2, 2}, ragged::tile({3, 1, 1})) == Positions{0, 12});
    CHECK(cuts_of({}, ragged::tile({})) == Positions{0, 1});
}

TEST_CASE("a short last row of tiles that is one element thick stays whole, as documented") {
    // Element rows 4 of [5, 3] in 2x1 tiles could be cut at 13 and 14.
    CHECK(cuts_of({5, 3}, ragged::tile({2, 1})) == Positions{0, 6, 12, 15});
}

TEST_CASE("the granularity of the models: gpt-oss experts, 2880 rows in tiles of 128") {
    constexpr CutPattern cuts = BlockGrid(Shape{32, 2880, 2880}, ragged::tile({1, 128, 128})).cuts();
    static_assert(cuts == CutPattern{32 * 2880 * 2880, 128 * 2880, 2880 * 2880});
    static_assert(cuts.units_per_period() == 23 && cuts.num_units() == 32 * 23 && !cuts.uniform());
    static_assert(cuts.cut(22) == 22 * 128 * 2880 && cuts.cut(23) == 2880 * 2880);
    static_assert(cuts.is_cut(2880 * 2880) && !cuts.is_cut(23 * 128 * 2880));
}

TEST_CASE("tensors without elements have no block, no unit and one cut") {
    for (const Shape& shape : {Shape{0}, Shape{0, 3}, Shape{3, 0}, Shape{2, 0, 2}})
        for (const ragged::Block& block : {ragged::elements(4), ragged::rows(2), ragged::whole()}) {
            const CutPattern cuts = ragged::cuts_of(TensorSpec{"t", shape, block});
            CHECK(cuts.num_units() == 0);
            CHECK(cuts.is_cut(0));
            CHECK(cuts.cut(0) == 0);
            CHECK(cuts.unit_of(0) == 0);
            CHECK(cuts.uniform());
            CHECK(BlockGrid(shape, block).num_blocks() == 0);
        }
    CHECK(BlockGrid().num_blocks() == 1); // a scalar in one block
}

TEST_CASE("blocks are numbered row-major, whatever the cuts") {
    constexpr BlockGrid grid(Shape{5, 4}, ragged::tile({2, 3}));
    static_assert(grid.num_blocks() == 6 && grid.blocks_along(0) == 3 && grid.blocks_along(1) == 2);
    static_assert(grid.block_of(0) == 0 && grid.block_of(3) == 1 && grid.block_of(8) == 2);
    static_assert(grid.block_of(19) == 5);
    static_assert(grid.span_of(1).first == 3 && grid.span_of(1).last == 7);
    static_assert(grid.span_of(4).first == 16 && grid.span_of(4).last == 18);
    static_assert(grid.shape() == Shape{5, 4} && grid.block() == Shape{2, 3});
}

TEST_CASE("large tensors: positions beyond 32 bits") {
    constexpr CutPattern cuts =
        ragged::cuts_of(ragged::Tensor{"t", {1 << 20, 1 << 20}, ragged::tile({3, 1})});
    static_assert(cuts.num_units() == 349526 && cuts.cut(349525) == std::int64_t{349525} * 3 << 20);
    static_assert(cuts.cut(349526) == std::int64_t{1} << 40 && cuts.unit_of((1LL << 40) - 1) == 349525);
}

TEST_CASE("blocks that do not fit are refused with the tensor's name") {
    CHECK_THROWS_WITH_AS(ragged::cuts_of(TensorSpec{"w1", {4, 6}, ragged::tile({5, 6})}),
                         "tensor 'w1': block:5x6 is larger than shape 4x6 in dimension 0", ragged::SpecError);
    CHECK_THROWS_AS(ragged::cuts_of(TensorSpec{"w1", {4, 6}, ragged::rows(0)}), ragged::SpecError);
    try {
        ragged::cuts_of(TensorSpec{"w1", {4, 2}, ragged::rows(max_count)});
        FAIL_CHECK("a granularity beyond 64 bits was accepted");
    } catch (const ragged::SpecError& error) {
        CHECK(std::string_view(error.what()).starts_with("tensor 'w1': "));
        CHECK(std::string_view(error.what()).ends_with("2 * 9223372036854775807 does not fit 64 bits"));
    }
    CHECK_NOTHROW(ragged::cuts_of(TensorSpec{"w1", {4, 2}, ragged::elements(max_count)}));
    CHECK_NOTHROW(ragged::cuts_of(TensorSpec{"w1", {max_count}, ragged::whole()}));
}

TEST_CASE("whole from a dimension: the cuts of the block that are also whole steps of the one before") {
    const ragged::Block blocks[] = {ragged::elements(1),     ragged::elements(4),     ragged::elements(7),
                                    ragged::rows(1),         ragged::rows(2),         ragged::rows(5),
                                    ragged::whole(),         ragged::tile({1, 1, 1}), ragged::tile({1, 1, 2}),
                                    ragged::tile({1, 2, 1}), ragged::tile({2, 1, 3})};
    std::int64_t fewer = 0;
    for (std::int64_t a = 0; a <= 3; ++a)
        for (std::int64_t b = 2; b <= 5; ++b)
            for (std::int64_t c = 3; c <= 6; ++c)
                for (const ragged::Block& block : blocks) {
                    if (block.kind == ragged::Block::Kind::tile && block.sizes[0] > a)
                        continue;
                    const Shape shape{a, b, c};
                    const Positions plain = cuts_of(shape, block);
                    std::int64_t whole = 1;
                    for (int dim = 2; dim >= 0; --dim) {
                        whole *= shape[dim];
                        const CutPattern cuts = ragged::cuts_of(
                            TensorSpec{"t", shape, block, ragged::DType::bf16, 0, false, dim});
                        CAPTURE(ragged::to_string(shape));
                        CAPTURE(ragged::to_string(block, dim));
                        for (std::int64_t p = 0; p <= shape.elements(); ++p) {
                            const bool of_block = std::binary_search(plain.begin(), plain.end(), p);
                            const bool expected = of_block && (p == shape.elements() || p % whole == 0);
                            REQUIRE(cuts.is_cut(p) == expected);
                            fewer += of_block && !expected ? 1 : 0;
                        }
                        if (dim == 0 && a > 0)
                            REQUIRE(cuts.num_units() == 1);
                    }
                }
    CHECK(fewer > 10'000);
    const TensorSpec beyond{"t", {8, 3}, ragged::elements(max_count), ragged::DType::u8, 0, false, 1};
    CHECK(ragged::cuts_of(beyond).num_units() == 1); // the common multiple leaves 64 bits
    CHECK_THROWS_WITH_AS(ragged::cuts_of(TensorSpec{"t", {8, 3}, {}, ragged::DType::u8, 0, false, 2}),
                         "tensor 't': whole from dimension 2, shape 8x3 has 2 dimensions", ragged::SpecError);
}
