// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo: the same bits for any number of ranks, each step beside one in double with roots by rotations, the
// memory it says, and what it refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include <ragged/optim/shampoo.hpp>

#include "support/plain_matrix.hpp"
#include "support/trained_model.hpp"

using support::Line;
using support::Matrix;
using support::message_of;

namespace {

using Shampoo = ragged::Shampoo<Line>;
using Place = ragged::Place<Line>;
static_assert(ragged::optimizer<Shampoo, float, Line> && ragged::optimizer<Shampoo, ragged::bf16, Line>);

const ragged::ShampooOptions quick{.learning_rate = 0.05, .root_interval = 2};

support::Logical trained(std::int64_t ranks, bool with_weights) {
    const ragged::ModelPlan model = support::small_model(ranks);
    support::Logical result;
    for (std::int64_t index = 0; index < ranks; ++index) {
        const Place place(Line(ranks), index);
        ragged::CountingResource<> memory;
        Shampoo optimizer(model, place, memory, quick);
        support::expect(optimizer.memory_bytes() == static_cast<std::int64_t>(memory.live_bytes()),
                        "memory_bytes");
        support::expect(optimizer.memory_bytes() == Shampoo::planned_bytes(model, place), "planned_bytes");
        const std::size_t allocations = memory.allocations();
        support::TrainedModel<Line> rank(model, place, with_weights);
        for (std::uint32_t n = 1; n <= 5; ++n)
            rank.step(optimizer, n);
        support::expect(memory.allocations() == allocations, "a step allocates nothing");
        for (std::size_t group = 0; group < model.groups.size(); ++group) {
            support::keep(result, 0, group, rank.masters[group]);
            if (with_weights)
                support::keep(result, 1, group, rank.weights[group]);
            support::keep(result, 2, group, optimizer.momentum(group));
            support::keep(result, 3, group, optimizer.adamw().second_moment(group));
            std::int64_t bytes = 0;
            for (std::size_t i = 0; i < model.groups.size(); ++i)
                bytes += static_cast<std::int64_t>(optimizer.momentum(i).bytes() +
                                                   optimizer.statistics(i).size_bytes());
            support::expect(optimizer.state_bytes() == bytes + optimizer.adamw().state_bytes(),
                            "state_bytes");
        }
    }
    return result;
}

/// A block of a tensor and its state, in double.
struct Block {
    std::string name;
    std::size_t group;
    std::int64_t first, row, rows, columns; // of the tensor
    std::size_t statistics;                 // of the group

    Matrix in(const auto& buffer, double scale = 1.0) const {
        const auto piece = ragged::shard(buffer, name);
        Matrix matrix{rows, columns};
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j)
                matrix(i, j) = scale * static_cast<double>(piece[first + i * row + j]);
        return matrix;
    }
    Matrix statistic(Shampoo& optimizer, int which) const { // L, R
        const std::int64_t side = which == 0 ? rows : columns;
        const auto all = optimizer.statistics(group).subspan(
            statistics + static_cast<std::size_t>(which == 0 ? 0 : rows * rows));
        Matrix matrix{side, side};
        for (std::size_t i = 0; i < matrix.values.size(); ++i)
            matrix.values[i] = static_cast<double>(all[i]);
        return matrix;
    }
};

Matrix mixed(double a, Matrix x, double b, const Matrix& y) {
    for (std::size_t i = 0; i < x.values.size(); ++i)
        x.values[i] = a * x.values[i] + b * y.values[i];
    return x;
}

bool close(const Matrix& found, const Matrix& wanted, double tolerance) {
    return support::norm(support::minus(found, wanted)) <= tolerance * support::norm(wanted);
}

} // namespace

TEST_CASE("masters, weights, momentum and moments have the same bits for any number of ranks") {
    const support::Logical expected = trained(1, true);
    for (const std::int64_t ranks : {2, 3, 4, 5, 8})
        CHECK(trained(ranks, true) == expected);
    for (const auto& [where, value] : trained(2, false))
        CHECK(expected.at(where) == value);
    for (const auto& [where, value] : expected)
        if (std::get<0>(where) == 1)
            CHECK(value == static_cast<float>(ragged::bf16(expected.at(
                               {0, std::get<1>(where), std::get<2>(where), std::get<3>(where)}))));
}

