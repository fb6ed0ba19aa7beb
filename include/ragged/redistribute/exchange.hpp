// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One rank's side of an exchange: at most one message to and from each other rank, whatever the number of
// tensors and runs. A message that is one run on a side goes straight from or into its array there; others
// are packed, and unpacked, by one copy for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ragged/layout/copy_run.hpp>
#include <ragged/redistribute/stage.hpp>
#include <ragged/redistribute/transfer_list.hpp>

namespace ragged::detail {

/// Where a rank has its part of each tensor in an array: elements from the array's start.
using Starts = std::vector<std::int64_t>;

struct Exchange {
    struct Part {
        int peer;
        bool packed; // in the array of packed parts, else in the array itself
        std::int64_t offset, elements;
    };

    std::vector<Part> sends, receives; // ascending by peer, none empty
    std::vector<CopyRun> kept;         // from the source array to the destination array
    std::vector<CopyRun> pack;         // from the source array to the packed parts that are sent
    std::vector<CopyRun> unpack;       // from the packed parts that are received to the destination array
    std::int64_t pack_elems = 0, unpack_elems = 0;
};

/// Append a run, joined to the last run where it goes on there.
inline void append_run(std::vector<CopyRun>& runs, std::int64_t from, std::int64_t to,
                       std::int64_t elements) {
    if (!runs.empty() && runs.back().from + runs.back().elements == from &&
        runs.back().to + runs.back().elements == to)
        runs.back().elements += elements;
    else if (elements > 0)
        runs.push_back({from, to, elements});
}

/// @param sources, destinations  where this rank has the tensors of `from` and of `to`
inline Exchange make_exchange(const Stage& from, const Stage& to, const std::vector<std::int64_t>& match,
                              int rank, int num_ranks, const Starts& sources, const Starts& destinations) {
    // per peer: from is the place in this rank's array, to the place in the message
    std::vector<std::vector<CopyRun>> out(static_cast<std::size_t>(num_ranks)), in = out;
    std::vector<std::int64_t> out_elems(out.size()), in_elems(out.size());
    Exchange exchange;
    for_each_transfer(from, to, match, [&](const Transfer& transfer) {
        const auto tensor = static_cast<std::size_t>(transfer.tensor);
        const auto source = [&] { return sources[static_cast<std::size_t>(match[tensor])] + transfer.from; };
        const auto destination = [&] { return destinations[tensor] + transfer.to; };
        if (transfer.from_rank == rank && transfer.to_rank == rank) {
            append_run(exchange.kept, source(), destination(), transfer.elements);
        } else if (transfer.from_rank == rank) {
            const auto peer = static_cast<std::size_t>(transfer.to_rank);
            append_run(out[peer], source(), out_elems[peer], transfer.elements);
            out_elems[peer] += transfer.elements;
        } else if (transfer.to_rank == rank) {
            const auto peer = static_cast<std::size_t>(transfer.from_rank);
            append_run(in[peer], destination(), in_elems[peer], transfer.elements);
            in_elems[peer] += transfer.elements;
        }
    });
    for (std::size_t peer = 0; peer < out.size(); ++peer) {
        if (out[peer].size() == 1)
            exchange.sends.push_back(
                {static_cast<int>(peer), false, out[peer].front().from, out_elems[peer]});
        else if (out[peer].size() > 1) {
            exchange.sends.push_back({static_cast<int>(peer), true, exchange.pack_elems, out_elems[peer]});
            for (const CopyRun& run : out[peer])
                exchange.pack.push_back({run.from, exchange.pack_elems + run.to, run.elements});
            exchange.pack_elems += out_elems[peer];
        }
        if (in[peer].size() == 1)
            exchange.receives.push_back(
                {static_cast<int>(peer), false, in[peer].front().from, in_elems[peer]});
        else if (in[peer].size() > 1) {
            exchange.receives.push_back(
                {static_cast<int>(peer), true, exchange.unpack_elems, in_elems[peer]});
            for (const CopyRun& run : in[peer])
                exchange.unpack.push_back({exchange.unpack_elems + run.to, run.from, run.elements});
            exchange.unpack_elems += in_elems[peer];
        }
    }
    return exchange;
}

} // namespace ragged::detail
