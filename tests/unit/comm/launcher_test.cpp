// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include <ragged/comm/launcher.hpp>

#include "support/expect.hpp"

using ragged::Launcher;
using support::contains;
using support::message_of;

namespace {

/// The environment of a launcher, and none of another.
class Environment {
  public:
    explicit Environment(const std::vector<std::pair<const char*, const char*>>& variables) {
        clear();
        for (const auto& [name, value] : variables)
            ::setenv(name, value, 1);
    }
    ~Environment() { clear(); }
    Environment(const Environment&) = delete;
    Environment& operator=(const Environment&) = delete;

  private:
    static void clear() {
        for (const char* name : {"RANK",
                                 "WORLD_SIZE",
                                 "LOCAL_RANK",
                                 "OMPI_COMM_WORLD_RANK",
                                 "OMPI_COMM_WORLD_SIZE",
                                 "OMPI_COMM_WORLD_LOCAL_RANK",
                                 "PMI_RANK",
                                 "PMI_SIZE",
                                 "MPI_LOCALRANKID",
                                 "SLURM_PROCID",
                                 "SLURM_NTASKS",
                                 "SLURM_LOCALID",
                                 "MASTER_ADDR",
                                 "MASTER_PORT",
                                 "TORCHELASTIC_USE_AGENT_STORE",
                                 "TORCHELASTIC_RUN_ID",
                                 "PMIX_NAMESPACE",
                                 "PMI_JOBID",
                                 "SLURM_JOB_ID",
                                 "SLURM_STEP_ID"})
            ::unsetenv(name);
    }
};

} // namespace

TEST_CASE("without a launcher a process is rank 0 of 1") {
    const Environment environment({});
    const Launcher launcher = Launcher::from_environment();
    CHECK(launcher.rank == 0);
    CHECK(launcher.size == 1);
    CHECK(launcher.local_rank == 0);
    CHECK(launcher.host.empty());
    CHECK(launcher.port == 0);
    CHECK(launcher.job.empty());
}

TEST_CASE("each launcher's variables are understood") {
    const std::vector<std::pair<const char*, const char*>> launchers[] = {
        {{"RANK", "5"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}, {"TORCHELASTIC_RUN_ID", "j"}},
        {{"OMPI_COMM_WORLD_RANK", "5"},
         {"OMPI_COMM_WORLD_SIZE", "8"},
         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
         {"PMIX_NAMESPACE", "j"}},
        {{"PMI_RANK", "5"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "1"}, {"PMI_JOBID", "j"}},
        {{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "1"}, {"SLURM_JOB_ID", "j"}}};
    for (const auto& variables : launchers) {
        CAPTURE(variables[0].first);
        const Environment environment(variables);
        const Launcher launcher = Launcher::from_environment();
        CHECK(launcher.rank == 5);
        CHECK(launcher.size == 8);
        CHECK(launcher.local_rank == 1);
        CHECK(launcher.job == "j");
    }
}

TEST_CASE("the address is where rank 0 may listen") {
    const Environment plain({{"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}});
    CHECK(Launcher::from_environment().host == "node7");
    CHECK(Launcher::from_environment().port == 29500);
    ::setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
    CHECK(Launcher::from_environment().port == 29501);
}

TEST_CASE("steps of one Slurm job are different jobs; a local rank may be unknown") {
    const Environment environment(
        {{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}, {"SLURM_JOB_ID", "77"}, {"SLURM_STEP_ID", "3"}});
    CHECK(Launcher::from_environment().job == "77.3");
    CHECK(Launcher::from_environment().local_rank == -1);
}

TEST_CASE("a variable that is missing or wrong is named") {
    const auto error = [](const std::vector<std::pair<const char*, const char*>>& variables) {
        const Environment environment(variables);
        return message_of([] { static_cast<void>(Launcher::from_environment()); });
    };
    CHECK(error({{"RANK", "0"}}) == "launcher: RANK is set, WORLD_SIZE is not");
    CHECK(error({{"RANK", "2"}, {"WORLD_SIZE", "2"}}) == "launcher: RANK is '2', not a number in [0, 1]");
    for (const char* text : {"", "x", "1x", " 1", "-1", "99999999999999999999"})
        CHECK(contains(error({{"RANK", text}, {"WORLD_SIZE", "4"}}), "RANK is"));
    CHECK(contains(error({{"RANK", "0"}, {"WORLD_SIZE", "0"}}), "WORLD_SIZE is '0'"));
    CHECK(contains(error({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "2"}}),
                   "MPI_LOCALRANKID is '2'"));
    CHECK(contains(error({{"MASTER_PORT", "65536"}}), "MASTER_PORT is '65536'"));
    CHECK(error({{"SLURM_NTASKS", "4"}}).empty()); // an allocation, but no step of it
}
