// expect: the layouts lie on another kind of topology than the mesh
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/local_communicator.hpp>
#include <ragged/redistribute/redistribution.hpp>

using namespace ragged;
using Line = Topology<Axis<"s">>;
using Plane = Topology<Axis<"r">, Axis<"s">>;

void use(const GroupLayout<Line, Placements<AlongAxis<"s", RaggedEvenly>>>& line,
         const GroupLayout<Plane, Placements<AlongAxis<"r", Replicate>, AlongAxis<"s", RaggedEvenly>>>& plane,
         Mesh<Plane, LocalCommunicator>& mesh, HostResource& memory) {
#ifdef RAGGED_MUST_FAIL
    make_redistribution<float>(line, line, mesh, memory);
#else
    make_redistribution<float>(line, plane, mesh.world(), memory);
#endif
}
