// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks as threads of one process: the communicator that is always there, and the oracle for the others. Data
// moves by direct copies between the ranks' buffers; sums are taken in rank order in accumulator_t, so every
// run gives the same bits.
//
//     ragged::run_ranks(4, [](ragged::LocalCommunicator world) {
//         std::vector<float> x(8); ... world.all_gather(x.data(), 2).wait();
//     });
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include <ragged/comm/communicator.hpp>
#include <ragged/comm/local_group.hpp>

namespace ragged {

namespace detail {

/// One rank's operations on all its communicators, in call order. They run when one of them is waited for: an
/// earlier operation always runs first, so ranks that wait in different orders still meet in call order.
class LocalStream {
  public:
    std::uint64_t enqueue(std::function<void()> operation) {
        pending_.push_back(std::move(operation));
        return issued_++;
    }

    void run_through(std::uint64_t ticket) {
        while (finished_ <= ticket) {
            if (failure_)
                std::rethrow_exception(failure_);
            const std::function<void()> operation = std::move(pending_.front());
            pending_.pop_front();
            try {
                operation();
            } catch (...) {
                failure_ = std::current_exception(); // what comes after would find no peers
                throw;
            }
            ++finished_;
        }
    }

  private:
    std::deque<std::function<void()>> pending_;
    std::uint64_t issued_ = 0;
    std::uint64_t finished_ = 0;
    std::exception_ptr failure_;
};

} // namespace detail

/// A handle to one rank of an in-process communicator. Copies share the rank; use it from that rank's thread
/// only. After a failure the communicator is unusable on every rank and each call throws the first failure.
class LocalCommunicator {
    using Group = detail::LocalGroup;

  public:
    class [[nodiscard]] Completion {
      public:
        /// Run this rank's operations up to this one. @throws CommError
        void wait() { stream_->run_through(ticket_); }

      private:
        friend LocalCommunicator;
        Completion(std::shared_ptr<detail::LocalStream> stream, std::uint64_t ticket)
            : stream_(std::move(stream))
            , ticket_(ticket) {}
        std::shared_ptr<detail::LocalStream> stream_;
        std::uint64_t ticket_;
    };

    /// One communicator per rank, for threads that the caller starts. run_ranks does both.
    /// @throws CommError when size < 1
    static std::vector<LocalCommunicator> make_world(int size, const LocalOptions& options = {}) {
        if (size < 1)
            throw CommError(concat("a communicator needs at least 1 rank, got ", size), "make_world", -1);
        auto group = std::make_shared<Group>(size, options);
        std::vector<LocalCommunicator> world;
        for (int rank = 0; rank < size; ++rank)
            world.push_back(LocalCommunicator(group, rank, std::make_shared<detail::LocalStream>()));
        return world;
    }

    int rank() const { return rank_; }
    int size() const { return group_->size(); }

    /// Bytes this rank has read from other ranks' memory on this communicator.
    std::int64_t received_bytes() const { return *received_bytes_; }

    template <element T>
    Completion all_gather(T* base, std::int64_t count) {
        return enqueue([*this, base, count] {
            const Meeting meeting(*this, {"all_gather", dtype_of<T>, count, 0, nullptr, base});
            // Each rank starts at its neighbour, so that not all read from the same one.
            for (int step = 1; step < size(); ++step) {
                const int peer = (rank_ + step) % size();
                pull(base + peer * count, static_cast<const T*>(group_->call(peer).data) + peer * count,
                     count);
            }
        });
    }

    template <element T>
    Completion reduce_scatter(T* base, std::int64_t count) {
        return enqueue([*this, base, count] {
            const Meeting meeting(*this, {"reduce_scatter", dtype_of<T>, count, 0, nullptr, base});
            sum_into(base, rank_ * count, count);
        });
    }

    template <element T>
    Completion all_reduce(T* base, std::int64_t count) {
        return enqueue([*this, base, count] {
            const Meeting meeting(*this, {"all_reduce", dtype_of<T>, count, 0, nullptr, base});
            const auto start = [&](int rank) {
                return count / size() * rank + std::min<std::int64_t>(rank, count % size());
            };
            sum_into(base, start(rank_), start(rank_ + 1) - start(rank_));
            group_->leave(rank_, "all_reduce"); // every part is summed
            for (int step = 1; step < size(); ++step) {
                const int peer = (rank_ + step) % size();
                pull(base + start(peer), static_cast<const T*>(group_->call(peer).data) + start(peer),
                     start(peer + 1) - start(peer));
            }
        });
    }

    template <element T>
    Completion broadcast(T* base, std::int64_t count, int root) {
        return enqueue([*this, base, count, root] {
            if (root < 0 || root >= size())
                fail("broadcast", concat("root ", root, " is not in [0, ", size(), ")"));
            const Meeting meeting(*this, {"broadcast", dtype_of<T>, count, root, nullptr, base});
            if (rank_ != root)
                pull(base, static_cast<const T*>(group_->call(root).data), count);
        });
    }

