// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include <ragged/buffer/memory_resource.hpp>

#include "support/expect.hpp"

namespace {

struct NoFree { // anti-model: memory could not be given back
    void* allocate_zeroed(std::size_t);
};
struct Throwing { // anti-model: giving back may throw
    void* allocate_zeroed(std::size_t);
    void deallocate(void*, std::size_t);
};
static_assert(!ragged::memory_resource<NoFree>);
static_assert(!ragged::memory_resource<Throwing>);
static_assert(ragged::memory_resource<ragged::CountingResource<ragged::CountingResource<>>>);

} // namespace

TEST_CASE("host memory is zero and aligned") {
    ragged::HostResource host;
    for (std::size_t bytes : {1u, 7u, 4096u, 100000u}) {
        auto* p = static_cast<unsigned char*>(host.allocate_zeroed(bytes));
        CHECK(reinterpret_cast<std::uintptr_t>(p) % ragged::buffer_alignment == 0);
        for (std::size_t i = 0; i < bytes; ++i)
            REQUIRE(p[i] == 0);
        host.deallocate(p, bytes);
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they end the process instead
TEST_CASE("out of memory names the bytes") {
    ragged::HostResource host;
    const std::size_t bytes = std::numeric_limits<std::size_t>::max() / 4;
    CHECK(support::message_of([&] { static_cast<void>(host.allocate_zeroed(bytes)); }) ==
          "out of host memory: " + std::to_string(bytes) + " bytes");
}
#endif

TEST_CASE("counting sees live and peak bytes, and Memory gives back exactly once") {
    ragged::CountingResource<> counting;
    {
        ragged::Memory a(counting, 100);
        ragged::Memory b(counting, 50);
        CHECK(counting.live_bytes() == 150);
        ragged::Memory moved(std::move(a));
        CHECK(a.data() == nullptr);
        CHECK(a.bytes() == 0);
        CHECK(moved.bytes() == 100);
        b = std::move(moved); // b's old memory goes with the temporary
        CHECK(b.bytes() == 100);
    }
    CHECK(counting.live_bytes() == 0);
    CHECK(counting.peak_bytes() == 150);
    CHECK(counting.allocations() == 2);
}

TEST_CASE("no memory is asked for when there is nothing to hold") {
    ragged::CountingResource<> counting;
    const ragged::Memory none(counting, 0);
    CHECK(none.data() == nullptr);
    CHECK(counting.allocations() == 0);
}
