// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The Api of an NCCL communicator over FakeWorld. Checks what NCCL asks of its callers, in place pointers
// first of all, and counts what must be given back.
#pragma once

#include <barrier>
#include <exception>
#include <optional>
#include <thread>

#include <ragged/comm/nccl_registration.hpp>

#include "support/fake_nccl_world.hpp"

namespace support {

class FakeNccl {
  public:
    using Comm = FakeComm*;
    using Stream = FakeStreamName;
    using Event = FakeEvent*;
    using UniqueId = std::array<char, 128>;
    using Window = const void*;

    FakeNccl(FakeWorld& world, int rank)
        : world_(&world)
        , rank_(rank) {}

    std::string text(NcclStatus status) const {
        const std::lock_guard lock(world_->mutex);
        return concat("fake status ", status.code, ": ", world_->last_error_);
    }
    bool has_windows() const { return world_->options().windows; }

    NcclStatus unique_id(UniqueId& id) const {
        return call("unique_id", "", [&] {
            id.fill(0);
            id[0] = static_cast<char>(++world_->ids_);
        });
    }
    NcclStatus initialise(int, Comm& comm, int size, const UniqueId& id, int rank, bool) const {
        return call("initialise", "", [&] {
            comm = world_->make_comm(world_->group_of(id, size), rank, rank_);
            comm->stream = world_->stream(rank_);
        });
    }
    NcclStatus split(Comm comm, int color, int key, Comm& made, bool) const {
        return call("split", "", [&] {
            made = nullptr;
            comm->made = &made;
            comm->polls = world_->options().polls;
            FakeGroup& group = *comm->group;
            auto& requests = group.splits[comm->splits++];
            requests.push_back({comm, color, key});
            return ragged::nccl_in_progress;
        });
    }
    NcclStatus rank_of(Comm comm, int& rank, int& size) const {
        return call("rank_of", "", [&] {
            rank = comm->rank;
            size = comm->group->size;
        });
    }
    NcclStatus finalize(Comm comm) const {
        return call("finalize", "", [&] {
            if (comm->given_up)
                world_->complain("what a split gave up is finalized");
            comm->finalizing = true;
        });
    }
    NcclStatus destroy(Comm comm) const {
        return call("destroy", "", [&] {
            if (!comm->finalizing || world_->in_stream(comm))
                world_->complain("destroyed before it was finalized");
            end(comm);
        });
    }
    NcclStatus abort(Comm comm) const {
        return call("abort", "", [&] {
            if (depth() > 0)
                world_->complain("aborted inside a group");
            world_->drop_operations(comm);
            if (world_->options().abort_spreads)
                world_->fail(*comm->group, ragged::nccl_remote_error,
                             concat("rank ", comm->rank, " aborted"));
            if (FakeComm** const made = std::exchange(comm->made, nullptr)) { // NCCL sets it all the same
                FakeGroup& alone = world_->split_group(comm->group, comm->splits - 1, -1 - comm->rank, 1);
                *made = world_->make_comm(alone, 0, rank_);
                (*made)->stream = comm->stream;
                (*made)->given_up = true;
            }
            end(comm);
        });
    }
    NcclStatus async_error(Comm comm, NcclStatus& error) const {
        const std::lock_guard lock(world_->mutex);
        require_alive(comm);
        error = comm->error;
        if (!error.ok())
            return {};
        if (comm->polls > 0)
            --comm->polls;
        if (comm->polls == 0)
            while (!comm->stream->late.empty()) {
                comm->stream->items.push_back(std::move(comm->stream->late.front()));
                comm->stream->late.pop_front();
            }
        world_->progress();
        if (comm->polls > 0 || comm->group->joined < comm->group->size || !finish_split(comm) ||
            (comm->finalizing && world_->in_stream(comm)))
            error = ragged::nccl_in_progress;
        return {};
    }

