// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Shared by the ranks of one in-process communicator: where they meet, show each other their pointers, and
// learn that one of them failed or never came. Nothing here moves data.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/comm/shared_call.hpp>
#include <ragged/core/error.hpp>
#include <ragged/spec/dtype.hpp>

namespace ragged {

/// For tests of error paths: rank `rank` fails in its `call`-th collective (from 0) on the communicator.
struct LocalFault {
    int rank;
    std::int64_t call;
};

struct LocalOptions {
    std::chrono::milliseconds timeout{60'000}; // for a rank that does not come
    std::vector<LocalFault> faults{};
    /// Give each rank a thread that runs its operations while the rank computes; else wait() runs them.
    bool background = false;
};

namespace detail {

class LocalGroup {
  public:
    /// What one rank brings to a collective. Pointers stay valid until every rank has left.
    struct Call : SharedCall {
        Call() = default;
        Call(SharedCall shared, const std::vector<std::int64_t>* sends = nullptr,
             const std::vector<std::int64_t>* receives = nullptr, int split_color = 0, int split_key = 0)
            : SharedCall(std::move(shared))
            , send_counts(sends)
            , receive_counts(receives)
            , color(split_color)
            , key(split_key) {}

        const std::vector<std::int64_t>* send_counts = nullptr;
        const std::vector<std::int64_t>* receive_counts = nullptr;
        int color = 0, key = 0; // split
    };

    /// A message on its way. Lives on the sender's stack until the receiver took it.
    struct Mail {
        const void* data;
        std::int64_t count;
        DType dtype;
        bool taken = false;  // the receiver copies now
        bool copied = false; // the receiver is done with the memory
    };

    LocalGroup(int size, LocalOptions options)
        : options_(std::move(options))
        , calls_(static_cast<std::size_t>(size))
        , arrived_(static_cast<std::size_t>(size), false)
        , num_calls_(static_cast<std::size_t>(size), 0)
        , mail_(static_cast<std::size_t>(size * size))
        , children_(static_cast<std::size_t>(size)) {}

    int size() const { return static_cast<int>(calls_.size()); }
    const LocalOptions& options() const { return options_; }

    /// Every rank's call; stable between enter and leave.
    const Call& call(int rank) const { return calls_[static_cast<std::size_t>(rank)]; }
    const void* data(int rank) const { return call(rank).data; }

    /// Bring a call and wait until every rank brought one and all agree.
    /// @return that every rank's memory can be read: this is one process
    /// @throws CommError  an injected fault; a rank failed, did not come in time, or brought another call
    bool enter(int rank, const Call& own) {
        inject(rank, own.operation);
        {
            std::unique_lock lock(mutex_);
            if (failure_) // the others may still be comparing the calls that failed
                throw_locked(own.operation);
            calls_[static_cast<std::size_t>(rank)] = own;
            meet(lock, rank, own.operation, true); // same lock: a rank that gave up is never met
        }
        if (const auto found =
                disagreement(size(), [&](int each) -> const SharedCall& { return call(each); })) {
            fail(found->rank, own.operation, found->what);
            throw_failure(own.operation);
        }
        return true;
    }

    /// Wait until every rank is done. All of them are inside the collective, so this needs no time-out, and a
    /// rank never unwinds while another still reads its memory.
    void leave(int rank) {
        std::unique_lock lock(mutex_);
        meet(lock, rank, "leave", false);
    }

    /// Make the communicator fail on every rank. The first failure stays.
    void fail(int rank, std::string_view operation, std::string what) {
        std::unique_lock lock(mutex_);
        fail_locked(rank, operation, std::move(what));
    }

    void inject(int rank, std::string_view operation) {
        const std::int64_t index = num_calls_[static_cast<std::size_t>(rank)]++;
        for (const LocalFault& fault : options_.faults)
            if (fault.rank == rank && fault.call == index) {
                fail(rank, operation, concat("injected fault in call ", index));
                throw_failure(operation);
            }
    }

    void post(int from, int to, Mail& mail) {
        std::unique_lock lock(mutex_);
        box(from, to).push_back(&mail);
        changed_.notify_all();
    }

