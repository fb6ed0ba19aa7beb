// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Block and tensor operations against a walk over every element, for any number of ranks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <ragged/group/by_piece.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/view/shard_view.hpp>

#include "support/expect.hpp"
#include "support/random_group.hpp"

using Line = ragged::Topology<ragged::Axis<"shard">>;
using Resident = ragged::DBuffer<float, Line, ragged::state::Resident>;
using support::message_of;
using support::value_of;

namespace {

/// The block of an element by its coordinates, written from the meaning of each kind of block.
std::int64_t block_of(const ragged::TensorSpec& tensor, std::int64_t element) {
    using Kind = ragged::Block::Kind;
    const ragged::Shape& shape = tensor.shape;
    switch (tensor.block.kind) {
    case Kind::elements:
        return element / tensor.block.sizes[0];
    case Kind::rows:
        return element / shape[shape.rank() - 1] / tensor.block.sizes[0];
    case Kind::whole:
        return 0;
    default:
        break;
    }
    std::int64_t index = 0, rest = element, stride = 1;
    for (int dim = shape.rank() - 1; dim >= 0; --dim) {
        index += rest % shape[dim] / tensor.block.sizes[dim] * stride;
        stride *= (shape[dim] + tensor.block.sizes[dim] - 1) / tensor.block.sizes[dim];
        rest /= shape[dim];
    }
    return index;
}

} // namespace

TEST_CASE("absmax per block equals the walk, and does not depend on the number of ranks") {
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
        const ragged::GroupSpec group = support::random_group(seed);
        std::map<std::pair<std::size_t, std::int64_t>, float> expected;
        std::size_t t = 0; // slices count as tensors
        for (const ragged::TensorSpec& tensor : group.tensors)
            for (std::int64_t run = 0; run < ragged::num_runs(tensor); ++run, ++t) {
                const bool stacked = tensor.sliced && tensor.shape[0] > 0;
                const ragged::TensorSpec spec = stacked ? ragged::slice_of(tensor) : tensor;
                for (std::int64_t i = 0; i < spec.shape.elements(); ++i) {
                    float& largest = expected[{t, block_of(spec, i)}];
                    largest = std::max(largest, std::fabs(value_of(t, i)));
                }
            }
        for (std::int64_t ranks : {1, 2, 3, 4, 5, 8}) {
            const ragged::Plan plan = ragged::make_plan(group, ranks);
            std::map<std::pair<std::size_t, std::int64_t>, float> found;
            for (std::int64_t rank = 0; rank < ranks; ++rank) {
                ragged::HostResource memory;
                Resident x(plan, ragged::Place<Line>(Line(ranks), rank), memory);
                for (std::size_t u = 0; u < plan.tensors.size(); ++u)
                    for (std::int64_t i = 0; i < ragged::shard(x, u).elements(); ++i)
                        ragged::shard(x, u)[i] = value_of(u, ragged::shard(x, u).first() + i);
                const ragged::PieceTable table(plan, rank);
                std::vector<float> largest(static_cast<std::size_t>(table.num_blocks()), 777.0f);
                ragged::absmax_per_block(table, x, largest);
                for (const ragged::PieceEntry& entry : table.entries())
                    for (std::int64_t block = 0; block < entry.num_blocks; ++block) {
                        const std::pair key{static_cast<std::size_t>(entry.tensor),
                                            entry.first_block + block};
                        CHECK(found.find(key) == found.end()); // no block on two ranks
                        found[key] = largest[static_cast<std::size_t>(entry.local_block + block)];
                    }
            }
            CHECK(found == expected);
        }
    }
}

TEST_CASE("a NaN in a block is its absmax, and stays in its block") {
    const ragged::Plan plan =
        ragged::make_plan(ragged::GroupSpec{"g", {{"w", {4, 6}, ragged::tile({2, 3})}}}, 1);
    ragged::HostResource memory;
    Resident x(plan, ragged::Place<Line>(Line(1), 0), memory);
    const ragged::PieceTable table(plan, 0);
    ragged::fill(table, x, 2.0f);
    ragged::shard(x, "w")[4] = std::numeric_limits<float>::quiet_NaN(); // row 0, column 4: block 1
    std::vector<float> largest(4);
    ragged::absmax_per_block(table, x, largest);
    CHECK(largest[0] == 2.0f);
    CHECK(std::isnan(largest[1]));
    CHECK(largest[2] == 2.0f);
    CHECK(largest[3] == 2.0f);
}