    NcclStatus group_start() const {
        return call("group_start", "", [&] { ++depth(); });
    }
    NcclStatus group_end() const {
        const bool open = depth() > 0;
        depth() -= open;
        auto operations = depth() == 0 ? std::exchange(pending(), {})
                                       : std::vector<std::pair<FakeOperation, FakeStream*>>{};
        return call("group_end", "", [&] {
            if (!open) {
                world_->complain("a group ends that did not start");
                return fake_invalid_usage;
            }
            return operations.empty() ? fake_success : launch(std::move(operations));
        });
    }
    NcclStatus all_gather(const void* from, void* to, std::size_t count, DType dtype, Comm comm,
                          Stream stream) const {
        return add({"all_gather", comm, from, to, count, dtype, 0}, stream,
                   from == static_cast<char*>(to) + part(comm, count, dtype));
    }
    NcclStatus reduce_scatter(const void* from, void* to, std::size_t count, DType dtype, Reduction reduction,
                              Comm comm, Stream stream) const {
        return add({"reduce_scatter", comm, from, to, count, dtype, 0, reduction}, stream,
                   to == static_cast<const char*>(from) + part(comm, count, dtype));
    }
    NcclStatus all_reduce(const void* from, void* to, std::size_t count, DType dtype, Reduction reduction,
                          Comm comm, Stream stream) const {
        return add({"all_reduce", comm, from, to, count, dtype, 0, reduction}, stream, from == to);
    }
    NcclStatus broadcast(const void* from, void* to, std::size_t count, DType dtype, int root, Comm comm,
                         Stream stream) const {
        return add({"broadcast", comm, from, to, count, dtype, root}, stream, from == to);
    }
    NcclStatus reduce(const void* from, void* to, std::size_t count, DType dtype, Reduction reduction,
                      int root, Comm comm, Stream stream) const {
        return add({"reduce", comm, from, to, count, dtype, root, reduction}, stream, from == to);
    }
    NcclStatus send(const void* from, std::size_t count, DType dtype, int peer, Comm comm,
                    Stream stream) const {
        return add({"send", comm, from, nullptr, count, dtype, peer}, stream, from != nullptr);
    }
    NcclStatus receive(void* to, std::size_t count, DType dtype, int peer, Comm comm, Stream stream) const {
        return add({"receive", comm, nullptr, to, count, dtype, peer}, stream, to != nullptr);
    }

    NcclStatus register_local(Comm, void* pointer, std::size_t, void*& handle) const {
        return call("register_local", "", [&] {
            if (!world_->options().memory_can_be_shared)
                return;
            ++world_->live_.registrations;
            handle = pointer;
        });
    }
    NcclStatus deregister_local(Comm, void*) const {
        return call("deregister_local", "", [&] { --world_->live_.registrations; });
    }
    NcclStatus can_be_window(const void*, bool& can) const {
        can = rank_ != world_->options().plain_rank;
        return {};
    }
    NcclStatus register_window(Comm, void* pointer, std::size_t, Window& window) const {
        return call("register_window", "", [&] {
            if (reinterpret_cast<std::uintptr_t>(pointer) % 4096 != 0)
                world_->complain("a window is not aligned");
            if (world_->options().plain_rank >= 0)
                world_->complain("a window on some ranks only");
            if (!world_->options().memory_can_be_shared)
                return;
            ++world_->live_.windows;
            window = pointer;
        });
    }
    NcclStatus deregister_window(Comm, Window) const {
        return call("deregister_window", "", [&] { --world_->live_.windows; });
    }

    NcclStatus device_of(Stream, int& number) const {
        number = rank_;
        return {};
    }
    NcclStatus can_sum_fp8(int, bool& can) const {
        can = world_->options().can_sum_fp8;
        return {};
    }
    NcclStatus space_of(const void* pointer, ragged::MemorySpace& space) const {
        return call("space_of", "", [&] {
            const auto known = world_->spaces_.find(pointer);
            space = known == world_->spaces_.end() ? ragged::MemorySpace::of_device(rank_) : known->second;
        });
    }

