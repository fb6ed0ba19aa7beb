// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank's side of one NCCL communicator: what is checked before NCCL sees it, and how operations get into
// the stream, with a completion behind them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <ragged/comm/nccl_completion.hpp>
#include <ragged/comm/nccl_group.hpp>
#include <ragged/core/integer.hpp>

namespace ragged::detail {

/// Lives until the last handle to it, and to what was split from it, is gone.
template <class Api>
class NcclMember {
    using Comm = typename Api::Comm;
    using Counts = std::span<const std::int64_t>;

  public:
    /// No communicator yet. @param parent  what it is split from, kept, or null
    NcclMember(std::shared_ptr<NcclStream<Api>> stream, std::shared_ptr<NcclMember> parent)
        : stream_(std::move(stream))
        , parent_(std::move(parent)) {}
    NcclMember(const NcclMember&) = delete;
    NcclMember& operator=(const NcclMember&) = delete;
    ~NcclMember() { stream_->leave(comm_, {"finalize", rank_, size_}); }

    /// Become rank `rank` of a new world. Blocking.
    void initialise(const typename Api::UniqueId& id, int rank, int size) {
        rank_ = rank;
        size_ = size;
        const NcclOperation operation{"initialisation", rank, size};
        if (size < 1 || rank < 0 || rank >= size)
            stream_->refuse(operation, concat("rank ", rank, " is not in [0, ", size, ")"));
        stream_->prepare(operation);
        stream_->join(comm_);
        stream_->check(stream_->api().initialise(stream_->space().device, comm_, size, id, rank,
                                                 stream_->options().share_resources),
                       operation);
        stream_->settle(operation);
    }

    /// Become what `color` and `key` make of this rank of the parent. Blocking.
    void split(int color, int key) {
        const NcclOperation operation{"split", parent_->rank_, parent_->size_};
        parent_->refuse_in_group(operation);
        if (color < 0)
            stream_->refuse(operation, concat("color ", color, " is negative"));
        stream_->join(comm_);
        stream_->check(
            stream_->api().split(parent_->comm_, color, key, comm_, stream_->options().share_resources),
            operation);
        stream_->settle(operation);
        stream_->poll(operation, [&] { return comm_ != Comm{}; }); // NCCL sets it in the end
        stream_->settle(operation);
        stream_->check(stream_->api().rank_of(comm_, rank_, size_), operation);
    }

    int rank() const { return rank_; }
    int size() const { return size_; }
    Comm comm() const { return comm_; }
    NcclStream<Api>& stream() const { return *stream_; }
    const std::shared_ptr<NcclStream<Api>>& shared_stream() const { return stream_; }
    bool can_sum(DType dtype) const {
        return (dtype != DType::f8e4m3 && dtype != DType::f8e5m2) || stream_->can_sum_fp8();
    }

    NcclOperation named(std::string_view name, std::int64_t count, DType dtype) const {
        return {name, rank_, size_, count, dtype};
    }

    /// Enqueue what `start` starts, with a mark behind it. `nothing` says that no rank has a part.
    template <class Start>
    NcclCompletion<Api> run(const NcclOperation& operation, bool nothing, Start start) {
        stream_->require_usable(operation);
        NcclCompletion<Api> done(stream_, operation);
        NcclStatus status;
        if (!nothing)
            stream_->check(status = start(), operation);
        stream_->finish(*done.mark_, status.in_progress(), operation);
        return done;
    }

    /// In a group of NCCL's own.
    template <class Body>
    NcclStatus together(const NcclOperation& operation, Body body) {
        NcclGroup<Api> open(*stream_, operation);
        body();
        open.end();
        return {};
    }

    /// In a group, `start(part, count, root)` for each rank that has a part.
    template <class T, class Start>
    NcclCompletion<Api> run_parts(const NcclOperation& operation, T* base, Counts counts, Start start) {
        return run(operation, false, [&] {
            return together(operation, [&] {
                T* part = base;
                for (int root = 0; root < size_; ++root) {
                    const std::int64_t count = counts[static_cast<std::size_t>(root)];
                    if (count > 0)
                        stream_->check(start(part, count, root), operation);
                    part += count;
                }
            });
        });
    }

