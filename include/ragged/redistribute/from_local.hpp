// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A tensor that exists only in pieces: each rank brings some of its rows, and the whole is what all bring. No
// size is inferred from one rank, so ranks without rows are ordinary.
//
//     const auto found = ragged::from_local("w", {my_rows, 4096}, ragged::rows(16), mesh.along<"shard">());
//     ragged::TensorLayout layout(found.spec, topology, ragged::place<"shard">(found.shard));
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ragged/comm/agree.hpp>
#include <ragged/layout/block_grid.hpp>
#include <ragged/layout/ragged_shard.hpp>
#include <ragged/spec/tensor_spec.hpp>

namespace ragged {

/// A tensor and how one axis cuts it.
struct FoundTensor {
    TensorSpec spec;
    RaggedShard shard;
};

/// @param local  this rank's rows, in rank order behind those of the ranks before; dimension 0 may be 0 and
/// may differ, all others are the same on every rank
/// @param line   the ranks of one axis
/// Collective and blocking: 16 bytes per rank.
/// @throws SpecError  a scalar, or a block that does not fit; PlanError  rows of two ranks share a block;
/// both name the tensor. CommError  ranks bring different names, blocks, or extents behind dimension 0
template <class Communicator>
FoundTensor from_local(std::string name, const Shape& local, const Block& block, Communicator& line,
                       DType dtype = DType::bf16) {
    const auto with_rows = [&](std::int64_t rows) {
        Shape shape{rows};
        for (int dim = 1; dim < local.rank(); ++dim)
            shape.push_back(local[dim]);
        return shape;
    };
    if (local.rank() == 0)
        throw SpecError(concat("tensor '", name, "': a scalar has no rows that ranks could bring"));
    detail::Hash hash;
    const std::string rest =
        concat("tensor '", name, "' with rows of ", to_string(with_rows(1)), " ", to_string(block));
    hash.add(rest);
    detail::agree_on(line, hash.value(), "local tensors", [&] { return std::vector<std::string>{rest}; });
    std::int64_t rows = 0;
    std::vector<std::int64_t> offsets;
    for (const std::uint64_t own : detail::gather_words(line, static_cast<std::uint64_t>(local[0]))) {
        offsets.push_back(checked_mul(rows, inner_elements(local, 0), "elements of a tensor"));
        rows = checked_add(rows, static_cast<std::int64_t>(own), "rows of a tensor");
    }
    TensorSpec spec{std::move(name), with_rows(rows), block, dtype};
    const CutPattern cuts = cuts_of(spec);
    try {
        return {spec, RaggedShard::from_offsets(cuts, offsets)};
    } catch (const PlanError& error) {
        throw PlanError(concat("tensor '", spec.name, "': ", error.what()));
    }
}

} // namespace ragged
