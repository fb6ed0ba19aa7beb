// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// AdamW against the plain formula in double, step by step; the same bits for any number of ranks, and piece
// by piece; what it refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include <ragged/optim/adamw.hpp>
#include <ragged/view/shard_view.hpp>

#include "support/expect.hpp"
#include "support/random_group.hpp"
#include "support/trained_rank.hpp"

using support::message_of;
namespace state = ragged::state;

namespace {

using support::Line;
using support::Parameters;
using support::plan_of;
static_assert(ragged::optimizer<ragged::AdamW<Line>, ragged::bf16, Line>);
static_assert(ragged::optimizer<ragged::AdamW<Line>, float, Line>);

using Rank = support::TrainedRank<ragged::AdamW<Line>>;

/// The formula as the paper has it.
struct Plain {
    double master, first = 0, second = 0;

    void step(const ragged::AdamWOptions& o, int n, double gradient) {
        first = o.beta1 * first + (1 - o.beta1) * gradient;
        second = o.beta2 * second + (1 - o.beta2) * gradient * gradient;
        const double corrected = first / (1 - std::pow(o.beta1, n)),
                     root = std::sqrt(second / (1 - std::pow(o.beta2, n)));
        master -= o.learning_rate * (corrected / (root + o.epsilon) + o.weight_decay * master);
    }
};

bool is_near(double found, double expected, double magnitude) {
    return std::fabs(found - expected) <= 1e-6 * magnitude;
}

} // namespace

TEST_CASE("each step is the formula's, to 1e-6; options change between steps") {
    const ragged::ModelPlan model = plan_of({{"g", {{"w", {1003}}}}}, 1);
    Rank rank(model, 1, 0, {.learning_rate = 0.01, .weight_decay = 0.1});
    const auto master = ragged::shard(rank.masters[0], "w");
    const auto first = ragged::shard(rank.optimizer.first_moment(0), "w");
    const auto second = ragged::shard(rank.optimizer.second_moment(0), "w");
    for (int n = 1; n <= 12; ++n) {
        if (n == 7)
            rank.optimizer.options = {
                .learning_rate = 0.3, .beta1 = 0.5, .beta2 = 0.7, .epsilon = 1e-3, .weight_decay = 0.0};
        std::vector<Plain> plain;
        for (std::int64_t i = 0; i < 1003; ++i)
            plain.push_back({master[i], first[i], second[i]});
        rank.step(static_cast<std::uint32_t>(n), false, 0.37);
        for (std::int64_t i = 0; i < 1003; ++i) {
            Plain& expected = plain[static_cast<std::size_t>(i)];
            const double before = expected.master;
            const double gradient = 0.37 * ragged::shard(rank.gradients[0], "w")[i];
            const double reach = std::fabs(expected.first) + std::fabs(gradient);
            expected.step(rank.optimizer.options, n, gradient);
            CHECK(is_near(first[i], expected.first, reach));
            CHECK(is_near(second[i], expected.second, expected.second));
            CHECK(is_near(master[i], expected.master,
                          std::max(std::fabs(before), std::fabs(expected.master - before))));
        }
    }
    CHECK(rank.optimizer.steps() == 12);
}

TEST_CASE("an element has the same bits for any number of ranks, with weights and without; padding is zero") {
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
        CAPTURE(seed);
        const std::vector<ragged::GroupSpec> groups{support::random_group(seed),
                                                    support::random_group(seed + 1000)};
        std::map<std::array<std::int64_t, 4>, float> expected; // by plane, group, tensor, position
        for (const std::int64_t ranks : {1, 2, 3, 4, 5, 8}) {
            const ragged::ModelPlan model = plan_of(groups, ranks);
            std::map<std::array<std::int64_t, 4>, float> found;
            for (std::int64_t index = 0; index < ranks; ++index) {
                Rank rank(model, ranks, index);
                for (std::uint32_t n = 1; n <= 3; ++n)
                    rank.step(n, (ranks + n) % 2 == 0 || n == 3);
                const auto keep = [&](std::int64_t plane, std::size_t group, const auto& buffer) {
                    double sum = 0, all = 0;
                    for (std::size_t t = 0; t < buffer.plan().tensors.size(); ++t) {
                        const auto shard = ragged::shard(buffer, t);
                        for (std::int64_t i = 0; i < shard.elements(); ++i) {
                            const auto value = static_cast<float>(shard[i]);
                            found[{plane, static_cast<std::int64_t>(group), static_cast<std::int64_t>(t),
                                   shard.first() + i}] = value;
                            sum += std::fabs(double{value});
                        }
                    }
                    for (std::int64_t segment = 0; segment < buffer.num_segments(); ++segment)
                        for (const auto value : buffer.region(segment))
                            all += std::fabs(double{static_cast<float>(value)});
                    CHECK(all == doctest::Approx(sum)); // nothing in padding
                };
                for (std::size_t group = 0; group < 2; ++group) {
                    keep(0, group, rank.masters[group]);
                    keep(1, group, rank.weights[group]);
                    keep(2, group, rank.optimizer.first_moment(group));
                    keep(3, group, rank.optimizer.second_moment(group));
                }
            }
            if (ranks == 1)
                expected = found;
            CHECK(found == expected);
        }
        for (const auto& [where, value] : expected)
            if (where[0] == 1)
                CHECK(value == static_cast<float>(ragged::bf16(expected[{0, where[1], where[2], where[3]}])));
    }
}

