// expect: nothing is redistributed to Partial but what is Partial of the same operation
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/local_communicator.hpp>
#include <ragged/redistribute/redistribution.hpp>

using namespace ragged;
using Line = Topology<Axis<"s">>;
template <class P>
using Laid = GroupLayout<Line, Placements<AlongAxis<"s", P>>>;

void use(const Laid<Partial<>>& sums, const Laid<Partial<PartialOp::max>>& maxima,
         Mesh<Line, LocalCommunicator>& mesh, HostResource& memory) {
#ifdef RAGGED_MUST_FAIL
    make_redistribution<float>(sums, maxima, mesh, memory);
#else
    make_redistribution<float>(maxima, maxima, mesh, memory);
    make_redistribution<float>(sums, sums, mesh, memory);
#endif
}
