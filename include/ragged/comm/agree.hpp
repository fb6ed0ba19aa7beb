// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks compare what they derived each for itself before they rely on it: plans, layouts.
#pragma once

#include <algorithm> // std::count, std::max_element, std::min
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/comm/held_memory.hpp>
#include <ragged/comm/mesh.hpp>
#include <ragged/plan/plan.hpp>

namespace ragged {

namespace detail {

/// [size * bytes] of host memory in place. Blocking. After a failure it is spent where the engine holds on to
/// it.
template <class Communicator>
void gather_bytes(Communicator& world, std::vector<std::uint8_t>& all, std::int64_t bytes) {
    try {
        if constexpr (has_all_gather_host<Communicator>)
            world.all_gather_host(all.data(), bytes);
        else
            world.all_gather(all.data(), bytes).wait();
    } catch (...) {
        if (holds_memory(world))
            keep(std::make_shared<std::vector<std::uint8_t>>(std::move(all)));
        throw;
    }
}

/// Gather one 64-bit word per rank. Blocking.
template <class Communicator>
std::vector<std::uint64_t> gather_words(Communicator& world, std::uint64_t own) {
    const auto size = static_cast<std::size_t>(world.size()), rank = static_cast<std::size_t>(world.rank());
    std::vector<std::uint8_t> bytes(size * 8);
    for (std::size_t byte = 0; byte < 8; ++byte)
        bytes[rank * 8 + byte] = static_cast<std::uint8_t>(own >> (8 * byte));
    gather_bytes(world, bytes, 8);
    std::vector<std::uint64_t> words(size, 0);
    for (std::size_t i = 0; i < bytes.size(); ++i)
        words[i / 8] |= std::uint64_t{bytes[i]} << (8 * (i % 8));
    return words;
}

/// Gather one byte string per rank; lengths may differ. Blocking.
template <class Communicator>
std::vector<std::string> gather_text(Communicator& world, const std::string& own) {
    const auto size = static_cast<std::size_t>(world.size()), rank = static_cast<std::size_t>(world.rank());
    const std::vector<std::uint64_t> sizes = gather_words(world, own.size());
    const std::size_t longest = *std::max_element(sizes.begin(), sizes.end());
    std::vector<std::uint8_t> bytes(size * longest);
    std::copy(own.begin(), own.end(), bytes.begin() + static_cast<std::ptrdiff_t>(rank * longest));
    gather_bytes(world, bytes, static_cast<std::int64_t>(longest));
    std::vector<std::string> texts;
    for (std::size_t peer = 0; peer < size; ++peer) {
        const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(peer * longest);
        texts.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(sizes[peer]));
    }
    return texts;
}

inline std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines)
        text += line + '\n';
    return text;
}

/// Throw on every rank unless all bring the same print; then lines() tells what each has.
/// @param what  what is compared, in the plural
template <class Communicator, class Lines>
void agree_on(Communicator& world, std::uint64_t print, std::string_view what, const Lines& lines) {
    static_assert(has_all_gather<Communicator, std::uint8_t> || has_all_gather_host<Communicator>,
                  "ragged: comparing plans needs a communicator with all_gather");
    const auto size = static_cast<std::size_t>(world.size());
    const std::vector<std::uint64_t> prints = gather_words(world, print);
    if (std::count(prints.begin(), prints.end(), prints.front()) == world.size())
        return;

    const std::vector<std::string> texts = gather_text(world, joined(lines()));
    std::size_t other = 1;
    while (other < size && texts[other] == texts[0])
        ++other;
    if (other == size)
        throw CommError(concat(what, " differ in their fingerprints only"), "agree", -1);
    std::size_t line = 0, at = 0; // start of the first line that differs
    for (; at < std::min(texts[0].size(), texts[other].size()) && texts[0][at] == texts[other][at]; ++at)
        if (texts[0][at] == '\n')
            line = at + 1;
    const auto line_of = [line](const std::string& text) {
        return line < text.size() ? text.substr(line, text.find('\n', line) - line)
                                  : std::string("nothing more");
    };
    throw CommError(concat(what, " differ: rank ", other, " has ", line_of(texts[other]), ", rank 0 has ",
                           line_of(texts[0])),
                    "agree", static_cast<int>(other));
}

} // namespace detail

/// Compare the plan across all ranks of the world; the first collective of every buffer does this by itself.
/// Collective and blocking: 8 bytes per rank, and the whole plan only when ranks differ.
/// @throws CommError  on every rank, with the first difference to rank 0 and the first rank that has it
template <class SegmentType, class Topology, class Communicator>
void agree(const BasicPlan<SegmentType>& plan, Mesh<Topology, Communicator>& mesh) {
    detail::agree_on(mesh.world(), fingerprint(plan), "plans", [&] { return describe(plan); });
}

} // namespace ragged
