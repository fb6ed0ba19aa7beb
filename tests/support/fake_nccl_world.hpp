// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What stands in for NCCL and the devices behind it: ranks are threads, device memory is host memory, streams
// are queues. Nothing in a stream runs before somebody asks how far it came, so values that are read without
// waiting are seen to be missing. An operation runs when it is at the head of the streams of all its ranks;
// calls that do not fit together become the asynchronous error of all of them.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <ragged/comm/fold.hpp>
#include <ragged/comm/nccl_error.hpp>

namespace support {

using ragged::concat;
using ragged::DType;
using ragged::NcclStatus;
using ragged::Reduction;

inline constexpr NcclStatus fake_success{};
inline constexpr NcclStatus fake_invalid_argument{NcclStatus::Library::nccl, 4};
inline constexpr NcclStatus fake_invalid_usage{NcclStatus::Library::nccl, 5};

/// The `call`-th call (from 0) of `function` on rank `rank` of the world returns `status` and does nothing.
struct FakeFault {
    int rank;
    std::string function;
    int call;
    NcclStatus status;
};

struct FakeOptions {
    int polls = 0; // how often a call that was made is still in progress
    bool windows = true;
    int plain_rank = -1; // whose memory cannot be a window
    bool can_sum_fp8 = true;
    bool memory_can_be_shared = true; // else neither windows nor local registrations exist
    bool abort_spreads = true;        // to the other ranks, as it does between machines
    std::vector<FakeFault> faults{};
};

struct FakeEvent {
    std::uint64_t issued = 0, reached = 0;
};

struct FakeStream;
struct FakeGroup;
class FakeWorld;

struct FakeComm {
    FakeGroup* group;
    int rank;
    int world_rank;
    FakeStream* stream = nullptr;
    NcclStatus error{};
    int polls = 0;
    int issued = 0; // collectives so far
    int splits = 0;
    FakeComm** made = nullptr; // where the result of a split goes
    bool finalizing = false;
    bool given_up = false; // made by a split that was aborted
    bool dead = false;
};

struct FakeOperation {
    std::string name;
    FakeComm* comm;
    const void* from;
    void* to;
    std::size_t count;
    DType dtype;
    int peer; // root, or the other side
    Reduction reduction = Reduction::sum;
    int number = 0;
    bool done = false;
};

struct FakeItem {
    enum class Kind { operations, record, wait, copy, work };
    Kind kind;
    std::vector<FakeOperation> operations{};
    FakeEvent* event = nullptr;
    std::uint64_t version = 0;
    void* to = nullptr;
    const void* from = nullptr;
    std::size_t bytes = 0;
    std::function<void()> body{}; // of work
};

struct FakeStream {
    FakeWorld* world;
    std::deque<FakeItem> items{};
    std::deque<FakeItem> late{}; // taken, but still in progress
    int launches = 0;            // groups of operations, or single ones
    int synchronisations = 0;    // how often the host waited for all of it
};

/// Names a stream, as a CudaStream does.
class FakeStreamName {
  public:
    FakeStreamName(FakeStream* stream)
        : stream_(stream) {}
    operator FakeStream*() const { return stream_; }
    FakeStream* operator->() const { return stream_; }

    void wait_for(const FakeStreamName& other) const;
    /// Blocks the host.
    void synchronise() const;
    /// What a kernel does. Not for work that calls the world.
    void enqueue(std::function<void()> body) const;

  private:
    FakeStream* stream_;
};

struct FakeGroup {
    struct Request {
        FakeComm* comm;
        int color, key;
    };
    int size;
    std::vector<FakeComm*> members;
    int joined = 0;
    std::map<int, std::vector<Request>> splits{}; // by the number of the split

    explicit FakeGroup(int ranks)
        : size(ranks)
        , members(static_cast<std::size_t>(ranks)) {}
};

/// What must be zero in the end.
struct FakeLive {
    int comms = 0, events = 0, registrations = 0, windows = 0, device_blocks = 0, host_blocks = 0;
    bool operator==(const FakeLive&) const = default;
};

/// All of it is guarded by `mutex`; FakeNccl takes it once per call.
class FakeWorld {
  public:
    explicit FakeWorld(int ranks, FakeOptions options = {})
        : options_(std::move(options))
        , streams_(static_cast<std::size_t>(ranks), FakeStream{this})
        , logs_(static_cast<std::size_t>(ranks))
        , calls_(static_cast<std::size_t>(ranks))
        , questions_(static_cast<std::size_t>(ranks)) {}
    FakeWorld(const FakeWorld&) = delete; // streams point to it
    FakeWorld& operator=(const FakeWorld&) = delete;

