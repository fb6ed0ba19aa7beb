// expect: the group has no tensor of this name
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>
#include <ragged/plan/static_plan.hpp>

using Line = ragged::Topology<ragged::Axis<"shard">>;
using World = ragged::Mesh<Line, ragged::LocalCommunicator>;
namespace state = ragged::state;
template <class State>
using Buffer = ragged::DBuffer<float, Line, State>;

constexpr auto layer = ragged::Group{ragged::Tensor{"wq", {64, 64}, ragged::tile({32, 32})}};
constexpr auto plan = ragged::plan<layer>(4);

void use() {
#ifdef RAGGED_MUST_FAIL
    static_cast<void>(plan.tensor<"wk">());
#else
    static_cast<void>(plan.tensor<"wq">());
#endif
}
