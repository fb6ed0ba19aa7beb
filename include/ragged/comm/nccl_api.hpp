// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// NCCL and CUDA themselves, as the Api of BasicNcclCommunicator. The only header that knows their versions.
// Each function is one call of theirs and returns its status; results come back through the last parameter.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <cuda.h> // types of the driver; its functions are asked for at run time
#include <cuda_runtime.h>
#include <nccl.h>

#include <ragged/comm/nccl_registration.hpp>
#include <ragged/core/cuda_stream.hpp>

#if NCCL_VERSION_CODE < 21903
#error "ragged: NCCL 2.19.3 or later is needed"
#endif

namespace ragged {

struct NcclApi {
    using Comm = ncclComm_t;
    using Stream = CudaStream;
    using Event = cudaEvent_t;
    using UniqueId = ncclUniqueId;
#if NCCL_VERSION_CODE >= 22703
    using Window = ncclWindow_t;
    static constexpr bool has_windows() {
        return true;
    }
#else
    using Window = void*;
    static constexpr bool has_windows() {
        return false;
    }
#endif

    static NcclStatus of(ncclResult_t result) {
        return {NcclStatus::Library::nccl, static_cast<int>(result)};
    }
    /// CUDA also keeps the error; forget it there, or the next unrelated check finds it.
    static NcclStatus of(cudaError_t error) {
        if (error != cudaSuccess)
            static_cast<void>(cudaGetLastError());
        return {NcclStatus::Library::cuda, static_cast<int>(error)};
    }
    static std::string text(NcclStatus status) {
        if (status.library == NcclStatus::Library::cuda)
            return cudaGetErrorString(static_cast<cudaError_t>(status.code));
        const std::string_view last = ncclGetLastError(nullptr);
        return concat(ncclGetErrorString(static_cast<ncclResult_t>(status.code)), last.empty() ? "" : ": ",
                      last);
    }

    static NcclStatus unique_id(UniqueId& id) {
        return of(ncclGetUniqueId(&id));
    }
    /// @param share  whether what is split from it shares its resources; NCCL asks the parent's configuration
    static NcclStatus initialise(int device, Comm& comm, int size, const UniqueId& id, int rank, bool share) {
        const CudaDeviceGuard there(device);
        ncclConfig_t config = configuration(share);
        return of(ncclCommInitRankConfig(&comm, size, id, rank, &config));
    }
    static NcclStatus split(Comm comm, int color, int key, Comm& made, bool share) {
        ncclConfig_t config = configuration(share);
        return of(ncclCommSplit(comm, color, key, &made, &config));
    }
    static NcclStatus rank_of(Comm comm, int& rank, int& size) {
        const NcclStatus status = of(ncclCommUserRank(comm, &rank));
        return status.ok() ? of(ncclCommCount(comm, &size)) : status;
    }
    static NcclStatus finalize(Comm comm) {
        return of(ncclCommFinalize(comm));
    }
    static NcclStatus destroy(Comm comm) {
        return of(ncclCommDestroy(comm));
    }
    static NcclStatus abort(Comm comm) {
        return of(ncclCommAbort(comm));
    }
    static NcclStatus async_error(Comm comm, NcclStatus& error) {
        ncclResult_t result = ncclSuccess;
        const NcclStatus status = of(ncclCommGetAsyncError(comm, &result));
        error = of(result);
        return status;
    }

