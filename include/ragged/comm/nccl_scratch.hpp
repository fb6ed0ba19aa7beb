// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Room for the control messages of an NCCL communicator, on the device and pinned on the host: copies between
// the two then wait for nothing.
#pragma once

#include <cstddef>
#include <cstdint>

#include <ragged/comm/nccl_error.hpp>

namespace ragged::detail {

template <class Api>
class NcclScratch {
  public:
    explicit NcclScratch(Api& api) // outlives this
        : api_(api) {}
    NcclScratch(const NcclScratch&) = delete;
    NcclScratch& operator=(const NcclScratch&) = delete;
    ~NcclScratch() {
        if (device_ != nullptr)
            static_cast<void>(api_.free_device(device_));
        if (host_ != nullptr)
            static_cast<void>(api_.free_host(host_));
    }

    /// Once. Synchronises as cudaMalloc does.
    NcclStatus allocate(int device, std::size_t bytes) {
        bytes_ = bytes;
        const NcclStatus status = api_.allocate_device(device, bytes, device_);
        return status.ok() ? api_.allocate_host(device, bytes, host_) : status;
    }

    /// [bytes()] each.
    std::uint8_t* device() const { return static_cast<std::uint8_t*>(device_); }
    std::uint8_t* host() const { return static_cast<std::uint8_t*>(host_); }
    std::size_t bytes() const { return bytes_; }

  private:
    Api& api_;
    void* device_ = nullptr;
    void* host_ = nullptr;
    std::size_t bytes_ = 0;
};

} // namespace ragged::detail
