// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Block updates: the host's against one element at a time, by blocks from coordinates; the threads of a
// device, as loops, against the host's.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include <ragged/group/block_update.hpp>
#include <ragged/group/host_executor.hpp>
#include <ragged/plan/make_plan.hpp>

#include "support/block_oracle.hpp"
#include "support/random_group.hpp"

namespace body = ragged::body;

namespace {

/// Writes floats and codes, reads a third array; what a block keeps is replaced by the largest values.
struct Shrink {
    static constexpr int num_largest = 2;
    float* sums;
    float* others;

    struct Block {
        float sum, other;

        void measure(ragged::Largest<2>& largest, const float& x, const std::int8_t&, const float& y) const {
            largest.bits[0] = ragged::op::AbsMax::add(largest.bits[0], x + sum * y);
            largest.bits[1] = ragged::op::AbsMax::add(largest.bits[1], y - other);
        }
        auto update(const ragged::Largest<2>& largest) const {
            return [sum = sum, first = ragged::op::AbsMax::result(largest.bits[0]),
                    second = ragged::op::AbsMax::result(largest.bits[1])](float& x, std::int8_t& code,
                                                                          const float& y) {
                x = (x + sum * y) / (first + 1);
                code = static_cast<std::int8_t>(code / 2 + static_cast<int>(10 * y / (second + 1)));
            };
        }
    };
    Block block(std::int64_t local) const { return {sums[local], others[local]}; }
    void finish(std::int64_t local, const ragged::Largest<2>& largest) const {
        sums[local] = ragged::op::AbsMax::result(largest.bits[0]);
        others[local] = ragged::op::AbsMax::result(largest.bits[1]);
    }
};

/// A launch as loops.
template <class Op, class... T>
void launch(const ragged::PieceTable& table, const Op& op, const ragged::Regions<T>&... arrays) {
    const body::DevicePieces device(table);
    for (const body::DevicePiece& piece : device.pieces) {
        const int team = body::team_of<body::update_elems<T...>>(piece.grid);
        for (std::int64_t block = 0; block < piece.entry.num_blocks; ++block) {
            const body::BlockRows rows = body::rows_of(piece.grid, piece.entry.first_block + block);
            const std::int64_t start = rows.first - piece.entry.first,
                               local = piece.entry.local_block + block;
            const auto of = op.block(local);
            ragged::Largest<Op::num_largest> largest;
            for (int thread = 0; thread < team; ++thread)
                body::measure_block(piece.grid, rows, thread, team, of, largest,
                                    static_cast<const T*>(arrays.piece(piece.entry) + start)...);
            for (int thread = 0; thread < team; ++thread)
                body::update_block(piece.grid, rows, thread, team, of.update(largest),
                                   arrays.piece(piece.entry) + start...);
            op.finish(local, largest);
        }
    }
}

/// The arrays of a rank with known values, `shift` elements behind a word.
struct Arrays {
    const ragged::Plan& plan;
    std::int64_t shift;
    std::vector<float> x, y, sums, others;
    std::vector<std::int8_t> codes;

    Arrays(const ragged::Plan& of, const ragged::PieceTable& table, std::int64_t behind)
        : plan(of)
        , shift(behind)
        , x(static_cast<std::size_t>(of.region_elems() + 40))
        , y(x.size())
        , sums(static_cast<std::size_t>(table.num_blocks()), 0.25f)
        , others(sums.size(), 0.5f)
        , codes(x.size()) {
        std::mt19937 random(3);
        const auto draw = [&] { return static_cast<float>(random()) * 0x1p-30f - 2.0f; };
        for (std::int64_t i = 0; i < plan.region_elems(); ++i) {
            at(x)[i] = draw();
            at(y)[i] = draw();
            at(codes)[i] = static_cast<std::int8_t>(50 * draw());
        }
    }
    template <class T>
    T* at(std::vector<T>& values) {
        const auto address = reinterpret_cast<std::uintptr_t>(values.data());
        return values.data() + (16 - address % 16) % 16 / sizeof(T) + shift;
    }
    template <class Access, class T>
    ragged::Regions<Access> regions(std::vector<T>& values) {
        ragged::Regions<Access> result;
        Access* start = at(values);
        for (std::size_t segment = 0; segment < plan.segments.size(); ++segment) {
            result.of_segment[segment] = start;
            start += plan.segments[segment].region_elems(0);
        }
        return result;
    }
    bool same(Arrays& other) {
        const auto equal = [&](auto& a, auto& b) { // padding as well
            return std::memcmp(at(a), other.at(b),
                               static_cast<std::size_t>(plan.region_elems()) * sizeof(a[0])) == 0;
        };
        return equal(x, other.x) && equal(codes, other.codes) && equal(y, other.y) && sums == other.sums &&
               others == other.others;
    }

