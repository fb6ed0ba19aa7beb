// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// MPI's status codes as exceptions, and MPI's lifetime as an object.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdlib> // std::abort
#include <string>
#include <string_view>
#include <thread>
#include <utility> // std::move

// The C++ bindings of MPI-2 are gone from the standard; their headers would be pulled in all the same.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

#include <ragged/core/error.hpp>

namespace ragged {

/// An MPI call failed. `code` is MPI's own.
class MpiError : public CommError {
  public:
    MpiError(const std::string& what, std::string operation, int code)
        : CommError(what, std::move(operation), -1)
        , code_(code) {}

    int code() const noexcept { return code_; }

  private:
    int code_;
};

namespace detail {

/// @throws MpiError  naming the operation and what MPI says
inline void check_mpi(int code, std::string_view operation) {
    if (code == MPI_SUCCESS)
        return;
    char text[MPI_MAX_ERROR_STRING] = "no text";
    int length = 0;
    MPI_Error_string(code, text, &length);
    throw MpiError(concat(operation, ": MPI says: ", text, " (code ", code, ")"), std::string(operation),
                   code);
}

/// An operation of this process failed: the other ranks may not come where MPI waits for all.
inline std::atomic<bool> mpi_has_failed = false;

inline bool mpi_is_running() {
    int initialized = 0, finalized = 0;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    return initialized != 0 && finalized == 0;
}

} // namespace detail

/// Starts MPI, and ends it with the program's main scope: make it before everything that uses MPI. Programs
/// that call MPI_Init_thread themselves do not need it.
class MpiEnvironment {
  public:
    /// @throws MpiError  MPI does not start, or had been started already
    MpiEnvironment() {
        int provided = 0;
        if (detail::mpi_is_running())
            throw MpiError("MPI_Init_thread: MPI is running already", "MPI_Init_thread", MPI_ERR_OTHER);
        detail::check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided),
                          "MPI_Init_thread");
    }
    MpiEnvironment(const MpiEnvironment&) = delete;
    MpiEnvironment& operator=(const MpiEnvironment&) = delete;
    /// Collective: waits for the other ranks. After a failure it waits for 5 s, then ends all processes of
    /// the job with status 1.
    ~MpiEnvironment() {
        if (detail::mpi_has_failed && !all_come_within(std::chrono::seconds(5)))
            abort(1);
        MPI_Finalize();
    }

    /// End all processes of the job, now.
    [[noreturn]] static void abort(int exit_status) {
        MPI_Abort(MPI_COMM_WORLD, exit_status);
        std::abort();
    }

  private:
    static bool all_come_within(std::chrono::milliseconds timeout) {
        MPI_Request all = MPI_REQUEST_NULL;
        const auto start = std::chrono::steady_clock::now();
        int done = 0, code = MPI_Ibarrier(MPI_COMM_WORLD, &all);
        while (code == MPI_SUCCESS && done == 0 && std::chrono::steady_clock::now() - start < timeout) {
            code = MPI_Test(&all, &done, MPI_STATUS_IGNORE);
            std::this_thread::yield();
        }
        return done != 0;
    }
};

} // namespace ragged
