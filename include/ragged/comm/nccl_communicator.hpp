// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// NCCL as a communicator. All operations of a rank, also those of communicators split from it, run on the one
// stream that it was made with. Needs no header of NCCL or CUDA: all that is theirs comes from Api, of which
// nccl_api.hpp has the real one and the tests one over threads.
//
//     ragged::NcclCommunicator world(id, rank, size, stream);        // id from rank 0, see bootstrap.hpp
//     ragged::Mesh mesh(ragged::Topology<ragged::Axis<"shard">>(size), world);
//
// A call only enqueues: it allocates nothing and waits for nothing on the device, so it may be captured in a
// graph; destroy the graph before the communicator, as NCCL waits for that without a time-out. Sums are sums;
// averages and scales belong to the operation that uses them. Reductions are NCCL's own: it does not notice
// ranks that bring different ones, and its max may lose a NaN.
#pragma once

#include <algorithm> // std::min
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <ragged/comm/communicator.hpp>
#include <ragged/comm/nccl_member.hpp>

namespace ragged {

/// A handle to one rank; copies share it. Its memory is device memory of its stream's device. Use it, what
/// was split from it and their completions from one thread at a time.
///
/// A failure anywhere, be it a refused argument, aborts this communicator and all that share its stream: each
/// further call throws the first failure. Every operation throws CommError for what it refuses before NCCL
/// sees it (counts, null or misaligned pointers, ranks), NcclError for the rest.
template <class Api>
class BasicNcclCommunicator {
    using Shared = detail::NcclStream<Api>;
    using Member = detail::NcclMember<Api>;
    using Operation = detail::NcclOperation;
    using Counts = std::span<const std::int64_t>;

  public:
    using Stream = typename Api::Stream;
    using UniqueId = typename Api::UniqueId;
    using Completion = NcclCompletion<Api>;

    /// What rank 0 makes and all ranks of a new world are given. Local, host.
    static UniqueId make_id(Api api = {}) {
        UniqueId id{};
        if (const NcclStatus status = api.unique_id(id); !status.ok())
            throw NcclError(concat("make_id: NCCL status ", status.code, ", ", api.text(status)), "make_id",
                            -1, status);
        return id;
    }

    /// Collective over `size` ranks and blocking. @param stream  outlives the communicator
    /// @throws CommError  no such rank; NcclError  a rank did not come in time
    BasicNcclCommunicator(const UniqueId& id, int rank, int size, Stream stream,
                          const NcclOptions& options = {}, Api api = {})
        : member_(std::make_shared<Member>(
              std::make_shared<Shared>(std::move(api), std::move(stream), options), nullptr)) {
        member_->initialise(id, rank, size);
    }

    int rank() const { return member_->rank(); }
    int size() const { return member_->size(); }
    MemorySpace space() const { return shared().space(); }
    const Stream& stream() const { return shared().stream(); }
    Api& api() const { return shared().api(); }
    typename Api::Comm native() const { return member_->comm(); }
    /// Whether reductions of this type can be taken, sums or others: those of the 8-bit floats need a device
    /// of sm_90 or later.
    bool can_sum(DType dtype) const { return member_->can_sum(dtype); }

    template <element T>
    Completion all_gather(T* base, std::int64_t count) {
        const Operation operation = member_->named("all_gather", count, dtype_of<T>);
        member_->check_memory(operation, base, count, size());
        return member_->run(operation, count == 0, [&] {
            return api().all_gather(base + rank() * count, base, unsigned_of(count), dtype_of<T>, native(),
                                    stream());
        });
    }

    template <element T>
    Completion reduce_scatter(T* base, std::int64_t count, Reduction reduction = Reduction::sum) {
        const Operation operation = member_->named("reduce_scatter", count, dtype_of<T>);
        member_->check_memory(operation, base, count, size());
        member_->check_sum(operation);
        return member_->run(operation, count == 0, [&] {
            return api().reduce_scatter(base, base + rank() * count, unsigned_of(count), dtype_of<T>,
                                        reduction, native(), stream());
        });
    }

    template <element T>
    Completion all_reduce(T* base, std::int64_t count, Reduction reduction = Reduction::sum) {
        const Operation operation = member_->named("all_reduce", count, dtype_of<T>);
        member_->check_memory(operation, base, count, 1);
        member_->check_sum(operation);
        return member_->run(operation, count == 0, [&] {
            return api().all_reduce(base, base, unsigned_of(count), dtype_of<T>, reduction, native(),
                                    stream());
        });
    }

    template <element T>
    Completion broadcast(T* base, std::int64_t count, int root) {
        const Operation operation = member_->named("broadcast", count, dtype_of<T>);
        member_->check_memory(operation, base, count, 1);
        member_->check_rank(operation, "root", root);
        return member_->run(operation, count == 0, [&] {
            return api().broadcast(base, base, unsigned_of(count), dtype_of<T>, root, native(), stream());
        });
    }

    /// One launch: a broadcast per rank that has a part.
    template <element T>
    Completion all_gather_v(T* base, Counts counts) {
        const Operation operation =
            member_->named("all_gather_v", member_->total("all_gather_v", counts), dtype_of<T>);
        member_->check_memory(operation, base, operation.count, 1);
        return member_->run_parts(operation, base, counts, [&](T* part, std::int64_t count, int root) {
            return api().broadcast(part, part, unsigned_of(count), dtype_of<T>, root, native(), stream());
        });
    }

