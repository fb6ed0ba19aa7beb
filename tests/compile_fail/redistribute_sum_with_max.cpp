// expect: one axis holds maxima and another sums
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/local_communicator.hpp>
#include <ragged/redistribute/redistribution.hpp>

using namespace ragged;
using Plane = Topology<Axis<"r">, Axis<"s">>;
template <class R, class S>
using Laid = GroupLayout<Plane, Placements<AlongAxis<"r", R>, AlongAxis<"s", S>>>;
using Max = Partial<PartialOp::max>;

void use(const Laid<Max, Partial<>>& mixed, const Laid<Max, Max>& maxima, const Laid<Replicate, Shard<0>>& to,
         Mesh<Plane, LocalCommunicator>& mesh, HostResource& memory) {
#ifdef RAGGED_MUST_FAIL
    make_redistribution<float>(mixed, to, mesh, memory);
#else
    make_redistribution<float>(maxima, to, mesh, memory);
    static_cast<void>(mixed);
#endif
}