    template <class T>
    void send(const NcclOperation& operation, const T* data, std::int64_t count, int peer) {
        if (count > 0)
            stream_->check(stream_->api().send(data, static_cast<std::size_t>(count), dtype_of<T>, peer,
                                               comm_, stream_->stream()),
                           operation);
    }
    template <class T>
    void receive(const NcclOperation& operation, T* data, std::int64_t count, int peer) {
        if (count > 0)
            stream_->check(stream_->api().receive(data, static_cast<std::size_t>(count), dtype_of<T>, peer,
                                                  comm_, stream_->stream()),
                           operation);
    }

    /// What can be said of memory of [parts * count] without asking CUDA.
    template <class T>
    void check_host_memory(const NcclOperation& operation, const T* data, std::int64_t count,
                           std::int64_t parts) const {
        stream_->require_usable(operation);
        if (count < 0)
            stream_->refuse(operation, concat("count ", count, " is negative"));
        if (count > max_count / parts / static_cast<std::int64_t>(sizeof(T)))
            stream_->refuse(operation, concat(parts, " * ", count, " elements do not fit 64 bits of bytes"));
        if (count == 0)
            return;
        if (data == nullptr)
            stream_->refuse(operation, "the pointer is null");
        if (reinterpret_cast<std::uintptr_t>(data) % alignof(T) != 0)
            stream_->refuse(operation, concat("the pointer is not aligned to ", alignof(T), " bytes"));
    }
    template <class T>
    void check_memory(const NcclOperation& operation, const T* data, std::int64_t count,
                      std::int64_t parts) const {
        check_host_memory(operation, data, count, parts);
        if (!stream_->options().check_pointers || count == 0)
            return;
        MemorySpace found;
        stream_->check(stream_->api().space_of(data, found), operation);
        if (found != stream_->space())
            stream_->refuse(operation, concat("the pointer is to ", to_string(found),
                                              ", the communicator works in ", to_string(stream_->space())));
    }

    void check_rank(const NcclOperation& operation, std::string_view what, int rank_named) const {
        if (rank_named < 0 || rank_named >= size_)
            stream_->refuse(operation, concat(what, ' ', rank_named, " is not in [0, ", size_, ")"));
    }
    void check_sum(const NcclOperation& operation) const {
        if (!can_sum(*operation.dtype))
            stream_->refuse(operation, concat("reductions of ", name(*operation.dtype),
                                              " need a device of sm_90 or later on every rank"));
    }
    void refuse_in_group(const NcclOperation& operation) const {
        stream_->require_usable(operation);
        stream_->require_own_group(operation);
        if (stream_->in_group())
            stream_->refuse(operation, "called inside a group");
    }

    /// The sum of the counts, one per rank.
    std::int64_t total(std::string_view name, Counts counts) const {
        const NcclOperation operation{name, rank_, size_};
        stream_->require_usable(operation);
        if (counts.size() != static_cast<std::size_t>(size_))
            stream_->refuse(operation, concat("got ", counts.size(), " counts for ", size_, " ranks"));
        std::int64_t sum = 0;
        for (const std::int64_t count : counts) {
            if (count < 0)
                stream_->refuse(operation, concat("count ", count, " is negative"));
            if (count > max_count - sum)
                stream_->refuse(operation, "the counts together do not fit 64 bits");
            sum += count;
        }
        return sum;
    }

    /// [ranks * bytes] of the pinned scratch in place, through that of the device.
    void gather_scratch(const NcclOperation& operation, std::size_t bytes) {
        const std::size_t own = static_cast<std::size_t>(rank_) * bytes;
        std::uint8_t *const host = stream_->scratch().host(), *const device = stream_->scratch().device();
        Api& api = stream_->api();
        run(operation, false, [&] {
            stream_->check(api.copy(device + own, host + own, bytes, stream_->stream()), operation);
            const NcclStatus status =
                api.all_gather(device + own, device, bytes, DType::u8, comm_, stream_->stream());
            stream_->check(status, operation);
            if (status.in_progress())
                stream_->settle(operation);
            return api.copy(host, device, static_cast<std::size_t>(size_) * bytes, stream_->stream());
        }).wait();
    }

  private:
    std::shared_ptr<NcclStream<Api>> stream_;
    std::shared_ptr<NcclMember> parent_;
    Comm comm_{};
    int rank_ = 0;
    int size_ = 1;
};

} // namespace ragged::detail