TEST_CASE("each step is the formula's, from an equal state; options change between steps") {
    const ragged::ModelPlan model = support::small_model(1);
    const Place place(Line(1), 0);
    ragged::HostResource memory;
    Shampoo optimizer(model, place, memory, {.learning_rate = 0.05, .root_interval = 1});
    support::TrainedModel<Line> rank(model, place, false);
    // tiles of 4x4 of [16, 8], 2 rows of [9, 20], all of [12, 12]; the statistics of a block are 2 (r^2 +
    // c^2)
    const std::vector<Block> blocks{{"wq", 1, 4, 8, 4, 4, 64},
                                    {"w1", 1, 160, 20, 1, 20, 8 * 64 + 4 * 2 * 404},
                                    {"w", 3, 0, 12, 12, 12, 0}};
    for (std::uint32_t n = 1; n <= 6; ++n) {
        CAPTURE(n);
        if (n == 4)
            optimizer.options = {.learning_rate = 0.2,
                                 .momentum = 0.5,
                                 .beta2 = 0.7,
                                 .epsilon = 1e-3,
                                 .weight_decay = 0.0,
                                 .root_interval = 1};
        const ragged::ShampooOptions& o = optimizer.options;
        struct Expected {
            Matrix master, momentum, left, right;
        };
        std::vector<Expected> expected;
        for (const Block& block : blocks) {
            support::fill_drawn(rank.gradients[block.group], n);
            const Matrix g = block.in(rank.gradients[block.group], 0.25);
            Expected e{block.in(rank.masters[block.group]), block.in(optimizer.momentum(block.group)),
                       block.statistic(optimizer, 0), block.statistic(optimizer, 1)};
            e.left = mixed(o.beta2, e.left, 1 - o.beta2, g * support::transposed(g));
            e.right = mixed(o.beta2, e.right, 1 - o.beta2, support::transposed(g) * g);
            const Matrix direction = support::inverse_fourth_root(e.left, o.epsilon) * g *
                                     support::inverse_fourth_root(e.right, o.epsilon);
            const double size = std::sqrt(static_cast<double>(block.rows * block.columns));
            e.momentum = mixed(o.momentum, e.momentum,
                               (1 - o.momentum) * 0.2 * size / support::norm(direction), direction);
            e.master = mixed(1 - o.learning_rate * o.weight_decay, e.master,
                             -o.learning_rate / (1 - std::pow(o.momentum, n)), e.momentum);
            expected.push_back(e);
        }
        rank.step(optimizer, n, 0.25);
        for (std::size_t i = 0; i < blocks.size(); ++i) {
            const Block& block = blocks[i];
            CAPTURE(block.name);
            CHECK(close(block.statistic(optimizer, 0), expected[i].left, 1e-6));
            CHECK(close(block.statistic(optimizer, 1), expected[i].right, 1e-6));
            CHECK(close(block.in(optimizer.momentum(block.group)), expected[i].momentum, 1e-5));
            CHECK(close(block.in(rank.masters[block.group]), expected[i].master, 1e-6));
        }
    }
}

TEST_CASE("roots are computed every so many steps") {
    const ragged::ModelPlan model = support::small_model(1);
    const Place place(Line(1), 0);
    ragged::HostResource memory;
    Shampoo optimizer(model, place, memory, {.root_interval = 3});
    support::TrainedModel<Line> rank(model, place, false);
    std::vector<float> before;
    for (std::uint32_t n = 1; n <= 7; ++n) {
        rank.step(optimizer, n);
        const auto all = optimizer.statistics(3);
        const std::vector<float> roots(all.begin() + 2 * 144, all.end());
        CHECK((roots != before) == (n % 3 == 1));
        before = roots;
    }
    CHECK(optimizer.steps() == 7);
}

TEST_CASE("an optimizer goes on from a state that was kept") {
    const ragged::ModelPlan model = support::small_model(2);
    const Place place(Line(2), 1);
    ragged::HostResource memory;
    Shampoo kept(model, place, memory, quick), next(model, place, memory, quick);
    support::TrainedModel<Line> rank(model, place, false), other(model, place, false);
    for (std::uint32_t n = 1; n <= 4; ++n) // the roots of the fourth step are those of the third
        rank.step(kept, n);
    const auto copy = [](auto from, auto to) { std::copy(from.begin(), from.end(), to.begin()); };
    for (std::size_t group = 0; group < model.groups.size(); ++group) {
        for (std::int64_t segment = 0; segment < rank.masters[group].num_segments(); ++segment) {
            copy(rank.masters[group].region(segment), other.masters[group].region(segment));
            copy(kept.momentum(group).region(segment), next.momentum(group).region(segment));
            copy(kept.adamw().first_moment(group).region(segment),
                 next.adamw().first_moment(group).region(segment));
            copy(kept.adamw().second_moment(group).region(segment),
                 next.adamw().second_moment(group).region(segment));
        }
        copy(kept.statistics(group), next.statistics(group));
    }
    next.set_steps(kept.steps());
    for (std::uint32_t n = 5; n <= 6; ++n) {
        rank.step(kept, n);
        other.step(next, n);
        for (std::size_t group = 0; group < model.groups.size(); ++group)
            for (std::int64_t segment = 0; segment < rank.masters[group].num_segments(); ++segment) {
                const auto found = other.masters[group].region(segment),
                           wanted = rank.masters[group].region(segment);
                CHECK(std::equal(found.begin(), found.end(), wanted.begin()));
            }
    }
}

