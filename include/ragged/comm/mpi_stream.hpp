// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank's MPI operations, on the world and on what was split from it, one after the other in call order.
// An operation of MPI requests starts as soon as the ones before it are done, and moves on with every call
// here. One through shared memory runs when it, or one behind it, is waited for, and never before: each rank
// copies with its own core, so there is nothing to hide behind its computing, and a rank that began early
// would only wait for the others to be done reading.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <ragged/comm/mpi_error.hpp>
#include <ragged/comm/mpi_node_group.hpp>
#include <ragged/comm/mpi_roll_call.hpp>

namespace ragged::detail {

/// Requests on their way, and what to do when they are done.
struct MpiWork {
    std::vector<MPI_Request> requests;
    std::size_t num_done = 0;           // the first of them
    std::vector<std::int64_t> receives; // [requests] bytes that must come, or -1 for what is no receive
    std::vector<int> peers;             // [requests] the other side, or -1 for all ranks
    /// Called when all requests are done; may add more, and is then called again. Holds what they use.
    std::function<void(MpiWork&)> then;
    /// The comparison of the calls. It ends first, and throws before the others wait in vain.
    MPI_Request comparison = MPI_REQUEST_NULL;
    std::function<void()> compare; // none any more when the calls agree

    /// Keep the request that `start(MPI_Request*) -> MPI status` gives.
    template <class Start>
    void add(const Start& start, int peer = -1, std::int64_t receives_bytes = -1) {
        requests.push_back(MPI_REQUEST_NULL);
        receives.push_back(receives_bytes);
        peers.push_back(peer);
        check_mpi(start(&requests.back()), "MPI");
    }
};

struct MpiOperation {
    std::string name; // with what a message about it should tell: "all_gather of 12 f32 on rank 2 of 4"
    std::chrono::milliseconds timeout;
    MpiRollCall* roll; // of the communicator; start holds it
    bool waits;        // start() waits for other ranks
    std::function<void(MpiWork&)> start;
};

class MpiStream {
  public:
    MpiStream() = default;
    MpiStream(const MpiStream&) = delete;
    MpiStream& operator=(const MpiStream&) = delete;
    ~MpiStream() { release(); }

    /// @return what to wait for: a failure shows there, where the caller can ask who holds the memory
    std::uint64_t enqueue(MpiOperation operation) {
        if (!failure_)
            pending_.push_back(std::move(operation));
        try_to_move_on();
        return issued_++;
    }

    /// Whether run_through would return, or throw, at once; looks after the requests first.
    bool done(std::uint64_t ticket) {
        if (finished_ <= ticket)
            try_to_move_on();
        return finished_ > ticket || failure_;
    }

    /// Block until the operation is done, and with it all before it. @throws CommError
    void run_through(std::uint64_t ticket) {
        if (finished_ > ticket)
            return;
        if (failure_)
            std::rethrow_exception(failure_);
        guard([&] {
            while (finished_ <= ticket)
                finish_first();
        });
    }

    void join(const std::shared_ptr<MpiNodeGroup>& group, int rank) {
        std::erase_if(joined_, [](const auto& place) { return place.first.expired(); });
        joined_.emplace_back(group, rank);
    }

    /// The node of every communicator of this rank.
    void stay_in(const std::shared_ptr<MpiNode>& node) { node_ = node; }

    /// Fail every communicator of this rank whose ranks share memory; the others of them wait no longer.
    void abandon(const std::string& why) const {
        if (const auto node = node_.lock())
            node->lose();
        for (const auto& [place, rank] : joined_)
            if (const auto group = place.lock())
                group->fail(rank, "abandon", concat("rank ", rank, " left: ", why));
    }

    /// Whether a failed operation still owns the memory it was given: MPI cannot take collectives back.
    bool holds_memory() const { return holds_memory_; }

  private:
    template <class Body>
    void guard(const Body& body) {
        try {
            body();
        } catch (const std::exception& error) {
            failure_ = std::current_exception();
            if (running_) {
                holds_memory_ = !running_->requests.empty() || running_->comparison != MPI_REQUEST_NULL;
                const bool all_know = running_->comparison == MPI_REQUEST_NULL && running_->compare;
                if (holds_memory_ && !all_know) // it came, whatever went wrong then
                    pending_.front().roll->answer();
                release();
            }
            abandon(error.what());
            throw;
        }
    }

    /// What runs is not over: MPI may write through its requests until the process ends.
    void release() { static_cast<void>(running_.release()); }