    NcclStatus create_event(int, Event& event) const {
        return call("create_event", "", [&] {
            event = new FakeEvent;
            ++world_->live_.events;
        });
    }
    NcclStatus destroy_event(Event event) const {
        return call("destroy_event", "", [&] {
            for (int stream = 0; stream < world_->num_streams(); ++stream)
                std::erase_if(world_->stream(stream)->items,
                              [&](const FakeItem& item) { return item.event == event; });
            delete event;
            --world_->live_.events;
        });
    }
    NcclStatus record_event(Event event, Stream stream) const {
        return call("record", "", [&] {
            world_->enqueue(*stream, {FakeItem::Kind::record, {}, event, ++event->issued});
        });
    }
    NcclStatus query_event(Event event) const {
        const std::lock_guard lock(world_->mutex);
        world_->count_question(rank_);
        world_->progress();
        return event->reached == event->issued ? fake_success : ragged::nccl_in_progress;
    }
    NcclStatus wait_event(Stream stream, Event event) const {
        return call("wait_event", "", [&] {
            world_->enqueue(*stream, {FakeItem::Kind::wait, {}, event, event->issued});
        });
    }

    NcclStatus allocate_device(int, std::size_t bytes, void*& pointer) const {
        return call("allocate_device", "", [&] {
            pointer = new char[bytes];
            ++world_->live_.device_blocks;
        });
    }
    NcclStatus free_device(void* pointer) const {
        return call("free_device", "", [&] {
            delete[] static_cast<char*>(pointer);
            --world_->live_.device_blocks;
        });
    }
    NcclStatus allocate_host(int, std::size_t bytes, void*& pointer) const {
        return call("allocate_host", "", [&] {
            pointer = new char[bytes];
            ++world_->live_.host_blocks;
        });
    }
    NcclStatus free_host(void* pointer) const {
        return call("free_host", "", [&] {
            delete[] static_cast<char*>(pointer);
            --world_->live_.host_blocks;
        });
    }
    NcclStatus copy(void* to, const void* from, std::size_t bytes, Stream stream) const {
        return call("copy", concat(' ', bytes), [&] {
            world_->enqueue(*stream, {FakeItem::Kind::copy, {}, nullptr, 0, to, from, bytes});
        });
    }

  private:
    /// One call of the engine: logged, perhaps made to fail.
    template <class Body>
    NcclStatus call(const std::string& function, const std::string& details, Body body) const {
        const std::lock_guard lock(world_->mutex);
        if (const NcclStatus status = world_->enter(rank_, function, details); !status.ok())
            return status;
        if constexpr (std::is_void_v<decltype(body())>) {
            body();
            return {};
        } else {
            return body();
        }
    }

    // Groups belong to the thread, as NCCL's do.
    static int& depth() {
        thread_local int open = 0;
        return open;
    }
    static std::vector<std::pair<FakeOperation, FakeStream*>>& pending() {
        thread_local std::vector<std::pair<FakeOperation, FakeStream*>> operations;
        return operations;
    }

    static std::ptrdiff_t part(Comm comm, std::size_t count, DType dtype) {
        return comm->rank * static_cast<std::ptrdiff_t>(count) * size_bytes(dtype);
    }

