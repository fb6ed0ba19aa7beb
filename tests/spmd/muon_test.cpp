// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Muon: the same bits for any number of ranks and replicas, each step beside one in double, the memory it
// says, and what it refuses.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "support/muon_suite.hpp"
#include "support/plain_matrix.hpp"

using ragged::LocalCommunicator;
using support::expect;
using support::Line;
using support::Matrix;

namespace {

using Muon = ragged::Muon<Line, LocalCommunicator>;
static_assert(ragged::optimizer<Muon, float, Line> && ragged::optimizer<Muon, ragged::bf16, Line>);

/// One step of one matrix in double.
struct Plain {
    Matrix master, momentum;

    void step(const ragged::MuonOptions& o, const Matrix& gradient) {
        Matrix direction = gradient;
        for (std::size_t i = 0; i < gradient.values.size(); ++i) {
            momentum.values[i] = o.momentum * momentum.values[i] + gradient.values[i];
            direction.values[i] =
                o.nesterov ? gradient.values[i] + o.momentum * momentum.values[i] : momentum.values[i];
        }
        direction = support::orthogonalised(direction);
        const double factor = 0.2 * std::sqrt(static_cast<double>(std::max(master.rows, master.columns)));
        for (std::size_t i = 0; i < gradient.values.size(); ++i)
            master.values[i] -=
                o.learning_rate * (factor * direction.values[i] + o.weight_decay * master.values[i]);
    }
};

template <class Buffer>
Matrix matrix_in(const Buffer& buffer, const std::string& name, std::int64_t rows, std::int64_t columns,
                 std::int64_t index = 0, double scale = 1.0) {
    const auto piece = ragged::shard(buffer, name);
    Matrix matrix{rows, columns};
    for (std::int64_t i = 0; i < rows * columns; ++i)
        matrix.values[static_cast<std::size_t>(i)] =
            scale * static_cast<double>(piece[index * rows * columns + i]);
    return matrix;
}

} // namespace

TEST_CASE("masters, weights, momentum and moments have the same bits for any number of ranks and replicas") {
    CHECK_NOTHROW(support::check_bits_of_muon(ragged::PlainGemm{}));
}

TEST_CASE("without weights the same masters") {
    const auto with = support::trained_by_muon(Line(1), ragged::PlainGemm{}, true);
    for (const auto& [where, value] : support::trained_by_muon(Line(3), ragged::PlainGemm{}, false))
        CHECK(with.at(where) == value);
    for (const auto& [where, value] : with)
        if (std::get<0>(where) == 1)
            CHECK(value == static_cast<float>(ragged::bf16(
                               with.at({0, std::get<1>(where), std::get<2>(where), std::get<3>(where)}))));
}

TEST_CASE("each step is the formula's, from an equal state; options change between steps") {
    const ragged::ModelPlan model = support::small_model(1);
    struct Case {
        std::size_t group;
        std::string name;
        std::int64_t rows, columns, index = 0;
    };
    const Case cases[] = {
        {1, "wq", 16, 8}, {1, "w1", 9, 20}, {2, "stack", 4, 6, 0}, {2, "stack", 4, 6, 1}, {3, "w", 12, 12}};
    CHECK_NOTHROW(ragged::run_ranks(1, [&](LocalCommunicator world) {
        ragged::Mesh mesh(Line(1), world);
        ragged::HostResource memory;
        ragged::Muon optimizer(model, mesh, memory, {.learning_rate = 0.05});
        support::TrainedModel<Line> rank(model, mesh, false);
        for (std::uint32_t n = 1; n <= 5; ++n) {
            if (n == 3)
                optimizer.options = {
                    .learning_rate = 0.2, .momentum = 0.5, .nesterov = false, .weight_decay = 0.0};
            std::vector<Plain> plain;
            for (const Case& c : cases) {
                plain.push_back({matrix_in(rank.masters[c.group], c.name, c.rows, c.columns, c.index),
                                 matrix_in(optimizer.momentum(c.group), c.name, c.rows, c.columns, c.index)});
                support::fill_drawn(rank.gradients[c.group], n);
                plain.back().step(optimizer.options, matrix_in(rank.gradients[c.group], c.name, c.rows,
                                                               c.columns, c.index, 0.25));
            }
            rank.step(optimizer, n, 0.25);
            for (std::size_t i = 0; i < plain.size(); ++i) {
                const Case& c = cases[i];
                const auto close = [](const Matrix& found, const Matrix& wanted) {
                    return support::norm(support::minus(found, wanted)) <= 1e-6 * support::norm(wanted);
                };
                expect(close(matrix_in(optimizer.momentum(c.group), c.name, c.rows, c.columns, c.index),
                             plain[i].momentum),
                       "momentum of " + c.name);
                expect(close(matrix_in(rank.masters[c.group], c.name, c.rows, c.columns, c.index),
                             plain[i].master),
                       "master of " + c.name);
            }
        }
        expect(optimizer.steps() == 5, "steps are counted");
    }));
}