TEST_CASE("one pass over all and passes over pieces give the same bits") {
    const ragged::ModelPlan model = plan_of(
        {{"g", {{"a", {37, 11}, ragged::rows(2)}, {"b", {301}}, {"c", {5, 77}, ragged::tile({5, 7})}}}}, 3);
    for (std::int64_t index = 0; index < 3; ++index) {
        Rank flat(model, 3, index), pieces(model, 3, index);
        auto& moments = pieces.optimizer;
        for (std::uint32_t n = 1; n <= 3; ++n) {
            flat.step(n, true);
            pieces.fill(pieces.gradients, n);
            const auto step = ragged::op::AdamW::of(moments.options, n, 0.5);
            for (std::size_t t = 0; t < 3; ++t) {
                const auto piece = [&](auto& buffer) { return ragged::shard(buffer, t).data(); };
                ragged::HostExecutor{}.update(step, ragged::shard(pieces.masters[0], t).elements(),
                                              piece(pieces.masters[0]), piece(moments.first_moment(0)),
                                              piece(moments.second_moment(0)), piece(pieces.gradients[0]),
                                              piece(pieces.weights[0]));
            }
        }
        const auto same = [](const auto& a, const auto& b) {
            return std::memcmp(a.segment_data(0), b.segment_data(0), a.bytes()) == 0;
        };
        CHECK(same(flat.masters[0], pieces.masters[0]));
        CHECK(same(flat.weights[0], pieces.weights[0]));
        CHECK(same(flat.optimizer.second_moment(0), moments.second_moment(0)));
    }
}

TEST_CASE("an optimizer goes on from moments that were kept; its bytes are counted") {
    const ragged::ModelPlan model = plan_of({support::random_group(3), support::random_group(4)}, 2);
    Rank kept(model, 2, 1), next(model, 2, 1);
    kept.step(1, false);
    kept.step(2, false);
    for (std::size_t group = 0; group < 2; ++group) {
        ragged::copy(kept.masters[group], next.masters[group]);
        ragged::copy(kept.optimizer.first_moment(group), next.optimizer.first_moment(group));
        ragged::copy(kept.optimizer.second_moment(group), next.optimizer.second_moment(group));
    }
    next.optimizer.set_steps(kept.optimizer.steps());
    kept.step(3, false);
    next.step(3, false);
    for (std::size_t group = 0; group < 2; ++group)
        CHECK(std::memcmp(kept.masters[group].segment_data(0), next.masters[group].segment_data(0),
                          kept.masters[group].bytes()) == 0);
    ragged::CountingResource<> counting;
    const ragged::AdamW<Line> counted(model, kept.place, counting);
    CHECK(counted.state_bytes() == 8 * (model.groups[0].region_elems() + model.groups[1].region_elems()));
    CHECK(counted.memory_bytes() == static_cast<std::int64_t>(counting.live_bytes()));
}

TEST_CASE("a gradient that is not finite spoils its own element only") {
    const ragged::ModelPlan model = plan_of({{"g", {{"w", {40}}}}}, 1);
    Rank rank(model, 1, 0);
    rank.fill(rank.gradients, 1);
    ragged::shard(rank.gradients[0], "w")[17] = std::numeric_limits<float>::quiet_NaN();
    const auto all = rank.parameters(true);
    rank.optimizer.update(std::span<const Parameters>(all), 1.0);
    for (std::int64_t i = 0; i < 40; ++i)
        CHECK(std::isfinite(ragged::shard(rank.masters[0], "w")[i]) == (i != 17));
}

TEST_CASE("what does not fit is refused, and nothing has changed") {
    const ragged::ModelPlan model = plan_of({{"g", {{"w", {64}}}}, {"h", {{"w", {48}}}}}, 2);
    Rank rank(model, 2, 0), other(model, 2, 1);
    rank.step(1, true);
    const auto before =
        std::vector<float>(rank.masters[0].region(0).begin(), rank.masters[0].region(0).end());
    const auto update = [&](std::vector<Parameters> parameters, double scale = 1.0) {
        return message_of([&] { rank.optimizer.update(std::span<const Parameters>(parameters), scale); });
    };
    auto good = rank.parameters(true);
    CHECK(update({good[0]}) == "AdamW: parameters of 1 groups, the model has 2");
    CHECK(update({good[1], good[0]}) ==
          "buffers over different plans: group 'h' with 128 elements per rank and "
          "group 'g' with 128");
    auto wrong = good;
    wrong[1].master = &other.masters[1];
    CHECK(update(wrong) == "group 'h': buffers of rank 1 and rank 0");
    wrong = good;
    wrong[1].weights = &other.weights[1];
    CHECK(update(wrong) == "group 'h': buffers of rank 1 and rank 0");
    CHECK(update(good, std::numeric_limits<double>::infinity()) ==
          "AdamW: the scale of the gradient is inf, it must be finite");
    const auto with = [&](const ragged::AdamWOptions& options) {
        rank.optimizer.options = options;
        const std::string message = update(good);
        CHECK(message == message_of([&] { ragged::AdamW<Line>(model, rank.place, rank.memory, options); }));
        rank.optimizer.options = {};
        return message;
    };
    CHECK(with({.learning_rate = std::numeric_limits<double>::infinity()}) ==
          "AdamW: learning_rate is inf, it must be finite");
    CHECK(with({.beta1 = 1.0}) == "AdamW: beta1 is 1.000000, it must be in [0, 1)");
    CHECK(with({.beta2 = -0.1}) == "AdamW: beta2 is -0.100000, it must be in [0, 1)");
    CHECK(with({.epsilon = 1e-60}) == "AdamW: epsilon is 0.000000, it must be finite and above 0 as a float");
    CHECK(with({.weight_decay = std::numeric_limits<double>::quiet_NaN()}) ==
          "AdamW: weight_decay is nan, it must be finite");
    CHECK(rank.optimizer.steps() == 1);
    CHECK(std::equal(before.begin(), before.end(), rank.masters[0].region(0).begin()));
}
