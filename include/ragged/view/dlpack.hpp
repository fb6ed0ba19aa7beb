// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensors to and from other libraries by DLPack 1.x, without a copy. Needs <dlpack/dlpack.h>, of any version:
// what a header before 1.0 lacks is declared here, since its layout is fixed. Not part of ragged.hpp.
//
//     auto buffer = std::make_shared<decltype(gathered)>(std::move(gathered));
//     consume(ragged::to_dlpack(buffer, "wq").release());             // the consumer calls its deleter
//     ragged::DBuffer<float, Mesh> masters(plan, place, ragged::from_dlpack<float>(produce()));
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring> // std::memcpy
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <dlpack/dlpack.h>

#include <ragged/view/tensor_view.hpp>

namespace ragged {
namespace dlpack {

#if defined(DLPACK_MAJOR_VERSION)
static_assert(DLPACK_MAJOR_VERSION == 1, "ragged: DLPack changed the layout of its structs, wanted is 1.x");
using ::DLManagedTensorVersioned;
using ::DLPackVersion;
#else
struct DLPackVersion {
    std::uint32_t major, minor;
};
/// Up to `flags` the layout is that of every version to come, so that any reader can call the deleter.
struct DLManagedTensorVersioned {
    DLPackVersion version;
    void* manager_ctx;
    void (*deleter)(DLManagedTensorVersioned*); // may be null
    std::uint64_t flags;
    DLTensor dl_tensor;
};
#endif

inline constexpr DLPackVersion version{1, 1}; // the first with fp8
inline constexpr std::uint64_t read_only = 1; // bits of `flags`
inline constexpr std::uint64_t is_copied = 2;

/// Tells the producer that a tensor is no longer used.
struct Release {
    void operator()(DLManagedTensorVersioned* tensor) const {
        if (tensor->deleter != nullptr)
            tensor->deleter(tensor);
    }
};
using OwnedTensor = std::unique_ptr<DLManagedTensorVersioned, Release>;

/// One element of `dtype`, in DLPack's numbers.
constexpr DLDataType type_of(DType dtype) {
    constexpr std::uint8_t float8_e4m3fn = 10, float8_e5m2 = 12;
    std::uint8_t code = kDLFloat;
    switch (dtype) {
    case DType::f32:
    case DType::f64:
    case DType::f16:
        break;
    case DType::bf16:
        code = kDLBfloat;
        break;
    case DType::f8e4m3:
        code = float8_e4m3fn;
        break;
    case DType::f8e5m2:
        code = float8_e5m2;
        break;
    case DType::i8:
        code = kDLInt;
        break;
    case DType::u8:
        code = kDLUInt;
        break;
    }
    return {code, static_cast<std::uint8_t>(8 * size_bytes(dtype)), 1};
}

} // namespace dlpack

namespace detail {

/// What one DLPack tensor of a buffer keeps alive until its deleter is called.
template <class Buffer>
struct DLPackExport {
    std::shared_ptr<Buffer> buffer;
    std::int64_t shape[max_rank]{};
    std::int64_t strides[max_rank]{};
    dlpack::DLManagedTensorVersioned tensor{};
};

/// @tparam T  const element of a gathered buffer, as its views have it
template <class Buffer, class T, class Extents>
dlpack::OwnedTensor export_tensor(const std::shared_ptr<Buffer>& buffer, const TensorView<T, Extents>& from) {
    using Element = std::remove_const_t<T>;
    using Export = DLPackExport<Buffer>;
    auto exported = std::make_unique<Export>();
    exported->buffer = buffer;
    for (int dim = 0; dim < from.rank(); ++dim) {
        exported->shape[dim] = from.extent(dim);
        exported->strides[dim] = from.stride(dim);
    }
    const MemorySpace space = buffer->space();
    dlpack::DLManagedTensorVersioned& tensor = exported->tensor;
    tensor.version = dlpack::version;
    tensor.flags = std::is_const_v<T> ? dlpack::read_only : 0;
    // The tensor's own address and no byte_offset: PyTorch and others read from `data` and ignore the offset.
    tensor.dl_tensor.data = from.elements() == 0 ? nullptr : const_cast<Element*>(from.data());
    tensor.dl_tensor.device = {space.kind == MemorySpace::Kind::host ? kDLCPU : kDLCUDA, space.device};
    tensor.dl_tensor.ndim = from.rank();
    tensor.dl_tensor.dtype = dlpack::type_of(dtype_of<Element>);
    tensor.dl_tensor.shape = exported->shape;
    tensor.dl_tensor.strides = exported->strides;
    tensor.manager_ctx = exported.get();
    tensor.deleter = [](dlpack::DLManagedTensorVersioned* self) {
        delete static_cast<Export*>(self->manager_ctx);
    };
    return dlpack::OwnedTensor(&exported.release()->tensor);
}

inline std::string text_of(const DLDataType& type) {
    return concat("code ", int{type.code}, ", ", int{type.bits}, " bits, ", int{type.lanes}, " lanes");
}

/// "[4, 3]"
inline std::string text_of(const std::int64_t* numbers, int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
        text += concat(i == 0 ? "" : ", ", numbers[i]);
    return concat("[", text, "]");
}

/// Elements of a tensor that lies like ours. Strides of extents of 1 say nothing; none at all are row-major.
/// @throws BufferError  with the strides found and wanted; the elements do not fit 64 bits
inline std::int64_t compact_elements(const DLTensor& tensor) {
    const int rank = tensor.ndim;
    std::vector<std::int64_t> wanted(static_cast<std::size_t>(rank));
    std::int64_t elements = 1;
    bool compact = true;
    for (int dim = rank - 1; dim >= 0; --dim) {
        const std::int64_t extent = tensor.shape[dim];
        if (extent < 0)
            throw BufferError(concat("a DLPack tensor of shape ", text_of(tensor.shape, rank), ": extent ",
                                     extent, " is negative"));
        wanted[static_cast<std::size_t>(dim)] = elements;
        compact = compact && (tensor.strides == nullptr || extent == 1 || tensor.strides[dim] == elements);
        elements = checked_mul<BufferError>(elements, extent, "elements of a DLPack tensor");
    }
    if (!compact && elements > 0)
        throw BufferError(concat("a DLPack tensor of shape ", text_of(tensor.shape, rank), " has strides ",
                                 text_of(tensor.strides, rank), ", wanted is ", text_of(wanted.data(), rank),
                                 ": row-major without gaps"));
    return elements;
}

/// @throws BufferError  neither of the host nor of a CUDA device
inline MemorySpace space_of(const DLDevice& device) {
    std::int32_t type = 0; // of a later version it may be a value that the header's enum does not have
    static_assert(sizeof type == sizeof device.device_type);
    std::memcpy(&type, &device.device_type, sizeof type);
    if (type == kDLCPU || type == kDLCUDAHost)
        return host_space;
    if (type == kDLCUDA)
        return MemorySpace::of_device(device.device_id);
    throw BufferError(concat("a DLPack tensor is on a device of type ", type, ", wanted is the host (",
                             int{kDLCPU}, ", or ", int{kDLCUDAHost}, " where CUDA pins it) or CUDA (",
                             int{kDLCUDA}, ")"));
}

} // namespace detail

/// Hand the whole tensor called `name` to another library. Local, no copy. Keeps the buffer alive until the
/// tensor's deleter is called, on whose thread the buffer may end. Read only when the buffer is Gathered.
/// @param buffer  Gathered or Partial, and it stays: move nothing out of it while the tensor is used. Its
///                resource outlives the tensor, its plan need not
/// @return owns the tensor; release() hands it to a consumer, who calls its deleter once
/// Sync: nothing. A consumer of device memory works on the stream of what filled the buffer, or after it
/// @throws what view throws (so do the two below)
template <class Buffer>
dlpack::OwnedTensor to_dlpack(const std::shared_ptr<Buffer>& buffer, std::string_view name) {
    return detail::export_tensor(buffer, view(*buffer, name));
}
/// The tensor at `index` in the plan; a slice of a sliced tensor has its own.
template <class Buffer>
dlpack::OwnedTensor to_dlpack(const std::shared_ptr<Buffer>& buffer, std::size_t index) {
    return detail::export_tensor(buffer, view(*buffer, index));
}
/// A tensor of a constant plan.
template <class Buffer, class Extents>
dlpack::OwnedTensor to_dlpack(const std::shared_ptr<Buffer>& buffer, const StaticTensor<Extents>& tensor) {
    return detail::export_tensor(buffer, view(*buffer, tensor));
}

/// Take a tensor of another library as memory for a buffer. Local, no copy. Calls the tensor's deleter once:
/// when the memory is given back, or at once when the tensor is refused or has no elements.
/// @tparam T      element type that the tensor must have
/// @param tensor  writable, row-major without gaps, on the host or a CUDA device; consumed
/// Sync: nothing. Work on device memory comes after what the producer enqueued
/// @throws BufferError  another major version (nothing but its deleter is touched), read only, another
///                      element type, strides, device, or no data: with what was found and wanted
template <element T>
Memory from_dlpack(dlpack::DLManagedTensorVersioned* tensor) {
    dlpack::OwnedTensor owned(tensor);
    if (tensor->version.major != dlpack::version.major)
        throw BufferError(concat("a DLPack tensor of version ", tensor->version.major, ".",
                                 tensor->version.minor, ", wanted is ", dlpack::version.major, ".x"));
    if ((tensor->flags & dlpack::read_only) != 0)
        throw BufferError(concat("a DLPack tensor is read only (flags ", tensor->flags,
                                 "), wanted is one that a buffer may write"));
    const DLTensor& found = tensor->dl_tensor;
    constexpr DLDataType wanted = dlpack::type_of(dtype_of<T>);
    if (found.dtype.code != wanted.code || found.dtype.bits != wanted.bits ||
        found.dtype.lanes != wanted.lanes)
        throw BufferError(concat("a DLPack tensor of type ", detail::text_of(found.dtype), ", wanted is ",
                                 name(dtype_of<T>), ": ", detail::text_of(wanted)));
    const MemorySpace space = detail::space_of(found.device);
    const std::int64_t elements = detail::compact_elements(found);
    if (elements == 0)
        return Memory::adopt(nullptr, 0, space);
    if (found.data == nullptr)
        throw BufferError(
            concat("a DLPack tensor of ", elements, " elements has no data, wanted is an address"));
    const auto bytes = static_cast<std::size_t>(
        checked_mul<BufferError>(elements, std::int64_t{sizeof(T)}, "bytes of a DLPack tensor"));
    return Memory::adopt(static_cast<std::byte*>(found.data) + found.byte_offset, bytes, space,
                         owned.release(), [](void* owner, void*, std::size_t) noexcept {
                             dlpack::Release{}(static_cast<dlpack::DLManagedTensorVersioned*>(owner));
                         });
}

} // namespace ragged
