// expect: the tensor lies in slices
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/plan/static_plan.hpp>

constexpr ragged::Group layer{
    ragged::Tensor{"experts", {4, 8, 16}, ragged::rows(8), ragged::DType::bf16, 0, true}};
constexpr auto plan = ragged::plan<layer>(4);

#ifdef RAGGED_MUST_FAIL
constexpr auto experts = plan.tensor<"experts">();
#else
constexpr auto experts = plan.slice<"experts", 3>();
#endif
static_assert(experts.shape[0] == 8);