    /// The next message from `from`, marked taken. @throws CommError as enter
    Mail& take(int from, int to, std::string_view operation) {
        std::unique_lock lock(mutex_);
        std::deque<Mail*>& waiting = box(from, to);
        if (!changed_.wait_for(lock, options_.timeout, [&] { return !waiting.empty() || failure_; }))
            fail_locked(from, operation, concat("rank ", from, " sent nothing to rank ", to, late()));
        if (failure_)
            throw_locked(operation);
        Mail& mail = *waiting.front();
        waiting.pop_front();
        mail.taken = true;
        return mail;
    }

    void give_back(Mail& mail) {
        std::unique_lock lock(mutex_);
        mail.copied = true;
        changed_.notify_all();
    }

    /// Wait until the receiver copied; a message that nobody takes is withdrawn. @throws CommError as enter
    void wait_copied(int from, int to, Mail& mail, std::string_view operation) {
        std::unique_lock lock(mutex_);
        const bool in_time =
            changed_.wait_for(lock, options_.timeout, [&] { return mail.taken || mail.copied || failure_; });
        if (mail.taken)
            changed_.wait(lock, [&] { return mail.copied; });
        if (mail.copied)
            return;
        std::erase(box(from, to), &mail);
        if (!in_time)
            fail_locked(to, operation, concat("rank ", to, " took nothing from rank ", from, late()));
        throw_locked(operation);
    }

    /// Slot in which the first rank of a color leaves the new group for `rank`.
    std::shared_ptr<LocalGroup>& child(int rank) { return children_[static_cast<std::size_t>(rank)]; }

  private:
    struct Failure {
        int rank;
        std::string text;
    };

    std::deque<Mail*>& box(int from, int to) { return mail_[static_cast<std::size_t>(from * size() + to)]; }
    std::string late() const { return concat(" within ", options_.timeout.count(), " ms"); }

    /// A barrier. With `may_fail`, a late rank or a failure ends it.
    void meet(std::unique_lock<std::mutex>& lock, int rank, std::string_view operation, bool may_fail) {
        arrived_[static_cast<std::size_t>(rank)] = true;
        if (++num_arrived_ == size()) {
            num_arrived_ = 0;
            arrived_.assign(arrived_.size(), false);
            ++generation_;
            changed_.notify_all();
            return;
        }
        const std::uint64_t generation = generation_;
        const auto complete = [&] { return generation_ != generation; };
        if (!may_fail)
            return changed_.wait(lock, complete);
        const bool in_time =
            changed_.wait_for(lock, options_.timeout, [&] { return complete() || failure_.has_value(); });
        if (complete())
            return;
        if (!in_time) {
            std::string missing;
            int first = -1;
            for (int peer = 0; peer < size(); ++peer)
                if (!arrived_[static_cast<std::size_t>(peer)]) {
                    missing += concat(" ", peer);
                    first = first < 0 ? peer : first;
                }
            fail_locked(first, operation,
                        concat(missing.find(' ', 1) == std::string::npos ? "rank" : "ranks", missing,
                               " did not enter", late()));
        }
        throw_locked(operation);
    }

    void fail_locked(int rank, std::string_view operation, std::string what) {
        if (!failure_)
            failure_ = Failure{rank, concat(operation, ": ", what)};
        changed_.notify_all();
    }
    void throw_failure(std::string_view operation) {
        std::unique_lock lock(mutex_);
        throw_locked(operation);
    }
    [[noreturn]] void throw_locked(std::string_view operation) const {
        throw CommError(concat(failure_->text, " (seen by ", operation, ")"), std::string(operation),
                        failure_->rank);
    }

    LocalOptions options_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Call> calls_;
    std::vector<bool> arrived_;
    int num_arrived_ = 0;
    std::uint64_t generation_ = 0;
    std::vector<std::int64_t> num_calls_; // each rank touches its own
    std::optional<Failure> failure_;
    std::vector<std::deque<Mail*>> mail_; // [from * size + to]
    std::vector<std::shared_ptr<LocalGroup>> children_;
};

} // namespace detail
} // namespace ragged