TEST_CASE("tensors that are no matrices have the bits of AdamW") {
    const ragged::ModelPlan model = support::small_model(2);
    CHECK_NOTHROW(ragged::run_ranks(2, [&](LocalCommunicator world) {
        ragged::Mesh mesh(Line(2), world);
        ragged::HostResource memory;
        ragged::Muon optimizer(model, mesh, memory, {.adamw = {.learning_rate = 0.1}});
        ragged::AdamW<Line> adamw(model, mesh, memory, {.learning_rate = 0.1});
        support::TrainedModel<Line> by_muon(model, mesh, true), by_adamw(model, mesh, true);
        for (std::uint32_t n = 1; n <= 3; ++n)
            by_muon.step(optimizer, n), by_adamw.step(adamw, n);
        std::size_t compared = 0;
        for (std::size_t group = 0; group < model.groups.size(); ++group)
            for (std::size_t t = 0; t < model.groups[group].tensors.size(); ++t)
                if (!ragged::MatrixRule{}(model.groups[group].name, model.groups[group].tensors[t]))
                    for (std::int64_t i = 0; i < ragged::shard(by_muon.masters[group], t).elements();
                         ++i, ++compared)
                        expect(ragged::shard(by_muon.masters[group], t)[i] ==
                                   ragged::shard(by_adamw.masters[group], t)[i],
                               "AdamW's bits");
        expect(compared > 50, "there are some");
    }));
}

TEST_CASE("every tensor is listed with its owner, and owners are ranks of the mesh") {
    const ragged::ModelPlan model = support::small_model(2);
    CHECK_NOTHROW(ragged::run_ranks(4, [&](LocalCommunicator world) {
        ragged::Mesh mesh(support::Plane(2, 2), world);
        ragged::HostResource memory;
        const ragged::Muon optimizer(model, mesh, memory);
        std::vector<bool> works(4);
        std::size_t next = 0;
        for (const ragged::Plan& plan : model.groups)
            for (const ragged::PlacedTensor& tensor : plan.tensors) {
                const ragged::RoutedTensor& routed = optimizer.routing().at(next++);
                const bool taken = ragged::MatrixRule{}(plan.name, tensor);
                expect(routed.group == plan.name && routed.tensor == tensor.full_name() &&
                           routed.shape == tensor.spec.shape &&
                           routed.optimizer == (taken ? "muon" : "adamw"),
                       "in the order of the model");
                expect(taken ? routed.owner >= 0 && routed.owner < 4 : routed.owner == -1, "owners");
                if (taken)
                    works[static_cast<std::size_t>(routed.owner)] = true;
            }
        expect(next == optimizer.routing().size(), "nothing else");
        expect(works == std::vector<bool>(4, true), "replicas share the work");
        expect(support::contains(ragged::to_string(optimizer.routing()), "layers.0  experts[2]  6x10   muon"),
               "as a table");
    }));
}

TEST_CASE("a rule of one's own, and a model without matrices") {
    const ragged::ModelPlan model = support::small_model(2);
    CHECK_NOTHROW(ragged::run_ranks(2, [&](LocalCommunicator world) {
        ragged::Mesh mesh(Line(2), world);
        ragged::CountingResource<> memory;
        const auto nothing = [](std::string_view, const ragged::PlacedTensor&) { return false; };
        ragged::Muon optimizer(model, mesh, memory, {}, ragged::PlainGemm{}, nothing);
        expect(optimizer.memory_bytes() == static_cast<std::int64_t>(memory.live_bytes()) &&
                   optimizer.memory_bytes() == Muon::planned_bytes(model, mesh, nothing),
               "bytes");
        expect(optimizer.state_bytes() == optimizer.memory_bytes(), "no space to work in");
        support::TrainedModel<Line> rank(model, mesh, true);
        rank.step(optimizer, 1);
        const auto everything = [](std::string_view, const ragged::PlacedTensor&) { return true; };
        const std::string message = support::message_of(
            [&] { ragged::Muon(model, mesh, memory, {}, ragged::PlainGemm{}, everything); });
        expect(message == "group 'layers.0': tensor 'norm' of shape 11 is no matrix", message);
    }));
}

