// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What must travel between two layouts of the same tensors, over the same mesh or different ones: a sweep
// over the runs of both, sorted by where they lie in the tensor. Linear in the runs; no rank is compared with
// another.
//
//     for (const ragged::Transfer& t : ragged::transfer_list(on_64_ranks, on_96_ranks)) ...
//     ragged::cost(on_64_ranks, on_96_ranks, ragged::DType::bf16).received_bytes[rank];
#pragma once

#include <algorithm> // std::sort, std::is_sorted, std::min
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include <ragged/core/integer.hpp>
#include <ragged/redistribute/stage.hpp>
#include <ragged/spec/dtype.hpp>

namespace ragged {

/// A contiguous run on both sides. Positions count from the first element that the rank holds of the tensor.
struct Transfer {
    std::int64_t tensor; // of the destination layout
    std::int64_t from_rank, from;
    std::int64_t to_rank, to;
    std::int64_t elements;

    constexpr bool operator==(const Transfer&) const = default;
};

namespace detail {

/// What one rank holds, run by run.
struct HeldRun {
    std::int64_t global, local, elements, rank;
};

/// The runs of one tensor on the ranks of a stage, ascending: a partition of its elements.
inline void held_runs(const Stage& stage, std::int64_t tensor, const std::vector<std::int64_t>& primaries,
                      std::vector<HeldRun>& runs) {
    runs.clear();
    const Holders holders = stage.holders(tensor);
    const auto end = std::min(holders.end, static_cast<std::int64_t>(primaries.size()));
    for (std::int64_t i = holders.first; i < end; ++i) {
        const std::int64_t rank = primaries[static_cast<std::size_t>(i)];
        stage.portion(tensor, rank)
            .for_each_run([&](std::int64_t global, std::int64_t local, std::int64_t elements) {
                runs.push_back({global, local, elements, rank});
            });
    }
    const auto before = [](const HeldRun& a, const HeldRun& b) { return a.global < b.global; };
    if (!std::is_sorted(runs.begin(), runs.end(), before))
        std::sort(runs.begin(), runs.end(), before);
}

/// Call visit(Transfer) for everything that ranks hold in `to`, also what they hold in `from` already. A rank
/// takes what it has itself, else from the rank at its own coordinates along the axes that replicate.
/// @param match  of match_tensors
template <class Visit>
void for_each_transfer(const Stage& from, const Stage& to, const std::vector<std::int64_t>& match,
                       const Visit& visit) {
    const std::vector<std::int64_t> sources = from.primaries(), destinations = to.primaries(),
                                    replicas = to.replicas();
    std::vector<HeldRun> held, wanted;
    std::vector<Transfer> pairs; // between primaries
    struct Last {
        std::int64_t tensor = -1;
        std::size_t pair = 0;
    };
    std::vector<Last> last(static_cast<std::size_t>(from.num_ranks())); // pair that each source is in
    for (std::int64_t tensor = 0; tensor < to.num_tensors(); ++tensor) {
        const std::int64_t source = match[static_cast<std::size_t>(tensor)];
        if (source < 0 || to.shape(tensor).elements() == 0)
            continue;
        held_runs(from, source, sources, held);
        held_runs(to, tensor, destinations, wanted);
        pairs.clear();
        std::int64_t at = 0;
        for (std::size_t h = 0, w = 0; h < held.size() && w < wanted.size();) {
            const HeldRun &a = held[h], &b = wanted[w];
            const std::int64_t a_end = a.global + a.elements, b_end = b.global + b.elements;
            const std::int64_t end = std::min(a_end, b_end);
            const Transfer next{tensor,  a.rank, a.local + at - a.global, b.rank, b.local + at - b.global,
                                end - at};
            Last& previous = last[static_cast<std::size_t>(a.rank)];
            Transfer* const pair = previous.tensor == tensor ? &pairs[previous.pair] : nullptr;
            if (pair != nullptr && pair->to_rank == next.to_rank &&
                pair->from + pair->elements == next.from && pair->to + pair->elements == next.to) {
                pair->elements += next.elements;
            } else {
                previous = {tensor, pairs.size()};
                pairs.push_back(next);
            }
            h += a_end == end ? 1 : 0;
            w += b_end == end ? 1 : 0;
            at = end;
        }
        for (const Transfer& pair : pairs)
            for (const std::int64_t replica : replicas) {
                Transfer transfer = pair;
                transfer.to_rank += replica;
                transfer.from_rank = from.nearest(pair.from_rank, transfer.to_rank);
                visit(transfer);
            }
    }
}

template <class From, class To>
constexpr void require_values() {
    require_group_layouts<From, To>();
    constexpr auto has_partial = [](const auto& kinds) {
        for (const PlacementKind& kind : kinds)
            if (kind.kind == PlacementKind::Kind::partial)
                return true;
        return false;
    };
    static_assert(
        !has_partial(From::placements_type::kinds) && !has_partial(To::placements_type::kinds),
        "ragged: a partial tensor has contributions, not values, to send; redistribute it over a Mesh, "
        "which reduces it");
}

} // namespace detail

/// What a transfer list moves, in bytes.
struct TransferCost {
    struct Pair {
        std::int64_t from_rank, to_rank, bytes;

