// expect: a placement is Replicate, Partial<op>, Shard<dim>, or a ragged rule
// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/layout/static_layout.hpp>

using Plane = ragged::Topology<ragged::Axis<"replica">, ragged::Axis<"shard">>;

void use(const ragged::TensorSpec& spec, const Plane& plane) {
#ifdef RAGGED_MUST_FAIL
    const auto placements = ragged::place<"shard">(ragged::RaggedEvenly{}).then<"replica">(0);
#else
    const auto placements =
        ragged::place<"shard">(ragged::RaggedEvenly{}).then<"replica">(ragged::Replicate{});
#endif
    ragged::TensorLayout(spec, plane, placements);
}
