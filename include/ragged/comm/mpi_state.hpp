// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What all handles of one rank of one MPI communicator share, and the steps that its operations are made of.
#pragma once

#include <algorithm> // std::find, std::min
#include <cstdint>
#include <iterator> // std::ssize
#include <memory>
#include <numeric> // std::accumulate, std::iota
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/comm/mpi_calls.hpp>
#include <ragged/comm/mpi_options.hpp>
#include <ragged/comm/mpi_stream.hpp>
#include <ragged/comm/shared_member.hpp>
#include <ragged/core/hash.hpp>

namespace ragged::detail {

struct MpiState {
    using Member = SharedMember<MpiNodeGroup>;

    MPI_Comm comm; // owned
    MpiOptions options;
    std::shared_ptr<MpiNode> node;
    int rank = 0, size = 1;
    std::optional<Member> member; // when the ranks share memory
    MpiRollCall roll;

    /// @param shared  the node of the world; none for the world itself. Collective. @throws MpiError
    MpiState(MPI_Comm own, const MpiOptions& wanted, std::shared_ptr<MpiNode> shared)
        : comm(own)
        , options(wanted)
        , node(shared ? std::move(shared) : std::make_shared<MpiNode>(comm, options.timeout))
        , roll(comm) {
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        int wanted_by_all = options.shared_memory ? 1 : 0;
        check_mpi(MPI_Allreduce(MPI_IN_PLACE, &wanted_by_all, 1, MPI_INT, MPI_MIN, comm), "MpiCommunicator");
        options.shared_memory = wanted_by_all == 1;
        if (options.shared_memory && size > 1) // one rank meets nobody, and takes no block from others
            meet_in_shared_memory();
    }
    MpiState(const MpiState&) = delete;
    MpiState& operator=(const MpiState&) = delete;
    ~MpiState() {
        if (!node->lost())
            MPI_Comm_free(&comm);
    }

    template <class T>
    void send(const T* from, std::int64_t count, int peer, MpiWork& work) const {
        work.add(
            [&](MPI_Request* request) {
                return mpi::isend(from, count * static_cast<std::int64_t>(sizeof(T)), peer, tag, comm,
                                  request);
            },
            peer);
    }
    template <class T>
    void receive(T* to, std::int64_t count, int peer, MpiWork& work) const {
        const std::int64_t bytes = count * static_cast<std::int64_t>(sizeof(T));
        work.add([&](MPI_Request* request) { return mpi::irecv(to, bytes, peer, tag, comm, request); }, peer,
                 bytes);
    }

    /// Exchange what every rank calls, beside the operation. A difference is an error on every rank that is
    /// in the operation, also where MPI would wait or write too much.
    void compare(const SharedCall& call, MpiWork& work) const {
        const auto records = std::make_shared<std::vector<Record>>(static_cast<std::size_t>(size));
        (*records)[static_cast<std::size_t>(rank)] = record_of(call);
        check_mpi(mpi::iall_gather(records->data(), sizeof(Record), comm, &work.comparison), call.operation);
        work.compare = [records, operation = std::string(call.operation)] {
            const auto found = disagreement(static_cast<int>(records->size()), [&](int each) {
                return (*records)[static_cast<std::size_t>(each)].call.call();
            });
            if (found)
                throw CommError(concat(operation, ": ", found->what), operation, found->rank);
            for (std::size_t each = 1; each < records->size(); ++each)
                if ((*records)[each].counts != (*records)[0].counts)
                    throw CommError(
                        concat(operation, ": rank ", each, " called it with other counts than rank 0"),
                        operation, static_cast<int>(each));
        };
    }

    /// What this rank alone can say of its call.
    void check(const SharedCall& call) const {
        std::int64_t least = call.count;
        for (const std::int64_t count : call.counts)
            least = std::min(least, count);
        if (least < 0)
            fail(call.operation, concat("count ", least, " is negative"));
        const bool one_each = call.operation == "all_gather_v" || call.operation == "reduce_scatter_v";
        if (one_each && std::ssize(call.counts) != size)
            fail(call.operation, concat("got ", call.counts.size(), " counts for ", size, " ranks"));
        if (call.root < 0 || call.root >= size)
            fail(call.operation, concat("root ", call.root, " is not in [0, ", size, ")"));
    }
    void check_message(std::string_view operation, int peer, std::int64_t count) const {
        if (count < 0)
            fail(operation, concat("count ", count, " is negative"));
        if (peer < 0 || peer >= size)
            fail(operation, concat("peer ", peer, " is not in [0, ", size, ")"));
    }
    [[noreturn]] void fail(std::string_view operation, const std::string& what) const {
        throw CommError(concat(operation, ": ", what), std::string(operation), rank);
    }

  private:
    static constexpr int tag = 2;

    struct Record {
        CallRecord call;      // its count is the sum of the counts
        std::uint64_t counts; // a hash
    };

    static Record record_of(const SharedCall& call) {
        Record record{CallRecord::of(call), 0};
        record.call.count = std::accumulate(call.counts.begin(), call.counts.end(), call.count);
        Hash hash;
        for (const std::int64_t count : call.counts)
            hash.add(count);
        record.counts = hash.value();
        return record;
    }

    void meet_in_shared_memory() {
        std::vector<int> ranks(static_cast<std::size_t>(size)), members(ranks);
        std::iota(ranks.begin(), ranks.end(), 0);
        MPI_Group own = MPI_GROUP_NULL, in_node = MPI_GROUP_NULL;
        MPI_Comm_group(comm, &own);
        MPI_Comm_group(node->comm(), &in_node);
        MPI_Group_translate_ranks(own, size, ranks.data(), in_node, members.data());
        MPI_Group_free(&own);
        MPI_Group_free(&in_node);
        if (std::find(members.begin(), members.end(), MPI_UNDEFINED) != members.end())
            return; // on every rank: each has some that are elsewhere
        int block = rank == 0 ? node->take_block(size) : -1;
        check_mpi(MPI_Bcast(&block, 1, MPI_INT, 0, comm), "split");
        if (block >= 0)
            member.emplace(
                std::make_shared<MpiNodeGroup>(node, block, std::move(members), comm, options.timeout), rank);
    }
};

} // namespace ragged::detail
