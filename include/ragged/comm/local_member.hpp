// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank's side of the in-process collectives: those of SharedMember, and the ones in which ranks bring
// different things.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ragged/comm/local_group.hpp>
#include <ragged/comm/shared_member.hpp>

namespace ragged::detail {

class LocalMember : public SharedMember<LocalGroup> {
    using Call = LocalGroup::Call;

  public:
    using SharedMember::SharedMember;

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
        const Meeting meeting(*this, Call{{.operation = "all_to_all_v", .dtype = dtype_of<T>, .data = send},
                                          &send_counts,
                                          &receive_counts});
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
            pull(to, data_of<T>(peer) + offset, count, peer);
            to += count;
        }
    }

    LocalMember split(int color, int key) const {
        if (color < 0)
            fail("split", concat("color ", color, " is negative"));
        const Meeting meeting(*this, Call{{.operation = "split"}, nullptr, nullptr, color, key});
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
    void check_message(int peer, std::int64_t count) const {
        if (count < 0)
            fail("send_receive", concat("count ", count, " is negative"));
        if (peer < 0 || peer >= size())
            fail("send_receive", concat("peer ", peer, " is not in [0, ", size(), ")"));
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
};

} // namespace ragged::detail