    static NcclStatus group_start() {
        return of(ncclGroupStart());
    }
    static NcclStatus group_end() {
        return of(ncclGroupEnd());
    }
    static NcclStatus all_gather(const void* from, void* to, std::size_t count, DType dtype, Comm comm,
                                 const Stream& stream) {
        return of(ncclAllGather(from, to, count, native(dtype), comm, stream.native()));
    }
    static NcclStatus reduce_scatter(const void* from, void* to, std::size_t count, DType dtype,
                                     Reduction reduction, Comm comm, const Stream& stream) {
        return of(
            ncclReduceScatter(from, to, count, native(dtype), native(reduction), comm, stream.native()));
    }
    static NcclStatus all_reduce(const void* from, void* to, std::size_t count, DType dtype,
                                 Reduction reduction, Comm comm, const Stream& stream) {
        return of(ncclAllReduce(from, to, count, native(dtype), native(reduction), comm, stream.native()));
    }
    static NcclStatus broadcast(const void* from, void* to, std::size_t count, DType dtype, int root,
                                Comm comm, const Stream& stream) {
        return of(ncclBroadcast(from, to, count, native(dtype), root, comm, stream.native()));
    }
    static NcclStatus reduce(const void* from, void* to, std::size_t count, DType dtype, Reduction reduction,
                             int root, Comm comm, const Stream& stream) {
        return of(ncclReduce(from, to, count, native(dtype), native(reduction), root, comm, stream.native()));
    }
    static NcclStatus send(const void* from, std::size_t count, DType dtype, int peer, Comm comm,
                           const Stream& stream) {
        return of(ncclSend(from, count, native(dtype), peer, comm, stream.native()));
    }
    static NcclStatus receive(void* to, std::size_t count, DType dtype, int peer, Comm comm,
                              const Stream& stream) {
        return of(ncclRecv(to, count, native(dtype), peer, comm, stream.native()));
    }

    static NcclStatus register_local(Comm comm, void* pointer, std::size_t bytes, void*& handle) {
        return of(ncclCommRegister(comm, pointer, bytes, &handle));
    }
    static NcclStatus deregister_local(Comm comm, void* handle) {
        return of(ncclCommDeregister(comm, handle));
    }
    /// Whether the driver can hand out the allocation at `pointer`, as it can memory of ncclMemAlloc and not
    /// that of cudaMalloc or a pool. NCCL fails where it cannot, and the communicator with it.
    static NcclStatus can_be_window(const void* pointer, bool& can) {
        can = false;
        void *retain = nullptr, *release = nullptr;
        if (const NcclStatus status = driver_function("cuMemRetainAllocationHandle", retain);
            !status.ok() || retain == nullptr)
            return status;
        if (const NcclStatus status = driver_function("cuMemRelease", release);
            !status.ok() || release == nullptr)
            return status;
        CUmemGenericAllocationHandle handle = 0;
        can = reinterpret_cast<decltype(&cuMemRetainAllocationHandle)>(retain)(
                  &handle, const_cast<void*>(pointer)) == CUDA_SUCCESS;
        if (can)
            static_cast<void>(reinterpret_cast<decltype(&cuMemRelease)>(release)(handle));
        return {};
    }
#if NCCL_VERSION_CODE >= 22703
    static NcclStatus register_window(Comm comm, void* pointer, std::size_t bytes, Window& window) {
        return of(ncclCommWindowRegister(comm, pointer, bytes, &window, NCCL_WIN_COLL_SYMMETRIC));
    }
    static NcclStatus deregister_window(Comm comm, Window window) {
        return of(ncclCommWindowDeregister(comm, window));
    }
#else
    static NcclStatus register_window(Comm, void*, std::size_t, Window&) {
        return {};
    }
    static NcclStatus deregister_window(Comm, Window) {
        return {};
    }
#endif