    const FakeOptions& options() const { return options_; }
    FakeStream* stream(int rank) { return &streams_[static_cast<std::size_t>(rank)]; }
    FakeStream* another_stream() { // of any rank
        const std::lock_guard lock(mutex);
        return &streams_.emplace_back(FakeStream{this});
    }
    /// Let what a test enqueues run where it can.
    void run() {
        const std::lock_guard lock(mutex);
        progress();
    }

    /// Calls of a rank since the last time, polling left out.
    std::vector<std::string> take_log(int rank) {
        const std::lock_guard lock(mutex);
        return std::exchange(logs_[static_cast<std::size_t>(rank)], {});
    }
    /// Calls of a function by a rank so far.
    int calls(int rank, const std::string& function) {
        const std::lock_guard lock(mutex);
        return calls_[static_cast<std::size_t>(rank)][function];
    }
    /// How often a rank asked whether an event was reached: it does so only where the host waits.
    int questions(int rank) {
        const std::lock_guard lock(mutex);
        return questions_[static_cast<std::size_t>(rank)];
    }
    std::vector<std::string> complaints() {
        const std::lock_guard lock(mutex);
        return complaints_;
    }
    FakeLive live() {
        const std::lock_guard lock(mutex);
        return live_;
    }

    // What FakeNccl is made of.
    std::mutex mutex;
    FakeLive live_;
    std::string last_error_;
    int ids_ = 0;
    int misaligned_ = 0; // collectives over memory that is not aligned to 16 bytes
    std::map<const void*, ragged::MemorySpace> spaces_; // of pointers that are not to the rank's device

    void complain(std::string text) {
        last_error_ = text;
        complaints_.push_back(std::move(text));
    }
    NcclStatus enter(int rank, const std::string& function, const std::string& details = "") {
        logs_[static_cast<std::size_t>(rank)].push_back(function + details);
        const int call = calls_[static_cast<std::size_t>(rank)][function]++;
        for (const FakeFault& fault : options_.faults)
            if (fault.rank == rank && fault.function == function && fault.call == call) {
                last_error_ = "injected";
                return fault.status;
            }
        return {};
    }

    FakeComm* make_comm(FakeGroup& group, int rank, int world_rank) {
        FakeComm& comm = *comms_.emplace_back(new FakeComm{&group, rank, world_rank});
        group.members[static_cast<std::size_t>(rank)] = &comm;
        ++group.joined;
        comm.polls = options_.polls;
        ++live_.comms;
        return &comm;
    }
    FakeGroup& group_of(const std::array<char, 128>& id, int size) {
        auto& group = by_id_[id];
        if (!group)
            group = std::make_unique<FakeGroup>(size);
        return *group;
    }
    FakeGroup& split_group(FakeGroup* parent, int number, int color, int size) {
        auto& group = split_groups_[{parent, number, color}];
        if (!group)
            group = std::make_unique<FakeGroup>(size);
        return *group;
    }
    int num_streams() const { return static_cast<int>(streams_.size()); }

    void enqueue(FakeStream& stream, FakeItem item) {
        for (FakeOperation& operation : item.operations)
            if (operation.name != "send" && operation.name != "receive")
                operation.number = operation.comm->issued++;
        if (item.kind == FakeItem::Kind::operations) {
            ++stream.launches;
            if (options_.polls > 0) {
                for (FakeOperation& operation : item.operations)
                    operation.comm->polls = options_.polls;
                stream.late.push_back(std::move(item));
                return;
            }
        }
        stream.items.push_back(std::move(item));
    }

    /// Run everything that can run.
    void progress() {
        for (bool moved = true; moved;) {
            moved = false;
            for (FakeStream& stream : streams_)
                while (!stream.items.empty() && run(stream.items.front())) {
                    stream.items.pop_front();
                    moved = true;
                }
        }
    }

    void order(FakeStream& later, FakeStream& earlier) {
        const std::lock_guard lock(mutex);
        FakeEvent& event = orders_.emplace_back(FakeEvent{1, 0});
        enqueue(earlier, {FakeItem::Kind::record, {}, &event, 1});
        enqueue(later, {FakeItem::Kind::wait, {}, &event, 1});
    }
    /// @throws std::runtime_error  it takes too long
    void synchronise(FakeStream& stream) {
        const auto start = std::chrono::steady_clock::now();
        for (int round = 0;; ++round) {
            {
                const std::lock_guard lock(mutex);
                stream.synchronisations += round == 0;
                progress();
                if (stream.items.empty() && stream.late.empty())
                    return;
            }
            if (std::chrono::steady_clock::now() - start > std::chrono::seconds(20))
                throw std::runtime_error("a stream does not end");
            std::this_thread::yield();
        }
    }
    void count_question(int rank) { ++questions_[static_cast<std::size_t>(rank)]; }

