// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank's side of the in-process collectives, blocking: meet the other ranks, copy straight from their
// memory, part. Sums are taken in rank order in accumulator_t, so every run gives the same bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <ragged/comm/communicator.hpp>
#include <ragged/comm/local_group.hpp>

namespace ragged::detail {

class LocalMember {
    using Call = LocalGroup::Call;

  public:
    LocalMember(std::shared_ptr<LocalGroup> group, int rank)
        : group_(std::move(group))
        , rank_(rank)
        , received_bytes_(std::make_shared<std::int64_t>(0)) {}

    int rank() const { return rank_; }
    int size() const { return group_->size(); }
    const std::shared_ptr<LocalGroup>& group() const { return group_; }
    std::int64_t received_bytes() const { return *received_bytes_; }

    template <class T>
    void all_gather(T* base, std::int64_t count) const {
        gather_parts(base, {.operation = "all_gather", .dtype = dtype_of<T>, .count = count, .data = base});
    }

    template <class T>
    void all_gather_v(T* base, const std::vector<std::int64_t>& counts) const {
        check_counts("all_gather_v", counts);
        gather_parts(base,
                     {.operation = "all_gather_v", .dtype = dtype_of<T>, .counts = counts, .data = base});
    }

    template <class T>
    void reduce_scatter(T* base, std::int64_t count) const {
        sum_part(base, {.operation = "reduce_scatter", .dtype = dtype_of<T>, .count = count, .data = base});
    }

    template <class T>
    void reduce_scatter_v(T* base, const std::vector<std::int64_t>& counts) const {
        check_counts("reduce_scatter_v", counts);
        sum_part(base,
                 {.operation = "reduce_scatter_v", .dtype = dtype_of<T>, .counts = counts, .data = base});
    }

    template <class T>
    void all_reduce(T* base, std::int64_t count) const {
        const Meeting meeting(
            *this, {.operation = "all_reduce", .dtype = dtype_of<T>, .count = count, .data = base});
        const auto start = [&](int rank) {
            return count / size() * rank + std::min<std::int64_t>(rank, count % size());
        };
        sum_into(base, start(rank_), start(rank_ + 1) - start(rank_));
        group_->leave(rank_); // every part is summed
        for (int step = 1; step < size(); ++step) {
            const int peer = (rank_ + step) % size();
            pull(base + start(peer), data_of<T>(peer) + start(peer), start(peer + 1) - start(peer), peer);
        }
    }

    template <class T>
    void broadcast(T* base, std::int64_t count, int root) const {
        if (root < 0 || root >= size())
            fail("broadcast", concat("root ", root, " is not in [0, ", size(), ")"));
        const Meeting meeting(
            *this,
            {.operation = "broadcast", .dtype = dtype_of<T>, .count = count, .root = root, .data = base});
        if (rank_ != root)
            pull(base, data_of<T>(root), count, root);
    }

    template <class T>
    void send_receive(const std::vector<Message<const T>>& sends,
                      const std::vector<Message<T>>& receives) const {
        group_->inject(rank_, "send_receive");
        for (const Message<const T>& message : sends)
            check_message(message.peer, message.count);
        for (const Message<T>& message : receives)
            check_message(message.peer, message.count);
        std::deque<LocalGroup::Mail> mails;
        for (const Message<const T>& message : sends) {
            mails.push_back({message.data, message.count, dtype_of<T>});
            group_->post(rank_, message.peer, mails.back());
        }
        std::exception_ptr failure; // own messages are withdrawn before it leaves
        try {
            for (const Message<T>& message : receives)
                receive(message);
        } catch (...) {
            failure = std::current_exception();
        }
        for (std::size_t i = 0; i < sends.size(); ++i)
            try {
                group_->wait_copied(rank_, sends[i].peer, mails[i], "send_receive");
            } catch (...) {
                failure = failure ? failure : std::current_exception();
            }
        if (failure)
            std::rethrow_exception(failure);
    }

    template <class T>
    void all_to_all_v(const T* send, const std::vector<std::int64_t>& send_counts, T* to,
                      const std::vector<std::int64_t>& receive_counts) const {
        if (send_counts.size() != static_cast<std::size_t>(size()) ||
            receive_counts.size() != send_counts.size())
            fail("all_to_all_v", concat("got ", send_counts.size(), " send and ", receive_counts.size(),
                                        " receive counts for ", size(), " ranks"));
        const Meeting meeting(*this, {.operation = "all_to_all_v",
                                      .dtype = dtype_of<T>,
                                      .send = send,
                                      .data = to,
                                      .send_counts = &send_counts,
                                      .receive_counts = &receive_counts});
        const auto sent = [&](int from, int into) {
            return (*group_->call(from).send_counts)[static_cast<std::size_t>(into)];
        };
        // The whole matrix, on every rank, before anything moves: the verdict is the same everywhere.
        for (int from = 0; from < size(); ++from)
            for (int into = 0; into < size(); ++into) {
                const auto expected = (*group_->call(into).receive_counts)[static_cast<std::size_t>(from)];
                if (sent(from, into) != expected || expected < 0)
                    fail("all_to_all_v", concat("rank ", from, " sends ", sent(from, into), " to rank ", into,
                                                ", which expects ", expected));
            }
        for (int peer = 0; peer < size(); ++peer) {
            std::int64_t offset = 0;
            for (int before = 0; before < rank_; ++before)
                offset += sent(peer, before);
            const std::int64_t count = sent(peer, rank_);
            pull(to, static_cast<const T*>(group_->call(peer).send) + offset, count, peer);
            to += count;
        }
    }

