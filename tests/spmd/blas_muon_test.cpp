// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Muon with products by BLAS: the same bits for any number of ranks and replicas.
#include <doctest/doctest.h>

#include <ragged/optim/blas_gemm.hpp>

#include "support/muon_suite.hpp"

TEST_CASE("masters, weights, momentum and moments have the same bits for any number of ranks and replicas") {
    ragged::use_one_blas_thread();
    CHECK_NOTHROW(support::check_bits_of_muon(ragged::BlasGemm{}));
}
