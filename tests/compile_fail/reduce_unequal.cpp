// expect: regions of unequal sizes need a communicator with reduce_scatter_v
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/ragged.hpp>

#include "support/equal_only.hpp"

using Line = ragged::Topology<ragged::Axis<"shard">>;
template <class PlanType>
using Buffer = ragged::DBuffer<float, Line, ragged::state::Partial, PlanType>;

void use(Buffer<ragged::UnequalPlan> unequal, Buffer<ragged::Plan> equal,
         ragged::Mesh<Line, support::EqualOnly>& mesh) {
#ifdef RAGGED_MUST_FAIL
    ragged::reduce(std::move(unequal), mesh).wait();
    static_cast<void>(equal);
#else
    ragged::reduce(std::move(equal), mesh).wait();
    static_cast<void>(unequal);
#endif
}
