// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A run table with a copy on a device, for the CUDA executor: made once, then no copy allocates or waits.
//
//     const ragged::CudaRunTable table = executor.run_table(runs, memory);
//     executor.copy_runs(table, message, shard);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/core/cuda_stream.hpp>
#include <ragged/group/run_body.hpp>
#include <ragged/group/run_table.hpp>

namespace ragged {

/// No copy writes to it: any number of copies on any streams may use it at once. Movable.
class CudaRunTable : public RunTable {
  public:
    /// What kernels take: plain pointers into device memory.
    struct View {
        const body::DeviceRun* runs;
        std::int64_t num_runs;
        std::int64_t elements; // of all runs
    };

    /// Local. Blocks the host until the runs are on the device. The resource must outlive the table.
    /// @param stream  where the resource's memory is ready for work
    /// @throws BufferError  see RunTable, or the resource is not of the stream's device
    template <memory_resource R>
    CudaRunTable(std::span<const CopyRun> runs, R& resource, const CudaStream& stream)
        : RunTable(runs)
        , device_(stream.device()) {
        if (resource.space() != space())
            throw BufferError(
                concat("a run table for ", to_string(space()), " is given ", to_string(resource.space())));
        const std::vector<body::DeviceRun> host = body::device_runs(*this);
        storage_ = Memory(resource, host.size() * sizeof(body::DeviceRun));
        if (!host.empty())
            check(cudaMemcpyAsync(storage_.data(), host.data(), storage_.bytes(), cudaMemcpyHostToDevice,
                                  stream.native()),
                  "copying a run table to its device");
        stream.synchronise();
        view_ = {static_cast<const body::DeviceRun*>(storage_.data()), static_cast<std::int64_t>(host.size()),
                 elements()};
    }

    /// What a table of so many runs, none of them empty, takes from its resource.
    static constexpr std::int64_t resource_bytes(std::int64_t num_runs) {
        return num_runs * static_cast<std::int64_t>(sizeof(body::DeviceRun));
    }

    MemorySpace space() const noexcept { return MemorySpace::of_device(device_); }
    const View& device() const noexcept { return view_; }

  private:
    int device_;
    Memory storage_;
    View view_{};
};

} // namespace ragged
