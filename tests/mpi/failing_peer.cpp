// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank of several fails; every other writes what it was told, and after how many milliseconds, to a file
// of its own, because launchers stop to listen when a process dies. Then it ends without MPI, which would
// wait.
//
//     mpirun -n N failing_peer CASE window|messages FILES    writes FILES.RANK
#include <csignal>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>

#include <sys/time.h>
#include <unistd.h>

#include <ragged/step/sharded_step.hpp>

#include "mpi/support.hpp"
#include "support/step_model.hpp"

namespace {

using namespace std::chrono_literals;
using ragged::MpiCommunicator;

constexpr int failing = 1;

/// Ends every process of the job in the end, also one that is stopped.
void end_after(unsigned seconds) {
    const pid_t self = getpid();
    if (fork() == 0) {
        for (const int stream : {0, 1, 2}) // the launcher waits for who holds these
            close(stream);
        sleep(seconds);
        kill(self, SIGKILL);
        _exit(0);
    }
}

void gather(MpiCommunicator& world, float* data, std::int64_t count) {
    world.all_gather(data, count).wait();
}

const std::map<std::string, std::function<void(MpiCommunicator&, float*)>> cases{
    {"killed", [](MpiCommunicator&, float*) { raise(SIGKILL); }},
    {"killed_inside", // while bytes are on their way
     [](MpiCommunicator& world, float* data) {
         std::signal(SIGALRM, [](int) { raise(SIGKILL); });
         const itimerval soon{{0, 0}, {0, 20'000}};
         setitimer(ITIMER_REAL, &soon, nullptr);
         while (true)
             gather(world, data, 1 << 20);
     }},
    {"stopped", [](MpiCommunicator&, float*) { raise(SIGSTOP); }},
    {"exits", [](MpiCommunicator&, float*) { _exit(0); }},
    {"abandons",
     [](MpiCommunicator& world, float*) {
         world.abandon("no more data");
         sleep(4);
     }},
    {"throws", [](MpiCommunicator&, float*) { throw std::runtime_error("no more data"); }},
    {"count", [](MpiCommunicator& world, float* data) { gather(world, data, (1 << 20) - 1); }},
    {"dtype", [](MpiCommunicator& world,
                 float* data) { world.all_gather(reinterpret_cast<ragged::bf16*>(data), 1 << 20).wait(); }},
    {"operation", [](MpiCommunicator& world, float* data) { world.reduce_scatter(data, 1 << 20).wait(); }},
    {"negative", [](MpiCommunicator& world, float* data) { gather(world, data, -1); }},
};

/// A model whose process dies in the middle of the second step.
struct Dying {
    support::KnownModel& known;
    bool dies;

    template <class Gathered>
    void forward(std::int64_t group, std::int64_t round, const Gathered& weights) {
        known.forward(group, round, weights);
    }
    template <class Gathered, class Partial>
    void backward(std::int64_t group, std::int64_t round, const Gathered& weights, Partial& gradients) {
        if (dies && known.step == 1 && group == 2)
            raise(SIGKILL);
        known.backward(group, round, weights, gradients);
    }
};

/// Train until a rank dies.
void train(MpiCommunicator& world, ragged::MpiSharedResource& memory) {
    using Line = ragged::Topology<ragged::Axis<"shard">>;
    static const ragged::ModelPlan model = support::plan_step_groups(world.size()); // as the memory
    static ragged::Mesh mesh(Line(world.size()), world);
    static auto step = ragged::make_step<ragged::bf16>(model, mesh, memory);
    support::fill_masters(step, 4);
    support::StepOracle oracle(4);
    support::KnownModel known(oracle, 4, world.rank(), world.size());
    Dying dying{known, world.rank() == failing};
    support::Sgd optimizer;
    for (known.step = 0;; ++known.step) {
        step.run(dying, optimizer);
        oracle.update(known.step, -optimizer.rate, 1);
    }
}

/// Ends when a rank failed, and drops all handles.
void take_part(char** arguments, std::ofstream& told, std::chrono::steady_clock::time_point start) {
    const auto options = support::options_of(arguments[2]);
    MpiCommunicator world(MPI_COMM_WORLD, {2s, options.shared_memory});
    ragged::MpiSharedResource memory(world);
    const std::size_t bytes = (std::size_t{4} << 20) * static_cast<std::size_t>(world.size());
    auto* const array = new ragged::Memory(memory, bytes); // kept: MPI may write there until the process ends
    auto* const data = static_cast<float*>(array->data());
    MpiCommunicator half = world.split(world.rank() % 2, 0); // failures reach these as well
    gather(world, data, 1 << 20);

    const auto report = [&](const char* kind, const ragged::CommError& error) {
        const auto elapsed = std::chrono::steady_clock::now() - start;
        told << elapsed / 1ms << ' ' << kind << ": " << error.what() << " [" << error.rank() << "]\n";
    };
    try {
        if (arguments[1] == std::string("killed_in_step"))
            train(world, memory);
        if (world.rank() == failing)
            cases.at(arguments[1])(world, data);
        while (true)
            gather(world, data, 1 << 20);
    } catch (const ragged::MpiError& error) {
        report("MpiError", error);
    } catch (const ragged::CommError& error) {
        report("CommError", error);
    }
    try {
        half.barrier().wait();
        told << "the next call succeeds\n";
    } catch (const ragged::CommError&) {
        told << "the next call fails\n";
    }
}

} // namespace

int main(int, char** arguments) {
    const ragged::MpiEnvironment mpi;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    end_after(6);

    const auto start = std::chrono::steady_clock::now();
    std::ofstream told(std::string(arguments[3]) + "." + std::to_string(rank));
    try {
        take_part(arguments, told, start);
    } catch (const std::exception& error) {
        told << (std::chrono::steady_clock::now() - start) / 1ms << ' ' << error.what() << '\n';
    }
    told << "all is dropped\n";
    told.close();
    sleep(1); // the others are in the middle of theirs
    std::_Exit(0);
}
