// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Statuses as exceptions. Needs the toolkit and no device.
#include <doctest/doctest.h>

#include <ragged/core/cuda_error.hpp>

#include "support/expect.hpp"

TEST_CASE("a failure says what was done, the status and the place") {
    ragged::check(cudaSuccess, "nothing");
    const auto line = ragged::SourceLocation::current().line + 2;
    try {
        ragged::check(cudaErrorInvalidValue, "zeroing a buffer");
        CHECK(false);
    } catch (const ragged::CudaError& error) {
        const std::string text = error.what();
        CHECK(error.status() == cudaErrorInvalidValue);
        CHECK(error.where().line == line);
        CHECK(support::contains(text, "zeroing a buffer: cudaErrorInvalidValue, invalid argument ("));
        CHECK(support::contains(text, "cuda_error_test.cpp:" + std::to_string(line) + ")"));
    }
}
