// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>

#include <ragged/comm/bootstrap.hpp>
#include <ragged/comm/local_communicator.hpp>

#include "support/processes.hpp"

using support::contains;
using support::expect;
using support::message_of;

namespace {

struct Id { // like NCCL's
    char bytes[128];
};

Id id_of_rank(int rank) {
    Id id{};
    if (rank == 0)
        for (int i = 0; i < 128; ++i)
            id.bytes[i] = static_cast<char>(i + 1);
    return id;
}

void expect_filled(const Id& id) {
    expect(std::equal(id.bytes, id.bytes + 128, id_of_rank(0).bytes), "every rank has the value of rank 0");
}

} // namespace

TEST_CASE("a value comes to all ranks by a communicator over host memory") {
    for (int ranks : {1, 2, 5})
        CHECK_NOTHROW(ragged::run_ranks(ranks, [](ragged::LocalCommunicator world) {
            Id id = id_of_rank(world.rank());
            ragged::bootstrap(world, id);
            expect_filled(id);
        }));
}

TEST_CASE("a value comes to all ranks of a launcher through a file") {
    std::string name = (std::filesystem::temp_directory_path() / "ragged-XXXXXX").string();
    const std::filesystem::path directory = ::mkdtemp(name.data());
    const auto errors = support::errors_of_threads(3, [&](int rank) {
        Id id = id_of_rank(rank);
        ragged::bootstrap(ragged::Launcher{.rank = rank, .size = 3},
                          ragged::FileExchange{directory / "id", "job"}, id);
        expect_filled(id);
    });
    CHECK(errors == std::vector<std::string>(3));
    std::filesystem::remove_all(directory);
}

TEST_CASE("a value comes to all ranks of a launcher over TCP") {
    for (int port = 29500;; port += 7) { // a free one
        const auto errors = support::errors_of_threads(3, [&](int rank) {
            Id id = id_of_rank(rank);
            ragged::bootstrap(
                ragged::Launcher{.rank = rank, .size = 3, .host = "localhost", .port = port, .job = "j"}, id,
                std::chrono::seconds(2));
            expect_filled(id);
        });
        if (contains(errors[0], "in use") && port < 29700)
            continue;
        CHECK(errors == std::vector<std::string>(3));
        break;
    }
}

TEST_CASE("a launcher without an address names what is missing; one rank needs none") {
    Id id = id_of_rank(0);
    CHECK_NOTHROW(ragged::bootstrap(ragged::Launcher{}, id));
    CHECK(contains(message_of([&] { ragged::bootstrap(ragged::Launcher{.rank = 1, .size = 2}, id); }),
                   "MASTER_ADDR and MASTER_PORT"));
}
