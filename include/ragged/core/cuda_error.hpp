// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// CUDA statuses as exceptions. Needs the CUDA toolkit and no device.
//
//     ragged::check(cudaMemsetAsync(data, 0, bytes, stream.native()), "zeroing a buffer");
#pragma once

#include <string>
#include <string_view>

#include <cuda_runtime_api.h>

#include <ragged/core/error.hpp>
#include <ragged/core/source_location.hpp>

namespace ragged {

/// A call of the CUDA runtime failed, or an earlier kernel did and this call tells.
class CudaError : public Error {
  public:
    CudaError(const std::string& what, cudaError_t status, const SourceLocation& where)
        : Error(what)
        , status_(status)
        , where_(where) {}

    cudaError_t status() const noexcept { return status_; }
    const SourceLocation& where() const noexcept { return where_; }

  private:
    cudaError_t status_;
    SourceLocation where_;
};

/// Return when `status` is success; else clear the runtime's last error, so that the next check does not tell
/// of this one, and throw. Does not synchronise.
/// @param what  what was being done: "zeroing a buffer"
/// @throws CudaError
inline void check(cudaError_t status, std::string_view what,
                  const SourceLocation& where = SourceLocation::current()) {
    if (status == cudaSuccess)
        return;
    static_cast<void>(cudaGetLastError());
    throw CudaError(concat(what, ": ", cudaGetErrorName(status), ", ", cudaGetErrorString(status), " (",
                           where.file, ":", where.line, ")"),
                    status, where);
}

/// After a kernel launch. Does not synchronise: a kernel that fails while it runs is told by a later call.
/// @throws CudaError when the launch was refused
inline void check_launch(std::string_view what, const SourceLocation& where = SourceLocation::current()) {
    check(cudaGetLastError(), what, where);
}

} // namespace ragged
