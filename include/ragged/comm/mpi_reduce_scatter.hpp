// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Reduce-scatter by messages: every rank sends each part to its owner, which folds what comes in rank order.
// The sums have the bits of those through shared memory, and one rounding; the ones of MPI's own
// reduce-scatter depend on its algorithm, its non-blocking form was measured up to 1.5 times slower than its
// blocking one, and no form has the result where it is wanted.
#pragma once

#include <algorithm> // std::clamp
#include <cstdint>
#include <memory>
#include <vector>

#include <ragged/comm/mpi_calls.hpp>
#include <ragged/comm/mpi_stream.hpp>
#include <ragged/comm/shared_member.hpp>

namespace ragged::detail {

template <class T, class Fold>
class MpiReduceScatter {
  public:
    MpiReduceScatter(T* base, const SharedCall& call, int rank, int size, MPI_Comm comm)
        : base_(base)
        , rank_(rank)
        , size_(size)
        , comm_(comm)
        , chunk_(chunk_elems(size)) {
        std::int64_t longest = 0;
        starts_.push_back(0);
        for (int peer = 0; peer < size; ++peer) {
            starts_.push_back(starts_.back() + call.part(peer));
            longest = std::max(longest, call.part(peer));
        }
        num_steps_ = (longest + chunk_ - 1) / chunk_;
        const std::int64_t own = std::min(chunk_, starts_[index(rank) + 1] - starts_[index(rank)]);
        for (std::vector<T>& half : received_)
            half.resize(static_cast<std::size_t>(own * (size - 1)));
    }

    /// Everything posted has come: post the next, and fold while that is on its way.
    void advance(MpiWork& work) {
        const std::int64_t come = posted_ - 1;
        if (posted_ < num_steps_)
            post(work, posted_++);
        if (come >= 0)
            fold_in_rank_order<Fold>(own(come), length(rank_, come), size_, [&](int peer) {
                return peer == rank_ ? own(come) : received(peer, come);
            });
    }

  private:
    static constexpr int tag = 1;
    static constexpr auto element_bytes = static_cast<std::int64_t>(sizeof(T));

    static constexpr std::int64_t chunk_elems(int size) {
        // what comes together should lie in a cache when it is folded; messages should not be tiny
        const std::int64_t bytes = std::max<std::int64_t>(64 << 10, (4 << 20) / std::max(1, size - 1));
        return bytes / static_cast<std::int64_t>(sizeof(T));
    }
    static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

    /// Elements of part `rank` in a step.
    std::int64_t length(int rank, std::int64_t step) const {
        const std::int64_t part = starts_[index(rank) + 1] - starts_[index(rank)];
        return std::clamp<std::int64_t>(part - step * chunk_, 0, chunk_);
    }
    /// Where the chunk of `peer` comes in.
    T* received(int peer, std::int64_t step) {
        return received_[static_cast<std::size_t>(step % 2)].data() +
               (peer < rank_ ? peer : peer - 1) * length(rank_, step);
    }

    void post(MpiWork& work, std::int64_t step) {
        const std::int64_t own_bytes = length(rank_, step) * element_bytes;
        for (int distance = 1; distance < size_; ++distance) {
            const int from = (rank_ - distance + size_) % size_, to = (rank_ + distance) % size_;
            if (own_bytes > 0)
                work.add(
                    [&](MPI_Request* request) {
                        return mpi::irecv(received(from, step), own_bytes, from, tag, comm_, request);
                    },
                    from, own_bytes);
            if (const std::int64_t bytes = length(to, step) * element_bytes; bytes > 0)
                work.add(
                    [&](MPI_Request* request) {
                        return mpi::isend(base_ + starts_[index(to)] + step * chunk_, bytes, to, tag, comm_,
                                          request);
                    },
                    to);
        }
    }

    T* own(std::int64_t step) { return base_ + starts_[index(rank_)] + step * chunk_; }

    T* base_;
    int rank_, size_;
    MPI_Comm comm_;
    std::int64_t chunk_;
    std::vector<std::int64_t> starts_; // [size + 1]
    std::int64_t num_steps_ = 0;
    std::int64_t posted_ = 0;
    std::vector<T> received_[2];
};

/// Start it. The parts follow each other from `base`; part r has call.counts[r] elements, or call.count.
template <class T>
void start_reduce_scatter(MpiWork& work, T* base, const SharedCall& call, int rank, int size, MPI_Comm comm) {
    with_fold<T>(call.reduction, [&]<class Fold>(Fold) {
        const auto self = std::make_shared<MpiReduceScatter<T, Fold>>(base, call, rank, size, comm);
        work.then = [self](MpiWork& more) { self->advance(more); };
    });
}

} // namespace ragged::detail
