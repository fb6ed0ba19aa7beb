// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// AdamW in 8 bits against a plain one that searches the code book, bit for bit: masters, weights, codes and
// scales, for any number of ranks and blocks of every kind.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <ragged/optim/adam8bit.hpp>

#include "support/block_oracle.hpp"
#include "support/code_book.hpp"
#include "support/expect.hpp"
#include "support/random_group.hpp"
#include "support/trained_rank.hpp"

using support::Line;
using support::message_of;
using support::Parameters;
using support::plan_of;
namespace state = ragged::state;

namespace {

using Rank = support::TrainedRank<ragged::Adam8bit<Line>>;
static_assert(ragged::optimizer<ragged::Adam8bit<Line>, ragged::bf16, Line>);

struct Books {
    std::vector<float> first = support::code_book<std::int8_t>();
    std::vector<float> second = support::code_book<std::uint8_t>();
};
const Books books;

/// One tensor, whole, one element at a time.
class PlainTensor {
  public:
    PlainTensor(const ragged::TensorSpec& spec, std::uint32_t tensor)
        : tensor_(tensor)
        , blocks(support::blocks_by_coordinates(spec.shape, spec.block)) {
        for (const std::int64_t block : blocks) {
            if (static_cast<std::size_t>(block) >= scales.size())
                scales.resize(static_cast<std::size_t>(block) + 1);
            elements.push_back({support::drawn(tensor, static_cast<std::int64_t>(elements.size()), 0)});
        }
    }

    void step(const ragged::AdamWOptions& o, std::uint32_t n, double scale) {
        const auto step = ragged::op::AdamW::of(o, n, scale);
        std::vector<Scales> largest(scales.size());
        for (std::size_t i = 0; i < elements.size(); ++i) {
            Element& e = elements[i];
            const Scales& old = scales[static_cast<std::size_t>(blocks[i])];
            const float code = books.first[static_cast<std::size_t>(std::abs(e.first_code))];
            const float gradient =
                support::drawn(tensor_, static_cast<std::int64_t>(i), n) * static_cast<float>(scale);
            const float first = (e.first_code < 0 ? -code : code) * old.first;
            const float second = books.second[e.second_code] * old.second;
            e.first = std::fma(step.beta1, first, step.rest1 * gradient);
            e.second = std::fma(step.beta2, second, step.rest2 * gradient * gradient);
            Scales& block = largest[static_cast<std::size_t>(blocks[i])];
            block.first = std::max(block.first, std::fabs(e.first));
            block.second = std::max(block.second, e.second);
        }
        for (std::size_t block = 0; block < scales.size(); ++block)
            scales[block] = {std::max(largest[block].first, std::numeric_limits<float>::min()),
                             std::max(largest[block].second, std::numeric_limits<float>::min())};
        for (std::size_t i = 0; i < elements.size(); ++i) {
            Element& e = elements[i];
            const Scales& of = scales[static_cast<std::size_t>(blocks[i])];
            const float ratio = e.first / std::fma(std::sqrt(e.second), step.root, step.epsilon);
            e.master = std::fma(-step.rate, ratio, std::fma(-step.decay, e.master, e.master));
            const int magnitude =
                support::nearest<std::int8_t>(books.first, std::fabs(e.first) * (1.0f / of.first));
            e.first_code = static_cast<std::int8_t>(e.first < 0 ? -magnitude : magnitude);
            e.second_code = support::nearest<std::uint8_t>(books.second, e.second * (1.0f / of.second));
        }
    }

    struct Element {
        float master;
        std::int8_t first_code = 0;
        std::uint8_t second_code = 0;
        float first = 0, second = 0;
    };
    struct Scales {
        float first = 0, second = 0;
    };

  private:
    std::uint32_t tensor_;

