// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What the CUDA engine adds for units of any compiler: streams, device memory, tables on a device. Kernels
// are in cuda.cuh. Link ragged::cuda.
#pragma once

#include <ragged/ragged.hpp>

#include <ragged/buffer/cuda_resource.hpp>
#include <ragged/core/cuda_error.hpp>
#include <ragged/core/cuda_stream.hpp>
#include <ragged/group/cuda_piece_table.hpp>
#include <ragged/group/cuda_run_table.hpp>
