// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks as MPI processes. Ranks of one node read each other's memory where it comes from an
// MpiSharedResource, with the sums of the in-process ranks, bit for bit; everything else goes through MPI's
// own calls.
//
//     ragged::MpiEnvironment mpi;
//     ragged::MpiCommunicator world(MPI_COMM_WORLD);
//     ragged::MpiSharedResource memory(world);
//     ragged::Mesh mesh(ragged::Topology<ragged::Axis<"shard">>(world.size()), world);
#pragma once

#include <cstdint>
#include <iterator> // std::ssize
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/comm/communicator.hpp>
#include <ragged/comm/mpi_reduce_scatter.hpp>
#include <ragged/comm/mpi_state.hpp>

namespace ragged {

/// A handle to one rank of an MPI communicator. Copies share the rank; use it from one thread at a time.
/// After a failure all communicators split from one world are unusable on this rank, each call throws the
/// first failure, and memory of the failed operation may still be written by MPI until the process ends.
/// Constructing and dropping the last handle are collective; after a failure dropping is local.
class MpiCommunicator {
  public:
    class [[nodiscard]] Completion {
      public:
        /// Run this rank's operations up to this one. @throws CommError
        void wait() { stream_->run_through(ticket_); }
        /// Looks after the requests, so call it now and then while computing. What goes through shared
        /// memory, and all behind it, stays undone until it is waited for.
        bool done() const { return stream_->done(ticket_); }
        /// Whether MPI still owns memory after wait() threw.
        bool holds_memory() const { return stream_->holds_memory(); }

      private:
        friend MpiCommunicator;
        Completion(std::shared_ptr<detail::MpiStream> stream, std::uint64_t ticket)
            : stream_(std::move(stream))
            , ticket_(ticket) {}
        std::shared_ptr<detail::MpiStream> stream_;
        std::uint64_t ticket_;
    };

    /// The ranks of `comm`, which is duplicated. Collective and blocking. @throws MpiError
    explicit MpiCommunicator(MPI_Comm comm, const MpiOptions& options = {})
        : MpiCommunicator(duplicate(comm), options, nullptr, std::make_shared<detail::MpiStream>()) {}

    int rank() const { return state_->rank; }
    int size() const { return state_->size; }
    static constexpr MemorySpace space() { return host_space; }
    /// Whether its ranks can read each other's memory.
    bool shares_memory() const {
        return state_->member.has_value() || (size() == 1 && state_->options.shared_memory);
    }
    /// Whether MPI still owns memory of an operation that failed, be it in the call or in a wait.
    bool holds_memory() const { return stream_->holds_memory(); }

