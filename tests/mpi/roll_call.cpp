// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Who is named when ranks wait in vain for messages, and who is not. Each case has a world of its own, whose
// ranks all live.   mpirun -n 4 roll_call
#include <cstdlib>
#include <functional>
#include <span>
#include <thread>

#include "mpi/support.hpp"

#include "support/expect.hpp"

namespace {

using namespace std::chrono_literals;
using ragged::MpiCommunicator;

float data[64];

/// A message to and one from each of `peers`.
void exchange(MpiCommunicator& world, std::initializer_list<int> peers) {
    std::vector<ragged::Message<const float>> out;
    std::vector<ragged::Message<float>> in;
    for (const int peer : peers) {
        out.push_back({data, 1, peer});
        in.push_back({data + 1 + peer, 1, peer});
    }
    world
        .send_receive(std::span<const ragged::Message<const float>>(out),
                      std::span<const ragged::Message<float>>(in))
        .wait();
}

/// `call` fails with a message that ends with `text`, and names `rank`; or succeeds, when there is no text.
void told(const std::string& text, int rank, const std::function<void()>& call) {
    std::string message;
    int named = -1;
    try {
        call();
    } catch (const ragged::CommError& error) {
        message = error.what();
        named = error.rank();
    }
    support::expect(text.empty() == message.empty() && message.ends_with(text),
                    "'" + message + "' ends with '" + text + "'");
    support::expect(named == rank, "rank " + std::to_string(named) + " is named: " + message);
}

/// Every rank comes to the end of each case, so that the next starts at the same time.
void run(const std::function<void(MpiCommunicator&)>& body) {
    MpiCommunicator world(MPI_COMM_WORLD, {.timeout = 800ms, .shared_memory = false});
    body(world);
    MPI_Barrier(MPI_COMM_WORLD);
}

} // namespace

int main(int, char**) {
    const ragged::MpiEnvironment mpi;
    try {
        // rank 2 comes late, but in time: it answers while it waits
        run([](MpiCommunicator& world) {
            if (world.rank() == 2)
                std::this_thread::sleep_for(400ms);
            if (world.rank() % 2 == 0)
                told(" of 4: ranks 1, 3 did not come within 800 ms", 1,
                     [&] { world.all_gather(data, 4).wait(); });
        });
        // a rank that waits elsewhere is missing here; ranks are those of the part
        run([](MpiCommunicator& world) {
            MpiCommunicator part = world.split(world.rank() / 2, 0);
            if (world.rank() < 2)
                told(" of 4: ranks 2, 3 did not come within 800 ms", 2, [&] { world.barrier().wait(); });
            else if (world.rank() == 2)
                told(" of 2: rank 1 did not come within 800 ms", 1, [&] { part.barrier().wait(); });
        });
        // who takes no part in messages, or is done with them, is not missing
        run([](MpiCommunicator& world) {
            if (world.rank() == 0)
                told("send_receive of 0 f32 on rank 0 of 4: rank 1 did not come within 800 ms", 1, [&] {
                    exchange(world, {1, 2});
                });
            else if (world.rank() == 2)
                told("", -1, [&] { exchange(world, {0}); });
        });
        // nor who came, and failed there
        run([](MpiCommunicator& world) {
            const ragged::Message<float> in{data, 3, 1 - world.rank()};
            const ragged::Message<const float> out{data + 4, 2, 1 - world.rank()};
            if (world.rank() == 0)
                told(" of 4: not every rank came within 800 ms", -1,
                     [&] { world.send_receive(std::span(&out, 1), std::span(&in, 1)).wait(); });
            else if (world.rank() == 1)
                told("rank 0 sent 8 bytes, expected are 12", 0, [&] {
                    world.send_receive(std::span<const ragged::Message<const float>>(), std::span(&in, 1))
                        .wait();
                });
        });
        // all wait, for messages that nobody sends
        run([](MpiCommunicator& world) {
            const ragged::Message<float> in{data, 1, (world.rank() + 1) % world.size()};
            told(" of 4: not every rank came within 800 ms", -1, [&] {
                world.send_receive(std::span<const ragged::Message<const float>>(), std::span(&in, 1)).wait();
            });
        });
    } catch (const std::exception& error) {
        std::printf("FAILED: %s\n", error.what());
        std::fflush(stdout);
        std::_Exit(1);
    }
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        std::printf("every rank is there\n");
    std::fflush(stdout);
    std::_Exit(0); // MPI would wait for what is not over
}
