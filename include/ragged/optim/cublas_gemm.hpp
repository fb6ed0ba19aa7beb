// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Products by cuBLAS on a stream. Link ragged::cublas.
//
//     ragged::CublasGemm product(compute);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <cublas_v2.h>

#include <ragged/core/cuda_stream.hpp>
#include <ragged/core/source_location.hpp>
#include <ragged/optim/gemm.hpp>

namespace ragged {

/// A call of cuBLAS failed.
class CublasError : public Error {
  public:
    CublasError(const std::string& what, cublasStatus_t status)
        : Error(what)
        , status_(status) {}

    cublasStatus_t status() const noexcept { return status_; }

  private:
    cublasStatus_t status_;
};

/// Return when `status` is success. Does not synchronise.
/// @throws CublasError
inline void check(cublasStatus_t status, std::string_view what,
                  const SourceLocation& where = SourceLocation::current()) {
    if (status != CUBLAS_STATUS_SUCCESS)
        throw CublasError(concat(what, ": ", cublasGetStatusName(status), ", ", cublasGetStatusString(status),
                                 " (", where.file, ":", where.line, ")"),
                          status);
}

/// Device; enqueues on its stream and blocks nobody. All in fp32: no TensorFloat-32, no emulation. cuBLAS
/// gives equal bits for equal sizes on GPUs of one kind as long as the handle works on one stream, which it
/// does. Owns the handle, and with it workspace that cuBLAS takes itself; movable.
class CublasGemm {
  public:
    /// @param stream  outlives this
    /// @throws CublasError  no handle
    explicit CublasGemm(CudaStream stream)
        : stream_(stream) {
        const CudaDeviceGuard guard(stream.device());
        check(cublasCreate(&handle_), "creating a handle of cuBLAS");
        try {
            check(cublasSetStream(handle_, stream.native()), "giving cuBLAS a stream");
            check(cublasSetMathMode(handle_, CUBLAS_PEDANTIC_MATH), "asking cuBLAS for fp32");
            check(cublasSetAtomicsMode(handle_, CUBLAS_ATOMICS_NOT_ALLOWED), "asking cuBLAS for one order");
        } catch (...) {
            static_cast<void>(cublasDestroy(handle_));
            throw;
        }
    }
    CublasGemm(CublasGemm&& other) noexcept
        : stream_(other.stream_)
        , handle_(std::exchange(other.handle_, nullptr)) {}
    CublasGemm& operator=(CublasGemm&& other) noexcept {
        std::swap(stream_, other.stream_);
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~CublasGemm() {
        if (handle_ != nullptr)
            static_cast<void>(cublasDestroy(handle_));
    }

    MemorySpace space() const { return MemorySpace::of_device(stream_.device()); }
    CudaStream stream() const noexcept { return stream_; }

    /// @throws BufferError  a negative size, or rows that overlap; CublasError
    void operator()(Transpose a, Transpose b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                    const float* A, std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                    std::int64_t ldc) const {
        detail::check_product(a, b, m, n, k, lda, ldb, ldc);
        if (m == 0 || n == 0)
            return;
        const CudaDeviceGuard guard(stream_.device());
        // Rows of ours are columns to cuBLAS, which so computes C^T = op(B)^T op(A)^T.
        check(cublasSgemm_64(handle_, flag(b), flag(a), n, m, k, &alpha, B, distance(ldb), A, distance(lda),
                             &beta, C, ldc),
              "multiplying matrices");
    }

  private:
    static cublasOperation_t flag(Transpose transpose) {
        return transpose == Transpose::no ? CUBLAS_OP_N : CUBLAS_OP_T;
    }
    /// With k = 0 it may be 0, which cuBLAS refuses.
    static std::int64_t distance(std::int64_t elements) { return elements == 0 ? 1 : elements; }

    CudaStream stream_;
    cublasHandle_t handle_ = nullptr;
};

static_assert(gemm<CublasGemm>);

} // namespace ragged
