// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a framework brings of its own: arrays, an allocator that keeps memory, and, where DLPack's header is
// found, both ends of an exchange. It stands for yours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring> // std::memset
#include <map>
#include <memory>
#include <new> // std::align_val_t

#include <ragged/buffer/memory_resource.hpp>
#if __has_include(<dlpack/dlpack.h>)
#include <ragged/view/dlpack.hpp>
#endif

namespace framework {

/// Arrays share memory; the last one frees it.
struct Array {
    std::shared_ptr<float> data;
    std::int64_t size;
};

inline Array zeros(std::int64_t size) {
    constexpr std::align_val_t alignment{256};
    float* const data = new (alignment) float[static_cast<std::size_t>(size)]();
    return {{data, [](float* end) { operator delete[](end, alignment); }}, size};
}

/// The array's memory for a buffer: one more array, for as long as the buffer lies there.
inline ragged::Memory lend(const Array& array) {
    return ragged::Memory::adopt(
        array.data.get(), static_cast<std::size_t>(array.size) * sizeof(float), ragged::host_space,
        new Array(array),
        [](void* owner, void*, std::size_t) noexcept { delete static_cast<Array*>(owner); });
}

/// Keeps what is given back for the next who asks for as much. One per rank; buffers point to it.
class Cache {
  public:
    Cache() = default;
    Cache(const Cache&) = delete;
    Cache& operator=(const Cache&) = delete;
    ~Cache() {
        for (const auto& [bytes, data] : idle_)
            ragged::HostResource{}.deallocate(data, bytes);
    }

    /// How often memory was asked of the system.
    int allocations() const { return allocations_; }

    static ragged::MemorySpace space() { return ragged::host_space; }
    void* allocate(std::size_t bytes) {
        if (const auto found = idle_.extract(bytes))
            return found.mapped();
        ++allocations_;
        return ragged::HostResource{}.allocate(bytes);
    }
    void zero(void* data, std::size_t bytes) { std::memset(data, 0, bytes); }
    void deallocate(void* data, std::size_t bytes) noexcept { idle_.emplace(bytes, data); }

  private:
    std::multimap<std::size_t, void*> idle_;
    int allocations_ = 0;
};
static_assert(ragged::memory_resource<Cache>);

#if __has_include(<dlpack/dlpack.h>)

/// The array for another library, which calls the tensor's deleter when it is done.
inline ragged::dlpack::DLManagedTensorVersioned* produce(const Array& array) {
    struct Produced : ragged::dlpack::DLManagedTensorVersioned {
        Array array;
        std::int64_t stride = 1;
    };
    auto* const produced = new Produced{{}, array};
    produced->version = {1, 0};
    produced->deleter = [](auto* tensor) { delete static_cast<Produced*>(tensor); };
    produced->dl_tensor = {array.data.get(),      {kDLCPU, 0},       1, {kDLFloat, 32, 1},
                           &produced->array.size, &produced->stride, 0};
    return produced;
}

/// An array over somebody's tensor, which lives as long.
inline Array consume(ragged::dlpack::DLManagedTensorVersioned* tensor) {
    const DLTensor& found = tensor->dl_tensor;
    std::int64_t size = 1;
    for (int dim = 0; dim < found.ndim; ++dim)
        size *= found.shape[dim];
    return {{static_cast<float*>(found.data), [tensor](float*) { tensor->deleter(tensor); }}, size};
}

#endif

} // namespace framework
