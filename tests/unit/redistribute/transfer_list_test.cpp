// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Transfer lists against a count of every element: nothing is missing, nothing travels twice, nothing travels
// that is there, and no two entries could be one.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>
#include <tuple>

#include <ragged/redistribute/transfer_list.hpp>
#include <ragged/spec/inventory.hpp>

#include "support/expect.hpp"

#ifndef RAGGED_MODELS_DIR
#define RAGGED_MODELS_DIR "examples/models"
#endif

using namespace ragged;
using support::message_of;

namespace {

using Line = Topology<Axis<"s">>;
using Plane = Topology<Axis<"r">, Axis<"s">>;

const std::vector<TensorSpec> specs{{"a", {7, 5}, rows(1)},      {"b", {6, 4, 3}, elements(2)},
                                    {"c", {1, 1}, whole()},      {"d", {0, 3}},
                                    {"e", {9, 8}, tile({2, 3})}, {"f", {3, 1}}};

template <class Topology, class P>
auto group_of(const std::vector<TensorSpec>& tensors, const Topology& topology, const P& placements) {
    std::vector<TensorLayout<Topology, P>> layouts;
    for (const TensorSpec& spec : tensors)
        layouts.emplace_back(spec, topology, placements);
    return GroupLayout(layouts, topology);
}

template <class Layout>
bool holds(const Layout& layout, std::int64_t tensor, std::int64_t rank, std::int64_t global) {
    return rank < layout.topology().num_ranks() && layout.portion(tensor, rank).local(global) >= 0;
}

/// The laws of a list, each from the layouts alone. Tensors are the same, in the same order.
template <class From, class To>
void check(const From& from, const To& to) {
    const std::vector<Transfer> list = transfer_list(from, to);
    std::map<std::array<std::int64_t, 3>, int> filled; // tensor, rank, place
    std::map<std::array<std::int64_t, 2>, std::int64_t> sent;
    std::int64_t kept = 0;
    for (const Transfer& t : list) {
        CHECK(t.elements > 0);
        const Portion source = from.portion(t.tensor, t.from_rank),
                      destination = to.portion(t.tensor, t.to_rank);
        for (std::int64_t i = 0; i < t.elements; ++i) {
            const bool in_range = t.from + i < source.elements && t.to + i < destination.elements;
            REQUIRE(in_range);
            const std::int64_t global = destination.global(t.to + i);
            const bool same = source.global(t.from + i) == global;
            REQUIRE(same);
            ++filled[{t.tensor, t.to_rank, t.to + i}];
            const bool local = holds(from, t.tensor, t.to_rank, global) == (t.from_rank == t.to_rank);
            REQUIRE(local); // what a rank holds it takes from itself
        }
        (t.from_rank == t.to_rank ? kept : sent[{t.from_rank, t.to_rank}]) += t.elements;
    }
    for (std::int64_t t = 0; t < to.num_tensors(); ++t)
        for (std::int64_t rank = 0; rank < to.topology().num_ranks(); ++rank)
            for (std::int64_t i = 0; i < to.portion(t, rank).elements; ++i)
                REQUIRE(filled[{t, rank, i}] == 1);
    // Whichever order they come in, no entry goes on where another ends.
    std::set<std::array<std::int64_t, 5>> ends;
    for (const Transfer& t : list)
        ends.insert({t.tensor, t.from_rank, t.to_rank, t.from + t.elements, t.to + t.elements});
    for (const Transfer& t : list)
        CHECK(!ends.contains({t.tensor, t.from_rank, t.to_rank, t.from, t.to}));

    const TransferCost stated = cost(from, to, DType::bf16);
    CHECK(stated.kept_bytes == 2 * kept);
    REQUIRE(stated.pairs.size() == sent.size());
    std::size_t at = 0;
    std::int64_t moved = 0;
    std::vector<std::int64_t> by_sender(static_cast<std::size_t>(from.topology().num_ranks())),
        by_receiver(static_cast<std::size_t>(to.topology().num_ranks()));
    for (const auto& [pair, elements] : sent) { // ascending
        CHECK(stated.pairs[at++] == TransferCost::Pair{pair[0], pair[1], 2 * elements});
        by_sender[static_cast<std::size_t>(pair[0])] += 2 * elements;
        by_receiver[static_cast<std::size_t>(pair[1])] += 2 * elements;
        moved += 2 * elements;
    }
    CHECK(stated.sent_bytes == by_sender);
    CHECK(stated.received_bytes == by_receiver);
    CHECK(stated.moved_bytes == moved);
}

} // namespace

TEST_CASE("every element once, from the rank itself where it can, in as few entries as there can be") {
    for (const int ranks : {1, 2, 3, 4, 5, 8}) {
        CAPTURE(ranks);
        const auto even = group_of(specs, Line(ranks), place<"s">(RaggedEvenly{}));
        const auto columns = group_of(specs, Line(ranks), place<"s">(Shard<1>{}));
        const auto root = group_of(specs, Line(ranks), place<"s">(RaggedOnRank{ranks - 1}));
        const auto all = group_of(specs, Line(ranks), place<"s">(Replicate{}));
        check(even, columns);
        check(columns, even);
        check(columns, root);
        check(root, all);
        check(all, columns);
        check(even, even);
        for (const int rows : {1, 2, 3}) { // onto another mesh
            CAPTURE(rows);
            const auto strided =
                group_of(specs, Plane(rows, 2), place<"r">(Shard<1>{}).then<"s">(RaggedEvenly{}));
            const auto replicas =
                group_of(specs, Plane(rows, 2), place<"r">(Replicate{}).then<"s">(Shard<0>{}));
            check(even, strided);
            check(strided, even);
            check(replicas, columns);
            check(columns, replicas);
            check(strided, replicas);
        }
    }
}

