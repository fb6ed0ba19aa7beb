// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a device has besides NCCL, over FakeWorld: memory in the order of a stream, and an executor. As on a
// device nothing that is enqueued runs before somebody waits, and it reads memory when it runs.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include <ragged/group/host_executor.hpp>

#include "support/fake_nccl_world.hpp"

namespace support {

/// Host memory that passes for the memory of a device, and is given back at once.
struct DeviceResource {
    int device;
    ragged::HostResource host{};

    ragged::MemorySpace space() const { return ragged::MemorySpace::of_device(device); }
    void* allocate(std::size_t bytes) { return host.allocate(bytes); }
    void zero(void* pointer, std::size_t bytes) { host.zero(pointer, bytes); }
    void deallocate(void* pointer, std::size_t bytes) noexcept { host.deallocate(pointer, bytes); }
};

/// As CudaPoolResource: memory is ready for work on its stream, and is given back when the work enqueued
/// there so far is done.
class FakePoolResource {
  public:
    FakePoolResource(FakeStreamName stream, int device)
        : stream_(stream)
        , device_(device) {}
    FakePoolResource(const FakePoolResource&) = delete;
    FakePoolResource& operator=(const FakePoolResource&) = delete;
    ~FakePoolResource() { stream_.synchronise(); }

    ragged::MemorySpace space() const { return ragged::MemorySpace::of_device(device_); }
    void* allocate(std::size_t bytes) { return ragged::HostResource{}.allocate(bytes); }
    void zero(void* pointer, std::size_t bytes) {
        stream_.enqueue([=] { std::memset(pointer, 0, bytes); });
    }
    void deallocate(void* pointer, std::size_t bytes) noexcept {
        stream_.enqueue([=] { ragged::HostResource{}.deallocate(pointer, bytes); });
    }

  private:
    FakeStreamName stream_;
    int device_;
};

/// The runs lie in memory of a resource.
class FakeRunTable {
  public:
    template <class R>
    FakeRunTable(std::span<const ragged::CopyRun> runs, R& resource, FakeStreamName stream)
        : storage_(resource, runs.size_bytes())
        , count_(runs.size()) {
        stream.enqueue([to = storage_.data(), runs] { std::memcpy(to, runs.data(), runs.size_bytes()); });
        stream.synchronise();
    }

    std::span<const ragged::CopyRun> device() const {
        return {static_cast<const ragged::CopyRun*>(storage_.data()), count_};
    }

  private:
    ragged::Memory storage_;
    std::size_t count_;
};

/// As CudaExecutor for what a redistribution or a norm asks of it; the rest runs at once. Not copyable.
class FakeExecutor : public ragged::HostExecutor {
  public:
    using run_table_type = FakeRunTable;

    FakeExecutor(FakeStreamName stream, int device)
        : stream_(stream)
        , device_(device) {}
    FakeExecutor(const FakeExecutor&) = delete;
    FakeExecutor& operator=(const FakeExecutor&) = delete;

    const FakeStreamName& stream() const { return stream_; }
    ragged::MemorySpace space() const { return ragged::MemorySpace::of_device(device_); }

    void zero(void* to, std::size_t bytes) const {
        stream_.enqueue([=] { ragged::HostExecutor{}.zero(to, bytes); });
    }
    template <class Op, class Out, class... In>
    void map(const Op& op, ragged::Values<Out> out, const In*... in) const {
        stream_.enqueue([=] { ragged::HostExecutor{}.map(op, out, in...); });
    }
    template <class ValuesOf>
    void exact_sum_of_squares(std::int64_t num_segments, const ValuesOf& values_of, double* digits) const {
        std::vector<decltype(values_of(num_segments))> segments;
        for (std::int64_t segment = 0; segment < num_segments; ++segment)
            segments.push_back(values_of(segment));
        stream_.enqueue([segments, digits] {
            ragged::HostExecutor{}.exact_sum_of_squares(
                static_cast<std::int64_t>(segments.size()),
                [&](std::int64_t segment) { return segments[static_cast<std::size_t>(segment)]; }, digits);
        });
    }
    void fetch(void* to, const void* from, std::size_t bytes) const {
        stream_.synchronise();
        std::memcpy(to, from, bytes);
    }
    template <ragged::memory_resource R>
    FakeRunTable run_table(std::span<const ragged::CopyRun> runs, R& resource) const {
        return FakeRunTable(runs, resource, stream_);
    }
    template <class T>
    void copy_runs(const FakeRunTable& table, T* to, const T* from) const {
        stream_.enqueue([runs = table.device(), to, from] {
            for (const ragged::CopyRun& run : runs)
                std::memcpy(to + run.to, from + run.from, static_cast<std::size_t>(run.elements) * sizeof(T));
        });
    }

  private:
    FakeStreamName stream_;
    int device_;
};

static_assert(ragged::group_executor<FakeExecutor>);

} // namespace support
