// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The last rank comes after the others gave up and dropped all they had: what MPI then still writes must have
// a place. The address sanitizer sees where it goes.   mpirun -n N late_peer gather|drop window|messages
#include <cstdlib>
#include <string_view>
#include <thread>

#include "mpi/support.hpp"

#include "support/expect.hpp"

namespace {

using namespace std::chrono_literals;
using ragged::MpiCommunicator;
using Line = ragged::Topology<ragged::Axis<"shard">>;

/// Compares plans, in memory of the library.
void gather(const ragged::MpiOptions& options) {
    ragged::HostResource memory;
    MpiCommunicator world(MPI_COMM_WORLD, options);
    ragged::Mesh mesh(Line(world.size()), world);
    const ragged::Plan plan =
        ragged::make_plan(ragged::GroupSpec{"g", {{"w", {64, 64}, ragged::rows(1)}}}, world.size());
    ragged::DBuffer<float, Line> buffer(plan, mesh, memory);
    if (world.rank() == world.size() - 1)
        std::this_thread::sleep_for(1s);
    const std::string message = support::message_of([&] { ragged::gather(std::move(buffer), mesh).wait(); });
    support::expect(!message.empty(), "the ranks do not come together");
}

/// Waits for nothing.
void drop(const ragged::MpiOptions& options) {
    static float data[4096];
    MpiCommunicator world(MPI_COMM_WORLD, options);
    const bool late = world.rank() == world.size() - 1;
    if (late)
        std::this_thread::sleep_for(1s);
    auto operation = world.reduce_scatter(data, 4096 / world.size());
    if (late)
        support::message_of([&] { operation.wait(); });
}

} // namespace

int main(int, char** arguments) {
    const ragged::MpiEnvironment mpi;
    ragged::MpiOptions options = support::options_of(arguments[2]);
    options.timeout = 300ms;
    try {
        arguments[1] == std::string_view("gather") ? gather(options) : drop(options);
    } catch (const std::exception& error) {
        std::printf("FAILED: %s\n", error.what());
        std::fflush(stdout);
        std::_Exit(1);
    }
    for (const auto start = std::chrono::steady_clock::now();
         std::chrono::steady_clock::now() - start < 2s;) {
        int arrived = 0; // what came late is written now
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &arrived, MPI_STATUS_IGNORE);
    }
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        std::printf("every rank is there\n");
    std::fflush(stdout);
    std::_Exit(0); // MPI would wait for what is not over
}
