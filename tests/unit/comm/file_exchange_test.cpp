// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <numeric>

#include <ragged/comm/file_exchange.hpp>

#include "support/processes.hpp"

using namespace std::chrono_literals;
using ragged::FileExchange;
using support::contains;
using support::expect;
using support::message_of;

namespace {

using Bytes = std::array<std::uint8_t, 128>;

Bytes bytes_of_rank(int rank) {
    Bytes bytes{};
    if (rank == 0)
        std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
    return bytes;
}

/// A directory of its own.
struct Directory {
    std::filesystem::path path;
    Directory() {
        std::string name = (std::filesystem::temp_directory_path() / "ragged-XXXXXX").string();
        path = ::mkdtemp(name.data());
    }
    ~Directory() { std::filesystem::remove_all(path); }
};

void exchange_and_check(const FileExchange& by, int rank, std::chrono::milliseconds timeout = 20s) {
    Bytes bytes = bytes_of_rank(rank);
    ragged::exchange(by, rank, bytes, timeout);
    expect(bytes == bytes_of_rank(0), "every rank has the bytes of rank 0");
}

} // namespace

TEST_CASE("every rank reads what rank 0 wrote, threads and processes, late or early") {
    const Directory directory;
    for (int ranks : {1, 2, 5}) {
        const FileExchange by{directory.path / "id", "job " + std::to_string(ranks)};
        const auto body = [&](int rank) {
            if (rank == 0)
                std::this_thread::sleep_for(20ms);
            exchange_and_check(by, rank);
        };
        CHECK(support::failures_of_processes(ranks, body) == 0);
        CHECK(support::errors_of_threads(ranks, body) ==
              std::vector<std::string>(static_cast<std::size_t>(ranks)));
        CHECK(!std::filesystem::exists(directory.path / "id.unfinished"));
    }
}

TEST_CASE("the file of an earlier job is not taken for this one's") {
    const Directory directory;
    exchange_and_check({directory.path / "id", "yesterday"}, 0);
    const FileExchange by{directory.path / "id", "today"};
    CHECK(
        contains(message_of([&] { exchange_and_check(by, 1, 50ms); }),
                 "is not the one of job 'today' with 128 bytes, which did not come to rank 1 within 50 ms"));
    const auto errors = support::errors_of_threads(3, [&](int rank) {
        if (rank == 0)
            std::this_thread::sleep_for(50ms);
        exchange_and_check(by, rank);
    });
    CHECK(errors == std::vector<std::string>(3));
}

TEST_CASE("a file that is short, long or something else is not read") {
    const Directory directory;
    const FileExchange by{directory.path / "id", "job"};
    exchange_and_check(by, 0);
    std::ifstream whole_file(by.path, std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(whole_file), {}};
    for (const std::string& text : {whole.substr(0, whole.size() - 1), whole + "x", whole.substr(1),
                                    std::string("garbage"), whole.substr(0, 10)}) {
        std::ofstream(by.path, std::ios::binary | std::ios::trunc) << text;
        CHECK(contains(message_of([&] { exchange_and_check(by, 1, 20ms); }), "is not the one of job 'job'"));
    }
}

TEST_CASE("who did not come, and what cannot be written, is named") {
    const Directory directory;
    CHECK(contains(message_of([&] {
                       exchange_and_check({directory.path / "id", "job"}, 2, 20ms);
                   }),
                   "did not come from rank 0 to rank 2 within 20 ms"));
    CHECK(contains(message_of([&] {
                       exchange_and_check({directory.path / "none" / "id", "job"}, 0);
                   }),
                   "cannot be written"));
    for (int rank : {0, 1})
        CHECK(contains(message_of([&] {
                           exchange_and_check({directory.path / "id", ""}, rank);
                       }),
                       "needs the name of the job"));
    try {
        exchange_and_check({directory.path / "id", "job"}, 2, 1ms);
    } catch (const ragged::CommError& error) {
        CHECK(error.rank() == 0);
        CHECK(error.operation() == "exchange");
    }
}
