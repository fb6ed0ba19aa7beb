// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank's side of the collectives between ranks that read each other's memory, be they threads of a
// process or processes of a node: meet the others, copy straight from their memory, part. Blocking. Sums are
// taken in rank order in accumulator_t, so every run gives the same bits.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/comm/fold.hpp>
#include <ragged/comm/shared_call.hpp>
#include <ragged/core/error.hpp>

namespace ragged::detail {

/// dst[0, count) = the fold of parts[rank][0, count) over the ranks, in rank order.
/// @param part  part(rank) -> const T*, may be dst itself
template <class Fold, class T, class Part>
void fold_in_rank_order(T* dst, std::int64_t count, int size, const Part& part) {
    constexpr std::int64_t chunk = 1024;
    typename Fold::Value values[chunk];
    for (std::int64_t done = 0; done < count; done += chunk) {
        const std::int64_t length = std::min(chunk, count - done);
        for (int peer = 0; peer < size; ++peer) {
            const T* from = part(peer) + done;
            prefetch_ahead(from, static_cast<std::size_t>(length) * sizeof(T));
            if (peer == 0)
                for (std::int64_t i = 0; i < length; ++i)
                    values[i] = Fold::of(from[i]);
            else
                for (std::int64_t i = 0; i < length; ++i)
                    values[i] = Fold::fold(values[i], Fold::of(from[i]));
        }
        for (std::int64_t i = 0; i < length; ++i)
            dst[done + i] = Fold::back(values[i]);
    }
}

/// | expression of a Group          | meaning                                                            |
/// | ------------------------------ | ------------------------------------------------------------------ |
/// | g.size() -> int                |                                                                    |
/// | g.enter(rank, call) -> bool    | waits until every rank brought a call and all agree; false when    |
/// |                                | some memory cannot be read here. Throws CommError, then no leave() |
/// | g.data(rank) -> const void*    | that rank's call.data, as this one reads it; until leave           |
/// | g.leave(rank)                  | waits until every rank is done reading; throws CommError           |
/// | g.fail(rank, operation, what)  | every rank's calls fail from now on                                |
template <class Group>
class SharedMember {
  public:
    SharedMember(std::shared_ptr<Group> group, int rank)
        : group_(std::move(group))
        , rank_(rank)
        , received_bytes_(std::make_shared<std::atomic<std::int64_t>>(0)) {}

    int rank() const { return rank_; }
    int size() const { return group_->size(); }
    const std::shared_ptr<Group>& group() const { return group_; }
    std::int64_t received_bytes() const { return *received_bytes_; }

    // Each returns false, on every rank, when nothing was done because some memory cannot be read.

    template <class T>
    bool all_gather(T* base, std::int64_t count) const {
        return gather_parts(base,
                            {.operation = "all_gather", .dtype = dtype_of<T>, .count = count, .data = base});
    }

    template <class T>
    bool all_gather_v(T* base, const std::vector<std::int64_t>& counts) const {
        check_counts("all_gather_v", counts);
        return gather_parts(
            base, {.operation = "all_gather_v", .dtype = dtype_of<T>, .counts = counts, .data = base});
    }

    template <class T>
    bool reduce_scatter(T* base, std::int64_t count, Reduction reduction) const {
        return reduce_part(base, {.operation = "reduce_scatter",
                                  .dtype = dtype_of<T>,
                                  .count = count,
                                  .reduction = reduction,
                                  .data = base});
    }

    template <class T>
    bool reduce_scatter_v(T* base, const std::vector<std::int64_t>& counts, Reduction reduction) const {
        check_counts("reduce_scatter_v", counts);
        return reduce_part(base, {.operation = "reduce_scatter_v",
                                  .dtype = dtype_of<T>,
                                  .counts = counts,
                                  .reduction = reduction,
                                  .data = base});
    }

