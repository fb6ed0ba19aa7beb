// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The threads of a copy of runs, as loops: every team, every misalignment, every element type, runs across
// shares and shares across runs.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include <ragged/group/run_body.hpp>
#include <ragged/spec/dtype.hpp>

#include "support/random_runs.hpp"

namespace body = ragged::body;
using ragged::CopyRun;

namespace {

/// `shift` elements behind a word.
template <class T>
std::span<T> shifted(std::vector<T>& storage, std::int64_t elements, std::size_t shift) {
    storage.resize(static_cast<std::size_t>(elements) + shift + body::word_bytes);
    const auto behind = reinterpret_cast<std::uintptr_t>(storage.data()) % body::word_bytes / sizeof(T);
    const std::size_t start = (body::word_bytes / sizeof(T) - behind) % (body::word_bytes / sizeof(T));
    return std::span(storage).subspan(start + shift, static_cast<std::size_t>(elements));
}

template <class T>
void check_copy(const support::RandomRuns& random, int team, std::size_t shift_to, std::size_t shift_from) {
    const ragged::RunTable table(random.runs);
    const std::vector<body::DeviceRun> runs = body::device_runs(table);
    std::vector<T> from_storage, to_storage;
    const std::span<T> from = shifted(from_storage, random.from_elements, shift_from);
    const std::span<T> to = shifted(to_storage, random.to_elements, shift_to);
    support::randomise_bytes(from, 1);
    support::randomise_bytes(std::span(to_storage), 2);
    std::vector<T> expected = to_storage;
    support::copy_each_element<T>(
        random.runs, std::span(expected).subspan(static_cast<std::size_t>(to.data() - to_storage.data())),
        from);
    const std::int64_t shares = ragged::ceil_div(table.elements(), body::share_elems<T>(team));
    for (std::int64_t share = shares + 2; share >= 0; --share) // a launch has some more, in any order
        for (int thread = 0; thread < team; ++thread)
            body::copy_share<T>(runs.data(), static_cast<std::int64_t>(runs.size()), table.elements(), share,
                                thread, team, to.data(), from.data());
    CHECK(std::memcmp(to_storage.data(), expected.data(), expected.size() * sizeof(T)) == 0);
}

template <class T>
void check_type() {
    const std::int64_t word = body::Word<T>::elems;
    for (int team = 1; team <= 32; team *= 2)
        for (std::uint32_t seed = 0; seed < 6; ++seed) {
            const std::int64_t share = body::share_elems<T>(team);
            for (const std::int64_t longest : {std::int64_t{1}, word + 3, share + share / 3, 3 * share})
                check_copy<T>(support::random_runs(seed, 1 + seed * 5, longest), team, seed % 3, seed % 2);
            // whole words, so that both arrays reach them together, or never do
            check_copy<T>(support::random_runs(seed, 9, share / word, word), team, 0, 0);
            check_copy<T>(support::random_runs(seed, 9, share / word, word), team, 1, 1);
            check_copy<T>(support::random_runs(seed, 9, share / word, word), team, 1, 0);
        }
    check_copy<T>({{}, 1, 1}, 4, 0, 0);
    check_copy<T>({{{0, 0, 0}}, 1, 1}, 4, 0, 0);
    check_copy<T>({{{0, 0, 1}}, 1, 1}, 32, 0, 1);
}

} // namespace

TEST_CASE("all threads together copy the runs, as if one element at a time") {
    check_type<float>();
    check_type<double>();
    check_type<ragged::bf16>();
    check_type<ragged::f16>();
    check_type<ragged::f8e4m3>();
    check_type<ragged::f8e5m2>();
    check_type<std::int8_t>();
    check_type<std::uint8_t>();
}

TEST_CASE("every element of the copy is written once, by one thread") {
    const auto random = support::random_runs(3, 40, 90);
    const ragged::RunTable table(random.runs);
    const auto runs = body::device_runs(table);
    const int team = 4;
    const std::vector<float> from(static_cast<std::size_t>(random.from_elements), 1.0f);
    std::vector<int> writers(static_cast<std::size_t>(random.to_elements));
    const std::int64_t shares = ragged::ceil_div(table.elements(), body::share_elems<float>(team));
    for (std::int64_t share = 0; share < shares; ++share)
        for (int thread = 0; thread < team; ++thread) {
            std::vector<float> to(writers.size());
            body::copy_share(runs.data(), static_cast<std::int64_t>(runs.size()), table.elements(), share,
                             thread, team, to.data(), from.data());
            for (std::size_t i = 0; i < to.size(); ++i)
                writers[i] += to[i] == 1.0f;
        }
    std::vector<int> expected(writers.size());
    for (const CopyRun& run : random.runs)
        std::fill_n(expected.begin() + run.to, run.elements, 1);
    CHECK(writers == expected);
}

TEST_CASE("a table for a device knows how many elements come before each run") {
    const std::vector<CopyRun> runs{{5, 0, 3}, {9, 9, 0}, {0, 7, 1}, {0, 3, 2}};
    const auto device = body::device_runs(ragged::RunTable(runs));
    REQUIRE(device.size() == 3);
    CHECK(device[0].first == 0);
    CHECK(device[1].first == 3);
    CHECK(device[2].first == 4);
    CHECK(device[2].run == CopyRun{0, 3, 2});
}

TEST_CASE("a team has an average run on its way at once") {
    CHECK(body::run_team<float>(0, 0) == 1);
    CHECK(body::run_team<float>(1000, 1000) == 1);
    CHECK(body::run_team<float>(16, 1) == 1); // four words, which a thread has in flight
    CHECK(body::run_team<float>(17, 1) == 2);
    CHECK(body::run_team<float>(1 << 20, 2048) == 32);
    CHECK(body::run_team<ragged::bf16>(3200, 100) == 1);
    CHECK(body::run_team<ragged::bf16>(100 * 720, 100) == 32);
    CHECK(body::run_team<double>(std::int64_t{1} << 60, 1) == 32);
}
