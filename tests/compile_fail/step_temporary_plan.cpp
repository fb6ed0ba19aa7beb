// expect: [Dd]eleted function
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/local_communicator.hpp>
#include <ragged/step/sharded_step.hpp>

using namespace ragged;
using Line = Topology<Axis<"shard">>;

void use(Mesh<Line, LocalCommunicator>& mesh, HostResource& memory) {
#ifdef RAGGED_MUST_FAIL
    make_step<float>(ModelPlan{}, mesh, memory);
#else
    const ModelPlan model;
    make_step<float>(model, mesh, memory);
#endif
}
