// expect: is not a constant expression|must be initialized by a constant expression
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

[[maybe_unused]] constexpr auto large = ragged::Group{ragged::Tensor{"wq", {64, 64}, ragged::tile({65, 32})}};
[[maybe_unused]] constexpr auto small = ragged::Group{ragged::Tensor{"wq", {64, 64}, ragged::tile({64, 32})}};

void use() {
#ifdef RAGGED_MUST_FAIL
    constexpr auto bad = ragged::plan<large>(4);
#else
    constexpr auto good = ragged::plan<small>(4);
    static_cast<void>(good);
#endif
}