    void fail(FakeGroup& group, NcclStatus status, const std::string& text) {
        last_error_ = text;
        for (FakeComm* comm : group.members)
            if (comm != nullptr && comm->error.ok())
                comm->error = status;
    }

    /// Take the operations of an aborted communicator out of the streams, and the copies beside them.
    void drop_operations(FakeComm* comm) {
        std::erase_if(comm->stream->items,
                      [](const FakeItem& item) { return item.kind == FakeItem::Kind::copy; });
        for (FakeStream& stream : streams_) {
            for (auto* queue : {&stream.items, &stream.late})
                for (FakeItem& item : *queue)
                    for (FakeOperation& operation : item.operations)
                        operation.done = operation.done || operation.comm == comm;
        }
    }
    static bool in_stream(const FakeComm* comm) {
        for (const auto* queue : {&comm->stream->items, &comm->stream->late})
            for (const FakeItem& item : *queue)
                for (const FakeOperation& operation : item.operations)
                    if (operation.comm == comm && !operation.done)
                        return true;
        return false;
    }

  private:
    bool run(FakeItem& item) {
        switch (item.kind) {
        case FakeItem::Kind::record:
            item.event->reached = item.version;
            return true;
        case FakeItem::Kind::wait:
            return item.event->reached >= item.version;
        case FakeItem::Kind::copy:
            std::memcpy(item.to, item.from, item.bytes);
            return true;
        case FakeItem::Kind::work:
            item.body();
            return true;
        default:
            break;
        }
        bool all = true;
        for (FakeOperation& operation : item.operations) {
            if (!operation.done && operation.comm->error.ok())
                run(operation, item);
            all = all && operation.done;
        }
        return all;
    }

    void run(FakeOperation& operation, FakeItem& item) {
        if (operation.name == "send")
            return; // the receiver takes it
        if (operation.name == "receive")
            return receive(operation, item);
        std::vector<FakeOperation*> calls;
        for (FakeComm* member : operation.comm->group->members)
            calls.push_back(at_head(member, [&](const FakeOperation& other) {
                return other.name != "send" && other.name != "receive" && other.number == operation.number;
            }));
        for (FakeOperation* call : calls)
            if (call == nullptr)
                return;
        for (std::size_t rank = 1; rank < calls.size(); ++rank)
            if (describe(*calls[rank]) != describe(*calls[0]))
                return fail(*operation.comm->group, fake_invalid_usage,
                            concat("rank ", rank, " called ", describe(*calls[rank]), ", rank 0 ",
                                   describe(*calls[0])));
        execute(calls);
        for (FakeOperation* call : calls)
            call->done = true;
    }

    void receive(FakeOperation& operation, FakeItem& item) {
        for (const FakeOperation& before : item.operations) // messages match in order
            if (&before == &operation)
                break;
            else if (!before.done && before.name == "receive" && before.comm == operation.comm &&
                     before.peer == operation.peer)
                return;
        FakeComm* peer = operation.comm->group->members[static_cast<std::size_t>(operation.peer)];
        FakeOperation* sent = at_head(peer, [&](const FakeOperation& other) {
            return other.name == "send" && other.peer == operation.comm->rank;
        });
        if (sent == nullptr)
            return;
        if (sent->count != operation.count || sent->dtype != operation.dtype)
            return fail(*operation.comm->group, fake_invalid_usage,
                        concat("rank ", peer->rank, " sent ", sent->count, ' ', name(sent->dtype),
                               " to rank ", operation.comm->rank, ", which expects ", operation.count, ' ',
                               name(operation.dtype)));
        std::memcpy(operation.to, sent->from, bytes_of(operation));
        sent->done = operation.done = true;
    }

    /// The first operation of `comm` that is not done, where its stream is now.
    template <class Matches>
    static FakeOperation* at_head(FakeComm* comm, const Matches& matches) {
        if (comm == nullptr || comm->stream == nullptr || comm->stream->items.empty())
            return nullptr;
        for (FakeOperation& operation : comm->stream->items.front().operations)
            if (!operation.done && operation.comm == comm && matches(operation))
                return &operation;
        return nullptr;
    }

