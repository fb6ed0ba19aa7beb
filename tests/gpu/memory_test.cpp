// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Streams, events, pools and arenas on a device.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>

#include "gpu/device.hpp"
#include "support/expect.hpp"

using support::contains;
using support::Device;
using support::download;
using support::message_of;

TEST_CASE("a pool gives aligned memory, zeroes it, and gives the same memory again") {
    Device device;
    std::set<void*> seen;
    for (std::size_t bytes : {std::size_t{1}, std::size_t{4095}, std::size_t{4097}, std::size_t{3} << 20}) {
        ragged::Memory first(device.memory, bytes), second(device.memory, bytes);
        for (const ragged::Memory* memory : {&first, &second}) {
            CHECK(reinterpret_cast<std::uintptr_t>(memory->data()) % ragged::buffer_alignment == 0);
            CHECK(memory->space() == ragged::MemorySpace::of_device(0));
            const auto found = download(device.stream, static_cast<const char*>(memory->data()), bytes);
            CHECK(std::count(found.begin(), found.end(), 0) == static_cast<std::ptrdiff_t>(bytes));
            ragged::check(cudaMemsetAsync(memory->data(), 0x5a, bytes, device.stream->native()), "poison");
        }
        CHECK(first.data() != second.data());
        seen.insert(first.data());
    }
    void* const again = device.memory.allocate(1);
    CHECK(seen.count(again) == 1);
    device.memory.deallocate(again, 1);
}

TEST_CASE("a pool that has no memory says how much was asked for and how much is free") {
    Device device;
    const std::string message =
        message_of([&] { static_cast<void>(device.memory.allocate(std::size_t{1} << 45)); });
    CHECK(contains(message, "out of memory of device 0: 35184372088832 bytes asked for, "));
    CHECK(contains(message, " free"));
    ragged::Memory after(device.memory, 100); // the error is not sticky
}

TEST_CASE("a buffer over an arena over a pool is zero, and lies inside the arena") {
    Device device;
    const ragged::Plan plan = ragged::make_plan({"g", {{"w", {1000, 30}}}}, 2);
    ragged::Arena arena(device.memory, std::size_t{1} << 20);
    const support::Buffer<float> x(plan, {support::Line(2), 1}, arena);
    CHECK(x.space() == ragged::MemorySpace::of_device(0));
    CHECK(static_cast<const void*>(x.segment_data(0)) == arena.data());
    const auto found = download(device.stream, static_cast<const float*>(x.segment_data(0)), 15'000);
    CHECK(std::count(found.begin(), found.end(), 0.0f) == 15'000);
    CHECK(contains(message_of([&] { static_cast<void>(arena.allocate(std::size_t{1} << 20)); }),
                   "an arena of 1048576 bytes has 61440 in use and no gap for 1048576"));
}

TEST_CASE("streams know their device, and order one after another") {
    const ragged::OwnedCudaStream first(0), second(0);
    CHECK(first->device() == 0);
    CHECK(ragged::CudaStream(first->native(), 0) == ragged::CudaStream(first));
    CHECK(message_of([&] { ragged::CudaStream(first->native(), 7); }) ==
          "the stream is of device 0, wanted is one of 7");
    Device device;
    ragged::Memory memory(device.memory, std::size_t{64} << 20), copy(device.memory, std::size_t{64} << 20);
    second->wait_for(device.stream);
    ragged::check(cudaMemsetAsync(memory.data(), 7, memory.bytes(), second->native()), "fill");
    first->wait_for(second);
    ragged::check(cudaMemcpyAsync(copy.data(), memory.data(), memory.bytes(), cudaMemcpyDeviceToDevice,
                                  first->native()),
                  "copy");
    ragged::CudaEvent event(0);
    CHECK(event.done());
    first->record(event);
    event.synchronise();
    CHECK(event.done());
    CHECK(download(device.stream, static_cast<const char*>(copy.data()) + copy.bytes() - 1, 1)[0] == 7);
}

TEST_CASE("a device that is not there is refused") {
    CHECK(contains(message_of([] { ragged::OwnedCudaStream(1000); }), "switching to device 1000"));
    int current = -1;
    ragged::check(cudaGetDevice(&current), "current device");
    CHECK(current == 0);
    // the last error of the runtime is cleared, so the next check tells of itself only
    const cudaError_t status = cudaSetDevice(1000);
    CHECK(cudaPeekAtLastError() == status);
    CHECK_THROWS_AS(ragged::check(status, "switching"), ragged::CudaError);
    ragged::check_launch("nothing was launched");
}
