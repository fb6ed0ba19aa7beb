// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The matrix product of the examples: BLAS where it was found, else our own, which is several times slower.
#pragma once

#include <string_view>

#if defined(RAGGED_EXAMPLE_HAS_BLAS)
#include <ragged/optim/blas_gemm.hpp>
#else
#include <ragged/optim/gemm.hpp>
#endif

namespace support {

#if defined(RAGGED_EXAMPLE_HAS_BLAS)
using Product = ragged::BlasGemm;
inline constexpr std::string_view product_left_out = "";
/// Every core has a rank of its own.
inline void use_one_thread() {
    ragged::use_one_blas_thread();
}
#else
using Product = ragged::PlainGemm;
inline constexpr std::string_view product_left_out =
    "built without BLAS: products are our own, several times slower\n";
inline void use_one_thread() {}
#endif

} // namespace support
