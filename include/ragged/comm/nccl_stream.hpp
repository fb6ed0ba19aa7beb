// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What one rank's NCCL communicator shares with all that were split from it: the stream on which their
// operations run in call order, the marks that tell how far it came, the open group, and the first failure.
// Host code; one thread at a time. Api is what talks to the engine: nccl_api.hpp has the real one.
#pragma once

#include <algorithm> // std::max, std::none_of
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ragged/buffer/memory_space.hpp>
#include <ragged/comm/nccl_error.hpp>
#include <ragged/comm/nccl_options.hpp>
#include <ragged/comm/nccl_scratch.hpp>

namespace ragged::detail {

template <class Api>
class NcclStream {
    using Comm = typename Api::Comm;
    using Stream = typename Api::Stream;

  public:
    /// A point in the stream; completions hold it. Free ones are used again, so a steady state creates none.
    struct Mark {
        typename Api::Event event{};
        int holders = 0;
        bool recorded = false;
    };

    NcclStream(Api api, Stream stream, const NcclOptions& options)
        : api_(std::move(api))
        , stream_(std::move(stream))
        , options_(options) {}
    NcclStream(const NcclStream&) = delete;
    NcclStream& operator=(const NcclStream&) = delete;
    ~NcclStream() {
        for (const Mark& mark : marks_)
            static_cast<void>(api_.destroy_event(mark.event));
    }

    /// Take what operations need later, as those allocate nothing. Synchronises as cudaMalloc does.
    void prepare(const NcclOperation& operation) {
        check(api_.device_of(stream_, device_), operation);
        check(api_.can_sum_fp8(device_, can_sum_fp8_), operation);
        const std::size_t least = static_cast<std::size_t>(operation.size); // a byte per rank
        check(scratch_.allocate(device_, std::max(std::size_t{1} << 16, least)), operation);
    }

    Api& api() { return api_; }
    const Stream& stream() const { return stream_; }
    const NcclOptions& options() const { return options_; }
    MemorySpace space() const { return MemorySpace::of_device(device_); }
    bool can_sum_fp8() const { return can_sum_fp8_; }
    bool in_group() const { return depth_ > 0; }
    bool failed() const { return failure_.has_value(); }

    const NcclScratch<Api>& scratch() const { return scratch_; }

    /// From now on the communicator in `slot` is polled, and aborted on failure; the slot is empty then. NCCL
    /// may fill the slot later.
    void join(Comm& slot) { comms_.push_back(&slot); }
    /// End an ordinary communicator: flush and free. Waits for its operations, at most for the time-out.
    /// After a failure, abort what is not gone already.
    void leave(Comm& slot, const NcclOperation& operation) noexcept {
        if (slot == Comm{})
            return;
        try {
            require_usable(operation); // NCCL fills the slot of a split even after its abort
            check(api_.finalize(slot), operation);
            settle(operation);
            static_cast<void>(api_.destroy(slot));
        } catch (...) {
            if (slot != Comm{}) // inside a group it is not aborted yet
                static_cast<void>(api_.abort(slot));
        }
        std::erase(comms_, &slot);
    }

    /// @throws the first failure, when there was one
    void require_usable(const NcclOperation& operation) const {
        if (failure_)
            throw_failure(concat(failure_->text, " (seen by ", operation.name, " on rank ", operation.rank,
                                 "; the communicator and those split from it are of no use any more)"),
                          std::string(operation.name));
    }

    /// NCCL's groups belong to the thread: what others call inside one starts late, and their marks would
    /// lie.
    /// @throws CommError  a group of another stream is open; nothing has failed then
    void require_own_group(const NcclOperation& operation) const {
        if (open_group() != nullptr && open_group() != this)
            throw CommError(concat(operation.text(), ": a group of another stream is open"),
                            std::string(operation.name), operation.rank);
    }

    /// Keep the first failure, abort every communicator of the family, throw. Inside a group the abort waits
    /// for the end of the group. @param blamed  a rank, or -1
    [[noreturn]] void fail(const NcclOperation& operation, const std::string& what, int blamed,
                           std::optional<NcclStatus> status) {
        if (!failure_)
            failure_ = Failure{concat(operation.text(), ": ", what), blamed, status};
        if (depth_ == 0)
            abort_all();
        throw_failure(failure_->text, std::string(operation.name));
    }
    /// Something that this rank asked for and that NCCL must not see. The other ranks may be in the
    /// collective already, so it is a failure like any other.
    [[noreturn]] void refuse(const NcclOperation& operation, const std::string& what) {
        fail(operation, what, operation.rank, std::nullopt);
    }

    /// @throws NcclError  the status is neither success nor in progress
    void check(NcclStatus status, const NcclOperation& operation) {
        if (status.ok() || status.in_progress())
            return;
        fail(operation,
             concat(status.library == NcclStatus::Library::nccl ? "NCCL" : "CUDA", " status ", status.code,
                    ", ", api_.text(status)),
             status == nccl_remote_error ? -1 : operation.rank, status);
    }

    /// Wait until the engine has taken what it was given; until then nothing of it is in the stream.
    void settle(const NcclOperation& operation) {
        poll(operation, [&] {
            return std::none_of(comms_.begin(), comms_.end(),
                                [&](const Comm* comm) { return state(*comm, operation).in_progress(); });
        });
    }

