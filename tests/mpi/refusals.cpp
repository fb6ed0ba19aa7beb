// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What is refused, and how: before MPI runs, without memory, with odd arguments. Each failure has a world of
// its own, because it ends one.   mpirun -n N refusals window|messages
#include <functional>
#include <thread>

#include "mpi/support.hpp"

#include "support/expect.hpp"

namespace {

using ragged::MpiCommunicator;
using support::contains;
using support::expect;
using support::message_of;

ragged::MpiOptions options;

/// `call` fails on every rank with `text`, and so does what comes after.
void refused(const std::string& text, const std::function<void(MpiCommunicator&)>& call) {
    MpiCommunicator world(MPI_COMM_WORLD, options);
    const std::string message = message_of([&] { call(world); });
    expect(contains(message, text), "'" + message + "' says " + text);
    expect(contains(message_of([&] { world.barrier().wait(); }), text), "the first failure stays");
}

} // namespace

int main(int, char** arguments) {
    options = support::options_of(arguments[1]);
    const std::string early = message_of([] { MpiCommunicator(MPI_COMM_WORLD, options); });
    return support::run_under_mpi([&] {
        expect(early == "MPI is not running: make an MpiEnvironment, or call MPI_Init_thread, first", early);
        expect(message_of([] { ragged::MpiEnvironment(); }) == "MPI_Init_thread: MPI is running already",
               "once");

        float x[64] = {};
        refused("count -1 is negative", [&](MpiCommunicator& c) { c.all_gather(x, -1).wait(); });
        refused("root 9 is not in [0,", [&](MpiCommunicator& c) { c.broadcast(x, 4, 9).wait(); });
        refused("color -1 is negative", [&](MpiCommunicator& c) { c.split(-1, 0); });
        refused("counts for", [&](MpiCommunicator& c) {
            c.all_gather_v(x, std::vector<std::int64_t>(static_cast<std::size_t>(c.size()) + 1)).wait();
        });
        refused("got 0 counts for", [&](MpiCommunicator& c) { c.all_gather_v(x, {}).wait(); });
        refused("send and 0 receive counts",
                [&](MpiCommunicator& c) { c.all_to_all_v(static_cast<const float*>(x), {}, x, {}).wait(); });
        refused("peer 9 is not in [0,", [&](MpiCommunicator& c) {
            const ragged::Message<const float> message{x, 1, 9};
            c.send_receive(std::span(&message, 1), std::span<const ragged::Message<float>>()).wait();
        });
        refused("sent 8 bytes, expected are 12", [&](MpiCommunicator& c) {
            const int next = (c.rank() + 1) % c.size(), before = (c.rank() + c.size() - 1) % c.size();
            const ragged::Message<const float> out{x, 2, next};
            const ragged::Message<float> in{x + 8, 3, before};
            c.send_receive(std::span(&out, 1), std::span(&in, 1)).wait();
        });

        int rank = 0, size = 0;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Comm_size(MPI_COMM_WORLD, &size);
        MpiCommunicator mixed(MPI_COMM_WORLD, {options.timeout, rank == 0});
        expect(size == 1 || !mixed.shares_memory(), "memory is shared when all ranks want it");
        mixed.barrier().wait();

        MpiCommunicator world(MPI_COMM_WORLD, options);
        if (world.size() > 1) {
            const auto differs = [](const MpiCommunicator& c) {
                return c.rank() == 1 ? ragged::Reduction::max : ragged::Reduction::sum;
            };
            refused("rank 1 called all_reduce of 4 f32 by max, rank 0 called all_reduce of 4 f32",
                    [&](MpiCommunicator& c) { c.all_reduce(x, 4, differs(c)).wait(); });
            if (!options.shared_memory)
                refused("rank 1 called all_reduce of 4 f32 by max", [&](MpiCommunicator& c) {
                    auto operation = c.all_reduce(x, 4, differs(c));
                    while (!operation.done()) // a failure ends it too
                        std::this_thread::yield();
                    operation.wait();
                });
            refused("rank 1 called reduce_scatter of 4 f32 by max, rank 0 called reduce_scatter of 4 f32",
                    [&](MpiCommunicator& c) { c.reduce_scatter(x, 4, differs(c)).wait(); });
            refused("f32 by max, rank 0 called reduce_scatter_v of ", [&](MpiCommunicator& c) {
                const std::vector<std::int64_t> counts(static_cast<std::size_t>(c.size()), 4);
                c.reduce_scatter_v(x, counts, differs(c)).wait();
            });
            // the sums of the counts are equal
            refused(options.shared_memory ? "called all_gather_v of 2 1 0 f32"
                                          : "with other counts than rank 0",
                    [&](MpiCommunicator& c) {
                        std::vector<std::int64_t> counts(static_cast<std::size_t>(c.size()));
                        counts[c.rank() == 1 ? 0 : 1] = 2;
                        counts[c.rank() == 1 ? 1 : 0] = 1;
                        c.all_gather_v(x, counts).wait();
                    });
        }

        ragged::MpiSharedResource memory(world);
        const std::string message = message_of([&] { ragged::Memory(memory, std::size_t{1} << 50); });
        expect(contains(message, "out of ") && contains(message, "1125899906842624 bytes"), message);
        expect(contains(message_of([&] { ragged::Memory(memory, std::size_t(-8)); }), "out of "),
               "nor wraps it");
        world.barrier().wait(); // nothing has failed for the communicator
    });
}
