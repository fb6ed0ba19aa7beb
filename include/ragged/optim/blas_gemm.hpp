// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Products by a BLAS library, through its C interface. Link ragged::blas.
//
//     ragged::use_one_blas_thread();     // where every core has a rank of its own
#pragma once

#include <cstdint>
#include <limits>

#include <cblas.h>

#include <ragged/optim/gemm.hpp>

// OpenBLAS's own; null where the program is linked with another library.
extern "C" void openblas_set_num_threads(int) __attribute__((weak));

namespace ragged {

/// OpenBLAS spreads a product over all cores of the machine, which only slows ranks down that share it. From
/// now on it uses the calling thread, in the whole process.
/// @return whether the library is OpenBLAS; others are told by an environment variable of theirs, such as
/// MKL_NUM_THREADS=1, before the program starts
inline bool use_one_blas_thread() noexcept {
    if (openblas_set_num_threads == nullptr)
        return false;
    openblas_set_num_threads(1);
    return true;
}

namespace detail {

template <class Order, class Flag, class Int>
Int blas_index(void (*)(Order, Flag, Flag, Int, Int, Int, float, const float*, Int, const float*, Int, float,
                        float*, Int));

} // namespace detail

/// The integer that the library was built with: 32 or 64 bits.
using BlasInt = decltype(detail::blas_index(&cblas_sgemm));

/// Host; done when it returns. The library chooses the order of a sum by the sizes of the product, the
/// machine and its threads, so bits are equal between ranks on machines of one kind with as many threads.
struct BlasGemm {
    static constexpr MemorySpace space() { return host_space; }

    /// @throws BufferError  as PlainGemm; a size or a distance of rows beyond BlasInt
    void operator()(Transpose a, Transpose b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                    const float* A, std::int64_t lda, const float* B, std::int64_t ldb, float beta, float* C,
                    std::int64_t ldc) const {
        detail::check_product(a, b, m, n, k, lda, ldb, ldc);
        if (m == 0 || n == 0)
            return; // distances may be 0, which the library refuses
        cblas_sgemm(CblasRowMajor, flag(a), flag(b), index(m), index(n), index(k), alpha, A, distance(lda), B,
                    distance(ldb), beta, C, index(ldc));
    }

  private:
    static CBLAS_TRANSPOSE flag(Transpose transpose) {
        return transpose == Transpose::no ? CblasNoTrans : CblasTrans;
    }
    static BlasInt index(std::int64_t size) {
        if (size > static_cast<std::int64_t>(std::numeric_limits<BlasInt>::max()))
            throw BufferError(concat("a product has a side or a distance of ", size, ", this BLAS counts to ",
                                     std::numeric_limits<BlasInt>::max()));
        return static_cast<BlasInt>(size);
    }
    /// Of factors: with k = 0 it may be 0, which the library refuses.
    static BlasInt distance(std::int64_t elements) { return index(elements == 0 ? 1 : elements); }
};

static_assert(gemm<BlasGemm>);

} // namespace ragged