    template <element T>
    Completion send_receive(std::span<const Message<const T>> sends, std::span<const Message<T>> receives) {
        return enqueue([*this, sends = std::vector(sends.begin(), sends.end()),
                        receives = std::vector(receives.begin(), receives.end())] {
            group_->inject(rank_, "send_receive");
            const auto check_peer = [&](int peer) {
                if (peer < 0 || peer >= size())
                    fail("send_receive", concat("peer ", peer, " is not in [0, ", size(), ")"));
            };
            for (const Message<const T>& message : sends)
                check_peer(message.peer);
            for (const Message<T>& message : receives)
                check_peer(message.peer);
            std::deque<Group::Mail> mails;
            for (const Message<const T>& message : sends) {
                mails.push_back({message.data, message.count, dtype_of<T>});
                group_->post(rank_, message.peer, mails.back());
            }
            std::exception_ptr failure; // own messages are withdrawn before it leaves
            try {
                for (const Message<T>& message : receives)
                    receive(message);
            } catch (...) {
                failure = std::current_exception();
            }
            for (std::size_t i = 0; i < sends.size(); ++i)
                try {
                    group_->wait_copied(rank_, sends[i].peer, mails[i], "send_receive");
                } catch (...) {
                    failure = failure ? failure : std::current_exception();
                }
            if (failure)
                std::rethrow_exception(failure);
        });
    }

    template <element T>
    Completion all_to_all_v(const T* send, std::span<const std::int64_t> send_counts, T* receive,
                            std::span<const std::int64_t> receive_counts) {
        return enqueue([*this, send, receive,
                        send_counts = std::vector(send_counts.begin(), send_counts.end()),
                        receive_counts = std::vector(receive_counts.begin(), receive_counts.end())] {
            if (send_counts.size() != static_cast<std::size_t>(size()) ||
                receive_counts.size() != send_counts.size())
                fail("all_to_all_v", concat("got ", send_counts.size(), " send and ", receive_counts.size(),
                                            " receive counts for ", size(), " ranks"));
            const Meeting meeting(
                *this, {"all_to_all_v", dtype_of<T>, 0, 0, send, receive, &send_counts, &receive_counts});
            const auto sent = [&](int from, int to) {
                return (*group_->call(from).send_counts)[static_cast<std::size_t>(to)];
            };
            // The whole matrix, on every rank, before anything moves: the verdict is the same everywhere.
            for (int from = 0; from < size(); ++from)
                for (int to = 0; to < size(); ++to) {
                    const auto expected = (*group_->call(to).receive_counts)[static_cast<std::size_t>(from)];
                    if (sent(from, to) != expected || expected < 0)
                        fail("all_to_all_v", concat("rank ", from, " sends ", sent(from, to), " to rank ", to,
                                                    ", which expects ", expected));
                }
            for (int peer = 0; peer < size(); ++peer) {
                std::int64_t offset = 0;
                for (int before = 0; before < rank_; ++before)
                    offset += sent(peer, before);
                const std::int64_t count = sent(peer, rank_);
                pull(receive, static_cast<const T*>(group_->call(peer).send) + offset, count, peer);
                receive += count;
            }
        });
    }

    Completion barrier() {
        return enqueue([*this] { const Meeting meeting(*this, {"barrier"}); });
    }

    /// Collective; returns when the new communicators exist. The new rank order is by key, then by rank.
    LocalCommunicator split(int color, int key) {
        std::shared_ptr<Group> child;
        int child_rank = 0;
        enqueue([&, self = *this] {
            if (color < 0)
                self.fail("split", concat("color ", color, " is negative"));
            const Group::Call own{.operation = "split", .color = color, .key = key};
            const Meeting meeting(self, own);
            std::vector<std::pair<int, int>> members; // (key, rank)
            for (int rank = 0; rank < size(); ++rank)
                if (group_->call(rank).color == color)
                    members.emplace_back(group_->call(rank).key, rank);
            std::sort(members.begin(), members.end());
            if (members.front().second == rank_) {
                const auto made = std::make_shared<Group>(static_cast<int>(members.size()),
                                                          LocalOptions{group_->options().timeout, {}});
                for (const auto& [member_key, member] : members)
                    group_->child(member) = made;
            }
            group_->leave(rank_, "split"); // every group is made
            child = std::exchange(group_->child(rank_), nullptr);
            child_rank = static_cast<int>(std::find(members.begin(), members.end(), std::pair(key, rank_)) -
                                          members.begin());
        }).wait();
        return LocalCommunicator(std::move(child), child_rank, stream_);
    }

    /// Tell the other ranks that this one will not come any more, so that they need not wait for the
    /// time-out.
    void abandon(std::string_view why) {
        group_->fail(rank_, "abandon", concat("rank ", rank_, " left: ", why));
    }

  private:
    /// Between enter and leave every rank's memory may be read by all.
    class Meeting {
      public:
        Meeting(const LocalCommunicator& self, const Group::Call& own)
            : group_(*self.group_)
            , rank_(self.rank_)
            , operation_(own.operation) {
            group_.enter(rank_, own);
        }
        ~Meeting() { group_.leave(rank_, operation_); }
        Meeting(const Meeting&) = delete;

