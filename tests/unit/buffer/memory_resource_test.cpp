// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include <ragged/buffer/memory_resource.hpp>

#include "support/expect.hpp"

namespace {

struct Complete {
    static ragged::MemorySpace space() { return {}; }
    void* allocate(std::size_t bytes) { return ragged::HostResource{}.allocate(bytes); }
    void zero(void* pointer, std::size_t bytes) { ragged::HostResource{}.zero(pointer, bytes); }
    void deallocate(void* pointer, std::size_t bytes) noexcept {
        ragged::HostResource{}.deallocate(pointer, bytes);
    }
};
struct NoFree { // anti-model: memory could not be given back
    static ragged::MemorySpace space() { return {}; }
    void* allocate(std::size_t);
    void zero(void*, std::size_t);
};
struct Throwing : NoFree { // anti-model: giving back may throw
    void deallocate(void*, std::size_t);
};
struct NoZero { // anti-model: padding would hold anything
    static ragged::MemorySpace space() { return {}; }
    void* allocate(std::size_t);
    void deallocate(void*, std::size_t) noexcept;
};
struct NoSpace { // anti-model: nobody would know who may touch it
    void* allocate(std::size_t);
    void zero(void*, std::size_t);
    void deallocate(void*, std::size_t) noexcept;
};
static_assert(ragged::memory_resource<Complete>);
static_assert(!ragged::memory_resource<NoZero> && !ragged::memory_resource<NoSpace>);
static_assert(!ragged::memory_resource<NoFree>);
static_assert(!ragged::memory_resource<Throwing>);
static_assert(ragged::memory_resource<ragged::CountingResource<ragged::CountingResource<>>>);

} // namespace

TEST_CASE("host memory is aligned, and zero once it is owned") {
    ragged::HostResource host;
    for (std::size_t bytes : {1u, 7u, 4096u, 100000u}) {
        const ragged::Memory memory(host, bytes);
        auto* p = static_cast<const unsigned char*>(memory.data());
        CHECK(reinterpret_cast<std::uintptr_t>(p) % ragged::buffer_alignment == 0);
        for (std::size_t i = 0; i < bytes; ++i)
            REQUIRE(p[i] == 0);
    }
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they end the process instead
TEST_CASE("out of memory names the bytes") {
    ragged::HostResource host;
    const std::size_t bytes = std::numeric_limits<std::size_t>::max() / 4;
    CHECK(support::message_of([&] { static_cast<void>(host.allocate(bytes)); }) ==
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

TEST_CASE("memory that cannot be zeroed is given back") {
    struct Failing : Complete {
        void zero(void*, std::size_t) { throw ragged::BufferError("no zeros"); }
    };
    ragged::CountingResource<Failing> counting;
    CHECK(support::message_of([&] { ragged::Memory(counting, 64); }) == "no zeros");
    CHECK(counting.allocations() == 1);
    CHECK(counting.live_bytes() == 0);
}
