// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The processes of one node and the memory they share: windows for buffers, and small control blocks in which
// the ranks of a communicator meet. One per world; communicators split from it use it too.
#pragma once

#include <algorithm> // std::min
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception> // std::uncaught_exceptions
#include <limits>
#include <map>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include <sys/statvfs.h>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/comm/mpi_error.hpp>
#include <ragged/comm/shared_call.hpp>

namespace ragged::detail {

/// Where ranks of one communicator meet, in memory that they share.
struct MpiBlock {
    std::atomic<std::uint64_t> state; // 2 * arrivals so far + 1 when failed: one word, so one order for all
    std::atomic<std::uint32_t> users; // ranks that still hold the block; 0 when it is free
    std::atomic<std::uint32_t> failing;
    std::int32_t failed_rank; // these three are written before `state` says failed
    char operation[32];
    char text[1024];
};

/// What a rank brings to a meeting.
struct MpiRecord {
    std::atomic<std::uint64_t> phase; // meetings it came to
    CallRecord call;
    std::int64_t num_counts;
    std::int64_t offset; // of its memory in its part of the window
    std::int32_t window; // -1 for memory that others cannot read
    // num_counts counts follow
};

static_assert(std::atomic<std::uint64_t>::is_always_lock_free); // a lock would be one process's own

class MpiNode {
  public:
    struct Address {
        int window = -1;
        std::int64_t offset = 0;
    };

    /// Collective over `world`. @throws MpiError
    /// @param timeout  for a rank that does not come to allocate or to give back
    MpiNode(MPI_Comm world, std::chrono::milliseconds timeout)
        : timeout_(timeout) {
        check_mpi(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm_), "MpiNode");
        MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
        MPI_Comm_size(comm_, &size_);
        int rank = 0;
        MPI_Comm_rank(comm_, &rank);
        blocks_ = open(rank == 0 ? header_bytes + block_bytes() * num_blocks : 0);
        if (rank == 0) {
            ::new (&state()) std::atomic<std::uint64_t>{0};
            for (int index = 0; index < num_blocks; ++index) {
                ::new (&block(index)) MpiBlock{};
                for (int peer = 0; peer < size_; ++peer)
                    ::new (&record(index, peer)) MpiRecord{};
            }
        }
        check_mpi(MPI_Barrier(comm_), "MpiNode");
    }
    MpiNode(const MpiNode&) = delete;
    MpiNode& operator=(const MpiNode&) = delete;
    /// Collective like MPI_Win_free, unless lost().
    ~MpiNode() {
        if (!meet())
            return; // others may never come: the memory goes with the process
        while (!windows_.empty())
            close(windows_.begin()->first);
        close(blocks_);
        MPI_Comm_free(&comm_);
    }

    /// A rank saw a failure, or MPI ended: what is freed by all ranks together is not freed any more.
    bool lost() const { return !mpi_is_running() || (state().load() & 1) != 0; }
    void lose() {
        mpi_has_failed = true;
        if (mpi_is_running())
            state().fetch_or(1);
    }

    MPI_Comm comm() const { return comm_; }

    MpiBlock& block(int index) const {
        return *reinterpret_cast<MpiBlock*>(blocks_.bases[0] + header_bytes +
                                            static_cast<std::size_t>(index) * block_bytes());
    }
    MpiRecord& record(int index, int rank) const {
        return *reinterpret_cast<MpiRecord*>(reinterpret_cast<char*>(&block(index)) + sizeof(MpiBlock) +
                                             static_cast<std::size_t>(rank) * record_bytes());
    }
    std::int64_t* counts(int index, int rank) const {
        return reinterpret_cast<std::int64_t*>(&record(index, rank) + 1);
    }

    /// A free block for `users` ranks, or -1 when all are taken. By one rank, which tells the others.
    int take_block(int users) {
        for (int index = 0; index < num_blocks; ++index) {
            std::uint32_t free = 0;
            if (block(index).users.compare_exchange_strong(free, static_cast<std::uint32_t>(users))) {
                block(index).failing = 0;
                for (int rank = 0; rank < users; ++rank)
                    record(index, rank).phase = 0;
                block(index).state = 0;
                return index;
            }
        }
        return -1;
    }
    void leave_block(int index) { --block(index).users; }

    /// Memory that all ranks of the node can read. Collective over them.
    /// @throws BufferError  on all ranks, when there is too little for all or not all come; MpiError
    void* allocate(std::size_t bytes) {
        if (!meet())
            throw BufferError(concat("no memory that ranks share: a rank of the node failed, or did not come "
                                     "within ",
                                     timeout_.count(), " ms"));
        // MPI need not notice: pages that are not there end the process when they are touched
        constexpr std::size_t most = std::size_t{1} << 52; // sums of it are still numbers
        std::int64_t wanted = static_cast<std::int64_t>(std::min(bytes, most) + buffer_alignment), all = 0,
                     room = 0;
        const std::int64_t own_room = shared_room();
        check_mpi(MPI_Allreduce(&wanted, &all, 1, MPI_INT64_T, MPI_SUM, comm_), "allocate");
        check_mpi(MPI_Allreduce(&own_room, &room, 1, MPI_INT64_T, MPI_MIN, comm_), "allocate");
        if (all > room)
            throw BufferError(concat("out of memory that ranks share: ", bytes, " bytes here, ", all,
                                     " on all ranks of the node; there is room for ", room));
        Window window = open(bytes + buffer_alignment);
        const auto address = reinterpret_cast<std::uintptr_t>(window.own);
        char* const aligned = window.own + (buffer_alignment - address % buffer_alignment) % buffer_alignment;
        window.bytes = static_cast<std::int64_t>(bytes) + (aligned - window.own);
        windows_.emplace(next_window_++, std::move(window));
        return aligned;
    }
    /// Collective like MPI_Win_free, unless lost().
    void deallocate(const void* pointer) noexcept {
        const Address address = find(pointer);
        if (address.window >= 0 && meet())
            close(address.window);
    }