    /// Keeps the failure for a wait.
    void try_to_move_on() {
        if (!failure_)
            try {
                guard([&] { move_on(); });
            } catch (const std::exception&) {
            }
    }

    /// Start the first operation when that waits for nobody, and look after its requests once.
    void move_on() {
        while (!pending_.empty() && !pending_.front().waits) {
            start();
            if (!test())
                return;
            pop();
        }
    }

    void finish_first() {
        start();
        const auto since = std::chrono::steady_clock::now();
        const auto& operation = pending_.front();
        for (int turn = 0; !test(); ++turn) {
            if (turn < 2)
                continue;
            std::this_thread::yield(); // on more ranks than cores up to twice as quick as polling, measured
            if (turn % 64 != 0)
                continue;
            operation.roll->listen();
            if (std::chrono::steady_clock::now() - since > operation.timeout)
                give_up();
        }
        pop();
        move_on();
    }

    void start() {
        if (running_)
            return;
        running_ = std::make_unique<MpiWork>();
        pending_.front().start(*running_);
    }

    void pop() {
        running_.reset();
        pending_.pop_front();
        ++finished_;
    }

    /// Whether the running operation is done.
    bool test() {
        MpiWork& work = *running_;
        const std::string& name = pending_.front().name;
        if (work.comparison != MPI_REQUEST_NULL) {
            int done = 0; // the test moves the other requests on as well
            check_mpi(MPI_Test(&work.comparison, &done, MPI_STATUS_IGNORE), name);
            if (done == 0)
                return false;
            work.compare();
            work.compare = nullptr;
        }
        while (true) {
            // one by one: MPI_Testall gives errors to the handler of MPI_COMM_WORLD, which ends the process
            for (; work.num_done < work.requests.size(); ++work.num_done) {
                MPI_Status status;
                int done = 0;
                check_mpi(MPI_Test(&work.requests[work.num_done], &done, &status), name);
                if (done == 0)
                    return false;
                check_length(status, work.receives[work.num_done]);
            }
            work.requests.clear();
            work.receives.clear();
            work.peers.clear();
            work.num_done = 0;
            if (work.then)
                work.then(work);
            if (work.requests.empty())
                return true;
        }
    }

    [[noreturn]] void give_up() {
        const MpiOperation& operation = pending_.front();
        const std::vector<int> missing = operation.roll->missing(awaited(), operation.timeout);
        std::string who = "not every rank came";
        if (!missing.empty()) {
            who = missing.size() == 1 ? "rank" : "ranks";
            for (const int rank : missing)
                who += concat(rank == missing.front() ? " " : ", ", rank);
            who += " did not come";
        }
        throw CommError(concat(operation.name, ": ", who, " within ", operation.timeout.count(), " ms"),
                        std::string(operation_name()), missing.empty() ? -1 : missing.front());
    }

    /// Whom the running operation may wait for. Who is done with it may be gone.
    std::vector<int> awaited() {
        MpiWork& work = *running_;
        std::set<int> peers;
        for (std::size_t i = work.num_done; i < work.requests.size(); ++i) {
            int done = 0;
            if (MPI_Test(&work.requests[i], &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done == 0)
                peers.insert(work.peers[i]);
        }
        if (work.comparison != MPI_REQUEST_NULL || peers.contains(-1))
            return pending_.front().roll->all();
        return {peers.begin(), peers.end()};
    }

    void check_length(const MPI_Status& status, std::int64_t wanted) const {
        if (wanted < 0)
            return;
        MPI_Count bytes = 0;
        MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
        if (bytes != wanted)
            throw CommError(concat(pending_.front().name, ": rank ", status.MPI_SOURCE, " sent ",
                                   static_cast<std::int64_t>(bytes), " bytes, expected are ", wanted),
                            std::string(operation_name()), status.MPI_SOURCE);
    }

    /// "all_gather" of "all_gather of 12 f32 on rank 2 of 4"
    std::string_view operation_name() const {
        const std::string_view name = pending_.front().name;
        return name.substr(0, name.find(' '));
    }

    std::deque<MpiOperation> pending_; // the first one may be running
    std::unique_ptr<MpiWork> running_;
    std::uint64_t issued_ = 0;
    std::uint64_t finished_ = 0;
    std::exception_ptr failure_;
    bool holds_memory_ = false;
    std::weak_ptr<MpiNode> node_;
    std::vector<std::pair<std::weak_ptr<MpiNodeGroup>, int>> joined_;
};

} // namespace ragged::detail
