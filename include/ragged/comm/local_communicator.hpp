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

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <ragged/comm/local_member.hpp>
#include <ragged/comm/local_stream.hpp>

namespace ragged {

/// A handle to one rank of an in-process communicator. Copies share the rank; use it from that rank's thread
/// only. After a failure all communicators of the rank are unusable on all their ranks, and each call throws
/// the first failure. Its operations run inside wait(), or with LocalOptions::background on a thread of the
/// rank as soon as they are called; when the last handle goes, what was not waited for need not run.
class LocalCommunicator {
  public:
    class [[nodiscard]] Completion {
      public:
        /// Block until this rank's operations up to this one are done. @throws CommError
        void wait() { stream_->run_through(ticket_); }
        /// Without LocalOptions::background only wait() makes it so.
        bool done() const { return stream_->done(ticket_); }

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
        const auto group = std::make_shared<detail::LocalGroup>(size, options);
        std::vector<LocalCommunicator> world;
        for (int rank = 0; rank < size; ++rank)
            world.push_back({detail::LocalMember(group, rank),
                             std::make_shared<detail::LocalStream>(options.background)});
        return world;
    }

    int rank() const { return member_.rank(); }
    int size() const { return member_.size(); }
    static constexpr MemorySpace space() { return host_space; }

    /// Bytes this rank has read from other ranks' memory on this communicator.
    std::int64_t received_bytes() const { return member_.received_bytes(); }

    template <element T>
    Completion all_gather(T* base, std::int64_t count) {
        return enqueue([=, self = member_] { self.all_gather(base, count); });
    }
    template <element T>
    Completion reduce_scatter(T* base, std::int64_t count, Reduction reduction = Reduction::sum) {
        return enqueue([=, self = member_] { self.reduce_scatter(base, count, reduction); });
    }
    template <element T>
    Completion all_gather_v(T* base, std::span<const std::int64_t> counts) {
        return enqueue([=, self = member_, own = std::vector(counts.begin(), counts.end())] {
            self.all_gather_v(base, own);
        });
    }
    template <element T>
    Completion reduce_scatter_v(T* base, std::span<const std::int64_t> counts,
                                Reduction reduction = Reduction::sum) {
        return enqueue([=, self = member_, own = std::vector(counts.begin(), counts.end())] {
            self.reduce_scatter_v(base, own, reduction);
        });
    }
    template <element T>
    Completion all_reduce(T* base, std::int64_t count, Reduction reduction = Reduction::sum) {
        return enqueue([=, self = member_] { self.all_reduce(base, count, reduction); });
    }
    template <element T>
    Completion broadcast(T* base, std::int64_t count, int root) {
        return enqueue([=, self = member_] { self.broadcast(base, count, root); });
    }
    template <element T>
    Completion send_receive(std::span<const Message<const T>> sends, std::span<const Message<T>> receives) {
        return enqueue([self = member_, out = std::vector(sends.begin(), sends.end()),
                        in = std::vector(receives.begin(), receives.end())] { self.send_receive(out, in); });
    }
    template <element T>
    Completion all_to_all_v(const T* send, std::span<const std::int64_t> send_counts, T* receive,
                            std::span<const std::int64_t> receive_counts) {
        return enqueue([=, self = member_, out = std::vector(send_counts.begin(), send_counts.end()),
                        in = std::vector(receive_counts.begin(), receive_counts.end())] {
            self.all_to_all_v(send, out, receive, in);
        });
    }
    Completion barrier() {
        return enqueue([self = member_] { self.barrier(); });
    }

    /// Collective; returns when the new communicators exist. The new rank order is by key, then by rank.
    LocalCommunicator split(int color, int key) {
        std::optional<detail::LocalMember> child;
        enqueue([&, self = member_] { child = self.split(color, key); }).wait();
        return {*child, stream_};
    }

    /// Tell the other ranks of all this rank's communicators that it will not come any more, so that they
    /// need not wait for the time-out.
    void abandon(std::string_view why) { stream_->abandon(why); }

  private:
    LocalCommunicator(detail::LocalMember member, std::shared_ptr<detail::LocalStream> stream)
        : member_(std::move(member))
        , stream_(std::move(stream)) {
        stream_->join(member_.group(), member_.rank());
    }

    // Operations hold the member, never the stream that holds them.
    Completion enqueue(std::function<void()> operation) {
        return {stream_, stream_->enqueue(std::move(operation))};
    }

    detail::LocalMember member_;
    std::shared_ptr<detail::LocalStream> stream_;
};

static_assert(has_all_gather<LocalCommunicator, float> && has_reduce_scatter<LocalCommunicator, float> &&
              has_all_gather_v<LocalCommunicator, float> && has_reduce_scatter_v<LocalCommunicator, float> &&
              has_all_reduce<LocalCommunicator, float> && has_broadcast<LocalCommunicator, float> &&
              has_send_receive<LocalCommunicator, float> && has_all_to_all_v<LocalCommunicator, float> &&
              has_barrier<LocalCommunicator> && has_split<LocalCommunicator> && has_done<LocalCommunicator>);

/// Run `body(LocalCommunicator)` on `size` ranks, each in its own thread, and wait for all.
/// A rank that throws fails the others at once, be it in the world or in a communicator split from it. The
/// cause is rethrown here: the first exception that is no CommError, else that of the lowest rank.
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
                } catch (const std::exception& error) {
                    failure = std::current_exception();
                    is_foreign = dynamic_cast<const CommError*>(&error) == nullptr;
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
