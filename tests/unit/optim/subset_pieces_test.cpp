// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/optim/subset_pieces.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>

#include <ragged/group/host_executor.hpp>
#include <ragged/plan/make_plan.hpp>

using ragged::PlacedTensor;
using ragged::SubsetPiece;

namespace {

using Line = ragged::Topology<ragged::Axis<"shard">>;
using ragged::state::Accumulated;
using ragged::state::Resident;
using ragged::state::Sharded;

ragged::GroupSpec layer() {
    return {"layer",
            {{"wq", {24, 12}, ragged::tile({8, 8})},
             {"none", {0, 3}},
             {"b", {7}},
             {"w1", {30, 5}, ragged::rows(3)},
             {"norm", {11}}}};
}

constexpr auto matrices = [](const PlacedTensor& tensor) { return tensor.spec.shape.rank() == 2; };

} // namespace

TEST_CASE("pieces of all ranks are the wanted tensors, each element once and at its place in both regions") {
    for (const std::int64_t ranks : {1, 2, 3, 4, 5, 8}) {
        CAPTURE(ranks);
        const ragged::Plan plan = ragged::make_plan(layer(), ranks);
        const ragged::UnequalPlan some = ragged::subset(plan, matrices);
        std::set<std::pair<std::int64_t, std::int64_t>> seen; // tensor, element
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            std::set<std::int64_t> in_plan, in_state;
            for (const SubsetPiece& piece : subset_pieces(plan, some, matrices, rank)) {
                CHECK(piece.elements > 0);
                const PlacedTensor& moved = some.tensors.at(static_cast<std::size_t>(piece.tensor));
                const auto here = std::find_if(plan.tensors.begin(), plan.tensors.end(),
                                               [&](const auto& t) { return t.spec.name == moved.spec.name; });
                CHECK(piece.offset + plan.segments[0].region_begin(rank) == here->offset + piece.first);
                CHECK(piece.state_offset + some.segments[0].region_begin(rank) == moved.offset + piece.first);
                for (std::int64_t i = 0; i < piece.elements; ++i) {
                    CHECK(seen.emplace(piece.tensor, piece.first + i).second);
                    CHECK(in_plan.insert(piece.offset + i).second);
                    CHECK(in_state.insert(piece.state_offset + i).second);
                }
            }
            CHECK((in_plan.empty() || *in_plan.rbegin() < plan.region_elems(rank)));
            CHECK((in_state.empty() || *in_state.rbegin() < some.region_elems(rank)));
        }
        CHECK(static_cast<std::int64_t>(seen.size()) == 24 * 12 + 30 * 5);
    }
}

TEST_CASE("an update of a piece takes its elements alone, and the weights where there are some") {
    struct Add {
        void operator()(float& master, const float& x) const { master += x; }
        void operator()(float& master, const float& x, ragged::bf16& weight) const {
            master += x;
            weight = ragged::bf16(master);
        }
    };
    const ragged::Plan plan = ragged::make_plan(layer(), 3);
    const ragged::UnequalPlan some = ragged::subset(plan, matrices);
    ragged::HostResource memory;
    for (std::int64_t rank = 0; rank < 3; ++rank)
        for (const bool with_weights : {false, true}) {
            const ragged::Place<Line> place{Line(3), rank};
            ragged::DBuffer<float, Line, Resident> master(plan, place, memory);
            ragged::DBuffer<float, Line, Accumulated> gradient(plan, place, memory);
            ragged::DBuffer<ragged::bf16, Line, Sharded> weights(plan, place, memory);
            std::fill_n(gradient.region(0).data(), plan.region_elems(rank), 3.0f);
            const auto pieces = subset_pieces(plan, some, matrices, rank);
            std::int64_t wanted = 0;
            for (const SubsetPiece& piece : pieces) {
                ragged::detail::update_piece(
                    Add{}, piece,
                    ragged::Parameters<ragged::bf16, Line>{&gradient, &master,
                                                           with_weights ? &weights : nullptr},
                    ragged::HostExecutor{},
                    static_cast<const float*>(ragged::detail::at_piece(gradient, piece)));
                wanted += piece.elements;
                CHECK(ragged::detail::at_piece(master, piece)[piece.elements - 1] == 3.0f);
            }
            const auto masters = master.region(0);
            CHECK(std::count(masters.begin(), masters.end(), 3.0f) == wanted);
            CHECK(std::count(masters.begin(), masters.end(), 0.0f) ==
                  static_cast<std::int64_t>(masters.size()) - wanted);
            const auto written = weights.region(0);
            CHECK(std::count_if(written.begin(), written.end(), [](ragged::bf16 x) {
                      return static_cast<float>(x) == 3.0f;
                  }) == (with_weights ? wanted : 0));
        }
}
