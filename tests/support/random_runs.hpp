// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Random runs that do not overlap in the destination, and what copying them means, element by element.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include <ragged/layout/copy_run.hpp>

namespace support {

struct RandomRuns {
    std::vector<ragged::CopyRun> runs;
    std::int64_t from_elements = 1;
    std::int64_t to_elements = 1;
};

/// Empty runs and runs of one element among them; in any order, with gaps; neighbours in the destination may
/// be anywhere in the source, also over each other. @param step  offsets and lengths are multiples
inline RandomRuns random_runs(std::uint32_t seed, std::int64_t count, std::int64_t longest,
                              std::int64_t step = 1) {
    std::mt19937 random(seed);
    const auto draw = [&](std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
    };
    RandomRuns result;
    result.from_elements = step * draw(longest, 4 * longest);
    std::int64_t end = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t length = draw(0, 3) == 0 ? draw(0, 1) : draw(0, longest);
        const std::int64_t to = end + (draw(0, 2) == 0 ? draw(0, 9) : 0);
        result.runs.push_back(
            {step * draw(0, result.from_elements / step - length), step * to, step * length});
        end = to + length;
    }
    result.to_elements = step * end + draw(0, 9);
    std::shuffle(result.runs.begin(), result.runs.end(), random);
    return result;
}

/// The meaning of a run, and nothing else.
template <class T>
void copy_each_element(std::span<const ragged::CopyRun> runs, std::span<T> to, std::span<const T> from) {
    for (const ragged::CopyRun& run : runs)
        for (std::int64_t i = 0; i < run.elements; ++i)
            to[static_cast<std::size_t>(run.to + i)] = from[static_cast<std::size_t>(run.from + i)];
}

/// Any bytes, NaNs of every kind among them: a copy keeps them.
template <class T>
void randomise_bytes(std::span<T> values, std::uint32_t seed) {
    std::mt19937 random(seed);
    for (std::byte& byte : std::as_writable_bytes(values))
        byte = static_cast<std::byte>(random());
}

} // namespace support
