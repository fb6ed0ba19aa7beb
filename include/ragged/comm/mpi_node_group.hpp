// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks of one communicator as processes of one node: where they meet, show each other their memory, and
// learn that one of them failed or never came. The Group of SharedMember for processes.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <iterator> // std::ssize
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <ragged/comm/mpi_node.hpp>
#include <ragged/comm/shared_call.hpp>

namespace ragged::detail {

class MpiNodeGroup {
  public:
    /// @param block    taken for members.size() ranks
    /// @param members  [ranks] their ranks in the node
    /// @param comm     of the ranks; waiting moves its messages on
    MpiNodeGroup(std::shared_ptr<MpiNode> node, int block, std::vector<int> members, MPI_Comm comm,
                 std::chrono::milliseconds timeout)
        : node_(std::move(node))
        , block_(block)
        , members_(std::move(members))
        , comm_(comm)
        , timeout_(timeout) {}
    MpiNodeGroup(const MpiNodeGroup&) = delete;
    MpiNodeGroup& operator=(const MpiNodeGroup&) = delete;
    ~MpiNodeGroup() {
        if (!node_->lost())
            node_->leave_block(block_);
    }

    int size() const { return static_cast<int>(members_.size()); }

    /// See SharedMember. @throws CommError  a rank failed, did not come in time, or brought another call
    bool enter(int rank, const SharedCall& own) {
        operation_ = own.operation;
        MpiRecord& record = node_->record(block_, rank);
        const MpiNode::Address address = node_->find(own.data);
        record.call = CallRecord::of(own);
        record.window = own.data == nullptr ? nothing : address.window;
        record.offset = address.offset;
        record.num_counts = std::ssize(own.counts);
        std::copy(own.counts.begin(), own.counts.end(), node_->counts(block_, rank));
        meet(rank, "enter");
        if (const auto found = disagreement(size(), [&](int each) { return call(each); })) {
            fail(found->rank, operation_, found->what);
            throw_failure();
        }
        for (int each = 0; each < size(); ++each)
            if (node_->record(block_, each).window == -1)
                return false;
        return true;
    }

    const void* data(int rank) const {
        const MpiRecord& record = node_->record(block_, rank);
        return record.window < 0
                   ? nullptr
                   : node_->address({record.window, record.offset}, members_[static_cast<std::size_t>(rank)]);
    }

    void leave(int rank) { meet(rank, "leave"); }

    /// Make the calls of all ranks fail. The first failure stays.
    void fail(int rank, std::string_view operation, std::string_view what) {
        MpiBlock& block = node_->block(block_);
        node_->lose();
        std::uint32_t first = 0;
        if (!block.failing.compare_exchange_strong(first, 1))
            return;
        const auto put = [](auto& field, std::string_view text) {
            field[text.copy(field, sizeof field - 1)] = '\0';
        };
        block.failed_rank = rank;
        put(block.operation, operation);
        put(block.text, concat(operation, ": ", what));
        block.state.fetch_or(1);
    }

  private:
    static constexpr std::int32_t nothing = -2; // no memory to read, such as that of 0 elements

    SharedCall call(int rank) const {
        const MpiRecord& record = node_->record(block_, rank);
        const std::int64_t* const counts = node_->counts(block_, rank);
        SharedCall call = record.call.call();
        call.counts.assign(counts, counts + record.num_counts);
        return call;
    }

    /// A barrier that a late rank or a failure ends. Arrivals and the failure share one word: a rank that
    /// gave up is never met.
    void meet(int rank, std::string_view what) {
        std::atomic<std::uint64_t>& state = node_->block(block_).state;
        std::uint64_t seen = state.load();
        do {
            if ((seen & 1) != 0)
                throw_failure();
        } while (!state.compare_exchange_weak(seen, seen + 2));
        node_->record(block_, rank).phase = ++phase_; // not before: a rank that ends between has not come

        const std::uint64_t complete = 2 * phase_ * static_cast<std::uint64_t>(size());
        const auto start = std::chrono::steady_clock::now();
        for (int turn = 0; (seen = state.load()) < complete; ++turn) {
            if ((seen & 1) != 0)
                throw_failure();
            if (turn < 64)
                continue;
            std::this_thread::yield();
            if (turn % 64 != 0)
                continue;
            int arrived = 0;
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &arrived, MPI_STATUS_IGNORE);
            if (std::chrono::steady_clock::now() - start > timeout_)
                give_up(what);
        }
    }

    void give_up(std::string_view what) {
        std::string missing;
        int first = -1, number = 0;
        for (int peer = 0; peer < size(); ++peer)
            if (node_->record(block_, peer).phase < phase_) {
                missing += concat(" ", peer);
                first = first < 0 ? peer : first;
                ++number;
            }
        if (first < 0)
            return; // the last one comes just now
        fail(first, operation_,
             concat(number == 1 ? "rank" : "ranks", missing, " did not ", what, " within ", timeout_.count(),
                    " ms"));
        throw_failure();
    }

    [[noreturn]] void throw_failure() {
        const MpiBlock& block = node_->block(block_);
        node_->lose();
        for (int turn = 0; (block.state.load() & 1) == 0; ++turn) { // its text is being written
            std::this_thread::yield();
            if (turn > 1'000'000)
                throw CommError(concat(operation_, ": a rank ended while it reported a failure"), operation_,
                                -1);
        }
        throw CommError(concat(block.text, " (seen by ", operation_, ")"), block.operation,
                        block.failed_rank);
    }

    std::shared_ptr<MpiNode> node_;
    int block_;
    std::vector<int> members_;
    MPI_Comm comm_;
    std::chrono::milliseconds timeout_;
    std::uint64_t phase_ = 0;
    std::string operation_;
};

} // namespace ragged::detail
