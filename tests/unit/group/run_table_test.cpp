// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a table keeps of its runs, and the host's copies against one element at a time.
#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <vector>

#include <ragged/group/host_executor.hpp>
#include <ragged/group/run_table.hpp>

#include "support/expect.hpp"
#include "support/random_runs.hpp"

using ragged::CopyRun;
using support::message_of;

namespace {

const ragged::HostExecutor executor;

template <class T>
void check_copy(const support::RandomRuns& random, std::uint32_t seed) {
    ragged::HostResource memory;
    std::vector<T> from(static_cast<std::size_t>(random.from_elements)),
        to(static_cast<std::size_t>(random.to_elements));
    support::randomise_bytes(std::span(from), seed);
    support::randomise_bytes(std::span(to), seed + 1);
    std::vector<T> expected = to; // gaps stay as they are
    support::copy_each_element<T>(random.runs, expected, from);
    executor.copy_runs(executor.run_table(random.runs, memory), to.data(), from.data());
    CHECK(std::memcmp(to.data(), expected.data(), to.size() * sizeof(T)) == 0);
}

template <class T>
void check_copies() {
    for (std::uint32_t seed = 0; seed < 30; ++seed)
        for (const std::int64_t longest : {1, 5, 40, 700})
            check_copy<T>(support::random_runs(seed, seed % 11 * 7, longest), seed);
    // a table of every short length on its own
    for (std::int64_t length = 0; length <= 40; ++length)
        check_copy<T>({{{3, 1, length}}, 50, 50}, 1);
}

std::string refusal(std::vector<CopyRun> runs) {
    return message_of([&] { ragged::RunTable table(runs); });
}

} // namespace

TEST_CASE("a table keeps its runs in order, without the empty ones") {
    const std::vector<CopyRun> runs{{5, 0, 3}, {9, 9, 0}, {0, 7, 1}, {0, 3, 2}};
    const ragged::RunTable table(runs);
    CHECK(table.runs() == std::vector<CopyRun>{{5, 0, 3}, {0, 7, 1}, {0, 3, 2}});
    CHECK(table.elements() == 6);
}

TEST_CASE("runs on the host are copied as if one element at a time") {
    check_copies<float>();
    check_copies<double>();
    check_copies<ragged::bf16>();
    check_copies<ragged::f16>();
    check_copies<ragged::f8e4m3>();
    check_copies<ragged::f8e5m2>();
    check_copies<std::int8_t>();
    check_copies<std::uint8_t>();
}

TEST_CASE("a table without elements copies nothing and looks at no array") {
    ragged::HostResource memory;
    float* const nothing = nullptr;
    executor.copy_runs(executor.run_table({}, memory), nothing, nothing);
    const std::vector<CopyRun> empty{{0, 0, 0}, {7, 9, 0}};
    const ragged::RunTable table = executor.run_table(empty, memory);
    executor.copy_runs(table, nothing, nothing);
    CHECK(table.runs().empty());
    CHECK(table.elements() == 0);
}

TEST_CASE("the host takes no memory for a table") {
    ragged::CountingResource<> memory;
    const std::vector<CopyRun> runs{{0, 0, 100}};
    CHECK(executor.run_table(runs, memory).elements() == 100);
    CHECK(memory.allocations() == 0);
}

TEST_CASE("numbers that no run has are refused") {
    CHECK(refusal({{0, 0, 1}, {-1, 4, 2}}) ==
          "run 1 of 2 copies 2 elements from -1 to 4: these are not negative");
    CHECK(refusal({{4, -7, 2}}) == "run 0 of 1 copies 2 elements from 4 to -7: these are not negative");
    CHECK(refusal({{4, 7, -2}}) == "run 0 of 1 copies -2 elements from 4 to 7: these are not negative");
    CHECK(refusal({{4, -7, 0}}) == "run 0 of 1 copies 0 elements from 4 to -7: these are not negative");
    const std::int64_t most = std::numeric_limits<std::int64_t>::max();
    CHECK(refusal({{0, 0, most}}) == "");
    CHECK(refusal({{0, 0, most}, {0, 0, 1}}) ==
          "elements of all runs: 9223372036854775807 + 1 does not fit 64 bits");
    const std::vector<CopyRun> wrong{{-1, 0, 1}};
    CHECK_THROWS_AS(ragged::RunTable{wrong}, ragged::BufferError);
}
