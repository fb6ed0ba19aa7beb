// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a planner policy gets and gives back. A policy sees tensors, their legal cuts and the number of
// devices, and returns an arrangement; make_plan (make_plan.hpp) checks it against the laws. A policy is a
// small copyable struct and may live anywhere; examples/ has one written by a third party.
#pragma once

#include <concepts>
#include <span>
#include <vector>

#include <ragged/plan/plan.hpp>

namespace ragged {

/// A tensor as a policy sees it: one contiguous run of elements. Each slice of a sliced tensor is one.
struct PlanTensor {
    Tensor spec;
    CutPattern cuts;
    std::int64_t align_elems = 1; // its start is a multiple of this; divides PlanInput::alignment_elems
    std::int64_t slice = -1;      // of a sliced tensor; -1: the whole tensor

    constexpr std::int64_t elements() const { return cuts.elements; }
};

struct PlanInput {
    std::span<const PlanTensor> tensors; // registration order
    std::int64_t num_devices = 1;
    std::int64_t alignment_elems = 1; // every S is a multiple of this
    std::int64_t element_bytes = 1;   // of the largest plane: what padding costs

    constexpr std::int64_t elements() const {
        std::int64_t sum = 0;
        for (const PlanTensor& tensor : tensors)
            sum = checked_add(sum, tensor.elements(), "elements of a group");
        return sum;
    }
};

/// What a policy returns.
struct Arrangement {
    struct Region {
        std::int64_t shard_elems = 0; // S
        std::int64_t set_by = -1;     // index of the tensor that forced S; -1: none did
    };
    struct Start {
        std::int64_t segment = 0;
        std::int64_t offset = 0; // elements from the start of the gathered segment
    };

    std::vector<Region> segments{};
    std::vector<Start> starts{}; // [tensors]
    // Each tensor is cut into num_devices even runs of rows (the last may be short or missing); offsets then
    // count inside a shard, and a gather has to be copied apart. Only comparison layouts do this.
    bool interleaved = false;
};

/// | expression                          | meaning                                                     |
/// | ----------------------------------- | ----------------------------------------------------------- |
/// | p(input) -> Arrangement             | local, deterministic; may throw PlanError                   |
/// | P::name -> string                   | for reports                                                 |
/// | P::keeps_laws = false (optional)    | a layout for comparison: laws it breaks are counted         |
template <class P>
concept planner_policy = std::copyable<P> && requires(const P& policy, const PlanInput& input) {
    { policy(input) } -> std::same_as<Arrangement>;
    {std::string_view(P::name)};
};

} // namespace ragged
