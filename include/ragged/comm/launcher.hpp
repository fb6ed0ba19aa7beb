// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Which rank of how many this process is, as its launcher says in the environment: torchrun, Open MPI, MPICH
// and Intel MPI, Slurm. Without a launcher, rank 0 of 1.
//
//     const auto launcher = ragged::Launcher::from_environment();
//     cudaSetDevice(launcher.local_rank);
#pragma once

#include <charconv>
#include <cstdlib>
#include <optional>
#include <string>

#include <ragged/core/error.hpp>

namespace ragged {

struct Launcher {
    int rank = 0;
    int size = 1;
    int local_rank = 0; // on this machine; -1 when the launcher does not say
    std::string host{}; // where rank 0 can be reached; empty when nobody says
    int port = 0;       // of `host`; 0 when nobody says
    std::string job{};  // differs between jobs; empty when the launcher does not say

    /// Local. @throws CommError naming the variable that is missing, no number, or out of range
    static Launcher from_environment() {
        struct Names {
            const char *rank, *size, *local_rank;
        };
        constexpr Names known[] = {
            {"RANK", "WORLD_SIZE", "LOCAL_RANK"},
            {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
            {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
            {"SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"}};
        Launcher launcher;
        for (const Names& names : known) {
            if (!variable(names.rank))
                continue;
            if (!variable(names.size))
                throw CommError(concat("launcher: ", names.rank, " is set, ", names.size, " is not"),
                                "launcher", -1);
            launcher.size = *number(names.size, 1, max_ranks);
            launcher.rank = *number(names.rank, 0, launcher.size - 1);
            launcher.local_rank = number(names.local_rank, 0, launcher.size - 1).value_or(-1);
            break;
        }
        launcher.host = variable("MASTER_ADDR").value_or("");
        launcher.port = number("MASTER_PORT", 1, 65535).value_or(0);
        // torchrun listens at its port itself
        if (launcher.port > 0 && launcher.port < 65535 && variable("TORCHELASTIC_USE_AGENT_STORE") == "True")
            ++launcher.port;
        for (const char* name : {"TORCHELASTIC_RUN_ID", "PMIX_NAMESPACE", "PMI_JOBID", "SLURM_JOB_ID"})
            if (launcher.job.empty())
                launcher.job = variable(name).value_or("");
        if (const auto step = variable("SLURM_STEP_ID"); step && launcher.job == variable("SLURM_JOB_ID"))
            launcher.job += "." + *step;
        return launcher;
    }

  private:
    static constexpr int max_ranks = 1 << 24;

    static std::optional<std::string> variable(const char* name) {
        const char* const value = std::getenv(name);
        return value == nullptr ? std::nullopt : std::optional<std::string>(value);
    }

    static std::optional<int> number(const char* name, int least, int most) {
        const auto text = variable(name);
        if (!text)
            return std::nullopt;
        int value = 0;
        const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
        if (error != std::errc{} || end != text->data() + text->size() || value < least || value > most)
            throw CommError(
                concat("launcher: ", name, " is '", *text, "', not a number in [", least, ", ", most, "]"),
                "launcher", -1);
        return value;
    }
};

} // namespace ragged
