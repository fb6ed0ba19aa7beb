// expect: an average is of an element type with a fraction
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/local_communicator.hpp>
#include <ragged/redistribute/redistribution.hpp>

using namespace ragged;
using Line = Topology<Axis<"s">>;
template <class P>
using Laid = GroupLayout<Line, Placements<AlongAxis<"s", P>>>;

void use(const Laid<Partial<PartialOp::avg>>& averages, const Laid<Shard<0>>& to,
         Mesh<Line, LocalCommunicator>& mesh, HostResource& memory) {
#ifdef RAGGED_MUST_FAIL
    make_redistribution<std::int8_t>(averages, to, mesh, memory);
#else
    make_redistribution<bf16>(averages, to, mesh, memory);
#endif
}
