// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The CUDA engine with products by cuBLAS: link ragged::cublas.
#pragma once

#include <ragged/cuda.hpp>

#include <ragged/optim/cublas_gemm.hpp>