    void barrier() const { const Meeting meeting(*this, {.operation = "barrier"}); }

    LocalMember split(int color, int key) const {
        if (color < 0)
            fail("split", concat("color ", color, " is negative"));
        const Meeting meeting(*this, {.operation = "split", .color = color, .key = key});
        std::vector<std::pair<int, int>> members; // (key, rank)
        for (int rank = 0; rank < size(); ++rank)
            if (group_->call(rank).color == color)
                members.emplace_back(group_->call(rank).key, rank);
        std::sort(members.begin(), members.end());
        if (members.front().second == rank_) {
            const auto made = std::make_shared<LocalGroup>(static_cast<int>(members.size()),
                                                           LocalOptions{group_->options().timeout, {}});
            for (const auto& [member_key, member] : members)
                group_->child(member) = made;
        }
        group_->leave(rank_); // every group is made
        const auto self = std::find(members.begin(), members.end(), std::pair(key, rank_));
        return {std::exchange(group_->child(rank_), nullptr), static_cast<int>(self - members.begin())};
    }

  private:
    /// Between enter and leave every rank's memory may be read by all.
    class Meeting {
      public:
        Meeting(const LocalMember& self, const Call& own)
            : group_(*self.group_)
            , rank_(self.rank_) {
            group_.enter(rank_, own);
        }
        ~Meeting() { group_.leave(rank_); }
        Meeting(const Meeting&) = delete;
        Meeting& operator=(const Meeting&) = delete;

      private:
        LocalGroup& group_;
        int rank_;
    };

    [[noreturn]] void fail(std::string_view operation, const std::string& what) const {
        group_->fail(rank_, operation, what);
        throw CommError(concat(operation, ": ", what), std::string(operation), rank_);
    }

    void check_counts(std::string_view operation, const std::vector<std::int64_t>& counts) const {
        if (counts.size() != static_cast<std::size_t>(size()))
            fail(operation, concat("got ", counts.size(), " counts for ", size(), " ranks"));
    }

    void check_message(int peer, std::int64_t count) const {
        if (count < 0)
            fail("send_receive", concat("count ", count, " is negative"));
        if (peer < 0 || peer >= size())
            fail("send_receive", concat("peer ", peer, " is not in [0, ", size(), ")"));
    }

    template <class T>
    const T* data_of(int rank) const {
        return static_cast<const T*>(group_->call(rank).data);
    }

    template <class T>
    void pull(T* to, const T* from, std::int64_t count, int peer) const {
        if (count == 0)
            return;
        const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
        std::memcpy(to, from, bytes);
        if (peer != rank_)
            *received_bytes_ += static_cast<std::int64_t>(bytes);
    }

    template <class T>
    void receive(const Message<T>& message) const {
        LocalGroup::Mail& mail = group_->take(message.peer, rank_, "send_receive");
        if (mail.count == message.count && mail.dtype == dtype_of<T>) {
            pull(message.data, static_cast<const T*>(mail.data), message.count, message.peer);
            group_->give_back(mail);
            return;
        }
        const std::string what =
            concat("rank ", message.peer, " sent ", mail.count, " ", name(mail.dtype), " to rank ", rank_,
                   ", which expects ", message.count, " ", name(dtype_of<T>));
        group_->fail(message.peer, "send_receive", what);
        group_->give_back(mail);
        throw CommError(concat("send_receive: ", what), "send_receive", message.peer);
    }

    /// Every other rank's part, from that rank's memory.
    template <class T>
    void gather_parts(T* base, const Call& own) const {
        const Meeting meeting(*this, own);
        for (int peer = 0; peer < size(); ++peer)
            if (peer != rank_) {
                const std::int64_t start = own.start(peer);
                pull(base + start, data_of<T>(peer) + start, own.start(peer + 1) - start, peer);
            }
    }

    /// This rank's part, summed over all ranks.
    template <class T>
    void sum_part(T* base, const Call& own) const {
        const Meeting meeting(*this, own);
        sum_into(base, own.start(rank_), own.start(rank_ + 1) - own.start(rank_));
    }

    /// base[offset, offset + count) = the sum of the same elements of all ranks, in rank order.
    template <class T>
    void sum_into(T* base, std::int64_t offset, std::int64_t count) const {
        using Sum = accumulator_t<T>;
        constexpr std::int64_t chunk = 1024;
        Sum sums[chunk];
        for (std::int64_t done = 0; done < count; done += chunk) {
            const std::int64_t length = std::min(chunk, count - done);
            for (int peer = 0; peer < size(); ++peer) {
                const T* from = data_of<T>(peer) + offset + done;
                prefetch_ahead(from, static_cast<std::size_t>(length) * sizeof(T));
                if (peer == 0)
                    for (std::int64_t i = 0; i < length; ++i)
                        sums[i] = static_cast<Sum>(from[i]);
                else
                    for (std::int64_t i = 0; i < length; ++i)
                        sums[i] += static_cast<Sum>(from[i]);
            }
            for (std::int64_t i = 0; i < length; ++i)
                base[offset + done + i] = static_cast<T>(sums[i]);
        }
        *received_bytes_ += (size() - 1) * count * static_cast<std::int64_t>(sizeof(T));
    }

    std::shared_ptr<LocalGroup> group_;
    int rank_;
    std::shared_ptr<std::int64_t> received_bytes_; // shared by copies of this rank's handle
};

} // namespace ragged::detail