    template <class T>
    bool all_reduce(T* base, std::int64_t count, Reduction reduction) const {
        Meeting meeting(*this, {.operation = "all_reduce",
                                .dtype = dtype_of<T>,
                                .count = count,
                                .reduction = reduction,
                                .data = base});
        if (!meeting.readable)
            return meeting.leave();
        const auto start = [&](int rank) {
            return count / size() * rank + std::min<std::int64_t>(rank, count % size());
        };
        reduce_into(base, start(rank_), start(rank_ + 1) - start(rank_), reduction);
        group_->leave(rank_); // every part is reduced now
        for (int step = 1; step < size(); ++step) {
            const int peer = (rank_ + step) % size();
            pull(base + start(peer), data_of<T>(peer) + start(peer), start(peer + 1) - start(peer), peer);
        }
        return meeting.leave();
    }

    template <class T>
    bool broadcast(T* base, std::int64_t count, int root) const {
        if (root < 0 || root >= size())
            fail("broadcast", concat("root ", root, " is not in [0, ", size(), ")"));
        Meeting meeting(
            *this,
            {.operation = "broadcast", .dtype = dtype_of<T>, .count = count, .root = root, .data = base});
        if (meeting.readable && rank_ != root)
            pull(base, data_of<T>(root), count, root);
        return meeting.leave();
    }

    bool barrier() const { return Meeting(*this, {.operation = "barrier"}).leave(); }

  protected:
    /// Between enter and leave every rank's memory may be read by all.
    class Meeting {
      public:
        template <class Call = SharedCall>
        Meeting(const SharedMember& self, const Call& own)
            : readable(self.group_->enter(self.rank_, own))
            , group_(*self.group_)
            , rank_(self.rank_) {}
        ~Meeting() {
            if (!left_)
                try {
                    leave();
                } catch (...) { // something else is on its way
                }
        }
        Meeting(const Meeting&) = delete;
        Meeting& operator=(const Meeting&) = delete;

        /// @return readable
        bool leave() {
            left_ = true;
            group_.leave(rank_);
            return readable;
        }

        const bool readable;

      private:
        Group& group_;
        int rank_;
        bool left_ = false;
    };

    [[noreturn]] void fail(std::string_view operation, const std::string& what) const {
        group_->fail(rank_, operation, what);
        throw CommError(concat(operation, ": ", what), std::string(operation), rank_);
    }

    void check_counts(std::string_view operation, const std::vector<std::int64_t>& counts) const {
        if (counts.size() != static_cast<std::size_t>(size()))
            fail(operation, concat("got ", counts.size(), " counts for ", size(), " ranks"));
    }

    template <class T>
    const T* data_of(int rank) const {
        return static_cast<const T*>(group_->data(rank));
    }

    template <class T>
    void pull(T* to, const T* from, std::int64_t count, int peer) const {
        if (count == 0)
            return;
        const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
        std::memcpy(to, from, bytes);
        if (peer != rank_)
            *received_bytes_ += static_cast<std::int64_t>(bytes);
    }

    std::shared_ptr<Group> group_;
    int rank_;

  private:
    /// Every other rank's part, from that rank's memory.
    template <class T>
    bool gather_parts(T* base, const SharedCall& own) const {
        Meeting meeting(*this, own);
        for (int step = 1; meeting.readable && step < size(); ++step) {
            const int peer = (rank_ + step) % size();
            const std::int64_t start = own.start(peer);
            pull(base + start, data_of<T>(peer) + start, own.start(peer + 1) - start, peer);
        }
        return meeting.leave();
    }

    /// This rank's part, reduced over all ranks.
    template <class T>
    bool reduce_part(T* base, const SharedCall& own) const {
        Meeting meeting(*this, own);
        if (meeting.readable)
            reduce_into(base, own.start(rank_), own.start(rank_ + 1) - own.start(rank_), own.reduction);
        return meeting.leave();
    }

    template <class T>
    void reduce_into(T* base, std::int64_t offset, std::int64_t count, Reduction reduction) const {
        if (count == 0)
            return;
        with_fold<T>(reduction, [&]<class Fold>(Fold) {
            fold_in_rank_order<Fold>(base + offset, count, size(),
                                     [&](int peer) { return data_of<T>(peer) + offset; });
        });
        *received_bytes_ += (size() - 1) * count * static_cast<std::int64_t>(sizeof(T));
    }

    std::shared_ptr<std::atomic<std::int64_t>> received_bytes_; // shared by copies of this rank's handle
};

} // namespace ragged::detail
