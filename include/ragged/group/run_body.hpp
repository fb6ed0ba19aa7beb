// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What one of many threads does when runs are copied. All elements, in the order of the runs, are cut into
// equal **shares**, whatever the sizes of the runs. A **team** of 1 to 32 threads takes a share: it looks up
// the run where the share starts, and walks on from there. On a host the tests run it as loops over threads.
//
// cub::DeviceMemcpy::Batched, the obvious alternative, sorts runs by size on the device, in three launches
// and a workspace, and has one thread block copy up to 512 runs of up to 8 KiB in turns. Here the runs are
// known when the table is made: one launch, no workspace, and equal shares.
#pragma once

#include <cstdint>
#include <vector>

#include <ragged/core/config.hpp>
#include <ragged/group/device_pieces.hpp> // entry_at
#include <ragged/group/flat_body.hpp>     // Word
#include <ragged/group/run_table.hpp>

namespace ragged::body {

/// A run, for a device.
struct DeviceRun {
    CopyRun run;
    std::int64_t first; // elements of the runs before this one
};

/// Host.
inline std::vector<DeviceRun> device_runs(const RunTable& table) {
    std::vector<DeviceRun> result;
    result.reserve(table.runs().size());
    std::int64_t first = 0;
    for (const CopyRun& run : table.runs()) {
        result.push_back({run, first});
        first += run.elements;
    }
    return result;
}

/// Words or elements of a thread that are on their way together.
inline constexpr int copies_in_flight = 4;
/// Words that a thread has of a share.
inline constexpr int share_words = 2 * copies_in_flight;

template <class T>
RAGGED_HOST_DEVICE constexpr std::int64_t share_elems(int team) {
    return std::int64_t{share_words} * Word<T>::elems * team;
}

/// Threads of a team, a power of two: an average run is on its way at once, or the team is a warp.
template <class T>
constexpr int run_team(std::int64_t elements, std::int64_t num_runs) {
    int team = 1;
    while (team < 32 && elements > num_runs * copies_in_flight * Word<T>::elems * team)
        team *= 2;
    return team;
}

/// to[i] = from[i] for the i in [0, count) that are `thread`'s. @param Unit  an element, or a word of them
template <class Unit>
RAGGED_HOST_DEVICE void copy_units(Unit* to, const Unit* from, int count, int thread, int team) {
    RAGGED_ROLL
    for (int start = thread; start < count; start += copies_in_flight * team) {
        Unit units[copies_in_flight]{};
        RAGGED_UNROLL
        for (int i = 0; i < copies_in_flight; ++i)
            if (start + i * team < count)
                units[i] = from[start + i * team];
        RAGGED_UNROLL
        for (int i = 0; i < copies_in_flight; ++i)
            if (start + i * team < count)
                to[start + i * team] = units[i];
    }
}

/// The same in words as far as they go: where both arrays reach one together.
template <class T>
RAGGED_HOST_DEVICE void copy(T* to, const T* from, int count, int thread, int team) {
    constexpr int elems = Word<T>::elems;
    const auto to_address = reinterpret_cast<std::uintptr_t>(to),
               from_address = reinterpret_cast<std::uintptr_t>(from);
    if ((to_address - from_address) % word_bytes != 0)
        return copy_units(to, from, count, thread, team);
    const int before = (elems - static_cast<int>(to_address % word_bytes / sizeof(T))) % elems;
    const int head = before < count ? before : count;
    const int words = (count - head) / elems, tail = head + words * elems;
    copy_units(to, from, head, thread, team);
    copy_units(reinterpret_cast<Word<T>*>(to + head), reinterpret_cast<const Word<T>*>(from + head), words,
               thread, team);
    copy_units(to + tail, from + tail, count - tail, thread, team);
}

/// What `thread` of the team of a share copies: to[run.to + i] = from[run.from + i].
/// @param runs      [num_runs], with `elements` in all of them
/// @param share     0 or more; nothing is left from elements / share_elems, rounded up, on
/// @param thread    in [0, team)
template <class T>
RAGGED_HOST_DEVICE void copy_share(const DeviceRun* runs, std::int64_t num_runs, std::int64_t elements,
                                   std::int64_t share, int thread, int team, T* to, const T* from) {
    std::int64_t at = share * share_elems<T>(team);
    if (at >= elements)
        return;
    const std::int64_t last = at + share_elems<T>(team), end = last < elements ? last : elements;
    const DeviceRun* entry = &entry_at(runs, num_runs, at, &DeviceRun::first);
    RAGGED_ROLL
    for (; at < end; ++entry) {
        const CopyRun& run = entry->run;
        const std::int64_t done = at - entry->first;
        const std::int64_t rest = run.elements - done, room = end - at;
        const int count = static_cast<int>(rest < room ? rest : room); // up to a share
        copy(to + run.to + done, from + run.from + done, count, thread, team);
        at += count;
    }
}

} // namespace ragged::body