        constexpr bool operator==(const Pair&) const = default;
    };
    std::vector<Pair> pairs;                  // of different ranks, ascending
    std::vector<std::int64_t> sent_bytes;     // by rank of the source layout
    std::vector<std::int64_t> received_bytes; // by rank of the destination layout
    std::int64_t moved_bytes = 0;             // between different ranks
    std::int64_t kept_bytes = 0;              // within a rank
};

namespace detail {

inline std::vector<Transfer> transfers_between(const Stage& from, const Stage& to) {
    std::vector<Transfer> transfers;
    for_each_transfer(from, to, match_tensors(from, to),
                      [&](const Transfer& transfer) { transfers.push_back(transfer); });
    return transfers;
}

inline TransferCost cost_between(const Stage& from, const Stage& to, DType dtype) {
    TransferCost result;
    result.sent_bytes.resize(static_cast<std::size_t>(from.num_ranks()));
    result.received_bytes.resize(static_cast<std::size_t>(to.num_ranks()));
    const std::int64_t num_receivers = to.num_ranks();
    std::unordered_map<std::int64_t, std::int64_t> between; // from * receivers + to -> bytes
    const auto add = [](std::int64_t& sum, std::int64_t bytes) {
        sum = checked_add(sum, bytes, "bytes of a redistribution");
    };
    for_each_transfer(from, to, match_tensors(from, to), [&](const Transfer& transfer) {
        const std::int64_t bytes =
            checked_mul(transfer.elements, size_bytes(dtype), "bytes of a redistribution");
        add(transfer.from_rank == transfer.to_rank
                ? result.kept_bytes
                : between[transfer.from_rank * num_receivers + transfer.to_rank],
            bytes);
    });
    for (const auto& [key, bytes] : between) {
        const std::int64_t sender = key / num_receivers, receiver = key % num_receivers;
        result.pairs.push_back({sender, receiver, bytes});
        add(result.moved_bytes, bytes); // not less than what one rank sends or receives
        result.sent_bytes[static_cast<std::size_t>(sender)] += bytes;
        result.received_bytes[static_cast<std::size_t>(receiver)] += bytes;
    }
    std::sort(result.pairs.begin(), result.pairs.end(), [](const auto& a, const auto& b) {
        return a.from_rank != b.from_rank ? a.from_rank < b.from_rank : a.to_rank < b.to_rank;
    });
    return result;
}

} // namespace detail

/// The shortest list that fills every rank of `to` from ranks of `from`. What a rank holds already is in it,
/// with from_rank == to_rank. Ranks of both layouts are those of one world. Local; equal on every rank.
/// @throws PlanError  the layouts are not of the same tensors (one may have more)
template <class From, class To>
std::vector<Transfer> transfer_list(const From& from, const To& to) {
    detail::require_values<From, To>();
    return detail::transfers_between(detail::Stage(from), detail::Stage(to));
}

/// Known before anything moves. No list moves less: a rank receives what it does not hold. Of values: layouts
/// with a Partial axis, whose reductions move what the README's table says, do not compile.
/// @throws PlanError  as transfer_list; bytes of all ranks beyond 64 bits
template <class From, class To>
TransferCost cost(const From& from, const To& to, DType dtype) {
    detail::require_values<From, To>();
    return detail::cost_between(detail::Stage(from), detail::Stage(to), dtype);
}

} // namespace ragged
