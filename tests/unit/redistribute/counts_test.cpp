// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Between static layouts nothing about a redistribution is decided at run time: its steps are a constant of
// its type, and so are the counts of its collectives.
#include <doctest/doctest.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include <ragged/comm/local_communicator.hpp>
#include <ragged/layout/static_layout.hpp>
#include <ragged/redistribute/redistribution.hpp>

#include "support/expect.hpp"

using ragged::Axis;
using ragged::LocalCommunicator;
using ragged::Partial;
using ragged::place;
using ragged::RaggedEvenly;
using ragged::Replicate;
using ragged::Shard;
using ragged::StaticLayout;
using support::expect;

namespace {

using Mesh2D = ragged::Topology<Axis<"replica", 2>, Axis<"shard", 3>>;
constexpr ragged::Tensor even{"even", {12, 4}, ragged::rows(2)};
constexpr ragged::Tensor odd{"odd", {7, 5}, ragged::rows(2)};

using Gradient = decltype(place<"shard">(Partial<>{}).then<"replica">(Partial<>{}));
using Sharded = decltype(place<"shard">(RaggedEvenly{}).then<"replica">(Replicate{}));
using Whole = decltype(place<"shard">(Replicate{}).then<"replica">(Replicate{}));
using Columns = decltype(place<"shard">(Shard<1>{}).then<"replica">(Replicate{}));

template <const auto& Spec, class P>
using Layout = StaticLayout<Spec, Mesh2D, P>;
template <class From, class To>
using Counts = ragged::counts_between<From, To>;

using EvenReduce = Counts<Layout<even, Gradient>, Layout<even, Sharded>>;
static_assert(EvenReduce::folded && EvenReduce::equal<0> && EvenReduce::of<0>(0).front() == 16);
static_assert(EvenReduce::equal<1> && EvenReduce::of<1>(5).front() == 16,
              "the all-reduce is of what is left");
using OddReduce = Counts<Layout<odd, Gradient>, Layout<odd, Sharded>>;
static_assert(!OddReduce::equal<0> && OddReduce::of<0>(4).size() == 3 && OddReduce::of<0>(4)[0] == 10 &&
              OddReduce::of<0>(4)[2] == 15);
using OddGather = Counts<Layout<odd, Sharded>, Layout<odd, Whole>>;
static_assert(OddGather::of<0>(0)[1] == 10 && !OddGather::equal<0>);
static_assert(std::is_same_v<Counts<ragged::GroupLayout<Mesh2D, Sharded>, ragged::GroupLayout<Mesh2D, Whole>>,
                             ragged::CountsAtRunTime>);

/// A communicator that only has what the route needs: anything else that were left to a branch at run time
/// would not compile.
struct OnlyEqualParts {
    using Completion = LocalCommunicator::Completion;
    LocalCommunicator inner;

    int rank() const { return inner.rank(); }
    int size() const { return inner.size(); }
    static ragged::MemorySpace space() { return {}; }
    OnlyEqualParts split(int color, int key) { return {inner.split(color, key)}; }
    template <class T>
    Completion reduce_scatter(T* base, std::int64_t count,
                              ragged::Reduction reduction = ragged::Reduction::sum) {
        return inner.reduce_scatter(base, count, reduction);
    }
    template <class T>
    Completion all_reduce(T* base, std::int64_t count, ragged::Reduction reduction = ragged::Reduction::sum) {
        return inner.all_reduce(base, count, reduction);
    }
    void all_gather_host(std::uint8_t* base, std::int64_t bytes) { inner.all_gather(base, bytes).wait(); }
};

/// Redistribute a tensor of ones between static layouts, and between the same layouts at run time.
template <const auto& Spec, class From, class To, class Communicator>
void check_alike(Communicator world) {
    using StaticFrom = Layout<Spec, From>;
    using StaticTo = Layout<Spec, To>;
    ragged::Mesh mesh(Mesh2D(), world);
    ragged::HostResource memory;
    const auto rank = mesh.place().rank;
    const std::int64_t elements = StaticTo::portion(0, rank).elements;
    std::vector<float> source(35 + 48), destination(static_cast<std::size_t>(elements) + 1, -1.0f);
    const auto fill = [&] {
        for (std::int64_t i = 0; i < StaticFrom::portion(0, rank).elements; ++i)
            source[static_cast<std::size_t>(i)] =
                static_cast<float>(StaticFrom::portion(0, rank).global(i) + rank);
    };
    fill();
    ragged::redistribute(StaticFrom(), source.data(), StaticTo(), destination.data(), mesh, memory).wait();
    if constexpr (std::is_same_v<Communicator, LocalCommunicator>) {
        std::vector<float> again(destination.size(), -1.0f);
        fill();
        ragged::redistribute(ragged::GroupLayout(StaticFrom::layout()), source.data(),
                             ragged::GroupLayout(StaticTo::layout()), again.data(), mesh, memory)
            .wait();
        expect(again == destination, "static and run-time layouts give the same");
    }
    expect(destination.back() == -1.0f, "nothing behind the end is written");
    const bool sums = From::kinds[0].kind == ragged::PlacementKind::Kind::partial;
    for (std::int64_t i = 0; sums && i < elements; ++i)
        expect(destination[static_cast<std::size_t>(i)] ==
                   static_cast<float>(6 * StaticTo::portion(0, rank).global(i) + 15),
               "the sum over six ranks");
}

} // namespace

TEST_CASE("static layouts redistribute as layouts at run time do") {
    CHECK_NOTHROW(ragged::run_ranks(6, [](LocalCommunicator world) {
        check_alike<even, Gradient, Sharded>(world);
        check_alike<odd, Gradient, Sharded>(world);
        check_alike<odd, Sharded, Whole>(world);
        check_alike<odd, Columns, Sharded>(world);
        check_alike<odd, Whole, Columns>(world);
    }));
}

TEST_CASE("a route between static layouts asks for the collectives of its types and no others") {
    CHECK_NOTHROW(ragged::run_ranks(
        6, [](LocalCommunicator world) { check_alike<even, Gradient, Sharded>(OnlyEqualParts{world}); }));
}
