// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One in-process rank's operations on all its communicators, one after the other in call order: an earlier
// operation always runs first, so ranks that wait in different orders still meet in call order. They run when
// one of them is waited for, or, in the background, on a thread of their own as soon as they are called.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <ragged/comm/local_group.hpp>

namespace ragged::detail {

/// Called from the rank's own thread. Operations must not hold the stream: their thread would end itself.
class LocalStream {
  public:
    explicit LocalStream(bool background) {
        if (background)
            thread_ = std::thread([this] { run_all(); });
    }
    LocalStream(const LocalStream&) = delete;
    LocalStream& operator=(const LocalStream&) = delete;
    /// Nobody can wait for what is not done yet. What has not begun never does, as without a thread; the
    /// running one may be waiting for ranks that never come, so it fails, and with it those that wait for it.
    ~LocalStream() {
        if (!thread_.joinable())
            return;
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
            if (finished_ < issued_ && !failure_)
                abandon_locked("it dropped its communicators before its operations were done");
        }
        changed_.notify_all();
        thread_.join();
    }

    /// @return what to wait for
    std::uint64_t enqueue(std::function<void()> operation) {
        const std::lock_guard lock(mutex_);
        if (!failure_)
            pending_.push_back(std::move(operation));
        changed_.notify_all();
        return issued_++;
    }

    /// Block until the operation is done, and with it all before it. @throws the first failure
    void run_through(std::uint64_t ticket) {
        std::unique_lock lock(mutex_);
        if (thread_.joinable())
            changed_.wait(lock, [&] { return is_over(ticket); });
        else
            while (!is_over(ticket))
                run_first(lock);
        if (finished_ <= ticket)
            std::rethrow_exception(failure_);
    }

    /// Whether run_through would only look.
    bool done(std::uint64_t ticket) const {
        const std::lock_guard lock(mutex_);
        return is_over(ticket);
    }

    void join(const std::shared_ptr<LocalGroup>& group, int rank) {
        const std::lock_guard lock(mutex_);
        std::erase_if(joined_, [](const auto& place) { return place.first.expired(); });
        joined_.emplace_back(group, rank);
    }

    /// Fail every communicator of this rank.
    void abandon(std::string_view why) const {
        const std::lock_guard lock(mutex_);
        abandon_locked(why);
    }

  private:
    bool is_over(std::uint64_t ticket) const { return finished_ > ticket || failure_; }

    void abandon_locked(std::string_view why) const {
        for (const auto& [place, rank] : joined_)
            if (const auto group = place.lock())
                group->fail(rank, "abandon", concat("rank ", rank, " left: ", why));
    }

    void run_all() {
        std::unique_lock lock(mutex_);
        while (true) {
            changed_.wait(lock, [&] { return closing_ || !pending_.empty(); });
            if (closing_)
                return;
            run_first(lock);
        }
    }

    void run_first(std::unique_lock<std::mutex>& lock) {
        std::function<void()> operation = std::move(pending_.front());
        pending_.pop_front();
        lock.unlock();
        std::exception_ptr failure;
        std::string why;
        try {
            operation();
        } catch (const std::exception& error) {
            failure = std::current_exception();
            why = error.what();
        }
        operation = nullptr; // what it holds goes before anybody hears that it is done
        lock.lock();
        if (failure) {
            failure_ = failure;
            pending_.clear(); // they would find no peers
            abandon_locked(why);
        } else {
            ++finished_;
        }
        changed_.notify_all();
    }

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    // Each group and the rank in it. Peers that wait in a group keep it alive, even when this rank dropped
    // it.
    std::vector<std::pair<std::weak_ptr<LocalGroup>, int>> joined_;
    std::deque<std::function<void()>> pending_;
    std::uint64_t issued_ = 0;
    std::uint64_t finished_ = 0;
    std::exception_ptr failure_;
    bool closing_ = false;
    std::thread thread_; // in the background
};

} // namespace ragged::detail