    /// Block the host until done(), looking out for errors of every communicator of the family: an operation
    /// of another one may be what holds up the stream. @throws NcclError  an error, or the time-out
    template <class Done>
    void poll(const NcclOperation& operation, const Done& done) {
        const auto start = std::chrono::steady_clock::now();
        for (int round = 0;; ++round) {
            look_for_errors(operation);
            if (done())
                return;
            if (std::chrono::steady_clock::now() - start >= options_.timeout)
                fail(operation, concat("not done within ", options_.timeout.count(), " ms"), -1,
                     nccl_in_progress);
            if (round < 64) // most waits are short
                std::this_thread::yield();
            else
                std::this_thread::sleep_for(std::chrono::microseconds(20));
        }
    }

    /// For NcclGroup. What is enqueued in between starts, and has its one mark, at the outermost end.
    void begin_group(const NcclOperation& operation) {
        require_usable(operation);
        require_own_group(operation);
        if (depth_ == 0)
            check(api_.group_start(), operation);
        ++depth_;
        open_group() = this;
    }
    void end_group(const NcclOperation& operation) {
        if (--depth_ > 0)
            return;
        open_group() = nullptr;
        const NcclStatus status = api_.group_end();
        Mark* const mark = std::exchange(group_mark_, nullptr);
        if (failure_)
            abort_all();
        require_usable(operation);
        check(status, operation);
        if (status.in_progress())
            settle(operation);
        if (mark != nullptr)
            finish(*mark, false, operation);
    }

    /// A mark for what is enqueued next; held once. Inside a group, the one mark of the group.
    Mark& take_mark(const NcclOperation& operation) {
        require_own_group(operation);
        if (depth_ == 0)
            return hold(free_mark(operation));
        if (group_mark_ == nullptr)
            group_mark_ = &free_mark(operation);
        return hold(*group_mark_);
    }
    static void drop(Mark& mark) noexcept { --mark.holders; }

    /// Everything of the operation is enqueued: put its mark behind it, unless a group is open.
    void finish(Mark& mark, bool in_progress, const NcclOperation& operation) {
        if (depth_ > 0)
            return;
        if (in_progress)
            settle(operation);
        check(api_.record_event(mark.event, stream_), operation);
        mark.recorded = true;
    }

    void wait(const Mark& mark, const NcclOperation& operation) {
        require_recorded(mark, operation);
        poll(operation, [&] { return reached(mark, operation); });
    }
    /// Whether wait() would return, or throw, at once: a failure that shows here is kept for it.
    bool done(const Mark& mark, const NcclOperation& operation) {
        if (failure_)
            return true;
        if (!mark.recorded)
            return false; // its group is open
        try {
            look_for_errors(operation);
            return reached(mark, operation);
        } catch (const CommError&) {
            return true;
        }
    }
    void wait(const Mark& mark, const Stream& other, const NcclOperation& operation) {
        require_recorded(mark, operation);
        check(api_.wait_event(other, mark.event), operation);
    }

  private:
    struct Failure {
        std::string text;
        int rank;
        std::optional<NcclStatus> status;
    };

    [[noreturn]] void throw_failure(const std::string& text, std::string operation) const {
        if (failure_->status)
            throw NcclError(text, std::move(operation), failure_->rank, *failure_->status);
        throw CommError(text, std::move(operation), failure_->rank);
    }

    NcclStatus state(Comm comm, const NcclOperation& operation) {
        NcclStatus asynchronous;
        if (comm == Comm{}) // not filled yet
            return asynchronous;
        check(api_.async_error(comm, asynchronous), operation);
        return asynchronous;
    }

    void look_for_errors(const NcclOperation& operation) {
        for (const Comm* comm : comms_)
            check(state(*comm, operation), operation);
    }
    bool reached(const Mark& mark, const NcclOperation& operation) {
        const NcclStatus status = api_.query_event(mark.event);
        check(status, operation);
        return status.ok();
    }

    void abort_all() noexcept {
        for (; !comms_.empty(); comms_.pop_back())
            if (Comm& slot = *comms_.back(); slot != Comm{})
                static_cast<void>(api_.abort(std::exchange(slot, Comm{})));
    }

    void require_recorded(const Mark& mark, const NcclOperation& operation) {
        require_usable(operation);
        if (!mark.recorded)
            refuse(operation, "waited for inside the group that starts it");
    }

    static const NcclStream*& open_group() {
        thread_local const NcclStream* stream = nullptr;
        return stream;
    }

    static Mark& hold(Mark& mark) {
        ++mark.holders;
        return mark;
    }
    Mark& free_mark(const NcclOperation& operation) {
        for (Mark& mark : marks_)
            if (mark.holders == 0) {
                mark.recorded = false;
                return mark;
            }
        typename Api::Event event{};
        check(api_.create_event(device_, event), operation);
        return marks_.emplace_back(Mark{event});
    }

    Api api_;
    Stream stream_;
    NcclOptions options_;
    int device_ = 0;
    bool can_sum_fp8_ = false;
    NcclScratch<Api> scratch_{api_};
    std::vector<Comm*> comms_; // of the family, in the order of their making
    std::deque<Mark> marks_;   // a deque, as completions point to them
    int depth_ = 0;
    Mark* group_mark_ = nullptr;
    std::optional<Failure> failure_;
};

} // namespace ragged::detail