TEST_CASE("an identity is one local entry per tensor and rank") {
    const auto layout = group_of(specs, Plane(2, 3), place<"s">(Shard<1>{}).then<"r">(Shard<0>{}));
    for (const Transfer& t : transfer_list(layout, layout))
        CHECK(t ==
              Transfer{t.tensor, t.to_rank, 0, t.to_rank, 0, layout.portion(t.tensor, t.to_rank).elements});
    CHECK(cost(layout, layout, DType::f32).moved_bytes == 0);
}

TEST_CASE("replicas are served by the source at their own coordinates") {
    const auto from = group_of(specs, Plane(2, 3), place<"r">(Replicate{}).then<"s">(RaggedEvenly{}));
    const auto to = group_of(specs, Plane(2, 3), place<"r">(Replicate{}).then<"s">(Shard<1>{}));
    for (const Transfer& t : transfer_list(from, to))
        CHECK(t.from_rank / 3 == t.to_rank / 3);
}

TEST_CASE("one layout may have more tensors, not both") {
    const std::vector<TensorSpec> more{{"x", {4}}, {"y", {6}}, {"z", {5}}}, less{{"z", {5}}, {"x", {4}}};
    const auto placed = place<"s">(RaggedEvenly{});
    const auto all = group_of(more, Line(2), placed), some = group_of(less, Line(3), placed);
    std::set<std::int64_t> tensors;
    for (const Transfer& t : transfer_list(all, some))
        tensors.insert(t.tensor);
    CHECK(tensors == std::set<std::int64_t>{0, 1});
    tensors.clear();
    for (const Transfer& t : transfer_list(some, all))
        tensors.insert(t.tensor); // of the destination: "y" gets nothing
    CHECK(tensors == std::set<std::int64_t>{0, 2});

    const auto other = group_of({{"x", {4}}, {"w", {5}}}, Line(2), placed);
    CHECK(message_of([&] { transfer_list(all, other); }) ==
          "tensor 'w' is in the destination layout only and tensor 'y' in the source only; one must have all "
          "tensors of the other");
    CHECK_THROWS_AS(cost(all, other, DType::f32), PlanError);
    const auto reshaped = group_of({{"x", {2, 2}}}, Line(2), placed);
    CHECK(message_of([&] { transfer_list(all, reshaped); }) ==
          "tensor 'x' has shape 4 in the source layout, 2x2 in the destination");
    const auto twice = group_of({{"x", {4}}, {"x", {4}}}, Line(2), placed);
    CHECK(message_of([&] { transfer_list(twice, all); }) == "tensor 'x' is twice in the source layout");
    CHECK(message_of([&] { transfer_list(all, twice); }) == "tensor 'x' is twice in the destination layout");
    CHECK(message_of([&] { transfer_list(some, twice); }) == "tensor 'x' is twice in the destination layout");
}

TEST_CASE("a real model from 64 to 96 ranks and back") {
    const ModelSpec model = read_inventory(std::filesystem::path(RAGGED_MODELS_DIR) / "deepseek-v3-671b.tsv");
    std::vector<TensorSpec> tensors;
    for (const GroupSpec& group : model.groups)
        for (TensorSpec tensor : group.tensors) {
            tensor.name = group.name + "/" + tensor.name;
            if (tensor.shape.rank() > 1)
                tensor.block = rows(1);
            tensors.push_back(std::move(tensor));
        }
    const auto few = group_of(tensors, Line(64), place<"s">(RaggedEvenly{}));
    const auto many = group_of(tensors, Line(96), place<"s">(RaggedEvenly{}));
    const auto start = std::chrono::steady_clock::now();
    const TransferCost grow = cost(few, many, DType::bf16), shrink = cost(many, few, DType::bf16);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    MESSAGE(tensors.size(), " tensors, both directions in ", seconds.count(), " s");
    std::int64_t bytes = 0;
    for (const TensorSpec& tensor : tensors)
        bytes += 2 * tensor.shape.elements();
    CHECK(grow.moved_bytes + grow.kept_bytes == bytes);
    CHECK(shrink.moved_bytes + shrink.kept_bytes == bytes);
    CHECK(shrink.kept_bytes == grow.kept_bytes); // what a rank has in both
    for (std::size_t rank = 0; rank < 64; ++rank)
        CHECK(grow.sent_bytes[rank] == shrink.received_bytes[rank]);
    for (const TransferCost::Pair& pair : grow.pairs)
        CHECK(pair.from_rank != pair.to_rank);
}

// A list that compared runs with runs would take 10^12 steps.
TEST_CASE("a million runs on both sides") {
    const std::vector<TensorSpec> wide{{"w", {500'000, 4}}};
    const auto columns = group_of(wide, Line(2), place<"s">(Shard<1>{}));
    const auto quarters = group_of(wide, Line(4), place<"s">(Shard<1>{}));
    const auto start = std::chrono::steady_clock::now();
    const std::vector<Transfer> list = transfer_list(columns, quarters);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    MESSAGE(list.size(), " entries in ", seconds.count(), " s");
    CHECK(list.size() == 2'000'000);
    CHECK(transfer_list(columns, columns).size() == 2); // joined as they are found
}
