// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Arrays of device memory, for suites that take their memory from somewhere.
#pragma once

#include <memory>
#include <vector>

#include <ragged/core/cuda_error.hpp>

namespace support {

class DeviceArrays {
  public:
    template <class T>
    class Array {
      public:
        explicit Array(const std::vector<T>& values)
            : count_(values.size()) {
            void* data = nullptr;
            ragged::check(cudaMalloc(&data, (count_ + 1) * sizeof(T)), "allocating an array");
            data_.reset(data, [](void* pointer) { static_cast<void>(cudaFree(pointer)); });
            ragged::check(cudaMemcpy(data, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice),
                          "upload");
            // The copy may still be on its way to the device, and other streams do not wait for this one.
            ragged::check(cudaStreamSynchronize(cudaStreamLegacy), "upload");
        }
        T* data() const { return static_cast<T*>(data_.get()); }
        std::vector<T> values() const {
            std::vector<T> values(count_);
            ragged::check(cudaMemcpy(values.data(), data(), count_ * sizeof(T), cudaMemcpyDeviceToHost),
                          "download");
            return values;
        }

      private:
        std::shared_ptr<void> data_;
        std::size_t count_;
    };

    template <class T>
    Array<T> of(const std::vector<T>& values) const {
        return Array<T>(values);
    }
};

} // namespace support
