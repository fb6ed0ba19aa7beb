// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The library with products by BLAS: link ragged::blas.
#pragma once

#include <ragged/ragged.hpp>

#include <ragged/optim/blas_gemm.hpp>
