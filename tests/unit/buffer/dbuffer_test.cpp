// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <ragged/buffer/dbuffer.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/policy/comparison.hpp>

#include "support/expect.hpp"
#include "support/random_group.hpp"

using Line = ragged::Topology<ragged::Axis<"shard">>;
using Plane = ragged::Topology<ragged::Axis<"replica", 2>, ragged::Axis<"shard">>;
using Place = ragged::Place<Line>;
using support::message_of;
namespace state = ragged::state;

namespace {

template <class State>
using Buffer = ragged::DBuffer<float, Line, State>;

// Only three states can be made; the others come from a collective.
template <class State>
constexpr bool makeable =
    std::is_constructible_v<Buffer<State>, const ragged::Plan&, const Place&, ragged::HostResource&>;
static_assert(makeable<state::Resident> && makeable<state::Sharded> && makeable<state::Partial>);
static_assert(!makeable<state::Gathered> && !makeable<state::Reduced>);
static_assert(
    !std::is_constructible_v<Buffer<state::Sharded>, ragged::Plan&&, const Place&, ragged::HostResource&>);
static_assert(!std::is_copy_constructible_v<Buffer<state::Sharded>>);
static_assert(std::is_nothrow_move_constructible_v<Buffer<state::Sharded>>);
static_assert(std::is_same_v<Buffer<state::Gathered>::access_type, const float>);

} // namespace

TEST_CASE("every state has the storage its plan states, zero from the start") {
    for (std::uint32_t seed = 0; seed < 30; ++seed)
        for (std::int64_t ranks : {1, 2, 3, 4, 5, 8})
            for (std::int64_t rank = 0; rank < ranks; ++rank) {
                const ragged::Plan plan = ragged::make_plan(support::random_group(seed), ranks);
                const std::int64_t shard = plan.segments[0].shard_elems;
                const ragged::DType f32[] = {ragged::DType::f32};
                const Place place(Line(ranks), rank);
                ragged::CountingResource<> memory;
                const Buffer<state::Resident> resident(plan, place, memory);
                CHECK(memory.live_bytes() == static_cast<std::size_t>(plan.peak_bytes(f32, {})));
                const Buffer<state::Sharded> sharded(plan, place, memory);
                CHECK(memory.live_bytes() == static_cast<std::size_t>(plan.peak_bytes(f32, f32)));
                const Buffer<state::Partial> partial(plan, place, memory);
                CHECK(resident.values(0).size() == static_cast<std::size_t>(shard));
                CHECK(resident.values(0).data() == resident.segment_data(0));
                CHECK(sharded.values(0).size() == static_cast<std::size_t>(shard));
                CHECK(sharded.values(0).data() == sharded.segment_data(0) + rank * shard);
                CHECK(partial.values(0).size() == static_cast<std::size_t>(ranks * shard));
                CHECK(reinterpret_cast<std::uintptr_t>(sharded.segment_data(0)) % ragged::buffer_alignment ==
                      0);
                for (float x : partial.values(0))
                    REQUIRE(x == 0.0f);
            }
}

TEST_CASE("the shard coordinate counts along the shard axis only") {
    const ragged::Plan plan = ragged::make_plan(support::random_group(3), 3);
    ragged::HostResource memory;
    for (std::int64_t rank = 0; rank < 6; ++rank) {
        const ragged::DBuffer<float, Plane> buffer(plan, ragged::Place<Plane>(Plane(3), rank), memory);
        CHECK(buffer.shard_rank() == rank % 3);
    }
}

TEST_CASE("plans that do not fit are refused before memory is taken") {
    const ragged::GroupSpec group{"layer", {{"w", {8, 8}, ragged::tile({4, 4})}}};
    ragged::CountingResource<> memory;
    const ragged::Plan plan = ragged::make_plan(group, 2);
    CHECK(message_of([&] { Buffer<state::Sharded>(plan, Place(Line(3), 0), memory); }) ==
          "group 'layer' is planned for 2 devices, axis 'shard' has 3 ranks");
    using Bytes = ragged::DBuffer<std::int8_t, Line>;
    CHECK(
        message_of([&] { Bytes(plan, Place(Line(2), 0), memory); }) ==
        "group 'layer': starts are aligned to 64 elements, in i8 that is less than 128 bytes; declare i8 in "
        "PlanOptions::planes");
    const ragged::Plan with_bytes = ragged::make_plan(group, 2, {}, {.planes = {ragged::DType::i8}});
    CHECK_NOTHROW(Bytes(with_bytes, Place(Line(2), 0), memory));
    const ragged::Plan flat = ragged::make_plan(group, 2, ragged::policy::EvenRows{});
    CHECK(support::contains(message_of([&] { Buffer<state::Sharded>(flat, Place(Line(2), 0), memory); }),
                            "group 'layer': the layout 'even rows per tensor (FSDP2)' cuts"));
    const ragged::Plan pages = ragged::make_plan(group, 2, {}, {.alignment_bytes = 8192});
    CHECK(message_of([&] { Buffer<state::Sharded>(pages, Place(Line(2), 0), memory); }) ==
          "group 'layer': starts are to be aligned to 8192 bytes, the memory of buffers is to 4096");
    CHECK(memory.allocations() == 1);
}