      private:
        Group& group_;
        int rank_;
        std::string_view operation_;
    };

    LocalCommunicator(std::shared_ptr<Group> group, int rank, std::shared_ptr<detail::LocalStream> stream)
        : group_(std::move(group))
        , rank_(rank)
        , stream_(std::move(stream))
        , received_bytes_(std::make_shared<std::int64_t>(0)) {}

    Completion enqueue(std::function<void()> operation) {
        return {stream_, stream_->enqueue(std::move(operation))};
    }

    [[noreturn]] void fail(std::string_view operation, const std::string& what) const {
        group_->fail(rank_, operation, what);
        throw CommError(concat(operation, ": ", what), std::string(operation), rank_);
    }

    template <class T>
    void pull(T* to, const T* from, std::int64_t count, int peer = -1) const {
        if (count == 0)
            return;
        std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(T));
        if (peer != rank_)
            *received_bytes_ += count * static_cast<std::int64_t>(sizeof(T));
    }

    template <class T>
    void receive(const Message<T>& message) const {
        Group::Mail& mail = group_->take(message.peer, rank_, "send_receive");
        if (mail.count == message.count && mail.dtype == dtype_of<T>) {
            pull(message.data, static_cast<const T*>(mail.data), message.count, message.peer);
            group_->give_back(mail);
            return;
        }
        const std::string what =
            concat("rank ", message.peer, " sent ", mail.count, " ", name(mail.dtype), " to rank ", rank_,
                   ", which expects ", message.count, " ", name(dtype_of<T>));
        group_->fail(message.peer, "send_receive", what);
        group_->give_back(mail);
        throw CommError(concat("send_receive: ", what), "send_receive", message.peer);
    }

    /// base[offset, offset + count) = the sum of the same elements of all ranks, in rank order.
    template <class T>
    void sum_into(T* base, std::int64_t offset, std::int64_t count) const {
        using Sum = accumulator_t<T>;
        constexpr std::int64_t chunk = 1024;
        Sum sums[chunk];
        for (std::int64_t done = 0; done < count; done += chunk) {
            const std::int64_t length = std::min(chunk, count - done);
            for (int peer = 0; peer < size(); ++peer) {
                const T* from = static_cast<const T*>(group_->call(peer).data) + offset + done;
                if (peer == 0)
                    for (std::int64_t i = 0; i < length; ++i)
                        sums[i] = static_cast<Sum>(from[i]);
                else
                    for (std::int64_t i = 0; i < length; ++i)
                        sums[i] += static_cast<Sum>(from[i]);
            }
            for (std::int64_t i = 0; i < length; ++i)
                base[offset + done + i] = static_cast<T>(sums[i]);
        }
        *received_bytes_ += (size() - 1) * count * static_cast<std::int64_t>(sizeof(T));
    }

    std::shared_ptr<Group> group_;
    int rank_;
    std::shared_ptr<detail::LocalStream> stream_;
    std::shared_ptr<std::int64_t> received_bytes_;
};

static_assert(has_all_gather<LocalCommunicator, float> && has_reduce_scatter<LocalCommunicator, float> &&
              has_all_reduce<LocalCommunicator, float> && has_broadcast<LocalCommunicator, float> &&
              has_send_receive<LocalCommunicator, float> && has_all_to_all_v<LocalCommunicator, float> &&
              has_barrier<LocalCommunicator> && has_split<LocalCommunicator>);

/// Run `body(LocalCommunicator)` on `size` ranks, each in its own thread, and wait for all.
/// A rank that throws fails the others at once; the cause is rethrown here: the first exception that is no
/// CommError, else that of the lowest rank.
template <class Body>
void run_ranks(int size, Body body, const LocalOptions& options = {}) {
    std::vector<LocalCommunicator> world = LocalCommunicator::make_world(size, options);
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
    std::vector<bool> foreign(static_cast<std::size_t>(size), false);
    {
        std::vector<std::thread> threads;
        std::mutex mutex;
        for (int rank = 0; rank < size; ++rank)
            threads.emplace_back([&, rank] {
                LocalCommunicator& own = world[static_cast<std::size_t>(rank)];
                std::exception_ptr failure;
                bool is_foreign = false;
                try {
                    body(own);
                } catch (const CommError&) {
                    failure = std::current_exception();
                } catch (const std::exception& error) {
                    failure = std::current_exception();
                    is_foreign = true;
                    own.abandon(error.what());
                } catch (...) {
                    failure = std::current_exception();
                    is_foreign = true;
                    own.abandon("an exception that is no std::exception");
                }
                const std::lock_guard lock(mutex);
                failures[static_cast<std::size_t>(rank)] = failure;
                foreign[static_cast<std::size_t>(rank)] = is_foreign;
            });
        for (std::thread& thread : threads)
            thread.join();
    }
    for (const bool wanted : {true, false})
        for (std::size_t rank = 0; rank < failures.size(); ++rank)
            if (failures[rank] && foreign[rank] == wanted)
                std::rethrow_exception(failures[rank]);
}

} // namespace ragged
