// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Every flat operation against one element at a time, and padding zero afterwards.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <ragged/group/by_piece.hpp>
#include <ragged/group/flat.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/view/shard_view.hpp>
#include <ragged/view/tensor_view.hpp>

#include "support/exact_oracle.hpp"
#include "support/expect.hpp"
#include "support/random_group.hpp"

using Line = ragged::Topology<ragged::Axis<"shard">>;
using support::message_of;
using support::value_of;
namespace state = ragged::state;
template <class T, class State = state::Resident>
using Buffer = ragged::DBuffer<T, Line, State>;

namespace {

constexpr std::int64_t ranks = 3;

struct Fixture {
    ragged::Plan plan;
    ragged::HostResource memory{};
    ragged::Place<Line> place{Line(ranks), 1};

    explicit Fixture(std::uint32_t seed)
        : plan(ragged::make_plan(support::random_group(seed), ranks, {},
                                 {.planes = {ragged::DType::bf16, ragged::DType::i8}})) {}

    /// This rank's pieces filled with the known values plus `shift`.
    template <class T, class State = state::Resident>
    Buffer<T, State> buffer(float shift = 0) {
        Buffer<T, State> result(plan, place, memory);
        for_each<T>(result,
                    [&](T& x, std::size_t t, std::int64_t i) { x = static_cast<T>(value_of(t, i) + shift); });
        return result;
    }

    template <class T, class B, class Body>
    void for_each(B& buffer, Body body) {
        for (std::size_t t = 0; t < plan.tensors.size(); ++t)
            if constexpr (state::has_whole_tensors<typename B::state_type>) {
                const auto view = ragged::view(buffer, t);
                for (std::int64_t i = 0; i < view.elements(); ++i)
                    body(view.flat()[static_cast<std::size_t>(i)], t, i);
            } else {
                const auto piece = ragged::shard(buffer, t);
                for (std::int64_t i = 0; i < piece.elements(); ++i)
                    body(piece[i], t, piece.first() + i);
            }
    }

    /// Every element is as expected(tensor, i), and everything else in the values is zero.
    template <class T, class B, class Expected>
    void check(B& buffer, Expected expected) {
        std::size_t wrong = 0, nonzero = 0, nonzero_elements = 0;
        for_each<T>(buffer, [&](T& x, std::size_t t, std::int64_t i) {
            wrong += static_cast<float>(x) == static_cast<float>(expected(t, i)) ? 0 : 1;
            nonzero_elements += static_cast<float>(x) != 0.0f ? 1 : 0;
        });
        for (T x : buffer.values(0))
            nonzero += static_cast<float>(x) != 0.0f ? 1 : 0;
        CHECK(wrong == 0);
        CHECK(nonzero == nonzero_elements);
    }
};

template <class T>
T as(float x) {
    return static_cast<T>(x);
}

template <class T, class State>
void check_operations() {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        Fixture f(seed);
        auto x = f.buffer<T, State>(), y = f.buffer<T, State>(1);
        ragged::add(x, y);
        f.check<T>(y, [](std::size_t t, std::int64_t i) {
            return as<T>(float(as<T>(value_of(t, i) + 1)) + float(as<T>(value_of(t, i))));
        });
        ragged::scale(y, 0.5);
        f.check<T>(y, [](std::size_t t, std::int64_t i) {
            return as<T>(float(as<T>(float(as<T>(value_of(t, i) + 1)) + float(as<T>(value_of(t, i))))) *
                         0.5f);
        });
        ragged::copy(x, y);
        f.check<T>(y, [](std::size_t t, std::int64_t i) { return as<T>(value_of(t, i)); });
        ragged::axpy(2.0, x, y);
        f.check<T>(y, [](std::size_t t, std::int64_t i) {
            return as<T>(float(as<T>(value_of(t, i))) + 2.0f * float(as<T>(value_of(t, i))));
        });
        ragged::add(y, y); // the same buffer on both sides
        ragged::zero(y);
        f.check<T>(y, [](std::size_t, std::int64_t) { return as<T>(0.0f); });
    }
}

} // namespace

