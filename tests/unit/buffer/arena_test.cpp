// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// An arena: first fit, the same offsets for the same calls, gaps that join, and errors with numbers.
#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include <ragged/buffer/arena.hpp>
#include <ragged/buffer/dbuffer.hpp>
#include <ragged/plan/make_plan.hpp>

#include "support/expect.hpp"

using support::message_of;

namespace {

std::size_t offset_of(const ragged::Arena<ragged::HostResource>& arena, const void* pointer) {
    return static_cast<std::size_t>(static_cast<const char*>(pointer) -
                                    static_cast<const char*>(arena.data()));
}

} // namespace

TEST_CASE("parts are first fit, on pages, and gaps join on both sides") {
    ragged::HostResource memory;
    ragged::Arena arena(memory, 10 * 4096 - 5);
    CHECK(arena.bytes() == 10 * 4096);
    void* const a = arena.allocate(1);
    void* const b = arena.allocate(4097);
    void* const c = arena.allocate(4096);
    void* const d = arena.allocate(6 * 4096);
    CHECK(offset_of(arena, a) == 0);
    CHECK(offset_of(arena, b) == 4096);
    CHECK(offset_of(arena, c) == 3 * 4096);
    CHECK(offset_of(arena, d) == 4 * 4096);
    CHECK(arena.live_bytes() == arena.bytes());
    CHECK(message_of([&] { static_cast<void>(arena.allocate(1)); }) ==
          "an arena of 40960 bytes has 40960 in use and no gap for 1: its largest is 0");
    arena.deallocate(a, 1);
    arena.deallocate(c, 4096);
    CHECK(message_of([&] { static_cast<void>(arena.allocate(4097)); }) ==
          "an arena of 40960 bytes has 32768 in use and no gap for 4097: its largest is 4096");
    arena.deallocate(b, 4097); // joins what is before and behind it
    CHECK(offset_of(arena, arena.allocate(4 * 4096)) == 0);
    arena.deallocate(arena.data(), 4 * 4096);
    arena.deallocate(d, 6 * 4096);
    CHECK(arena.live_bytes() == 0);
    CHECK(arena.peak_bytes() == 10 * 4096);
    CHECK(offset_of(arena, arena.allocate(10 * 4096)) == 0);
}

TEST_CASE("what cannot be counted fits nowhere, and an arena of nothing has nothing") {
    ragged::HostResource memory;
    ragged::Arena arena(memory, 0), small(memory, 1);
    CHECK(message_of([&] { static_cast<void>(arena.allocate(1)); }) ==
          "an arena of 0 bytes has 0 in use and no gap for 1: its largest is 0");
    CHECK(support::contains(message_of([&] { static_cast<void>(small.allocate(SIZE_MAX - 5)); }), "no gap"));
}

TEST_CASE("the same calls give the same offsets; live parts never overlap; all comes back") {
    ragged::HostResource memory;
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        ragged::Arena first(memory, 64 * 4096), second(memory, 64 * 4096);
        std::mt19937 random(seed);
        std::vector<std::pair<void*, std::size_t>> live;
        std::vector<void*> twins;
        for (int step = 0; step < 500; ++step) {
            if (random() % 2 == 0 && !live.empty()) {
                const std::size_t i = random() % live.size();
                first.deallocate(live[i].first, live[i].second);
                second.deallocate(twins[i], live[i].second);
                live.erase(live.begin() + static_cast<std::ptrdiff_t>(i));
                twins.erase(twins.begin() + static_cast<std::ptrdiff_t>(i));
                continue;
            }
            const std::size_t bytes = 1 + random() % (8 * 4096);
            void* pointer = nullptr;
            const std::string refusal = message_of([&] { pointer = first.allocate(bytes); });
            void* twin = nullptr;
            CHECK(message_of([&] { twin = second.allocate(bytes); }) == refusal);
            if (pointer == nullptr)
                continue;
            CHECK(offset_of(first, pointer) == offset_of(second, twin));
            CHECK(offset_of(first, pointer) + bytes <= first.bytes());
            for (const auto& [other, size] : live) {
                const bool apart = offset_of(first, other) + size <= offset_of(first, pointer) ||
                                   offset_of(first, pointer) + bytes <= offset_of(first, other);
                CHECK(apart);
            }
            live.emplace_back(pointer, bytes);
            twins.push_back(twin);
        }
        for (const auto& [pointer, bytes] : live)
            first.deallocate(pointer, bytes);
        CHECK(first.live_bytes() == 0);
        CHECK(offset_of(first, first.allocate(first.bytes())) == 0); // one gap again
    }
}

TEST_CASE("buffers over an arena are zero, also in memory used before, and cost no allocation") {
    using Line = ragged::Topology<ragged::Axis<"shard">>;
    const ragged::Plan plan = ragged::make_plan({"g", {{"w", {100, 30}}}}, 2);
    ragged::CountingResource<> memory;
    ragged::Arena arena(memory, std::size_t{1} << 20);
    for (int round = 0; round < 3; ++round) {
        ragged::DBuffer<float, Line, ragged::state::Resident> x(plan, {Line(2), 0}, arena);
        for (float& value : x.values(0)) {
            CHECK(value == 0.0f);
            value = 5;
        }
    }
    CHECK(memory.allocations() == 1);
    CHECK(arena.live_bytes() == 0);
}
