// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A device with what every test needs on it, and buffers in pairs: one on the host, one on the device.
#pragma once

#include <cstring>
#include <random>
#include <vector>

#include <ragged/cuda.hpp>
#include <ragged/plan/make_plan.hpp>

namespace support {

using Line = ragged::Topology<ragged::Axis<"shard">>;
template <class T, class State = ragged::state::Resident>
using Buffer = ragged::DBuffer<T, Line, State>;

struct Device {
    ragged::OwnedCudaStream stream{0};
    ragged::CudaPoolResource memory{stream};
};

/// Host values of any array of a device.
template <class T>
std::vector<T> download(const ragged::CudaStream& stream, const T* from, std::size_t count) {
    std::vector<T> values(count);
    if (count == 0)
        return values;
    ragged::check(
        cudaMemcpyAsync(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, stream.native()),
        "download");
    stream.synchronise();
    return values;
}

/// The same buffer twice.
template <class T, class State = ragged::state::Resident>
struct Pair {
    Buffer<T, State> host;
    Buffer<T, State> device;
    const ragged::CudaStream stream;

    Pair(const ragged::Plan& plan, const ragged::Place<Line>& place, ragged::HostResource& memory, Device& on)
        : host(plan, place, memory)
        , device(plan, place, on.memory)
        , stream(on.stream) {}

    void upload() {
        if (host.bytes() > 0)
            ragged::check(cudaMemcpyAsync(device.segment_data(0), host.segment_data(0), host.bytes(),
                                          cudaMemcpyHostToDevice, stream.native()),
                          "upload");
        stream.synchronise();
    }
    /// Random values in the values of the host's buffer, padding included; then both are the same.
    void randomise(std::uint32_t seed, float reach = 2.0f) {
        std::mt19937 random(seed);
        for (std::int64_t segment = 0; segment < host.num_segments(); ++segment)
            for (T& x : host.values(segment))
                x = static_cast<T>((static_cast<float>(random()) * 0x1p-31f - 1.0f) * reach);
        upload();
    }
    /// Every byte of the storage.
    bool same() const {
        const auto found =
            download(stream, reinterpret_cast<const char*>(device.segment_data(0)), host.bytes());
        return host.bytes() == 0 || std::memcmp(found.data(), host.segment_data(0), found.size()) == 0;
    }
};

} // namespace support
