// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// An NCCL communicator that takes host memory: it copies to the device before each operation and back when
// the operation was waited for. With it the conformance suite runs on real devices.
#pragma once

#include <functional>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <ragged/nccl.hpp>

#include "support/expect.hpp"

namespace support {

inline void expect_cuda(cudaError_t error) {
    expect(error == cudaSuccess, std::string("CUDA: ") + cudaGetErrorString(error));
}

/// [count] of device memory.
template <class T>
class DeviceArray {
  public:
    explicit DeviceArray(std::int64_t count)
        : count_(count) {
        expect_cuda(cudaMalloc(&data_, static_cast<std::size_t>(count + 1) * sizeof(T)));
    }
    explicit DeviceArray(const std::vector<T>& values)
        : DeviceArray(std::ssize(values)) {
        upload(values.data());
    }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    ~DeviceArray() { static_cast<void>(cudaFree(data_)); }

    T* data() const { return static_cast<T*>(data_); }
    void upload(const T* from) { expect_cuda(cudaMemcpy(data_, from, bytes(), cudaMemcpyHostToDevice)); }
    void download(T* to) const { expect_cuda(cudaMemcpy(to, data_, bytes(), cudaMemcpyDeviceToHost)); }
    std::vector<T> values() const {
        std::vector<T> result(static_cast<std::size_t>(count_));
        download(result.data());
        return result;
    }

  private:
    std::size_t bytes() const { return static_cast<std::size_t>(count_) * sizeof(T); }

    std::int64_t count_;
    void* data_ = nullptr;
};

class StagedCommunicator {
    using Counts = std::span<const std::int64_t>;

  public:
    class Completion {
      public:
        void wait() {
            inner_.wait();
            for (const auto& copy : copies_)
                copy();
        }

      private:
        friend StagedCommunicator;
        explicit Completion(ragged::NcclCommunicator::Completion inner)
            : inner_(std::move(inner)) {}
        ragged::NcclCommunicator::Completion inner_;
        std::vector<std::function<void()>> copies_;
    };

    explicit StagedCommunicator(ragged::NcclCommunicator inner)
        : inner_(std::move(inner)) {}

    int rank() const { return inner_.rank(); }
    int size() const { return inner_.size(); }
    static ragged::MemorySpace space() { return {}; }

    template <class T>
    Completion all_gather(T* base, std::int64_t count) {
        return staged(base, count * size(), [&](T* device) { return inner_.all_gather(device, count); });
    }
    template <class T>
    Completion reduce_scatter(T* base, std::int64_t count) {
        return staged(base, count * size(), [&](T* device) { return inner_.reduce_scatter(device, count); });
    }
    template <class T>
    Completion all_gather_v(T* base, Counts counts) {
        return staged(base, sum(counts), [&](T* device) { return inner_.all_gather_v(device, counts); });
    }
    template <class T>
    Completion reduce_scatter_v(T* base, Counts counts) {
        return staged(base, sum(counts), [&](T* device) { return inner_.reduce_scatter_v(device, counts); });
    }
    template <class T>
    Completion all_reduce(T* base, std::int64_t count) {
        return staged(base, count, [&](T* device) { return inner_.all_reduce(device, count); });
    }
    template <class T>
    Completion broadcast(T* base, std::int64_t count, int root) {
        return staged(base, count, [&](T* device) { return inner_.broadcast(device, count, root); });
    }
    template <class T>
    Completion send_receive(std::span<const ragged::Message<const T>> sends,
                            std::span<const ragged::Message<T>> receives) {
        std::vector<std::shared_ptr<DeviceArray<T>>> out, in;
        std::vector<ragged::Message<const T>> device_sends;
        std::vector<ragged::Message<T>> device_receives;
        for (const auto& message : sends) {
            out.push_back(std::make_shared<DeviceArray<T>>(message.count));
            out.back()->upload(message.data);
            device_sends.push_back({out.back()->data(), message.count, message.peer});
        }
        for (const auto& message : receives) {
            in.push_back(std::make_shared<DeviceArray<T>>(message.count));
            device_receives.push_back({in.back()->data(), message.count, message.peer});
        }
        Completion done(inner_.send_receive(std::span<const ragged::Message<const T>>(device_sends),
                                            std::span<const ragged::Message<T>>(device_receives)));
        for (std::size_t i = 0; i < in.size(); ++i)
            done.copies_.push_back([device = in[i], host = receives[i].data] { device->download(host); });
        done.copies_.push_back([out] {}); // kept until then
        return done;
    }
    template <class T>
    Completion all_to_all_v(const T* send, Counts send_counts, T* receive, Counts receive_counts) {
        auto out = std::make_shared<DeviceArray<T>>(sum(send_counts));
        out->upload(send);
        Completion done = staged(receive, sum(receive_counts), [&](T* device) {
            return inner_.all_to_all_v(static_cast<const T*>(out->data()), send_counts, device,
                                       receive_counts);
        });
        done.copies_.push_back([out] {});
        return done;
    }
    Completion barrier() { return Completion(inner_.barrier()); }
    StagedCommunicator split(int color, int key) { return StagedCommunicator(inner_.split(color, key)); }

  private:
    static std::int64_t sum(Counts counts) {
        return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
    }
    template <class T, class Start>
    Completion staged(T* host, std::int64_t count, const Start& start) {
        auto device = std::make_shared<DeviceArray<T>>(count);
        device->upload(host);
        Completion done(start(device->data()));
        done.copies_.push_back([device, host] { device->download(host); });
        return done;
    }

    ragged::NcclCommunicator inner_;
};

} // namespace support