TEST_CASE("reductions per tensor equal the walk; fill leaves padding zero") {
    for (std::uint32_t seed = 0; seed < 60; ++seed)
        for (std::int64_t rank : {0, 1, 2}) {
            const ragged::Plan plan = ragged::make_plan(support::random_group(seed), 3);
            ragged::HostResource memory;
            Resident x(plan, ragged::Place<Line>(Line(3), rank), memory);
            const ragged::PieceTable table(plan, rank);
            ragged::fill(table, x, 3.0f);
            std::vector<double> squares(plan.tensors.size(), -1);
            std::vector<float> largest(plan.tensors.size(), -1);
            ragged::reduce_per_tensor(ragged::op::SumOfSquares{}, table, x, std::span(squares));
            ragged::reduce_per_tensor(ragged::op::AbsMax{}, table, x, std::span(largest));
            std::int64_t elements = 0;
            for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
                const std::int64_t own = ragged::shard(x, t).elements();
                CHECK(squares[t] == static_cast<double>(9 * own));
                CHECK(largest[t] == (own > 0 ? 3.0f : 0.0f));
                elements += own;
            }
            CHECK(std::count(x.values(0).begin(), x.values(0).end(), 3.0f) == elements);
            CHECK(std::count(x.values(0).begin(), x.values(0).end(), 0.0f) == plan.region_elems() - elements);
        }
}

TEST_CASE_TEMPLATE("codes and scales equal the walk, come back near, and leave padding zero", Code,
                   ragged::f8e4m3, ragged::f8e5m2, std::int8_t) {
    for (std::uint32_t seed = 0; seed < 40; ++seed)
        for (std::int64_t rank : {0, 2}) {
            const ragged::Plan plan =
                ragged::make_plan(support::random_group(seed), 3, {}, {.planes = {ragged::DType::i8}});
            ragged::HostResource memory;
            const ragged::Place<Line> place(Line(3), rank);
            Resident x(plan, place, memory), back(plan, place, memory);
            ragged::DBuffer<Code, Line, ragged::state::Sharded> codes(plan, place, memory);
            const ragged::PieceTable table(plan, rank);
            for (std::size_t t = 0; t < plan.tensors.size(); ++t)
                for (std::int64_t i = 0; i < ragged::shard(x, t).elements(); ++i)
                    ragged::shard(x, t)[i] = value_of(t, ragged::shard(x, t).first() + i) * 0.37f;
            std::vector<float> scales(static_cast<std::size_t>(table.num_blocks()), -1), largest(scales);
            ragged::absmax_per_block(table, x, largest);
            ragged::quantize_per_block(table, x, codes, std::span(scales));
            ragged::dequantize_per_block(table, codes, std::span<const float>(scales), back);
            std::size_t wrong = 0, nonzero = 0, nonzero_codes = 0;
            for (const ragged::PieceEntry& entry : table.entries()) {
                const auto t = static_cast<std::size_t>(entry.tensor);
                for (std::int64_t i = 0; i < entry.elements; ++i) {
                    const auto block = static_cast<std::size_t>(
                        entry.local_block + block_of(plan.tensors[t].spec, entry.first + i) -
                        entry.first_block);
                    const float scale = ragged::block_scale<Code>(ragged::op::AbsMax::add(0, largest[block]));
                    const Code code =
                        ragged::op::Quantize<Code>{ragged::inverse_scale(scale)}(ragged::shard(x, t)[i]);
                    const Code found = ragged::shard(codes, t)[i];
                    wrong += scales[block] != scale || static_cast<float>(found) != static_cast<float>(code);
                    wrong += ragged::shard(back, t)[i] != static_cast<float>(code) * scale;
                    nonzero += static_cast<float>(code) != 0;
                }
            }
            for (std::int64_t i = 0; i < plan.padded_elements(); ++i) // other ranks' regions too
                nonzero_codes += static_cast<float>(codes.segment_data(0)[i]) != 0;
            CHECK(wrong == 0);
            CHECK(nonzero_codes == nonzero);
        }
}

TEST_CASE("tables and results that do not fit are refused") {
    const ragged::Plan plan = ragged::make_plan(ragged::GroupSpec{"g", {{"w", {64}}}}, 2);
    const ragged::Plan other = ragged::make_plan(ragged::GroupSpec{"h", {{"w", {64}}}}, 2);
    ragged::HostResource memory;
    Resident x(plan, ragged::Place<Line>(Line(2), 0), memory);
    std::vector<float> wrong(3);
    CHECK(message_of([&] { ragged::absmax_per_block(ragged::PieceTable(plan, 0), x, wrong); }) ==
          "the result has room for 3 blocks, there are 64");
    CHECK(message_of([&] {
              ragged::reduce_per_tensor(ragged::op::AbsMax{}, ragged::PieceTable(plan, 0), x,
                                        std::span(wrong));
          }) == "the result has room for 3 tensors, there are 1");
    CHECK(message_of([&] { ragged::fill(ragged::PieceTable(plan, 1), x, 1.0f); }) ==
          "group 'g': the piece table is of rank 1, the buffer of rank 0");
    CHECK(message_of([&] { ragged::fill(ragged::PieceTable(other, 0), x, 1.0f); }) ==
          "the piece table is of group 'h', the buffer of group 'g' over another plan");
    CHECK(message_of([&] {
              ragged::Plan many = plan;
              many.segments.resize(9, many.segments[0]);
              Resident nine(many, ragged::Place<Line>(Line(2), 0), memory);
              ragged::fill(ragged::PieceTable(many, 0), nine, 1.0f);
          }) == "group 'g' has 9 segments, operations on blocks and tensors take 8");
    CHECK(message_of([&] { ragged::PieceTable(plan, 2); }) == "group 'g': rank 2 is not in [0, 2)");
}