TEST_CASE("tensors are taken by the size of their blocks, the others have the bits of AdamW") {
    const ragged::ModelPlan model = support::small_model(2);
    for (std::int64_t index = 0; index < 2; ++index) {
        const Place place(Line(2), index);
        ragged::HostResource memory;
        Shampoo optimizer(model, place, memory, {.adamw = {.learning_rate = 0.1}}, ragged::PlainGemm{},
                          ragged::ShampooRule{.max_side = 10});
        std::string taken;
        for (const ragged::RoutedTensor& routed : optimizer.routing())
            if (routed.optimizer == "shampoo")
                taken += routed.group + "/" + routed.tensor + " ";
        CHECK(taken == "layers.0/wq layers.0/experts[0] layers.0/experts[1] layers.0/experts[2] "
                       "layers.1/stack layers.1/wq ");
        ragged::AdamW<Line> adamw(model, place, memory, {.learning_rate = 0.1});
        support::TrainedModel<Line> some(model, place, true), all(model, place, true);
        for (std::uint32_t n = 1; n <= 3; ++n)
            some.step(optimizer, n), all.step(adamw, n);
        std::size_t next = 0;
        for (std::size_t group = 0; group < model.groups.size(); ++group)
            for (std::size_t t = 0; t < model.groups[group].tensors.size(); ++t)
                if (optimizer.routing().at(next++).optimizer == "adamw")
                    for (std::int64_t i = 0; i < ragged::shard(some.masters[group], t).elements(); ++i)
                        CHECK(ragged::shard(some.masters[group], t)[i] ==
                              ragged::shard(all.masters[group], t)[i]);
    }
}

TEST_CASE("a gradient of zeros moves nothing but by decay") {
    const ragged::ModelPlan model = support::small_model(1);
    const Place place(Line(1), 0);
    ragged::HostResource memory;
    Shampoo optimizer(model, place, memory, {.weight_decay = 0.0});
    support::TrainedModel<Line> rank(model, place, false), start(model, place, false);
    for (int n = 0; n < 2; ++n)
        rank.step(optimizer, 1, 0.0);
    for (std::int64_t i = 0; i < 144; ++i)
        CHECK(ragged::shard(rank.masters[3], "w")[i] == ragged::shard(start.masters[3], "w")[i]);
}

TEST_CASE("what does not fit is refused before anything changes") {
    const ragged::ModelPlan model = support::small_model(1), other = support::small_model(2);
    const Place place(Line(1), 0);
    ragged::HostResource memory;
    Shampoo optimizer(model, place, memory);
    support::TrainedModel<Line> rank(model, place, true);
    const auto message = [&](const ragged::ShampooOptions& options, double scale = 1.0) {
        optimizer.options = options;
        const std::string text = message_of([&] { rank.step(optimizer, 1, scale); });
        optimizer.options = {};
        return text;
    };
    CHECK(message({.learning_rate = NAN}) == "Shampoo: learning_rate is nan, it must be finite");
    CHECK(message({.momentum = 1.0}) == "Shampoo: momentum is 1.000000, it must be in [0, 1)");
    CHECK(message({.beta2 = 1.0}) == "Shampoo: beta2 is 1.000000, it must be in [0, 1)");
    CHECK(message({.epsilon = 0.0}) == "Shampoo: epsilon is 0.000000, it must be in [1e-6, 1)");
    CHECK(message({.weight_decay = INFINITY}) == "Shampoo: weight_decay is inf, it must be finite");
    CHECK(message({.root_interval = 0}) == "Shampoo: root_interval is 0, it must be at least 1");
    CHECK(message({.adamw = {.beta2 = 1.0}}) == "AdamW: beta2 is 1.000000, it must be in [0, 1)");
    CHECK(message({}, INFINITY) == "AdamW: the scale of the gradient is inf, it must be finite");
    rank.parameters.pop_back();
    CHECK(message({}) == "Shampoo: parameters of 6 groups, the model has 7");
    CHECK(optimizer.steps() == 0);

    const auto everything = [](std::string_view, const ragged::PlacedTensor&) { return true; };
    CHECK(message_of([&] { Shampoo(model, place, memory, {}, ragged::PlainGemm{}, everything); }) ==
          "group 'layers.0': tensor 'norm' in blocks of elements:1 has no matrices for blocks");
    CHECK(support::contains(message_of([&] { Shampoo(other, place, memory); }), "is planned for 2 devices"));
    struct Device : ragged::HostResource {
        static ragged::MemorySpace space() { return ragged::MemorySpace::of_device(0); }
    } device;
    CHECK(message_of([&] { Shampoo(model, place, device); }) ==
          "Shampoo works in host memory, it is given memory of device 0");
}
