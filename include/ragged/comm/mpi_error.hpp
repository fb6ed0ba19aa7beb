// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// MPI's status codes as exceptions, and MPI's lifetime as an object.
#pragma once

#include <cstdlib> // std::abort
#include <string>
#include <string_view>
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
    /// Collective: waits for the other ranks. After a failed collective they may never come; end the program
    /// with abort() then.
    ~MpiEnvironment() { MPI_Finalize(); }

    /// End all processes of the job, now.
    [[noreturn]] static void abort(int exit_status) {
        MPI_Abort(MPI_COMM_WORLD, exit_status);
        std::abort();
    }
};

} // namespace ragged