    NcclStatus add(FakeOperation operation, Stream stream, bool pointers_fit) const {
        const bool rooted = operation.name == "broadcast" || operation.name == "reduce";
        const std::string details = concat(' ', operation.count, ' ', name(operation.dtype),
                                           operation.reduction == Reduction::max ? " max" : "",
                                           rooted                        ? concat(" root ", operation.peer)
                                           : operation.name == "send"    ? concat(" to ", operation.peer)
                                           : operation.name == "receive" ? concat(" from ", operation.peer)
                                                                         : std::string());
        return call(operation.name, details, [&] {
            require_alive(operation.comm);
            const bool peer_fits = operation.peer >= 0 && operation.peer < operation.comm->group->size;
            if (!pointers_fit || !peer_fits || operation.count == 0) {
                world_->complain(concat(operation.name, details, ": not in place, empty, or no such peer"));
                return fake_invalid_argument;
            }
            for (const void* pointer : {operation.from, static_cast<const void*>(operation.to)})
                world_->misaligned_ += reinterpret_cast<std::uintptr_t>(pointer) % 16 != 0;
            if (stream != operation.comm->stream)
                world_->complain("a communicator is used on two streams");
            if (depth() == 0)
                return launch({{std::move(operation), stream}});
            pending().emplace_back(std::move(operation), stream);
            return fake_success;
        });
    }
    NcclStatus launch(std::vector<std::pair<FakeOperation, FakeStream*>> operations) const {
        FakeItem item{FakeItem::Kind::operations};
        FakeStream* const stream = operations.front().second;
        for (auto& [operation, unused] : operations)
            item.operations.push_back(std::move(operation));
        world_->enqueue(*stream, std::move(item));
        return world_->options().polls > 0 ? ragged::nccl_in_progress : fake_success;
    }

    /// When all ranks have asked for the split, make this rank's communicator; the last one to do so makes
    /// room for all.
    bool finish_split(Comm comm) const {
        if (comm->made == nullptr)
            return true;
        const auto& requests = comm->group->splits[comm->splits - 1];
        if (static_cast<int>(requests.size()) < comm->group->size)
            return false;
        const auto own = std::find_if(requests.begin(), requests.end(),
                                      [&](const auto& request) { return request.comm == comm; });
        int rank = 0, size = 0;
        for (const auto& request : requests)
            if (request.color == own->color) {
                ++size;
                rank += std::pair(request.key, request.comm->rank) < std::pair(own->key, comm->rank);
            }
        FakeGroup& group = world_->split_group(comm->group, comm->splits - 1, own->color, size);
        *std::exchange(comm->made, nullptr) = world_->make_comm(group, rank, rank_);
        group.members[static_cast<std::size_t>(rank)]->stream = comm->stream;
        return true;
    }

    void require_alive(Comm comm) const {
        if (comm->dead)
            world_->complain("a communicator is used after its end");
    }
    void end(Comm comm) const {
        require_alive(comm);
        comm->dead = true;
        --world_->live_.comms;
    }

    FakeWorld* world_;
    int rank_;
};

using FakeCommunicator = ragged::BasicNcclCommunicator<FakeNccl>;

/// Run `body(FakeCommunicator&)` on every rank of the world, each in its own thread, when all have begun; the
/// first exception is rethrown here. A rank that throws abandons its communicators.
template <class Body>
void run_fake_ranks(FakeWorld& world, int size, const Body& body, const ragged::NcclOptions& options = {}) {
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(size));
    const auto id = FakeCommunicator::make_id(FakeNccl(world, 0));
    std::barrier<> begun(size);
    const auto run_rank = [&](int rank) {
        std::optional<FakeCommunicator> comm;
        try {
            comm.emplace(id, rank, size, world.stream(rank), options, FakeNccl(world, rank));
        } catch (...) {
            begun.arrive_and_drop();
            throw;
        }
        begun.arrive_and_wait();
        try {
            body(*comm);
        } catch (const std::exception& error) {
            comm->abandon(error.what());
            throw;
        }
    };
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; ++rank)
        threads.emplace_back([&, rank] {
            try {
                run_rank(rank);
            } catch (...) {
                failures[static_cast<std::size_t>(rank)] = std::current_exception();
            }
        });
    for (std::thread& thread : threads)
        thread.join();
    for (const std::exception_ptr& failure : failures)
        if (failure)
            std::rethrow_exception(failure);
}

} // namespace support
