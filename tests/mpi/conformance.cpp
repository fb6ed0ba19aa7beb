// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The laws of a communicator on MPI processes.   mpirun -n N conformance window|messages
#include "mpi/support.hpp"

#include "conformance/communicator_suite.hpp"

int main(int, char** arguments) {
    return support::run_under_mpi([&] {
        ragged::MpiCommunicator world(MPI_COMM_WORLD, support::options_of(arguments[1]));
        support::expect(world.shares_memory() == (arguments[1] == std::string_view("window")), "the path");
        conformance::HostArrays private_arrays; // memory that others cannot read
        support::WindowArrays shared_arrays(world);
        const auto everything = [&](auto& arrays) {
            conformance::everything(world, arrays);
            if (world.size() > 1) // one rank's values are there already
                conformance::max_of_special_values(world, arrays);
        };
        everything(private_arrays);
        everything(shared_arrays);
        if (!world.shares_memory() || world.size() == 1) {
            conformance::progress_without_wait(world, private_arrays);
            conformance::progress_without_wait(world, shared_arrays);
        } else {
            auto barrier = world.barrier();
            support::expect(!barrier.done(), "what meets in shared memory runs when it is waited for");
            barrier.wait();
        }

        std::vector<ragged::MpiCommunicator> alone; // as the lines of an axis of size 1
        for (int taken = 0; taken < 64; taken += world.size())
            alone.push_back(world.split(world.rank(), 0));
        support::expect(world.split(0, 0).shares_memory() == world.shares_memory(),
                        "the path is still there");
    });
}
