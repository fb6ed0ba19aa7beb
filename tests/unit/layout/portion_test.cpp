// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Chunks and named portions. Portions of every small layout are in property/tensor_layout.
#include <doctest/doctest.h>

#include <algorithm>

#include <array>
#include <cstdint>
#include <vector>

#include <ragged/layout/portion.hpp>

namespace {

using ragged::Chunk;
using ragged::max_count;
using ragged::Portion;
using ragged::Shape;

struct Run {
    std::int64_t global = 0, local = 0, elements = 0;

    constexpr bool operator==(const Run&) const = default;
};
using Runs = std::vector<Run>;

constexpr Runs runs_of(const Portion& portion) {
    Runs runs;
    portion.for_each_run([&](std::int64_t global, std::int64_t local, std::int64_t elements) {
        runs.push_back({global, local, elements});
    });
    return runs;
}

/// Columns 2 and 3 of [6, 5], elements 3 to 9 of that box.
constexpr Portion columns() {
    Portion portion = Portion::of({6, 5});
    portion.keep_chunk(1, 3, 1); // columns 2 and 3
    portion.keep_run(3, 7);
    return portion;
}

} // namespace

TEST_CASE("chunks of a dimension: ceil(extent / ranks), the last ones shorter or empty") {
    const auto check = [](std::int64_t whole, std::int64_t count, const std::vector<std::int64_t>& extents) {
        std::int64_t first = 0;
        for (std::int64_t index = 0; index < count; ++index) {
            const Chunk chunk(whole, count, index);
            CHECK(chunk.extent == extents[static_cast<std::size_t>(index)]);
            CHECK(chunk.first == first); // an empty chunk starts where the dimension ends
            first += chunk.extent;
        }
        CHECK(first == whole);
    };
    check(8, 2, {4, 4});
    check(5, 2, {3, 2});
    check(7, 4, {2, 2, 2, 1});
    check(6, 4, {2, 2, 2, 0});
    check(5, 4, {2, 2, 1, 0});
    check(1, 3, {1, 0, 0});
    check(0, 3, {0, 0, 0});
    check(9, 1, {9});
    static_assert(Chunk(max_count, 2, 1).first == max_count / 2 + 1 &&
                  Chunk(max_count, 2, 1).extent == max_count / 2);
    static_assert(Chunk(3, max_count, max_count - 1).first == 3); // no overflow on the way
    static_assert(Chunk(max_count, 1, 0).extent == max_count);
}

TEST_CASE("the whole tensor is a portion, a scalar and a tensor without elements too") {
    static_assert(Portion::of({2, 3}).is_whole() && Portion::of({2, 3}).global(5) == 5);
    static_assert(runs_of(Portion::of({2, 3})) == Runs{{0, 0, 6}});
    static_assert(Portion::of({}).elements == 1 && Portion::of({}).global(0) == 0 &&
                  Portion::of({}).local(0) == 0);
    static_assert(runs_of(Portion::of({})) == Runs{{0, 0, 1}});
    static_assert(Portion::of({3, 0, 2}).is_whole() && Portion::of({3, 0, 2}).elements == 0);
    static_assert(runs_of(Portion::of({3, 0, 2})).empty());
}

TEST_CASE("a run of a box of columns") {
    static_assert(columns().elements == 7 && !columns().is_whole());
    constexpr std::array<std::int64_t, 7> held{8, 12, 13, 17, 18, 22, 23};
    for (std::int64_t local = 0; local < 7; ++local)
        CHECK(columns().global(local) == held[static_cast<std::size_t>(local)]);
    static_assert(columns().local(8) == 0 && columns().local(23) == 6);
    static_assert(columns().local(2) == -1 && columns().local(7) == -1);  // before the run
    static_assert(columns().local(27) == -1);                             // behind it
    static_assert(columns().local(9) == -1 && columns().local(11) == -1); // beside the box
    static_assert(runs_of(columns()) == Runs{{8, 0, 1}, {12, 1, 2}, {17, 3, 2}, {22, 5, 2}});
}

TEST_CASE("the example of the header") {
    constexpr Portion portion{{6, 5}, {6, 3}, {0, 2}, 3, 8};
    static_assert(portion.global(0) == 7 && portion.global(1) == 8 && portion.local(8) == 1);
}

TEST_CASE("runs are as long as memory allows: dimensions of one and whole ones join") {
    Portion portion = Portion::of({4, 1, 3, 1});
    portion.keep_chunk(0, 2, 1);
    CHECK(runs_of(portion) == Runs{{6, 0, 6}});
    portion = Portion::of({4, 3});
    portion.keep_run(2, 8);
    CHECK(runs_of(portion) == Runs{{2, 0, 8}});
    portion = Portion::of({2, 4, 3});
    portion.keep_chunk(1, 2, 0);
    CHECK(runs_of(portion) == Runs{{0, 0, 6}, {12, 6, 6}});
    portion.keep_chunk(0, 2, 1); // one slice is left: one run
    CHECK(runs_of(portion) == Runs{{12, 0, 6}});
}