    /// One launch: a reduction to each rank that has a part.
    template <element T>
    Completion reduce_scatter_v(T* base, Counts counts, Reduction reduction = Reduction::sum) {
        const Operation operation =
            member_->named("reduce_scatter_v", member_->total("reduce_scatter_v", counts), dtype_of<T>);
        member_->check_memory(operation, base, operation.count, 1);
        member_->check_sum(operation);
        return member_->run_parts(operation, base, counts, [&](T* part, std::int64_t count, int root) {
            return api().reduce(part, part, unsigned_of(count), dtype_of<T>, reduction, root, native(),
                                stream());
        });
    }

    /// One launch. Empty messages are not sent, as both sides know that they are empty.
    template <element T>
    Completion send_receive(std::span<const Message<const T>> sends, std::span<const Message<T>> receives) {
        const auto check_all = [&](auto messages) {
            for (const auto& message : messages) {
                const Operation operation = member_->named("send_receive", message.count, dtype_of<T>);
                member_->check_memory(operation, message.data, message.count, 1);
                member_->check_rank(operation, "peer", message.peer);
            }
        };
        check_all(sends);
        check_all(receives);
        const Operation operation = member_->named("send_receive", 0, dtype_of<T>);
        return member_->run(operation, false, [&] {
            return member_->together(operation, [&] {
                for (const Message<const T>& message : sends)
                    member_->send(operation, message.data, message.count, message.peer);
                for (const Message<T>& message : receives)
                    member_->receive(operation, message.data, message.count, message.peer);
            });
        });
    }

    /// One launch: a message to and from each rank that has a part.
    template <element T>
    Completion all_to_all_v(const T* out, Counts send_counts, T* in, Counts receive_counts) {
        const Operation sent =
            member_->named("all_to_all_v", member_->total("all_to_all_v", send_counts), dtype_of<T>);
        const Operation received =
            member_->named("all_to_all_v", member_->total("all_to_all_v", receive_counts), dtype_of<T>);
        member_->check_memory(sent, out, sent.count, 1);
        member_->check_memory(received, in, received.count, 1);
        return member_->run(sent, false, [&] {
            return member_->together(sent, [&] {
                for (int peer = 0; peer < size(); ++peer) {
                    const auto index = static_cast<std::size_t>(peer);
                    member_->send(sent, out, send_counts[index], peer);
                    member_->receive(sent, in, receive_counts[index], peer);
                    out += send_counts[index];
                    in += receive_counts[index];
                }
            });
        });
    }

    Completion barrier() {
        return member_->run(member_->named("barrier", 1, DType::u8), false, [&] {
            std::uint8_t* byte = shared().scratch().device();
            return api().all_reduce(byte, byte, 1, DType::u8, Reduction::sum, native(), stream());
        });
    }

    /// Start what body() calls, on this communicator or others of its stream, as one launch when it returns.
    /// An exception of body() ends the group and goes on.
    template <class Body>
    void group(Body&& body) {
        detail::NcclGroup<Api> open(shared(), {"group", rank(), size()});
        body();
        open.end();
    }

    /// [size * bytes] of host memory in place, through pinned and device scratch. Collective; blocks the host
    /// until all that is in the stream is done. Not inside a group, not while capturing.
    void all_gather_host(std::uint8_t* base, std::int64_t bytes) {
        const Operation operation = member_->named("all_gather_host", bytes, DType::u8);
        member_->check_host_memory(operation, base, bytes, size());
        member_->refuse_in_group(operation);
        const auto ranks = static_cast<std::size_t>(size()), own = static_cast<std::size_t>(rank());
        const std::size_t whole = unsigned_of(bytes), chunk = shared().scratch().bytes() / ranks;
        std::uint8_t* const scratch = shared().scratch().host();
        for (std::size_t at = 0, length = 0; at < whole; at += length) {
            length = std::min(chunk, whole - at);
            std::memcpy(scratch + own * length, base + own * whole + at, length);
            member_->gather_scratch(operation, length);
            for (std::size_t peer = 0; peer < ranks; ++peer)
                std::memcpy(base + peer * whole + at, scratch + peer * length, length);
        }
    }

    /// Collective; blocks the host until the new communicator exists. It shares the stream.
    BasicNcclCommunicator split(int color, int key) {
        auto child = std::make_shared<Member>(member_->shared_stream(), member_);
        child->split(color, key);
        return BasicNcclCommunicator(std::move(child));
    }

    /// Abort everything of this rank at once, because it will take part in nothing more. Other ranks see it
    /// as an error or run into their time-out. Local; every further call throws.
    void abandon(std::string_view why) noexcept {
        try {
            if (!shared().failed())
                shared().refuse({"abandon", rank(), size()}, std::string(why));
        } catch (...) { // the first failure
        }
    }

  private:
    template <class>
    friend class NcclRegistration;

    explicit BasicNcclCommunicator(std::shared_ptr<Member> member)
        : member_(std::move(member)) {}

    Shared& shared() const { return member_->stream(); }
    static std::size_t unsigned_of(std::int64_t count) { return static_cast<std::size_t>(count); }

    std::shared_ptr<Member> member_;
};

} // namespace ragged