TEST_CASE("add, scale, copy, axpy and zero, in every type, on regions and on whole buffers") {
    check_operations<float, state::Resident>();
    check_operations<float, state::Sharded>();
    check_operations<float, state::Partial>();
    check_operations<double, state::Resident>();
    check_operations<ragged::bf16, state::Resident>();
    check_operations<ragged::f16, state::Resident>();
}

TEST_CASE("cast goes straight into the slot that gather sends from, scaled") {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        Fixture f(seed);
        const auto master = f.buffer<float>(0.3f);
        Buffer<ragged::bf16, state::Sharded> weights(f.plan, f.place, f.memory);
        ragged::cast(master, weights);
        f.check<ragged::bf16>(
            weights, [](std::size_t t, std::int64_t i) { return ragged::bf16(value_of(t, i) + 0.3f); });
        ragged::cast(master, weights, 0.25);
        f.check<ragged::bf16>(weights, [](std::size_t t, std::int64_t i) {
            return ragged::bf16((value_of(t, i) + 0.3f) * 0.25f);
        });
        // nothing outside this rank's region is touched
        std::size_t others = 0;
        for (std::int64_t i = 0; i < f.plan.padded_elements(); ++i)
            others += i / std::max<std::int64_t>(f.plan.region_elems(), 1) != 1 &&
                      weights.segment_data(0)[i].bits != 0;
        CHECK(others == 0);
        Buffer<float> back(f.plan, f.place, f.memory);
        ragged::cast(weights, back);
        f.check<float>(back, [](std::size_t t, std::int64_t i) {
            return float(ragged::bf16((value_of(t, i) + 0.3f) * 0.25f));
        });
    }
}

TEST_CASE("the sum of squares counts every element once, and the finite check sees every one") {
    for (std::uint32_t seed = 0; seed < 60; ++seed) {
        Fixture f(seed);
        auto x = f.buffer<float>();
        double expected = 0;
        f.for_each<float>(x, [&](float& v, std::size_t, std::int64_t) { expected += double{v} * v; });
        CHECK(ragged::sum_of_squares(x) == expected); // small integers: exact in any order
        CHECK(ragged::all_finite(x));
        const float bad[] = {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN()};
        std::size_t n = 0;
        f.for_each<float>(x, [&](float& v, std::size_t, std::int64_t) {
            const float kept = v;
            v = bad[n++ % 3];
            CHECK_FALSE(ragged::all_finite(x));
            v = kept;
        });
    }
}

TEST_CASE_TEMPLATE("exact sums over any number of ranks, in any order, are the same double", T, float,
                   ragged::bf16) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        const ragged::GroupSpec group = support::random_group(seed);
        support::BitwiseSum expected; // of one rank, which has everything
        std::vector<double> totals;
        for (const std::int64_t num_ranks : {1, 2, 3, 4, 5, 8}) {
            const ragged::Plan plan =
                ragged::make_plan(group, num_ranks, {}, {.planes = {ragged::DType::bf16}});
            double digits[ragged::exact_sum::num_digits]{};
            for (std::int64_t rank = num_ranks - 1; rank >= 0; --rank) {
                ragged::HostResource memory;
                Buffer<T> x(plan, {Line(num_ranks), rank}, memory);
                for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
                    const auto piece = ragged::shard(x, t);
                    for (std::int64_t i = 0; i < piece.elements(); ++i) {
                        piece[i] = static_cast<T>(
                            std::ldexp(value_of(t, piece.first() + i) + 0.3f, static_cast<int>(t % 7) * 5));
                        if (num_ranks == 1)
                            expected.add_square(static_cast<float>(piece[i]));
                    }
                }
                ragged::exact_sum_of_squares(x, digits);
            }
            totals.push_back(ragged::exact_sum::rounded(digits));
        }
        CHECK(std::count(totals.begin(), totals.end(), expected.rounded()) == 6);
    }
}

TEST_CASE_TEMPLATE("the finite check knows the patterns of every type", T, float, double, ragged::bf16,
                   ragged::f16, ragged::f8e4m3, ragged::f8e5m2) {
    Fixture f(2);
    const ragged::Plan plan =
        ragged::make_plan(ragged::GroupSpec{"g", {{"w", {300}}}}, ranks, {}, {.planes = {ragged::DType::i8}});
    Buffer<T> x(plan, f.place, f.memory);
    x.values(0)[70] = static_cast<T>(448.0f);
    CHECK(ragged::all_finite(x));
    x.values(0)[70] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
    CHECK_FALSE(ragged::all_finite(x));
}