    template <element T>
    Completion all_gather(T* base, std::int64_t count) {
        return collective(
            {.operation = "all_gather", .dtype = dtype_of<T>, .count = count}, true,
            [=](const Member& member, const Call&) { return member.all_gather(base, count); },
            [=](const State& state, const Call&, Work& work) {
                work.add([&](MPI_Request* request) {
                    return detail::mpi::iall_gather(base, count * bytes_of<T>, state.comm, request);
                });
            });
    }
    template <element T>
    Completion reduce_scatter(T* base, std::int64_t count, Reduction reduction = Reduction::sum) {
        return collective(
            {.operation = "reduce_scatter", .dtype = dtype_of<T>, .count = count, .reduction = reduction},
            true,
            [=](const Member& member, const Call&) { return member.reduce_scatter(base, count, reduction); },
            [=](const State& state, const Call& call, Work& work) {
                detail::start_reduce_scatter(work, base, call, state.rank, state.size, state.comm);
            });
    }
    template <element T>
    Completion all_gather_v(T* base, std::span<const std::int64_t> counts) {
        return collective(
            {.operation = "all_gather_v", .dtype = dtype_of<T>, .counts = {counts.begin(), counts.end()}},
            true,
            [=](const Member& member, const Call& call) { return member.all_gather_v(base, call.counts); },
            [=](const State& state, const Call& call, Work& work) {
                for (int peer = 0; peer < state.size; ++peer)
                    if (peer != state.rank) {
                        state.receive(base + call.start(peer), call.part(peer), peer, work);
                        state.send(base + call.start(state.rank), call.part(state.rank), peer, work);
                    }
            });
    }
    template <element T>
    Completion reduce_scatter_v(T* base, std::span<const std::int64_t> counts,
                                Reduction reduction = Reduction::sum) {
        return collective(
            {.operation = "reduce_scatter_v",
             .dtype = dtype_of<T>,
             .counts = {counts.begin(), counts.end()},
             .reduction = reduction},
            true,
            [=](const Member& member, const Call& call) {
                return member.reduce_scatter_v(base, call.counts, reduction);
            },
            [=](const State& state, const Call& call, Work& work) {
                detail::start_reduce_scatter(work, base, call, state.rank, state.size, state.comm);
            });
    }
    /// Sums of the small floats: in rank order with one rounding through shared memory, else as MPI orders
    /// them, each addition in float and rounded.
    template <element T>
    Completion all_reduce(T* base, std::int64_t count, Reduction reduction = Reduction::sum) {
        return collective(
            {.operation = "all_reduce", .dtype = dtype_of<T>, .count = count, .reduction = reduction}, true,
            [=](const Member& member, const Call&) { return member.all_reduce(base, count, reduction); },
            [=](const State& state, const Call&, Work& work) {
                const detail::mpi::Reducer reducer = detail::mpi::reducer_of<T>(reduction);
                detail::mpi::in_chunks(count, [&](std::int64_t first, int length) {
                    work.add([&](MPI_Request* request) {
                        return MPI_Iallreduce(MPI_IN_PLACE, base + first, length, reducer.type,
                                              reducer.operation, state.comm, request);
                    });
                });
            });
    }
    template <element T>
    Completion broadcast(T* base, std::int64_t count, int root) {
        return collective(
            {.operation = "broadcast", .dtype = dtype_of<T>, .count = count, .root = root}, true,
            [=](const Member& member, const Call&) { return member.broadcast(base, count, root); },
            [=](const State& state, const Call&, Work& work) {
                detail::mpi::in_chunks(count, [&](std::int64_t first, int length) {
                    work.add([&](MPI_Request* request) {
                        return MPI_Ibcast(base + first, length,
                                          detail::mpi::reducer_of<T>(Reduction::sum).type, root, state.comm,
                                          request);
                    });
                });
            });
    }
    template <element T>
    Completion send_receive(std::span<const Message<const T>> sends, std::span<const Message<T>> receives) {
        return enqueue({.operation = "send_receive", .dtype = dtype_of<T>}, false,
                       [out = std::vector(sends.begin(), sends.end()),
                        in = std::vector(receives.begin(), receives.end())](const State& state, Work& work) {
                           for (const Message<const T>& message : out)
                               state.check_message("send_receive", message.peer, message.count);
                           for (const Message<T>& message : in)
                               state.check_message("send_receive", message.peer, message.count);
                           for (const Message<T>& message : in)
                               state.receive(message.data, message.count, message.peer, work);
                           for (const Message<const T>& message : out)
                               state.send(message.data, message.count, message.peer, work);
                       });
    }
    template <element T>
    Completion all_to_all_v(const T* from, std::span<const std::int64_t> send_counts, T* to,
                            std::span<const std::int64_t> receive_counts) {
        return collective(
            {.operation = "all_to_all_v", .dtype = dtype_of<T>}, false,
            [](const Member&, const Call&) { return false; },
            [=, out = std::vector(send_counts.begin(), send_counts.end()),
             in = std::vector(receive_counts.begin(), receive_counts.end())](const State& state, const Call&,
                                                                             Work& work) {
                if (std::ssize(out) != state.size || std::ssize(in) != state.size)
                    throw CommError(concat("all_to_all_v: got ", out.size(), " send and ", in.size(),
                                           " receive counts for ", state.size, " ranks"),
                                    "all_to_all_v", state.rank);
                for (int peer = 0; peer < state.size; ++peer) {
                    state.check_message("all_to_all_v", peer, out[static_cast<std::size_t>(peer)]);
                    state.check_message("all_to_all_v", peer, in[static_cast<std::size_t>(peer)]);
                }
                // also what is empty is sent: the other side may expect more
                T* part = to;
                for (int peer = 0; peer < state.size; ++peer) {
                    const std::int64_t count = in[static_cast<std::size_t>(peer)];
                    state.receive(part, count, peer, work);
                    part += count;
                }
                const T* sent = from;
                for (int peer = 0; peer < state.size; ++peer) {
                    const std::int64_t count = out[static_cast<std::size_t>(peer)];
                    state.send(sent, count, peer, work);
                    sent += count;
                }
            });
    }
    Completion barrier() {
        return collective(
            {.operation = "barrier"}, true,
            [](const Member& member, const Call&) { return member.barrier(); },
            [](const State& state, const Call&, Work& work) {
                work.add([&](MPI_Request* request) { return MPI_Ibarrier(state.comm, request); });
            });
    }