    static NcclStatus device_of(const Stream& stream, int& number) {
        number = stream.device();
        return {};
    }
    /// Before 2.24 NCCL has no 8-bit floats; they are then moved as bytes.
    static NcclStatus can_sum_fp8(int device, bool& can) {
        int major = 0;
        const NcclStatus status =
            of(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
        can = NCCL_VERSION_CODE >= 22400 && major >= 9;
        return status;
    }
    static NcclStatus space_of(const void* pointer, MemorySpace& space) {
        cudaPointerAttributes found{};
        const NcclStatus status = of(cudaPointerGetAttributes(&found, pointer));
        space = found.type == cudaMemoryTypeDevice || found.type == cudaMemoryTypeManaged
                    ? MemorySpace::of_device(found.device)
                    : host_space;
        return status;
    }

    static NcclStatus create_event(int device, Event& event) {
        const CudaDeviceGuard there(device);
        return of(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    }
    static NcclStatus destroy_event(Event event) {
        return of(cudaEventDestroy(event));
    }
    static NcclStatus record_event(Event event, const Stream& stream) {
        return of(cudaEventRecord(event, stream.native()));
    }
    static NcclStatus query_event(Event event) {
        const cudaError_t error = cudaEventQuery(event);
        return error == cudaErrorNotReady ? nccl_in_progress : of(error);
    }
    static NcclStatus wait_event(const Stream& stream, Event event) {
        return of(cudaStreamWaitEvent(stream.native(), event, 0));
    }

    static NcclStatus allocate_device(int device, std::size_t bytes, void*& pointer) {
        const CudaDeviceGuard there(device);
        return of(cudaMalloc(&pointer, bytes));
    }
    static NcclStatus free_device(void* pointer) {
        return of(cudaFree(pointer));
    }
    /// @param device  which the host copies from and to; no other gets a context for it
    static NcclStatus allocate_host(int device, std::size_t bytes, void*& pointer) {
        const CudaDeviceGuard there(device);
        return of(cudaMallocHost(&pointer, bytes));
    }
    static NcclStatus free_host(void* pointer) {
        return of(cudaFreeHost(pointer));
    }
    static NcclStatus copy(void* to, const void* from, std::size_t bytes, const Stream& stream) {
        return of(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream.native()));
    }

  private:
    static ncclConfig_t configuration(bool share) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        config.splitShare = share ? 1 : 0;
        return config;
    }
    /// `function` stays null where the driver has no such function.
    static NcclStatus driver_function(const char* symbol, void*& function) {
        constexpr unsigned version = 11000; // CUDA 11.0 has all that are asked for
        cudaDriverEntryPointQueryResult found{};
        return of(cudaGetDriverEntryPointByVersion(symbol, &function, version, cudaEnableDefault, &found));
    }
    static ncclRedOp_t native(Reduction reduction) {
        return reduction == Reduction::max ? ncclMax : ncclSum;
    }
    static ncclDataType_t native(DType dtype) {
        switch (dtype) {
        case DType::f32:
            return ncclFloat32;
        case DType::f64:
            return ncclFloat64;
        case DType::bf16:
            return ncclBfloat16;
        case DType::f16:
            return ncclFloat16;
#if NCCL_VERSION_CODE >= 22400
        case DType::f8e4m3:
            return ncclFloat8e4m3;
        case DType::f8e5m2:
            return ncclFloat8e5m2;
#endif
        case DType::i8:
            return ncclInt8;
        default:
            return ncclUint8;
        }
    }
};

static_assert(static_cast<int>(ncclInProgress) == nccl_in_progress.code &&
              static_cast<int>(ncclRemoteError) == nccl_remote_error.code && ncclSuccess == 0 &&
              cudaSuccess == 0);

using NcclCommunicator = BasicNcclCommunicator<NcclApi>;

static_assert(has_all_gather<NcclCommunicator, float> && has_reduce_scatter<NcclCommunicator, float> &&
              has_all_gather_v<NcclCommunicator, float> && has_reduce_scatter_v<NcclCommunicator, float> &&
              has_all_reduce<NcclCommunicator, float> && has_broadcast<NcclCommunicator, float> &&
              has_send_receive<NcclCommunicator, float> && has_all_to_all_v<NcclCommunicator, float> &&
              has_barrier<NcclCommunicator> && has_split<NcclCommunicator> &&
              has_grouping<NcclCommunicator> && has_all_gather_host<NcclCommunicator> &&
              has_stream_wait<NcclCommunicator, CudaStream>);

} // namespace ragged