  public:
    std::vector<std::int64_t> blocks; // [elements]
    std::vector<Element> elements{};
    std::vector<Scales> scales{}; // [blocks]
};

/// How much of a rank differs from the plain tensors; what lies in padding counts as well.
std::int64_t differences(Rank& rank, const std::vector<std::vector<PlainTensor>>& plain) {
    std::int64_t wrong = 0;
    for (std::size_t group = 0; group < plain.size(); ++group) {
        auto& own = rank.optimizer.group(group);
        for (std::size_t t = 0; t < plain[group].size(); ++t) {
            const auto master = ragged::shard(rank.masters[group], t);
            for (std::int64_t i = 0; i < master.elements(); ++i) {
                const auto& e = plain[group][t].elements[static_cast<std::size_t>(master.first() + i)];
                wrong += master[i] != e.master;
                wrong += ragged::shard(rank.weights[group], t)[i].bits != ragged::bf16(e.master).bits;
                wrong += ragged::shard(own.first, t)[i] != e.first_code;
                wrong += ragged::shard(own.second, t)[i] != e.second_code;
                // so that what is left below is padding
                master[i] = 0;
                ragged::shard(rank.weights[group], t)[i] = ragged::bf16(0.0f);
                ragged::shard(own.first, t)[i] = 0;
                ragged::shard(own.second, t)[i] = 0;
            }
        }
        for (const ragged::PieceEntry& entry : own.table.entries())
            for (std::int64_t block = 0; block < entry.num_blocks; ++block) {
                const auto& of = plain[group][static_cast<std::size_t>(entry.tensor)]
                                     .scales[static_cast<std::size_t>(entry.first_block + block)];
                const auto local = static_cast<std::size_t>(entry.local_block + block);
                wrong += own.first_scales()[local] != of.first || own.second_scales()[local] != of.second;
            }
        const auto not_zero = [](const auto& buffer) {
            std::int64_t count = 0;
            const auto* bytes = reinterpret_cast<const char*>(buffer.segment_data(0));
            for (std::size_t i = 0; i < buffer.bytes(); ++i)
                count += bytes[i] != 0;
            return count;
        };
        wrong += not_zero(rank.masters[group]) + not_zero(rank.weights[group]) + not_zero(own.first) +
                 not_zero(own.second);
    }
    return wrong;
}

void check(const std::vector<ragged::GroupSpec>& groups) {
    const ragged::AdamWOptions options{.learning_rate = 0.01, .weight_decay = 0.1};
    std::vector<std::vector<PlainTensor>> plain;
    for (const ragged::Plan& plan : plan_of(groups, 1).groups) {
        plain.emplace_back();
        for (std::uint32_t t = 0; t < plan.tensors.size(); ++t)
            plain.back().emplace_back(plan.tensors[t].spec, t);
    }
    constexpr std::uint32_t steps = 4;
    for (std::uint32_t n = 1; n <= steps; ++n)
        for (auto& group : plain)
            for (PlainTensor& tensor : group)
                tensor.step(options, n, 0.5);
    for (const std::int64_t ranks : {1, 2, 3, 4, 5, 8}) {
        const ragged::ModelPlan model = plan_of(groups, ranks);
        for (std::int64_t index = 0; index < ranks; ++index) {
            CAPTURE(ranks);
            CAPTURE(index);
            Rank rank(model, ranks, index, options);
            for (std::uint32_t n = 1; n <= steps; ++n)
                rank.step(n, n % 2 == 0);
            CHECK(differences(rank, plain) == 0);
        }
    }
}

bool same(const auto& a, const auto& b) {
    return std::memcmp(a.segment_data(0), b.segment_data(0), a.bytes()) == 0;
}

} // namespace

TEST_CASE("masters, weights, codes and scales are those of the plain optimizer: random groups") {
    for (std::uint32_t seed = 0; seed < 16; ++seed) {
        CAPTURE(seed);
        check({support::random_group(seed), support::random_group(seed + 500)});
    }
}

TEST_CASE("and blocks of every kind, with tails, larger than packs") {
    check({{"sizes",
            {{"tiles", {70, 65}, ragged::tile({32, 32})},
             {"runs", {5, 130}, ragged::tile({1, 64})},
             {"flat", {1000}, ragged::elements(256)},
             {"rows", {33, 17}, ragged::rows(4)},
             {"whole", {301}, ragged::whole()},
             {"thick", {3, 6, 7}, ragged::tile({2, 3, 4})},
             {"each", {19}},
             {"none", {0}}}}});
}

TEST_CASE("an optimizer goes on from state that was kept") {
    const ragged::ModelPlan model = plan_of({support::random_group(3)}, 2);
    Rank kept(model, 2, 1), next(model, 2, 1);
    kept.step(1, false);
    kept.step(2, false);
    auto& from = kept.optimizer.group(0);
    auto& to = next.optimizer.group(0);
    ragged::copy(kept.masters[0], next.masters[0]);
    ragged::copy(from.first, to.first);
    ragged::copy(from.second, to.second);
    std::copy(from.first_scales().begin(), from.first_scales().end(), to.first_scales().begin());
    std::copy(from.second_scales().begin(), from.second_scales().end(), to.second_scales().begin());
    next.optimizer.set_steps(kept.optimizer.steps());
    kept.step(3, false);
    next.step(3, false);
    CHECK(same(kept.masters[0], next.masters[0]));
    CHECK(same(from.second, to.second));
}

