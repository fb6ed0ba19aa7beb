// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// More than 2^31 elements in one call, where there is memory for it.
//
//     mpirun -n 2 large_counts window|messages
#include <unistd.h>

#include "mpi/support.hpp"

#include "support/expect.hpp"

namespace {

using support::expect;

constexpr std::int64_t count = (std::int64_t{1} << 31) + 12'345; // per rank, one byte each

std::uint8_t value(int rank, std::int64_t i) {
    return static_cast<std::uint8_t>((i * 2654435761u >> 13) + rank * 7);
}
void fill(std::uint8_t* data, int rank, std::int64_t first, std::int64_t elements) {
    for (std::int64_t i = 0; i < elements; ++i)
        data[first + i] = value(rank, first + i);
}

} // namespace

int main(int, char** arguments) {
    return support::run_under_mpi([&] {
        ragged::MpiCommunicator world(MPI_COMM_WORLD, support::options_of(arguments[1]));
        const int rank = world.rank(), size = world.size();
        const auto free = sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
        std::uint8_t room = free > 3 * count * size * size / 2 ? 1 : 0; // a third more than is needed
        world.broadcast(&room, 1, 0).wait();
        if (room == 0) {
            if (rank == 0)
                std::printf("skipped: %ld MiB of memory are free, %ld are needed\n", free >> 20,
                            static_cast<long>(3 * count * size * size / 2 >> 20));
            return;
        }
        ragged::MpiSharedResource resource(world);
        ragged::Memory memory;
        try {
            memory = ragged::Memory(resource, static_cast<std::size_t>(count * size));
        } catch (const ragged::BufferError& error) {
            if (rank == 0)
                std::printf("skipped: %s\n", error.what());
            return;
        }
        auto* const data = static_cast<std::uint8_t*>(memory.data());

        fill(data, rank, rank * count, count);
        world.all_gather(data, count).wait();
        for (int peer = 0; peer < size; ++peer)
            for (std::int64_t i = peer * count; i < (peer + 1) * count; i += 997)
                expect(data[i] == value(peer, i), "all_gather of more than 2^31 elements per rank");

        fill(data, rank, 0, count * size);
        world.reduce_scatter(data, count).wait();
        for (std::int64_t i = rank * count; i < (rank + 1) * count; i += 991) {
            std::uint8_t sum = 0;
            for (int peer = 0; peer < size; ++peer)
                sum = static_cast<std::uint8_t>(sum + value(peer, i));
            expect(data[i] == sum, "reduce_scatter of more than 2^31 elements per rank");
        }

        fill(data, rank, 0, count);
        world.all_reduce(data, count).wait();
        expect(data[count - 1] ==
                   static_cast<std::uint8_t>(size * value(0, count - 1) + size * (size - 1) / 2 * 7),
               "all_reduce of more than 2^31 elements");

        fill(data, rank, 0, count);
        world.broadcast(data, count, size - 1).wait();
        for (std::int64_t i = 0; i < count; i += 983)
            expect(data[i] == value(size - 1, i), "broadcast of more than 2^31 elements");

        fill(data, rank, rank * count, count);
        const std::vector<std::int64_t> counts(static_cast<std::size_t>(size), count);
        world.all_gather_v(data, counts).wait();
        for (std::int64_t i = (size - 1) * count; i < size * count; i += 997)
            expect(data[i] == value(size - 1, i), "all_gather_v of more than 2^31 elements per rank");
    });
}