    /// Collective; returns when the new communicators exist. The new rank order is by key, then by rank.
    MpiCommunicator split(int color, int key) {
        if (color < 0)
            enqueue({.operation = "split"}, false, [color](const State& state, Work&) {
                state.fail("split", concat("color ", color, " is negative"));
            }).wait();
        barrier().wait(); // MPI's own call has no time limit
        MPI_Comm part = MPI_COMM_NULL;
        detail::check_mpi(MPI_Comm_split(state_->comm, color, key, &part), "split");
        return MpiCommunicator(part, state_->options, state_->node, stream_);
    }

    /// Tell the other ranks of this rank's communicators that it will not come any more. Those that share its
    /// memory hear it at once, the others wait for their time-out.
    void abandon(std::string_view why) { stream_->abandon(std::string(why)); }

  private:
    friend class MpiSharedResource;
    using Call = detail::SharedCall;
    using Work = detail::MpiWork;
    using State = detail::MpiState;
    using Member = State::Member;
    template <class T>
    static constexpr auto bytes_of = static_cast<std::int64_t>(sizeof(T));

    MpiCommunicator(MPI_Comm own, const MpiOptions& options, std::shared_ptr<detail::MpiNode> node,
                    std::shared_ptr<detail::MpiStream> stream)
        : state_(std::make_shared<State>(own, options, std::move(node)))
        , stream_(std::move(stream)) {
        stream_->stay_in(state_->node);
        if (state_->member)
            stream_->join(state_->member->group(), state_->rank);
    }

    static MPI_Comm duplicate(MPI_Comm comm) {
        if (!detail::mpi_is_running())
            throw MpiError("MPI is not running: make an MpiEnvironment, or call MPI_Init_thread, first",
                           "MPI_Comm_dup", MPI_ERR_OTHER);
        MPI_Comm own = MPI_COMM_NULL;
        detail::check_mpi(MPI_Comm_dup(comm, &own), "MPI_Comm_dup");
        return own;
    }

    template <class Start>
    Completion enqueue(const Call& call, bool may_wait, const Start& start) {
        return {stream_, stream_->enqueue({concat(call.describe(), " on rank ", rank(), " of ", size()),
                                           state_->options.timeout, &state_->roll, may_wait,
                                           [start, state = state_](Work& work) { start(*state, work); }})};
    }

    /// @param through_memory  false when some rank's memory cannot be read, and nothing was done
    /// @param through_calls   starts the same with MPI
    template <class ThroughMemory, class ThroughCalls>
    Completion collective(const Call& call, bool in_place, const ThroughMemory& through_memory,
                          const ThroughCalls& through_calls) {
        const bool shares = in_place && state_->member.has_value();
        return enqueue(call, shares, [=](const State& state, Work& work) {
            state.check(call);
            if (in_place && state.size == 1)
                return; // it is there already
            if (shares && through_memory(*state.member, call))
                return;
            if (!shares)
                state.compare(call, work);
            through_calls(state, call, work);
        });
    }

    std::shared_ptr<State> state_;
    std::shared_ptr<detail::MpiStream> stream_;
};

static_assert(has_all_gather<MpiCommunicator, float> && has_reduce_scatter<MpiCommunicator, float> &&
              has_all_gather_v<MpiCommunicator, float> && has_reduce_scatter_v<MpiCommunicator, float> &&
              has_all_reduce<MpiCommunicator, float> && has_broadcast<MpiCommunicator, float> &&
              has_send_receive<MpiCommunicator, float> && has_all_to_all_v<MpiCommunicator, float> &&
              has_barrier<MpiCommunicator> && has_split<MpiCommunicator> && has_done<MpiCommunicator> &&
              has_held_memory<MpiCommunicator>);

} // namespace ragged
