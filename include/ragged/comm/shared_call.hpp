// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What one rank brings to a collective, for the others to compare with theirs and to read from.
#pragma once

#include <algorithm> // std::min
#include <cstdint>
#include <numeric> // std::accumulate
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/comm/communicator.hpp> // Reduction
#include <ragged/core/error.hpp>
#include <ragged/spec/dtype.hpp>

namespace ragged::detail {

struct SharedCall {
    std::string_view operation;
    DType dtype = DType::u8;
    std::int64_t count = 0;
    // v forms: one per rank, instead of `count` for all. A copy: ranks that disagree part without meeting.
    std::vector<std::int64_t> counts{};
    int root = 0;                         // of a broadcast
    Reduction reduction = Reduction::sum; // of what reduces
    const void* data = nullptr;

    /// Where the part of `rank` begins.
    std::int64_t start(int rank) const {
        return counts.empty() ? rank * count
                              : std::accumulate(counts.begin(), counts.begin() + rank, std::int64_t{0});
    }

    /// Elements of the part of `rank`.
    std::int64_t part(int rank) const {
        return counts.empty() ? count : counts[static_cast<std::size_t>(rank)];
    }

    std::string describe() const {
        std::string text = counts.empty() ? concat(count, ' ') : "";
        for (const std::int64_t each : counts)
            text += concat(each, ' ');
        return concat(operation, " of ", text, name(dtype),
                      operation == "broadcast" ? concat(", root ", root) : "",
                      reduction == Reduction::sum ? "" : concat(" by ", ragged::name(reduction)));
    }
};

/// The call as other processes read it: all but its counts and its memory.
struct CallRecord {
    char operation[32];
    std::int64_t count;
    std::int32_t root;
    std::int16_t dtype;
    std::int16_t reduction;

    static CallRecord of(const SharedCall& call) {
        CallRecord record{};
        call.operation.copy(record.operation, sizeof record.operation - 1);
        record.count = call.count;
        record.root = call.root;
        record.dtype = static_cast<std::int16_t>(call.dtype);
        record.reduction = static_cast<std::int16_t>(call.reduction);
        return record;
    }
    /// Valid while the record is.
    SharedCall call() const {
        return {.operation = operation,
                .dtype = static_cast<DType>(dtype),
                .count = count,
                .root = root,
                .reduction = static_cast<Reduction>(reduction)};
    }
};

/// Why the calls cannot be one collective, and the rank to blame.
struct Disagreement {
    int rank;
    std::string what;
};

/// Every rank compares the same calls and comes to the same verdict.
/// @param call  call(rank) -> what that rank brought
template <class CallOf>
std::optional<Disagreement> disagreement(int size, const CallOf& call) {
    const SharedCall& first = call(0);
    std::int64_t least = first.count;
    for (const std::int64_t count : first.counts)
        least = std::min(least, count);
    if (least < 0)
        return Disagreement{0, concat("count ", least, " is negative")};
    for (int rank = 1; rank < size; ++rank) {
        const SharedCall& other = call(rank);
        if (other.operation != first.operation || other.dtype != first.dtype || other.count != first.count ||
            other.counts != first.counts || other.root != first.root || other.reduction != first.reduction)
            return Disagreement{rank, concat("rank ", rank, " called ", other.describe(), ", rank 0 called ",
                                             first.describe())};
    }
    return {};
}

} // namespace ragged::detail