TEST_CASE("a buffer that was moved from says so") {
    const ragged::Plan plan = ragged::make_plan(support::random_group(5), 2);
    ragged::HostResource memory;
    Buffer<state::Sharded> a(plan, Place(Line(2), 0), memory);
    Buffer<state::Sharded> b = std::move(a);
    CHECK(message_of([&] { static_cast<void>(a.values(0)); }) ==
          "the buffer was moved from: use the one that took its place");
    a = std::move(b);
    CHECK_NOTHROW(static_cast<void>(a.values(0)));
}

TEST_CASE("a rank outside the topology is no place") {
    CHECK(message_of([] { Place(Line(2), 2); }) == "rank 2 is not in [0, 2)");
    CHECK(message_of([] { Place(Line(2), -1); }) == "rank -1 is not in [0, 2)");
}

TEST_CASE("a resource that runs out leaves nothing behind") {
    struct Limited {
        std::size_t left;
        static ragged::MemorySpace space() { return {}; }
        void zero(void* pointer, std::size_t bytes) { ragged::HostResource{}.zero(pointer, bytes); }
        void* allocate(std::size_t bytes) {
            if (bytes > left)
                throw ragged::BufferError(ragged::concat("limit: ", bytes, " bytes asked, ", left, " left"));
            left -= bytes;
            return ragged::HostResource{}.allocate(bytes);
        }
        void deallocate(void* pointer, std::size_t bytes) noexcept {
            left += bytes;
            ragged::HostResource{}.deallocate(pointer, bytes);
        }
    } memory{2000};
    const ragged::Plan plan = ragged::make_plan(ragged::GroupSpec{"g", {{"w", {512}}}}, 2);
    {
        const Buffer<state::Resident> fits(plan, Place(Line(2), 0), memory);
        CHECK(message_of([&] { Buffer<state::Sharded>(plan, Place(Line(2), 0), memory); }) ==
              "limit: 2048 bytes asked, 976 left");
    }
    CHECK(memory.left == 2000);
}

TEST_CASE("a buffer lies over memory that exists, without a copy") {
    const ragged::Plan plan = ragged::make_plan(ragged::GroupSpec{"g", {{"w", {512}}}}, 2);
    alignas(128) static float array[512 + 32];
    array[300] = 7.0f;
    {
        const Buffer<state::Partial> buffer(plan, Place(Line(2), 0),
                                            ragged::Memory::adopt(array, sizeof(float) * 512, {}));
        CHECK(buffer.values(0).data() == array);
        CHECK(buffer.values(0)[300] == 7.0f);
    }
    CHECK(array[300] == 7.0f);
    const auto adopt = [&](float* data, std::size_t bytes) {
        return message_of(
            [&] { Buffer<state::Partial>(plan, Place(Line(2), 0), ragged::Memory::adopt(data, bytes, {})); });
    };
    CHECK(adopt(array, 2044) == "group 'g': the adopted memory has 2044 bytes, the buffer needs 2048");
    CHECK(adopt(array + 1, 2048) ==
          "group 'g': the adopted memory lies 4 bytes behind a multiple of 128, the alignment of the plan");
}

TEST_CASE("an owner of adopted memory hears once that it is no longer used, even when it does not fit") {
    const ragged::Plan plan = ragged::make_plan(ragged::GroupSpec{"g", {{"w", {512}}}}, 2);
    alignas(128) static float array[512];
    int freed = 0;
    const auto memory = [&](std::size_t bytes) {
        return ragged::Memory::adopt(array, bytes, {}, &freed, [](void* owner, void*, std::size_t) noexcept {
            ++*static_cast<int*>(owner);
        });
    };
    CHECK_THROWS_AS(Buffer<state::Partial>(plan, Place(Line(2), 0), memory(2044)), ragged::BufferError);
    CHECK(freed == 1);
    {
        Buffer<state::Partial> buffer(plan, Place(Line(2), 0), memory(2048));
        const Buffer<state::Partial> moved = std::move(buffer);
        CHECK(freed == 1);
    }
    CHECK(freed == 2);
}