TEST_CASE("reset gives zeros over the whole buffer") {
    Fixture f(8);
    auto gradients = f.buffer<float, state::Partial>(1);
    auto reduced = std::move(gradients).into<state::Reduced>();
    const auto again = ragged::reset(std::move(reduced));
    for (float x : again.values(0))
        CHECK(x == 0.0f);
}

TEST_CASE("factors that would turn zero into NaN are refused, and nothing is written") {
    Fixture f(8);
    auto x = f.buffer<float>(), y = f.buffer<float>(1);
    const double infinity = std::numeric_limits<double>::infinity();
    CHECK(message_of([&] { ragged::scale(x, infinity); }) ==
          "scale: factor inf is not finite and would turn zero padding into NaN");
    CHECK(support::contains(message_of([&] { ragged::axpy(std::nan(""), x, y); }), "axpy: factor"));
    CHECK(support::contains(message_of([&] { ragged::cast(x, y, -infinity); }), "cast: factor -inf"));
    CHECK(
        support::contains(message_of([&] { ragged::scale(x, 1e300); }), "scale: factor")); // infinite in fp32
    f.check<float>(x, [](std::size_t t, std::int64_t i) { return value_of(t, i); });
    f.check<float>(y, [](std::size_t t, std::int64_t i) { return value_of(t, i) + 1; });
}

TEST_CASE("buffers of other plans or ranks are refused") {
    Fixture f(8), g(9);
    auto x = f.buffer<float>(), y = g.buffer<float>();
    CHECK(support::contains(message_of([&] { ragged::add(x, y); }),
                            "buffers over different plans: group 'random 8'"));
    f.place = {Line(ranks), 2};
    auto z = f.buffer<float>();
    CHECK(message_of([&] { ragged::copy(x, z); }) == "group 'random 8': buffers of rank 1 and rank 2");
}

TEST_CASE("buffers in another space than the executor's are refused, and nothing is written") {
    const ragged::Plan plan = ragged::make_plan(ragged::GroupSpec{"g", {{"w", {300}}}}, ranks);
    const Fixture f(8);
    ragged::HostResource memory;
    ragged::Memory storage(memory, 4096);
    const auto elsewhere = ragged::MemorySpace::of_device(3);
    Buffer<float> x(plan, f.place, memory);
    Buffer<float> y(plan, f.place, ragged::Memory::adopt(storage.data(), storage.bytes(), elsewhere));
    const std::string refusal =
        "group 'g': the buffer is in memory of device 3, the executor works in host memory";
    CHECK(message_of([&] { ragged::zero(y); }) == refusal);
    CHECK(message_of([&] { ragged::scale(y, 2.0); }) == refusal);
    CHECK(message_of([&] { ragged::copy(x, y); }) == refusal);
    CHECK(message_of([&] { ragged::add(y, x); }) == refusal);
    CHECK(message_of([&] { ragged::axpy(1.0, y, x); }) == refusal);
    CHECK(message_of([&] { ragged::cast(x, y); }) == refusal);
    CHECK(message_of([&] { static_cast<void>(ragged::all_finite(y)); }) == refusal);
    CHECK(message_of([&] { static_cast<void>(ragged::sum_of_squares(y)); }) == refusal);
    double digits[ragged::exact_sum::num_digits]{};
    CHECK(message_of([&] { ragged::exact_sum_of_squares(y, digits); }) == refusal);
    CHECK(std::count(std::begin(digits), std::end(digits), 0.0) == ragged::exact_sum::num_digits);
    CHECK(message_of([&] { ragged::fill(ragged::PieceTable(plan, 1), y, 1.0f); }) == refusal);
    std::vector<float> largest(static_cast<std::size_t>(ragged::PieceTable(plan, 1).num_blocks()));
    CHECK(message_of([&] { ragged::absmax_per_block(ragged::PieceTable(plan, 1), y, largest); }) == refusal);
    const auto* words = static_cast<const float*>(storage.data());
    CHECK(std::count(words, words + 1024, 0.0f) == 1024);
}
