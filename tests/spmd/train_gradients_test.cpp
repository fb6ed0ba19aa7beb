// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The model of the training example: its gradients against differences of its loss, and against themselves
// when a batch is split into micro-batches and over ranks.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include <ragged/comm/collectives.hpp>
#include <ragged/comm/local_communicator.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/view/shard_view.hpp>

#include "../examples/support/gpt.hpp"

using support::GptShape;
using support::Share;

namespace {

using Line = ragged::Topology<ragged::Axis<"shard">>;
namespace state = ragged::state;

constexpr GptShape tiny{.vocabulary = 11, .context = 5, .width = 8, .heads = 2, .layers = 2};

const support::TextWindows& tiny_text() {
    static const support::TextWindows text(
        [] {
            std::vector<std::uint8_t> bytes;
            for (std::uint64_t i = 0; i < 200; ++i)
                bytes.push_back(static_cast<std::uint8_t>(support::random_bits(1, i) % 11));
            return bytes;
        }(),
        tiny.context + 1, 7);
    return text;
}

/// The product in double, in the plainest way.
struct DoubleProduct {
    void operator()(ragged::Transpose a, ragged::Transpose b, std::int64_t m, std::int64_t n, std::int64_t k,
                    double alpha, const double* A, std::int64_t lda, const double* B, std::int64_t ldb,
                    double beta, double* C, std::int64_t ldc) const {
        for (std::int64_t i = 0; i < m; ++i)
            for (std::int64_t j = 0; j < n; ++j) {
                double sum = 0;
                for (std::int64_t p = 0; p < k; ++p)
                    sum += (a == ragged::Transpose::no ? A[i * lda + p] : A[p * lda + i]) *
                           (b == ragged::Transpose::no ? B[p * ldb + j] : B[j * ldb + p]);
                C[i * ldc + j] = alpha * sum + (beta == 0 ? 0 : beta * C[i * ldc + j]);
            }
    }
};

/// Any value for each weight, those of vectors too: different from where training starts.
double weight(std::size_t group, std::size_t tensor, std::int64_t i) {
    return 0.5 * static_cast<double>(
                     support::random_value(100 * group + tensor, static_cast<std::uint64_t>(i))) +
           (tensor % 2 == 0 ? 0.25 : 0);
}

template <class Real>
struct Gradients {
    std::vector<std::vector<std::vector<Real>>> of; // [groups][tensors][elements]
    double loss = 0;
};

/// A step over `ranks` threads: forward and backward of every round, and the reduced gradients.
/// @tparam T  what the weights are gathered as
template <class T, class Real, class Gemm>
Gradients<Real>
step_over(int ranks, std::int64_t micro_batches, std::int64_t sequences, Real loss_scale = 1,
          const std::function<double(std::size_t, std::size_t, std::int64_t)>& value = weight) {
    const ragged::ModelPlan model =
        ragged::make_plan(support::gpt_spec(tiny), ranks, {}, {.planes = {ragged::dtype_of<T>}});
    Gradients<Real> result;
    for (const ragged::Plan& plan : model.groups) {
        auto& tensors = result.of.emplace_back();
        for (const auto& tensor : plan.tensors)
            tensors.emplace_back(static_cast<std::size_t>(tensor.elements()));
    }
    std::vector<double> losses(static_cast<std::size_t>(micro_batches));
    ragged::run_ranks(ranks, [&](ragged::LocalCommunicator world) {
        ragged::Mesh mesh(Line(ranks), world);
        ragged::HostResource memory;
        std::vector<ragged::DBuffer<T, Line, state::Gathered>> weights;
        std::vector<ragged::DBuffer<Real, Line, state::Partial>> gradients;
        for (std::size_t g = 0; g < model.groups.size(); ++g) {
            ragged::DBuffer<T, Line> buffer(model.groups[g], mesh, memory);
            for (std::size_t t = 0; t < model.groups[g].tensors.size(); ++t) {
                const auto piece = ragged::shard(buffer, t);
                for (std::int64_t i = 0; i < piece.elements(); ++i)
                    piece[i] = static_cast<T>(static_cast<Real>(value(g, t, piece.first() + i)));
            }
            weights.push_back(ragged::gather(std::move(buffer), mesh).wait());
            gradients.emplace_back(model.groups[g], mesh, memory);
        }

        const Share share{world.rank(), ranks, micro_batches, sequences};
        support::Gpt<Gemm, Real> gpt(tiny, share, tiny_text());
        gpt.begin_step(3, loss_scale);
        const auto groups = static_cast<std::int64_t>(model.groups.size());
        for (std::int64_t round = 0; round < share.rounds(); ++round) {
            for (std::int64_t g = 0; g < groups; ++g)
                gpt.forward(g, round, weights[static_cast<std::size_t>(g)]);
            for (std::int64_t g = groups; g-- > 0;)
                gpt.backward(g, round, weights[static_cast<std::size_t>(g)],
                             gradients[static_cast<std::size_t>(g)]);
        }

        for (std::size_t b = 0; b < losses.size(); ++b)
            if (static_cast<std::int64_t>(b) % ranks == world.rank())
                losses[b] = gpt.losses()[b];
        for (std::size_t g = 0; g < model.groups.size(); ++g) {
            const auto reduced = ragged::reduce(std::move(gradients[g]), mesh).wait();
            for (std::size_t t = 0; t < model.groups[g].tensors.size(); ++t) {
                const auto piece = ragged::shard(reduced, t);
                for (std::int64_t i = 0; i < piece.elements(); ++i)
                    result.of[g][t][static_cast<std::size_t>(piece.first() + i)] = piece[i];
            }
        }
    });
    for (const double loss : losses)
        result.loss += loss / static_cast<double>(micro_batches);
    return result;
}

/// Largest difference of two gradients of a tensor, in units of its largest element.
template <class Real>
double distance(const Gradients<Real>& a, const Gradients<Real>& b) {
    double worst = 0;
    for (std::size_t g = 0; g < a.of.size(); ++g)
        for (std::size_t t = 0; t < a.of[g].size(); ++t) {
            double largest = 0, difference = 0;
            for (std::size_t i = 0; i < a.of[g][t].size(); ++i) {
                largest = std::max(largest, static_cast<double>(std::fabs(a.of[g][t][i])));
                difference =
                    std::max(difference, static_cast<double>(std::fabs(a.of[g][t][i] - b.of[g][t][i])));
            }
            CHECK(largest > 1e-6); // every tensor takes part
            worst = std::max(worst, difference / largest);
        }
    return worst;
}

} // namespace

