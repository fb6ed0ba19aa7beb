// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The kernels that ptx_test.py reads, by the operations that launch them.
#include <ragged/cuda.cuh>
#include <ragged/optim/adam8bit.hpp>

namespace kernel = ragged::kernel;
namespace op = ragged::op;
namespace body = ragged::body;
using ragged::bf16;
using ragged::f16;
using ragged::f8e4m3;

// flat: scale, cast, add, axpy
template __global__ void kernel::map(op::Cast<float>, float*, std::int64_t, const float*);
template __global__ void kernel::map(op::Cast<bf16>, bf16*, std::int64_t, const bf16*);
template __global__ void kernel::map(op::Cast<bf16>, bf16*, std::int64_t, const float*);
template __global__ void kernel::map(op::Cast<float>, float*, std::int64_t, const bf16*);
template __global__ void kernel::map(op::Cast<f8e4m3>, f8e4m3*, std::int64_t, const float*);
template __global__ void kernel::map(op::Cast<f16>, f16*, std::int64_t, const float*);
template __global__ void kernel::map(op::Add, float*, std::int64_t, const float*, const float*);
template __global__ void kernel::map(op::Add, bf16*, std::int64_t, const bf16*, const bf16*);
template __global__ void kernel::map(op::Axpy, float*, std::int64_t, const float*, const float*);
template __global__ void kernel::map(op::Axpy, float*, std::int64_t, const float*, const bf16*);
template __global__ void kernel::map(op::Axpy, double*, std::int64_t, const double*, const double*);

// optimizers: arrays are updated in place
template __global__ void kernel::update(op::AdamW, std::int64_t, float*, float*, float*, const float*);
template __global__ void kernel::update(op::AdamW, std::int64_t, float*, float*, float*, const float*, bf16*);
void launch_adam8bit(const ragged::CudaExecutor& executor, const op::Adam8bit& step,
                     const ragged::CudaPieceTable& table, const ragged::Regions<float>& master,
                     const ragged::Regions<std::int8_t>& first, const ragged::Regions<std::uint8_t>& second,
                     const ragged::Regions<const float>& gradient, const ragged::Regions<bf16>& weights) {
    executor.update_blocks(step, table, master, first, second, gradient);
    executor.update_blocks(step, table, master, first, second, gradient, weights);
}

// runs
template __global__ void kernel::copy_runs<1>(ragged::CudaRunTable::View, int, void*, const void*);
template __global__ void kernel::copy_runs<2>(ragged::CudaRunTable::View, int, void*, const void*);
template __global__ void kernel::copy_runs<4>(ragged::CudaRunTable::View, int, void*, const void*);
template __global__ void kernel::copy_runs<8>(ragged::CudaRunTable::View, int, void*, const void*);

// reductions
template __global__ void kernel::fold_rows(op::SumOfSquares, const float*, std::int64_t, double*);
template __global__ void kernel::fold_rows(op::SumOfSquares, const bf16*, std::int64_t, double*);
template __global__ void kernel::fold_rows(op::SumOfSquares, const double*, std::int64_t, double*);
template __global__ void kernel::fold_rows(op::AllFinite, const bf16*, std::int64_t, std::uint32_t*);
template __global__ void kernel::fold_total(op::SumOfSquares, const double*, int, bool, double*, double*);
template __global__ void kernel::fold_piece_rows(op::SumOfSquares, ragged::CudaPieceTable::View,
                                                 const __grid_constant__ ragged::Regions<const float>);

template __global__ void kernel::exact_rows(const float*, std::int64_t, std::int64_t*);
template __global__ void kernel::exact_rows(const bf16*, std::int64_t, std::int64_t*);
template __global__ void kernel::exact_total(const std::int64_t*, int, double*);

// blocks
template __global__ void kernel::blocks(ragged::CudaPieceTable::View,
                                        const __grid_constant__ body::AbsMaxBlocks<float>);
template __global__ void kernel::blocks(ragged::CudaPieceTable::View,
                                        const __grid_constant__ body::AbsMaxBlocks<bf16>);
template __global__ void kernel::blocks(ragged::CudaPieceTable::View,
                                        const __grid_constant__ body::QuantizeBlocks<bf16, f8e4m3>);
template __global__ void kernel::blocks(ragged::CudaPieceTable::View,
                                        const __grid_constant__ body::QuantizeBlocks<float, std::int8_t>);
template __global__ void kernel::blocks(ragged::CudaPieceTable::View,
                                        const __grid_constant__ body::DequantizeBlocks<f8e4m3, bf16>);
template __global__ void kernel::blocks(ragged::CudaPieceTable::View,
                                        const __grid_constant__ body::FillBlocks<bf16>);
