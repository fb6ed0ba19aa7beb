// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The threads of a block operation, as loops: the results of the host, for blocks of every kind and buffers
// that start anywhere.
#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include <ragged/group/block_body.hpp>
#include <ragged/group/host_executor.hpp>
#include <ragged/plan/make_plan.hpp>

#include "support/random_group.hpp"

namespace body = ragged::body;

namespace {

/// A launch as loops: tasks, teams, and for each block the threads of both walks.
template <class BlockOp>
void launch(const body::DevicePieces& device, const BlockOp& op) {
    for (std::int64_t task = 0; task < device.num_tasks; ++task) {
        const body::DevicePiece& piece =
            body::entry_at(device.pieces.data(), static_cast<std::int64_t>(device.pieces.size()), task,
                           &body::DevicePiece::first_task);
        const int team = body::team_of<BlockOp::elems>(piece.grid);
        const std::int64_t start = (task - piece.first_task) * piece.blocks_per_task;
        const std::int64_t end = std::min(start + piece.blocks_per_task, piece.entry.num_blocks);
        for (std::int64_t block = start; block < end; ++block) {
            const body::BlockRows rows = body::rows_of(piece.grid, piece.entry.first_block + block);
            std::uint32_t bits = 0;
            if constexpr (BlockOp::needs_absmax)
                for (int thread = 0; thread < team; ++thread)
                    bits = ragged::op::AbsMax::fold(bits, op.absmax(piece, rows, thread, team));
            for (int thread = 0; thread < team; ++thread)
                op.apply(piece, rows, piece.entry.local_block + block, thread, team, bits);
        }
    }
}

/// Regions of every segment of a plan, `shift` elements behind a word, all zero.
template <class T>
struct Store {
    std::vector<T> data;
    std::int64_t start;
    const ragged::Plan& plan;

    Store(const ragged::Plan& of, std::int64_t shift)
        : data(static_cast<std::size_t>(of.region_elems() + 64))
        , start((16 - static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data.data()) % 16)) % 16 /
                    static_cast<std::int64_t>(sizeof(T)) +
                shift)
        , plan(of) {}

    template <class Access = T>
    ragged::Regions<Access> regions() {
        ragged::Regions<Access> result;
        std::int64_t offset = start;
        for (std::size_t segment = 0; segment < plan.segments.size(); ++segment) {
            result.of_segment[segment] = data.data() + offset;
            offset += plan.segments[segment].region_elems(0);
        }
        return result;
    }
    bool same(const Store& other) const {
        return std::memcmp(data.data() + start, other.data.data() + other.start,
                           static_cast<std::size_t>(plan.region_elems()) * sizeof(T)) == 0;
    }
};

template <class T, class Code>
void check(const ragged::GroupSpec& group, std::int64_t ranks, std::int64_t shift) {
    const ragged::Plan plan = ragged::make_plan(group, ranks, ragged::policy::Exact{.max_segments = 2},
                                                {.planes = {ragged::DType::i8}});
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
        const ragged::PieceTable table(plan, rank);
        const body::DevicePieces device(table);
        const ragged::HostExecutor host;
        Store<T> in(plan, shift), filled(plan, shift), host_filled(plan, 0), back(plan, shift),
            host_back(plan, 0);
        Store<Code> codes(plan, shift), host_codes(plan, 0);
        std::mt19937 random(5);
        for (T& x : in.data)
            x = static_cast<T>(static_cast<float>(random()) * 0x1p-30f - 2.0f);
        const auto blocks = static_cast<std::size_t>(table.num_blocks());
        std::vector<float> largest(blocks, -1), host_largest(blocks), scales(blocks, -1), host_scales(blocks);

        launch(device, body::AbsMaxBlocks<T>{in.template regions<const T>(), largest.data()});
        host.absmax(table, in.template regions<const T>(), host_largest.data());
        CHECK(largest == host_largest);
        launch(device,
               body::QuantizeBlocks<T, Code>{in.template regions<const T>(), codes.regions(), scales.data()});
        host.quantize(table, in.template regions<const T>(), host_codes.regions(), host_scales.data());
        CHECK(scales == host_scales);
        CHECK(codes.same(host_codes)); // with zeros between the pieces
        launch(device, body::DequantizeBlocks<Code, T>{codes.template regions<const Code>(), scales.data(),
                                                       back.regions()});
        host.dequantize(table, host_codes.template regions<const Code>(), scales.data(), host_back.regions());
        CHECK(back.same(host_back));
        launch(device, body::FillBlocks<T>{filled.regions(), static_cast<T>(3.0f)});
        host.fill(table, host_filled.regions(), static_cast<T>(3.0f));
        CHECK(filled.same(host_filled));
    }
}

} // namespace

TEST_CASE("threads have the results of the host on random groups") {
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
        CAPTURE(seed);
        for (std::int64_t ranks : {1, 3})
            for (std::int64_t shift : {0, 1, 4}) {
                check<float, ragged::f8e4m3>(support::random_group(seed), ranks, shift);
                check<ragged::bf16, std::int8_t>(support::random_group(seed), ranks, shift);
            }
    }
}

TEST_CASE("and on blocks of every size: runs, tiles, stacks, thick in four dimensions, beyond one warp") {
    const ragged::GroupSpec group{"sizes",
                                  {{"runs", {40, 256}, ragged::tile({1, 128})},
                                   {"cut runs", {40, 200}, ragged::tile({1, 128})},
                                   {"tiles", {100, 130}, ragged::tile({32, 32})},
                                   {"stack", {3, 64, 96}, ragged::tile({1, 32, 32})},
                                   {"thick", {5, 6, 7, 8}, ragged::tile({2, 3, 4, 5})},
                                   {"large", {64, 384}, ragged::rows(16)},
                                   {"whole", {200, 301}, ragged::whole()},
                                   {"loose", {5000}},
                                   {"odd", {77, 33}, ragged::rows(1)}}};
    for (std::int64_t ranks : {1, 2})
        for (std::int64_t shift : {0, 3}) {
            check<float, ragged::f8e4m3>(group, ranks, shift);
            check<ragged::bf16, ragged::f8e5m2>(group, ranks, shift);
            check<double, std::int8_t>(group, ranks, shift);
        }
}

TEST_CASE("teams are as large as blocks have packs") {
    const auto team = [](const ragged::Shape& shape, const ragged::Shape& block) {
        return body::team_of<16>(body::BlockGeometry::of(ragged::BlockGrid(shape, ragged::tile(block))));
    };
    CHECK(team({100}, {1}) == 1);
    CHECK(team({64, 256}, {1, 128}) == 8);
    CHECK(team({64, 256}, {32, 32}) == 32);
    CHECK(team({64, 256}, {16, 256}) == body::task_threads);
}