    void by_threads(const ragged::PieceTable& table) {
        launch(table, Shrink{sums.data(), others.data()}, regions<float>(x), regions<std::int8_t>(codes),
               regions<const float>(y));
    }
    void by_host(const ragged::PieceTable& table) {
        ragged::HostExecutor{}.update_blocks(Shrink{sums.data(), others.data()}, table, regions<float>(x),
                                             regions<std::int8_t>(codes), regions<const float>(y));
    }
    /// Each block looks at all elements of its tensor.
    void by_element(const ragged::PieceTable& table) {
        const Shrink op{sums.data(), others.data()};
        for (const ragged::PieceEntry& entry : table.entries()) {
            const auto& spec = plan.tensors[static_cast<std::size_t>(entry.tensor)].spec;
            const auto blocks = support::blocks_by_coordinates(spec.shape, spec.block);
            const auto each = [&](std::int64_t block, const auto& use) {
                for (std::int64_t i = 0; i < entry.elements; ++i)
                    if (blocks[static_cast<std::size_t>(entry.first + i)] == block)
                        use(regions<float>(x).piece(entry)[i], regions<std::int8_t>(codes).piece(entry)[i],
                            regions<const float>(y).piece(entry)[i]);
            };
            for (std::int64_t block = 0; block < entry.num_blocks; ++block) {
                const auto of = op.block(entry.local_block + block);
                ragged::Largest<2> largest;
                each(entry.first_block + block, [&](auto&... elements) { of.measure(largest, elements...); });
                each(entry.first_block + block, of.update(largest));
                op.finish(entry.local_block + block, largest);
            }
        }
    }
};

void check(const ragged::GroupSpec& group, bool by_element) {
    for (const std::int64_t ranks : {1, 3}) {
        const ragged::Plan plan = ragged::make_plan(group, ranks, ragged::policy::Exact{.max_segments = 2},
                                                    {.planes = {ragged::DType::i8}});
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            const ragged::PieceTable table(plan, rank);
            Arrays host(plan, table, 0);
            host.by_host(table);
            if (by_element) {
                Arrays plain(plan, table, 0);
                plain.by_element(table);
                CHECK(host.same(plain));
            }
            for (const std::int64_t shift : {0, 1, 4}) {
                Arrays threads(plan, table, shift);
                threads.by_threads(table);
                CHECK(threads.same(host));
            }
        }
    }
}

} // namespace

TEST_CASE("random groups") {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        check(support::random_group(seed), true);
    }
}

TEST_CASE("blocks of every size: runs, tiles, thick in four dimensions, beyond one warp") {
    check({"sizes",
           {{"runs", {40, 256}, ragged::tile({1, 128})},
            {"tiles", {100, 130}, ragged::tile({32, 32})},
            {"stack", {3, 64, 96}, ragged::tile({1, 32, 32})},
            {"thick", {5, 6, 7, 8}, ragged::tile({2, 3, 4, 5})},
            {"large", {64, 384}, ragged::rows(16)},
            {"whole", {200, 301}, ragged::whole()},
            {"flat", {5000}, ragged::elements(256)}}},
          false);
}