TEST_CASE("an optimizer goes on from a state that was kept") {
    const ragged::ModelPlan model = support::small_model(2);
    CHECK_NOTHROW(ragged::run_ranks(2, [&](LocalCommunicator world) {
        ragged::Mesh mesh(Line(2), world);
        ragged::HostResource memory;
        ragged::Muon kept(model, mesh, memory, {}), next(model, mesh, memory, {});
        support::TrainedModel<Line> rank(model, mesh, false), other(model, mesh, false);
        for (std::uint32_t n = 1; n <= 2; ++n)
            rank.step(kept, n);
        const auto copy = [](const auto& from, auto& to) {
            for (std::int64_t segment = 0; segment < from.num_segments(); ++segment)
                std::copy(from.region(segment).begin(), from.region(segment).end(),
                          to.region(segment).begin());
        };
        for (std::size_t group = 0; group < model.groups.size(); ++group) {
            copy(rank.masters[group], other.masters[group]);
            copy(kept.momentum(group), next.momentum(group));
            copy(kept.adamw().first_moment(group), next.adamw().first_moment(group));
            copy(kept.adamw().second_moment(group), next.adamw().second_moment(group));
        }
        next.set_steps(kept.steps());
        rank.step(kept, 3);
        other.step(next, 3);
        for (std::size_t group = 0; group < model.groups.size(); ++group)
            for (std::int64_t segment = 0; segment < rank.masters[group].num_segments(); ++segment) {
                const auto found = other.masters[group].region(segment),
                           wanted = rank.masters[group].region(segment);
                expect(std::equal(found.begin(), found.end(), wanted.begin()), "equal masters");
            }
    }));
}

TEST_CASE("what does not fit is refused before anything changes") {
    const ragged::ModelPlan model = support::small_model(2), other = support::small_model(1);
    struct Elsewhere : ragged::PlainGemm {
        static ragged::MemorySpace space() { return ragged::MemorySpace::of_device(0); }
    };
    CHECK_NOTHROW(ragged::run_ranks(2, [&](LocalCommunicator world) {
        ragged::Mesh mesh(Line(2), world);
        ragged::HostResource memory;
        ragged::Muon optimizer(model, mesh, memory);
        support::TrainedModel<Line> rank(model, mesh, true);
        const auto message = [&](const ragged::MuonOptions& options, double scale = 1.0) {
            optimizer.options = options;
            const std::string text = support::message_of([&] { rank.step(optimizer, 1, scale); });
            optimizer.options = {};
            return text;
        };
        const auto check = [](const std::string& found, const std::string& wanted) {
            expect(found == wanted, found);
        };
        check(message({.learning_rate = INFINITY}), "Muon: learning_rate is inf, it must be finite");
        check(message({.momentum = 1.0}), "Muon: momentum is 1.000000, it must be in [0, 1)");
        check(message({.momentum = -0.5}), "Muon: momentum is -0.500000, it must be in [0, 1)");
        check(message({.weight_decay = 1e39}),
              ragged::concat("Muon: weight_decay is ", 1e39, ", it must be finite"));
        check(message({.adamw = {.beta1 = 1.0}}), "AdamW: beta1 is 1.000000, it must be in [0, 1)");
        check(message({}, NAN), "AdamW: the scale of the gradient is nan, it must be finite");
        rank.parameters.pop_back();
        check(message({}), "Muon: parameters of 6 groups, the model has 7");
        expect(optimizer.steps() == 0, "no step was taken");
        const std::string elsewhere = support::message_of(
            [&] { ragged::Muon(model, mesh, memory, ragged::MuonOptions{}, Elsewhere{}); });
        check(elsewhere, "Muon: its memory is in host memory, the product works in memory of device 0");
        expect(support::contains(support::message_of([&] { ragged::Muon(other, mesh, memory); }),
                                 "is planned for 1 devices"),
               "a plan for another number of ranks");
    }));
}
