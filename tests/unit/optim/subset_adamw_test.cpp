// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// AdamW on some tensors has the bits of AdamW on all, there; everything else stays, and takes no memory.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include <ragged/optim/subset_adamw.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/view/shard_view.hpp>

#include "support/expect.hpp"
#include "support/fill_shards.hpp"

using support::expect;
namespace state = ragged::state;

namespace {

using Line = ragged::Topology<ragged::Axis<"shard">>;
using Parameters = ragged::Parameters<ragged::bf16, Line>;

void check(const ragged::ModelPlan& model, const ragged::Place<Line>& place, std::size_t wanted_bits,
           bool with_weights) {
    const ragged::Plan& plan = model.groups[0];
    const auto wanted = [&](const ragged::PlacedTensor& tensor) {
        return (wanted_bits >> (tensor.spec.name.back() - '0') & 1) != 0;
    };
    ragged::CountingResource<> memory, counted;
    Parameters::Gradient gradient(plan, place, memory);
    Parameters::Master some(plan, place, memory), all(plan, place, memory), before(plan, place, memory);
    Parameters::Weights some_weights(plan, place, memory), all_weights(plan, place, memory);
    support::fill_shards(some), support::fill_shards(all), support::fill_shards(before);
    ragged::SubsetAdamW<Line> subset(place, ragged::detail::host_executor);
    subset.add_group(plan, wanted, counted);
    expect(counted.live_bytes() ==
               static_cast<std::size_t>(ragged::SubsetAdamW<Line>::planned_bytes(plan, wanted, place.rank)),
           "planned bytes are taken");
    expect(subset.state_bytes() == static_cast<std::int64_t>(counted.live_bytes()), "all is state");
    ragged::AdamW<Line> adamw(model, place, memory, {.learning_rate = 0.1});
    for (std::int64_t step = 1; step <= 3; ++step) {
        for (std::size_t t = 0; t < plan.tensors.size(); ++t)
            for (std::int64_t i = 0; i < ragged::shard(gradient, t).elements(); ++i)
                ragged::shard(gradient, t)[i] = support::value_of(t + static_cast<std::size_t>(step),
                                                                  ragged::shard(gradient, t).first() + i);
        const std::vector<Parameters> of_all{{&gradient, &all, with_weights ? &all_weights : nullptr}};
        adamw.update(std::span<const Parameters>(of_all), 0.25);
        subset.update(ragged::op::AdamW::of(adamw.options, step, 0.25), 0,
                      Parameters{&gradient, &some, with_weights ? &some_weights : nullptr});
    }
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        const bool is_wanted = wanted(plan.tensors[t]);
        const auto master = ragged::shard(some, t), reference = ragged::shard(is_wanted ? all : before, t);
        const auto weights = ragged::shard(some_weights, t), cast = ragged::shard(all_weights, t);
        for (std::int64_t i = 0; i < master.elements(); ++i) {
            expect(master[i] == reference[i], "masters");
            expect(static_cast<float>(weights[i]) == (is_wanted ? static_cast<float>(cast[i]) : 0.0f),
                   "weights");
        }
    }
    if (wanted_bits == ~std::size_t{0})
        expect(subset.state_bytes() <= adamw.state_bytes(), "no more than AdamW's");
}

} // namespace

TEST_CASE("wanted tensors have the bits of AdamW, the others stay") {
    for (std::uint32_t seed = 0; seed < 30; ++seed)
        for (const std::int64_t ranks : {1, 3, 4}) {
            CAPTURE(seed);
            CAPTURE(ranks);
            const ragged::ModelPlan model{
                "m",
                {ragged::make_plan(support::random_group(seed), ranks,
                                   ragged::policy::Exact{.max_segments = 1 + seed % 2},
                                   {.alignment_bytes = 16, .planes = {ragged::DType::bf16}})}};
            for (std::int64_t rank = 0; rank < ranks; ++rank)
                for (const std::size_t wanted :
                     {~std::size_t{0}, std::size_t{0}, std::size_t{5}, std::size_t{42}})
                    CHECK_NOTHROW(check(model, {Line(ranks), rank}, wanted, seed % 2 == 0));
        }
}