    static std::string describe(const FakeOperation& operation) {
        return concat(operation.name, " of ", operation.count, ' ', name(operation.dtype), " by ",
                      name(operation.reduction), ", root ", operation.peer);
    }
    static std::size_t bytes_of(const FakeOperation& operation) {
        return operation.count * static_cast<std::size_t>(size_bytes(operation.dtype));
    }

    /// In rank order: the same bits on every run.
    static void execute(const std::vector<FakeOperation*>& calls) {
        const FakeOperation& first = *calls[0];
        const std::size_t bytes = bytes_of(first);
        const auto root = static_cast<std::size_t>(first.peer);
        if (first.name == "broadcast") {
            for (FakeOperation* call : calls)
                if (call != calls[root])
                    std::memcpy(call->to, calls[root]->from, bytes);
        } else if (first.name == "all_gather") {
            for (FakeOperation* call : calls)
                for (std::size_t rank = 0; rank < calls.size(); ++rank)
                    if (call != calls[rank])
                        std::memcpy(static_cast<char*>(call->to) + rank * bytes, calls[rank]->from, bytes);
        } else if (first.name == "all_reduce") {
            const std::vector<char> result = reduce(calls, 0);
            for (FakeOperation* call : calls)
                std::memcpy(call->to, result.data(), bytes);
        } else if (first.name == "reduce") {
            std::memcpy(calls[root]->to, reduce(calls, 0).data(), bytes);
        } else { // reduce_scatter: in place, so all of them before the first result
            std::vector<std::vector<char>> results;
            for (std::size_t rank = 0; rank < calls.size(); ++rank)
                results.push_back(reduce(calls, rank * bytes));
            for (std::size_t rank = 0; rank < calls.size(); ++rank)
                std::memcpy(calls[rank]->to, results[rank].data(), bytes);
        }
    }

    static std::vector<char> reduce(const std::vector<FakeOperation*>& calls, std::size_t offset) {
        switch (calls[0]->dtype) {
        case DType::f32:
            return reduce_as<float>(calls, offset);
        case DType::f64:
            return reduce_as<double>(calls, offset);
        case DType::bf16:
            return reduce_as<ragged::bf16>(calls, offset);
        case DType::f16:
            return reduce_as<ragged::f16>(calls, offset);
        case DType::f8e4m3:
            return reduce_as<ragged::f8e4m3>(calls, offset);
        case DType::f8e5m2:
            return reduce_as<ragged::f8e5m2>(calls, offset);
        case DType::i8:
            return reduce_as<std::int8_t>(calls, offset);
        default:
            return reduce_as<std::uint8_t>(calls, offset);
        }
    }
    template <class T>
    static std::vector<char> reduce_as(const std::vector<FakeOperation*>& calls, std::size_t offset) {
        std::vector<char> result(bytes_of(*calls[0]));
        ragged::detail::with_fold<T>(calls[0]->reduction, [&]<class Fold>(Fold) {
            for (std::size_t at = 0; at < result.size(); at += sizeof(T)) {
                const auto of = [&](const FakeOperation* call) {
                    T value;
                    std::memcpy(&value, static_cast<const char*>(call->from) + offset + at, sizeof(T));
                    return Fold::of(value);
                };
                auto all = of(calls[0]);
                for (std::size_t rank = 1; rank < calls.size(); ++rank)
                    all = Fold::fold(all, of(calls[rank]));
                const T rounded = Fold::back(all);
                std::memcpy(result.data() + at, &rounded, sizeof(T));
            }
        });
        return result;
    }

    FakeOptions options_;
    std::deque<FakeStream> streams_; // a deque, as handles point to them
    std::vector<std::unique_ptr<FakeComm>> comms_;
    std::map<std::tuple<FakeGroup*, int, int>, std::unique_ptr<FakeGroup>> split_groups_;
    std::map<std::array<char, 128>, std::unique_ptr<FakeGroup>> by_id_;
    std::vector<std::vector<std::string>> logs_;
    std::vector<std::map<std::string, int>> calls_;
    std::vector<std::string> complaints_;
    std::vector<int> questions_;
    std::deque<FakeEvent> orders_; // a deque, as streams point to them
};

inline void FakeStreamName::wait_for(const FakeStreamName& other) const {
    stream_->world->order(*stream_, *other.stream_);
}
inline void FakeStreamName::synchronise() const {
    stream_->world->synchronise(*stream_);
}
inline void FakeStreamName::enqueue(std::function<void()> body) const {
    FakeItem item{FakeItem::Kind::work};
    item.body = std::move(body);
    const std::lock_guard lock(stream_->world->mutex);
    stream_->world->enqueue(*stream_, std::move(item));
}

} // namespace support
