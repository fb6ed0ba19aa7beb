// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Trains a small GPT, sharded over ranks: threads of this process, or processes under mpirun. Its parameters
// have the same bits for any number of ranks, as the digest at the end shows.
#include <unistd.h> // isatty

#include <chrono>
#include <cstdlib> // std::getenv
#include <iostream>
#include <string>
#include <vector>

#include <ragged/comm/local_communicator.hpp>
#include <ragged/step/trace.hpp>
#if defined(RAGGED_EXAMPLE_HAS_MPI)
#include <ragged/mpi.hpp>
#endif

#include "support/loss_chart.hpp"
#include "support/program.hpp"
#include "support/train.hpp"

namespace {

/// A number that a launcher leaves for its processes; -1 when there is none.
int from_launcher(const char* openmpi, const char* mpich) {
    for (const char* name : {openmpi, mpich})
        if (const char* const value = std::getenv(name))
            return std::atoi(value);
    return -1;
}
int launched_ranks() {
    return from_launcher("OMPI_COMM_WORLD_SIZE", "PMI_SIZE");
}
int launched_rank() {
    return from_launcher("OMPI_COMM_WORLD_RANK", "PMI_RANK");
}

support::TextWindows read_text(const support::TrainOptions& options) {
    constexpr const char* folders[] = {"bench", "examples", "include", "tests"};
    return {options.text.empty() ? support::read_sources(RAGGED_SOURCE_DIR, folders)
                                 : support::read_bytes(options.text),
            support::GptShape{}.context + 1, options.seed};
}

/// On a terminal, one line that is written over.
void show_progress(std::int64_t done, std::int64_t steps, double loss) {
    static const bool terminal = isatty(STDERR_FILENO) != 0;
    if (terminal)
        std::cerr << "\r\033[K  step " << done << " of " << steps << ", loss " << loss
                  << (done == steps ? "\r\033[K" : "") << std::flush;
}

struct Outcome {
    support::TrainReport report;
    std::vector<std::string> traces; // [ranks], where they were asked for
};

/// What one rank does; rank 0 has the outcome.
template <class Communicator, class Memory>
void train_rank(const support::TrainOptions& options, const support::TextWindows& text, Communicator world,
                Memory memory, Outcome& outcome) {
    const int rank = world.rank();
    ragged::Mesh mesh(support::TrainGrid(options.replicas, options.ranks / options.replicas),
                      std::move(world));
    const auto train = [&]<class T>(T) {
        support::Training<T, Communicator, Memory> training(options, text, mesh, memory);
        const support::TrainReport report = training.run([&](std::int64_t done, double loss) {
            if (rank == 0)
                show_progress(done, options.steps, loss);
        });
        const auto traces = options.trace ? training.traces() : std::vector<std::string>();
        if (rank == 0)
            outcome = {report, traces};
    };
    if (options.precision == "bf16")
        train(ragged::bf16{});
    else
        train(0.0f);
}

void write(support::Outputs& outputs, const support::TrainOptions& options, const Outcome& outcome) {
    const support::TrainReport& report = outcome.report;
    std::string left_out(support::product_left_out);
#if !defined(RAGGED_EXAMPLE_HAS_MPI)
    left_out += "built without MPI: ranks are threads\n";
#endif
    if (std::ostream* json = outputs.stream("--json"))
        write_json(*json, options, report);
    if (std::ostream* svg = outputs.stream("--svg"))
        support::write_loss_chart(*svg,
                                  ragged::concat("Loss, ", options.optimizer, ", ", options.precision, ", ",
                                                 options.ranks, options.ranks == 1 ? " rank" : " ranks"),
                                  report.losses);
    if (std::ostream* trace = outputs.stream("--trace"))
        ragged::write_trace(*trace, outcome.traces);
    if (std::ostream* text = outputs.text())
        write_text(*text, options, report, left_out);
    outputs.publish();
}

void train_with_threads(const support::TrainOptions& options, const support::TextWindows& text,
                        support::Outputs& outputs) {
    Outcome outcome;
    ragged::run_ranks(options.ranks,
                      [&](ragged::LocalCommunicator world) {
                          train_rank(options, text, world, ragged::HostResource{}, outcome);
                      },
                      {.timeout = std::chrono::minutes(10), .background = options.ranks > 1});
    write(outputs, options, outcome);
}

void train_with_mpi([[maybe_unused]] const support::TrainOptions& options,
                    [[maybe_unused]] const support::TextWindows& text,
                    [[maybe_unused]] support::Outputs& outputs) {
#if defined(RAGGED_EXAMPLE_HAS_MPI)
    ragged::MpiEnvironment mpi;
    std::cerr.clear();
    try {
        const ragged::MpiCommunicator world(MPI_COMM_WORLD);
        if (world.size() != options.ranks)
            throw support::UsageError(ragged::concat("the launcher started ", options.ranks,
                                                     " ranks, MPI knows ", world.size(),
                                                     ": it is the launcher of another MPI"));
        Outcome outcome;
        train_rank(options, text, world, ragged::MpiSharedResource(world), outcome);
        if (world.rank() == 0)
            write(outputs, options, outcome);
    } catch (const std::exception& error) { // the others may be waiting
        std::cerr << "train_gpt: " << support::one_line(error.what()) << std::endl;
        ragged::MpiEnvironment::abort(2);
    }
#else
    throw support::UsageError(
        "this program was built without MPI: run it without a launcher, --ranks N are threads");
#endif
}

void run(const support::Options& given) {
    const support::TrainOptions options = support::train_options(given, std::max(launched_ranks(), 0));
    support::Outputs outputs(given, {"--json", "--svg", "--trace"}, options.text, "text");
    const support::TextWindows text = read_text(options);
    if (launched_rank() <= 0)
        outputs.open(); // what cannot be written is refused before the work
    support::use_one_thread();
    if (launched_ranks() > 0)
        train_with_mpi(options, text, outputs);
    else
        train_with_threads(options, text, outputs);
}

} // namespace

int main(int count, char** arguments) {
    if (launched_rank() > 0)
        std::cerr.setstate(std::ios::badbit); // all ranks find the same mistakes, one tells
    return support::run_program("train_gpt", support::train_usage, count, arguments,
                                {{"--ranks"},
                                 {"--replicas"},
                                 {"--optimizer"},
                                 {"--precision"},
                                 {"--steps"},
                                 {"--micro-batches"},
                                 {"--seed"},
                                 {"--text"},
                                 {"--json"},
                                 {"--svg"},
                                 {"--trace"},
                                 {"--help", false}},
                                run);
}
