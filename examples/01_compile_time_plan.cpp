// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A Llama layer written as a constant: the plan is made by the compiler, and its padding is asserted there.
#include <iostream>

#include <ragged/ragged.hpp>

using ragged::rows;
using ragged::Tensor;
using ragged::tile;

constexpr auto layer = ragged::Group{
    Tensor{"wq", {4096, 4096}, tile({32, 32})},
    Tensor{"wk", {1024, 4096}, tile({32, 32})},
    Tensor{"wv", {1024, 4096}, tile({32, 32})},
    Tensor{"wo", {4096, 4096}, tile({32, 32})},
    Tensor{"w1", {14336, 4096}, rows(16)},
    Tensor{"w3", {14336, 4096}, rows(16)},
    Tensor{"w2", {4096, 14336}, rows(16)},
    Tensor{"attention_norm", {4096}},
    Tensor{"mlp_norm", {4096}},
};
using Mesh = ragged::Topology<ragged::Axis<"replica", 2>, ragged::Axis<"shard", 64>>;

constexpr auto plan = ragged::plan<layer>(Mesh{}.size<"shard">());
static_assert(plan.padding_ratio() < 0.08, "the planner promises less than 8 % here");
static_assert(plan.segments()[0].proven_optimal(), "and no order of these tensors does better");

int main() {
    std::cout << "S = " << plan.segments()[0].shard_elems << " elements on each of " << plan.num_devices
              << " devices, padding " << plan.padding_ratio() * 100 << " %\n";
    // The same numbers at run time, for the interfaces that take a Plan.
    const bool equal = plan.plan("layer") == ragged::make_plan(layer.spec("layer"), 64);
    return equal ? 0 : 1;
}