    /// Where memory lies in a window; windows are numbered alike on all ranks of the node.
    Address find(const void* pointer) const {
        for (const auto& [number, window] : windows_) {
            const std::ptrdiff_t offset = static_cast<const char*>(pointer) - window.own;
            if (offset >= 0 && offset < window.bytes)
                return {number, offset};
        }
        return {};
    }
    const void* address(const Address& address, int rank) const {
        return windows_.at(address.window).bases[static_cast<std::size_t>(rank)] + address.offset;
    }

  private:
    static constexpr std::size_t header_bytes = 128; // for state()
    static constexpr int num_blocks = 64; // communicators of one node at a time; more of them do without

    struct Window {
        MPI_Win handle = MPI_WIN_NULL;
        char* own = nullptr;
        std::int64_t bytes = 0;
        std::vector<char*> bases; // of each rank's part, as this process sees it
    };

    /// 2 * arrivals of ranks at meet() so far + 1 when lost: one word, so all ranks come to one verdict.
    std::atomic<std::uint64_t>& state() const {
        return *reinterpret_cast<std::atomic<std::uint64_t>*>(blocks_.bases[0]);
    }

    /// Wait for the other ranks before a call of MPI that has no time limit.
    /// @return whether all came; false on all of them, or later, when one is lost or late
    bool meet() noexcept {
        if (!mpi_is_running())
            return false;
        if (std::uncaught_exceptions() > 0)
            lose(); // while one unwinds this rank, the others are elsewhere
        std::uint64_t seen = state().load();
        do {
            if ((seen & 1) != 0)
                return false;
        } while (!state().compare_exchange_weak(seen, seen + 2));

        const std::uint64_t complete = 2 * ++num_meetings_ * static_cast<std::uint64_t>(size_);
        const auto start = std::chrono::steady_clock::now();
        while ((seen = state().load()) < complete) {
            if ((seen & 1) == 0 && std::chrono::steady_clock::now() - start > timeout_)
                seen = state().fetch_or(1) | 1; // unless the last one came just now
            if (seen >= complete)
                break;
            if ((seen & 1) != 0)
                return false;
            int arrived = 0; // moves this rank's messages on
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &arrived, MPI_STATUS_IGNORE);
            std::this_thread::yield();
        }
        return true;
    }

    /// Bytes that may be shared: both MPIs keep their windows in the file system of shared memory.
    static std::int64_t shared_room() {
        struct statvfs status {};
        if (statvfs("/dev/shm", &status) != 0)
            return std::numeric_limits<std::int64_t>::max();
        return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
    }

    std::size_t record_bytes() const {
        const std::size_t bytes = sizeof(MpiRecord) + static_cast<std::size_t>(size_) * sizeof(std::int64_t);
        return (bytes + 127) / 128 * 128; // two cache lines are fetched at once
    }
    std::size_t block_bytes() const {
        return sizeof(MpiBlock) + static_cast<std::size_t>(size_) * record_bytes();
    }

    Window open(std::size_t bytes) const {
        Window window;
        MPI_Info info = MPI_INFO_NULL;
        MPI_Info_create(&info);
        MPI_Info_set(info, "alloc_shared_noncontig", "true"); // each part on its own pages
        const int code = MPI_Win_allocate_shared(static_cast<MPI_Aint>(bytes), 1, info, comm_, &window.own,
                                                 &window.handle);
        MPI_Info_free(&info);
        check_mpi(code, "MPI_Win_allocate_shared");
        for (int rank = 0; rank < size_; ++rank) {
            MPI_Aint part = 0;
            int unit = 0;
            void* base = nullptr;
            check_mpi(MPI_Win_shared_query(window.handle, rank, &part, &unit, &base), "MPI_Win_shared_query");
            window.bases.push_back(static_cast<char*>(base));
        }
        check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window.handle), "MPI_Win_lock_all");
        return window;
    }
    static void close(Window& window) noexcept {
        MPI_Win_unlock_all(window.handle);
        MPI_Win_free(&window.handle);
    }
    void close(int number) noexcept {
        close(windows_.at(number));
        windows_.erase(number);
    }

    std::chrono::milliseconds timeout_;
    MPI_Comm comm_ = MPI_COMM_NULL;
    int size_ = 0;
    std::uint64_t num_meetings_ = 0;
    Window blocks_;
    std::map<int, Window> windows_;
    int next_window_ = 0;
};

} // namespace ragged::detail
