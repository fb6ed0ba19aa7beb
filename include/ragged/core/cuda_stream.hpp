// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of CUDA. A CudaStream is a value that names a stream of somebody: a framework's, or an
// OwnedCudaStream's. Work on it is enqueued; only synchronise blocks the host.
//
//     ragged::OwnedCudaStream compute(0), copies(0);
//     copies.wait_for(compute);              // what is on compute now happens before what comes on copies
#pragma once

#include <utility>

#include <ragged/core/cuda_error.hpp>

namespace ragged {

/// The calling thread works on `device` while this lives, then on the one it had.
class CudaDeviceGuard {
  public:
    /// @throws CudaError  there is no such device
    explicit CudaDeviceGuard(int device) {
        check(cudaGetDevice(&before_), "asking for the current device");
        if (device != before_)
            check(cudaSetDevice(device), concat("switching to device ", device));
        switched_ = device != before_;
    }
    CudaDeviceGuard(const CudaDeviceGuard&) = delete;
    CudaDeviceGuard& operator=(const CudaDeviceGuard&) = delete;
    ~CudaDeviceGuard() {
        if (switched_)
            static_cast<void>(cudaSetDevice(before_));
    }

  private:
    int before_ = 0;
    bool switched_ = false;
};

class CudaStream;

/// A point in a stream's work; no timing. Owns the event; movable.
class CudaEvent {
  public:
    /// @throws CudaError
    explicit CudaEvent(int device)
        : device_(device) {
        const CudaDeviceGuard guard(device);
        check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "creating an event");
    }
    CudaEvent(CudaEvent&& other) noexcept
        : event_(std::exchange(other.event_, nullptr))
        , device_(other.device_) {}
    CudaEvent& operator=(CudaEvent&& other) noexcept {
        std::swap(event_, other.event_);
        std::swap(device_, other.device_);
        return *this;
    }
    ~CudaEvent() {
        if (event_ != nullptr)
            static_cast<void>(cudaEventDestroy(event_));
    }

    cudaEvent_t native() const noexcept { return event_; }
    int device() const noexcept { return device_; }

    /// Whether the work before the last record is done; true before any record. Does not block.
    /// @throws CudaError  that work failed
    bool done() const {
        const cudaError_t status = cudaEventQuery(event_);
        if (status == cudaErrorNotReady)
            return false;
        check(status, "asking for an event");
        return true;
    }
    /// Block the host until the work before the last record is done. @throws CudaError  it failed
    void synchronise() const { check(cudaEventSynchronize(event_), "waiting for an event"); }

  private:
    cudaEvent_t event_ = nullptr;
    int device_;
};

/// Names a stream and its device; whoever owns the stream keeps it alive. A small value.
class CudaStream {
  public:
    /// @throws CudaError  not a stream
    explicit CudaStream(cudaStream_t stream)
        : stream_(stream)
        , device_(device_of(stream)) {}
    /// The same, and say which device it must be of.
    /// @throws BufferError  the stream is of another device
    CudaStream(cudaStream_t stream, int device)
        : CudaStream(stream) {
        if (device_ != device)
            throw BufferError(concat("the stream is of device ", device_, ", wanted is one of ", device));
    }

    cudaStream_t native() const noexcept { return stream_; }
    int device() const noexcept { return device_; }

    /// What is enqueued from now on starts after the work before the event's last record. Blocks nobody.
    void wait_for(const CudaEvent& event) const {
        check(cudaStreamWaitEvent(stream_, event.native(), 0), "ordering a stream after an event");
    }
    /// What is enqueued from now on starts after what is on `other` now. Blocks nobody.
    void wait_for(const CudaStream& other) const {
        CudaEvent event(other.device());
        other.record(event);
        wait_for(event);
    }
    /// @pre the event is of the stream's device
    void record(CudaEvent& event) const {
        check(cudaEventRecord(event.native(), stream_), "recording an event");
    }
    /// Block the host until all work on the stream is done. @throws CudaError  some of it failed
    void synchronise() const { check(cudaStreamSynchronize(stream_), "waiting for a stream"); }

    bool operator==(const CudaStream&) const = default;

  private:
    static int device_of(cudaStream_t stream) {
        int device = 0;
        check(cudaStreamGetDevice(stream, &device), "asking a stream for its device");
        return device;
    }

    cudaStream_t stream_;
    int device_;
};

/// Creates a stream that does not wait for the default one, and destroys it. Not movable: values that name it
/// are taken from it.
class OwnedCudaStream {
  public:
    /// @throws CudaError  there is no such device
    explicit OwnedCudaStream(int device)
        : stream_(create(device), device) {}
    OwnedCudaStream(const OwnedCudaStream&) = delete;
    OwnedCudaStream& operator=(const OwnedCudaStream&) = delete;
    /// Work on the stream is still done.
    ~OwnedCudaStream() { static_cast<void>(cudaStreamDestroy(stream_.native())); }

    operator CudaStream() const noexcept { return stream_; }
    const CudaStream* operator->() const noexcept { return &stream_; }

  private:
    static cudaStream_t create(int device) {
        const CudaDeviceGuard guard(device);
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
        return stream;
    }

    CudaStream stream_;
};

} // namespace ragged
