// expect: a partial tensor has contributions, not values, to send
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/comm/local_communicator.hpp>
#include <ragged/redistribute/transfer_list.hpp>

using namespace ragged;
using Line = Topology<Axis<"s">>;
template <class P>
using Laid = GroupLayout<Line, Placements<AlongAxis<"s", P>>>;

void use(const Laid<Partial<>>& contributions, const Laid<RaggedEvenly>& runs, const Laid<Shard<0>>& rows) {
#ifdef RAGGED_MUST_FAIL
    transfer_list(contributions, rows);
    static_cast<void>(runs);
#else
    transfer_list(runs, rows);
    static_cast<void>(contributions);
#endif
}
