// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// This rank's pieces of some tensors of a plan: where each lies in the plan's regions and in those of the
// subset that a state lies over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ragged/buffer/dbuffer.hpp>
#include <ragged/group/executor.hpp>
#include <ragged/optim/optimizer.hpp>
#include <ragged/plan/subset.hpp>

namespace ragged {

/// One non-empty piece. The same elements in two regions of the same segment.
struct SubsetPiece {
    std::int64_t tensor; // index in the subset
    std::int64_t segment;
    std::int64_t offset;       // elements from the start of this rank's region of the plan
    std::int64_t state_offset; // elements from the start of that of the subset
    std::int64_t first;        // flat element of the tensor
    std::int64_t elements;

    bool operator==(const SubsetPiece&) const = default;
};

/// The pieces of `shard_rank` in the order of the plan. Local.
/// @param some  subset(plan, wanted)
template <class SegmentType, class Wanted>
std::vector<SubsetPiece> subset_pieces(const BasicPlan<SegmentType>& plan, const UnequalPlan& some,
                                       const Wanted& wanted, std::int64_t shard_rank) {
    std::vector<SubsetPiece> pieces;
    std::size_t next = 0;
    for (const PlacedTensor& tensor : plan.tensors) {
        if (!wanted(tensor))
            continue;
        const auto index = static_cast<std::int64_t>(next);
        const PlacedTensor& moved = some.tensors[next++];
        if (const Piece piece = piece_of(plan, tensor, shard_rank); piece.elements > 0)
            pieces.push_back({index, tensor.segment, piece.region_offset,
                              piece_of(some, moved, shard_rank).region_offset, piece.first, piece.elements});
    }
    return pieces;
}

namespace detail {

/// Some tensors of a plan on one rank: what a state of theirs lies over, and where the pieces are. Buffers
/// refer to the plan, so it stays where it is.
struct PlanSubset {
    template <class PlanType, class Wanted>
    PlanSubset(const PlanType& of, const Wanted& wanted, std::int64_t shard_rank)
        : plan(subset(of, wanted))
        , pieces(subset_pieces(of, plan, wanted, shard_rank)) {}
    PlanSubset(const PlanSubset&) = delete;
    PlanSubset& operator=(const PlanSubset&) = delete;

    UnequalPlan plan;
    std::vector<SubsetPiece> pieces;
};

/// The elements of a piece in a buffer over the plan, and in one over the subset. (By way of Values, so that
/// nvcc can name their type.)
template <class T, class Topology, class State, class PlanType>
T* at_piece(const DBuffer<T, Topology, State, PlanType>& buffer, const SubsetPiece& piece) {
    return Values<T>{buffer.region(piece.segment).data() + piece.offset, piece.elements}.data;
}
template <class T, class Topology, class State, class PlanType>
T* at_state(const DBuffer<T, Topology, State, PlanType>& buffer, const SubsetPiece& piece) {
    return Values<T>{buffer.region(piece.segment).data() + piece.state_offset, piece.elements}.data;
}

/// op(master, array..., weights where there are some) for each element of a piece.
/// @param arrays  the piece's first element in each, executor's space
template <class Op, class T, class Topology, class PlanType, class E, class... U>
void update_piece(const Op& op, const SubsetPiece& piece, const Parameters<T, Topology, PlanType>& of,
                  const E& executor, U*... arrays) {
    float* const master = at_piece(*of.master, piece);
    if (of.weights != nullptr)
        executor.update(op, piece.elements, master, arrays..., at_piece(*of.weights, piece));
    else
        executor.update(op, piece.elements, master, arrays...);
}

} // namespace detail

} // namespace ragged
