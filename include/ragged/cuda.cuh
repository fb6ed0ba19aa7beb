// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The whole CUDA engine, for units that nvcc compiles: the executor that runs group operations on a stream.
#pragma once

#include <ragged/cuda.hpp>

#include <ragged/group/cuda_executor.cuh>
#include <ragged/group/cuda_kernels.cuh>
