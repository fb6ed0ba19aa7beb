// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Who is missing when an operation of MPI's own calls comes to its time-out: MPI does not say whom it waits
// for. The rank that gives up says so to all ranks of the communicator; who waits in an operation of it says
// the same, and who is not heard is missing. The messages have a tag of their own and are empty, and nobody
// takes them: no memory hangs on what stays open, and a probe hears what was said at any time before.
#pragma once

#include <algorithm> // std::clamp
#include <chrono>
#include <numeric> // std::iota
#include <thread>
#include <utility> // std::exchange
#include <vector>

#include <ragged/comm/mpi_error.hpp>

namespace ragged::detail {

/// One rank's part of the roll calls on one communicator, of which only the first is ever needed: after it
/// the communicator is unusable. Errors of MPI are not told: whom they hide is missing.
class MpiRollCall {
  public:
    /// @param comm  not owned; its handler returns errors; no others use tag 3 there
    explicit MpiRollCall(MPI_Comm comm)
        : comm_(comm) {}

    /// Its ranks.
    std::vector<int> all() const {
        int size = 0;
        MPI_Comm_size(comm_, &size);
        std::vector<int> ranks(static_cast<std::size_t>(size));
        std::iota(ranks.begin(), ranks.end(), 0);
        return ranks;
    }

    /// Say that this rank came, once. Local; does not block.
    void answer() {
        if (std::exchange(answered_, true))
            return;
        for (const int peer : all()) { // to itself as well: it is there
            MPI_Request open = MPI_REQUEST_NULL;
            MPI_Isend(nullptr, 0, MPI_BYTE, peer, tag, comm_, &open);
        }
    }

    /// The same, when another rank said so. Local; does not block.
    void listen() {
        if (!answered_ && heard(MPI_ANY_SOURCE))
            answer();
    }

    /// Say that this rank came, and listen for a quarter of the time-out, at least 200 ms, at most 1 s.
    /// Blocks, but not longer than it takes to hear all.
    /// @return those of `ranks` that do not wait in an operation of the communicator, and did not fail there
    std::vector<int> missing(std::vector<int> ranks, std::chrono::milliseconds timeout) {
        using namespace std::chrono_literals;
        answer();
        const auto until =
            std::chrono::steady_clock::now() + std::clamp<std::chrono::milliseconds>(timeout / 4, 200ms, 1s);
        do {
            std::erase_if(ranks, [&](int rank) { return heard(rank); });
            std::this_thread::yield();
        } while (!ranks.empty() && std::chrono::steady_clock::now() < until);
        return ranks;
    }

  private:
    static constexpr int tag = 3;

    bool heard(int rank) const {
        int arrived = 0;
        return MPI_Iprobe(rank, tag, comm_, &arrived, MPI_STATUS_IGNORE) == MPI_SUCCESS && arrived != 0;
    }

    MPI_Comm comm_;
    bool answered_ = false;
};

} // namespace ragged::detail