TEST_CASE("gradients are what differences of the loss say") {
    const auto gradients = step_over<double, double, DoubleProduct>(1, 1, 2);
    const double step = 1e-4;
    for (std::size_t g = 0; g < gradients.of.size(); ++g)
        for (std::size_t t = 0; t < gradients.of[g].size(); ++t) {
            CAPTURE(g);
            CAPTURE(t);
            const auto& tensor = gradients.of[g][t];
            for (std::size_t i = 0; i<tensor.size(); i += tensor.size()> 32 ? 13 : 3) {
                CAPTURE(i);
                const auto loss_beside = [&](double change) {
                    return step_over<double, double, DoubleProduct>(
                               1, 1, 2, 1,
                               [&](std::size_t group, std::size_t index, std::int64_t element) {
                                   const bool here =
                                       group == g && index == t && element == static_cast<std::int64_t>(i);
                                   return weight(group, index, element) + (here ? change : 0);
                               })
                        .loss;
                };
                const double slope = (loss_beside(step) - loss_beside(-step)) / (2 * step);
                CHECK(std::fabs(tensor[i] - slope) < 1e-8 + 1e-6 * std::fabs(slope));
            }
        }
}

TEST_CASE("float gradients are the double ones, and a scaled loss scales them exactly") {
    const auto exact = step_over<double, double, DoubleProduct>(1, 1, 3);
    const auto single = step_over<float, float, ragged::PlainGemm>(1, 1, 3);
    Gradients<double> widened;
    for (const auto& group : single.of) {
        auto& tensors = widened.of.emplace_back();
        for (const auto& tensor : group)
            tensors.emplace_back(tensor.begin(), tensor.end());
    }
    CHECK(distance(exact, widened) < 1e-5);
    CHECK(std::fabs(exact.loss - single.loss) < 1e-6);

    auto scaled = step_over<float, float, ragged::PlainGemm>(1, 1, 3, 1024.0f);
    for (auto& group : scaled.of)
        for (auto& tensor : group)
            for (float& x : tensor)
                x /= 1024.0f;
    CHECK(scaled.of == single.of);
}

TEST_CASE_TEMPLATE("gradients of split batches are those of the joined one", T, float, ragged::bf16) {
    const auto step = [](int ranks, std::int64_t micro_batches, std::int64_t sequences) {
        return step_over<T, float, ragged::PlainGemm>(ranks, micro_batches, sequences);
    };
    const auto joined = step(1, 1, 6);
    struct Split {
        int ranks;
        std::int64_t micro_batches;
    };
    for (const Split of : {Split{1, 2}, {1, 6}, {2, 2}, {3, 6}, {3, 3}, {5, 6}, {8, 6}}) {
        CAPTURE(of.ranks);
        CAPTURE(of.micro_batches);
        const auto split = step(of.ranks, of.micro_batches, 6 / of.micro_batches);
        CHECK(distance(joined, split) < 2e-6);
        CHECK(std::fabs(joined.loss - split.loss) < 1e-6);
    }
}

TEST_CASE_TEMPLATE("a single micro-batch has the same bits on any number of ranks", T, float, ragged::bf16) {
    const auto alone = step_over<T, float, ragged::PlainGemm>(1, 1, 2);
    for (int ranks : {2, 3, 4, 5, 8}) {
        CAPTURE(ranks);
        const auto sharded = step_over<T, float, ragged::PlainGemm>(ranks, 1, 2);
        CHECK(sharded.of == alone.of);
        CHECK(sharded.loss == alone.loss);
    }
}