TEST_CASE("the state of a layer of a GPT takes a quarter of AdamW's, and is all that is taken") {
    std::vector<ragged::TensorSpec> tensors;
    for (const auto& [name, rows, columns] : {std::tuple{"qkv", 2304, 768}, std::tuple{"out", 768, 768},
                                              std::tuple{"up", 3072, 768}, std::tuple{"down", 768, 3072}}) {
        tensors.push_back({name, {rows, columns}, ragged::tile({32, 32})});
        tensors.push_back({std::string(name) + ".bias", {rows}, ragged::elements(256)});
    }
    const ragged::ModelPlan model = plan_of({{"layer", tensors}}, 4);
    const ragged::Place<Line> place(Line(4), 2);
    ragged::HostResource memory;
    ragged::CountingResource<> counting;
    const ragged::AdamW<Line> full(model, place, memory);
    const ragged::Adam8bit<Line> small(model, place, counting);
    CHECK(static_cast<double>(small.state_bytes()) <= 0.27 * static_cast<double>(full.state_bytes()));
    CHECK(small.memory_bytes() == static_cast<std::int64_t>(counting.live_bytes()));
}

TEST_CASE("it follows AdamW") {
    const ragged::ModelPlan model = plan_of({{"g", {{"w", {64, 64}, ragged::tile({32, 32})}}}}, 1);
    Rank small(model, 1, 0);
    support::TrainedRank<ragged::AdamW<Line>> full(model, 1, 0);
    double moved = 0, apart = 0;
    for (std::uint32_t n = 1; n <= 50; ++n) {
        small.step(n, false);
        full.step(n, false);
    }
    for (std::int64_t i = 0; i < 64 * 64; ++i) {
        const float end = ragged::shard(full.masters[0], "w")[i];
        moved += std::fabs(end - support::drawn(0, i, 0));
        apart += std::fabs(end - ragged::shard(small.masters[0], "w")[i]);
    }
    CHECK(apart < 0.05 * moved);
}

TEST_CASE("a gradient that is not finite spoils its block only") {
    const ragged::ModelPlan model = plan_of({{"g", {{"w", {40}, ragged::elements(10)}}}}, 1);
    for (const float bad :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
        Rank rank(model, 1, 0);
        rank.fill(rank.gradients, 1);
        ragged::shard(rank.gradients[0], "w")[17] = bad;
        const auto all = rank.parameters(true);
        rank.optimizer.update(std::span<const Parameters>(all), 1.0);
        rank.step(2, true);
        for (std::int64_t i = 0; i < 40; ++i)
            CHECK(std::isfinite(ragged::shard(rank.masters[0], "w")[i]) == (i / 10 != 1));
        for (std::size_t i = 40; i < rank.masters[0].region(0).size(); ++i)
            CHECK(rank.masters[0].region(0)[i] == 0);
    }
}

TEST_CASE("what does not fit is refused") {
    const ragged::ModelPlan model = plan_of({{"g", {{"w", {64}}}}, {"h", {{"w", {48}}}}}, 2);
    Rank rank(model, 2, 0);
    const auto good = rank.parameters(true);
    const auto update = [&](std::span<const Parameters> parameters, double scale) {
        return message_of([&] { rank.optimizer.update(parameters, scale); });
    };
    CHECK(update(std::span(good).first(1), 1.0) == "Adam8bit: parameters of 1 groups, the model has 2");
    CHECK(update(good, std::numeric_limits<double>::quiet_NaN()) ==
          "AdamW: the scale of the gradient is nan, it must be finite");
    rank.optimizer.options.beta1 = 1.0;
    CHECK(update(good, 1.0) == "AdamW: beta1 is 1.000000, it must be in [0, 1)");
    CHECK(rank.optimizer.steps() == 0);
    const ragged::ModelPlan floats{"m", {ragged::make_plan(ragged::GroupSpec{"g", {{"w", {64}}}}, 2)}};
    CHECK(message_of([&] { ragged::Adam8bit<Line>(floats, rank.place, rank.memory); }) ==
          "group 'g': starts are aligned to 64 elements, in i8 that is less than 128 bytes; declare i8 in "
          "PlanOptions::planes");
    ragged::ModelPlan many = model;
    many.groups[0].segments.resize(9, many.groups[0].segments[0]);
    CHECK(message_of([&] { ragged::Adam8bit<Line>(many, rank.place, rank.memory); }) ==
          "group 'g' has 9 segments, operations on blocks and tensors take 8");
}
