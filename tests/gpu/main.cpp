// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The main of every test that needs a device: without one it says so and passes nothing.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>

#include <cuda_runtime_api.h>

int main(int argc, char** argv) {
    int devices = 0; // left as it is when the call fails
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
        std::printf("skipped: no CUDA device (%s)\n",
                    status == cudaSuccess ? "none is visible" : cudaGetErrorString(status));
        return 0;
    }
    return doctest::Context(argc, argv).run();
}