TEST_CASE("chunks of chunks: offsets add up") {
    Portion portion = Portion::of({7, 2});
    portion.keep_chunk(0, 2, 1); // rows 4, 5 and 6
    portion.keep_chunk(0, 2, 1); // of them the last
    CHECK(runs_of(portion) == Runs{{12, 0, 2}});
    portion.keep_chunk(1, 2, 1);
    CHECK(portion.elements == 1);
    CHECK(portion.global(0) == 13);
}

TEST_CASE("rows of a run are counted from its first") {
    Portion portion = Portion::of({7, 2});
    portion.keep_run(4, 10);     // rows 2 to 6
    portion.keep_chunk(0, 2, 1); // of these five the last two
    CHECK(runs_of(portion) == Runs{{10, 0, 4}});
    portion.keep_chunk(1, 2, 0);
    CHECK(runs_of(portion) == Runs{{10, 0, 1}, {12, 1, 1}});
    portion.keep_chunk(0, 4, 3); // beyond the two rows
    CHECK(portion.elements == 0);
    CHECK(runs_of(portion).empty());
}

TEST_CASE("columns of a run: whole rows before, whole rows behind") {
    Portion portion = Portion::of({4, 5});
    portion.keep_run(5, 10); // rows 1 and 2
    portion.keep_chunk(1, 2, 1);
    CHECK(runs_of(portion) == Runs{{8, 0, 2}, {13, 2, 2}});
    portion.keep_chunk(0, 2, 1);
    CHECK(runs_of(portion) == Runs{{13, 0, 2}});
    portion = Portion::of({2, 3, 4});
    portion.keep_run(12, 12);
    portion.keep_chunk(2, 4, 3);
    CHECK(runs_of(portion) == Runs{{15, 0, 1}, {19, 1, 1}, {23, 2, 1}});
}

TEST_CASE("an empty portion holds nothing, wherever it lies") {
    Portion run = Portion::of({4, 2}), chunk = Portion::of({4, 2}), columns = Portion::of({4, 2});
    run.keep_run(3, 0);
    chunk.keep_chunk(0, 3, 2);
    columns.keep_chunk(1, 3, 2);
    for (Portion portion : {run, chunk, columns}) {
        for (int more = 0; more < 3; ++more) {
            CHECK(portion.elements == 0);
            CHECK_FALSE(portion.is_whole());
            CHECK(runs_of(portion).empty());
            for (std::int64_t element = 0; element < 8; ++element)
                CHECK(portion.local(element) == -1);
            portion.keep_chunk(more % 2, 2, 1); // and no part of nothing holds something
        }
        portion.keep_run(0, 0);
        CHECK(portion.elements == 0);
    }
}

TEST_CASE("a portion of a tensor beyond 32 bits") {
    constexpr auto large = [] {
        Portion portion = Portion::of({std::int64_t{1} << 30, std::int64_t{1} << 30});
        portion.keep_chunk(1, 1 << 10, 3);
        portion.keep_run(std::int64_t{1} << 40, std::int64_t{1} << 40);
        return portion;
    }();
    static_assert(large.global(0) == (std::int64_t{1} << 50) + 3 * (1 << 20));
    static_assert(large.local(large.global((std::int64_t{1} << 40) - 1)) == (std::int64_t{1} << 40) - 1);
}

TEST_CASE("a portion is a few boxes of the tensor, whatever run of whatever box it is") {
    for (const Shape& shape :
         {Shape{}, Shape{7}, Shape{3, 4}, Shape{3, 1, 4}, Shape{2, 3, 4}, Shape{2, 2, 3, 2}})
        for (int cut = -1; cut < shape.rank(); ++cut)
            for (std::int64_t begin = 0; begin <= shape.elements(); ++begin)
                for (std::int64_t end = begin; end <= shape.elements(); ++end) {
                    Portion portion = Portion::of(shape);
                    if (cut >= 0)
                        portion.keep_chunk(cut, 2, 1);
                    if (end > portion.elements)
                        continue;
                    portion.keep_run(begin, end - begin);
                    std::int64_t next = 0, boxes = 0;
                    bool right = true;
                    portion.for_each_box([&](const auto& corner, const Shape& extents, std::int64_t local) {
                        ++boxes;
                        right = right && local == next && extents.rank() == shape.rank();
                        for (std::int64_t i = 0; i < extents.elements(); ++i, ++next) {
                            std::int64_t rest = i, global = 0, stride = 1;
                            for (int d = shape.rank() - 1; d >= 0; --d) {
                                global += (corner[static_cast<std::size_t>(d)] + rest % extents[d]) * stride;
                                rest /= extents[d];
                                stride *= shape[d];
                            }
                            right = right && global == portion.global(next);
                        }
                    });
                    CHECK((right && next == portion.elements));
                    CHECK(boxes <= std::max(1, 2 * shape.rank() - 1));
                }
}
