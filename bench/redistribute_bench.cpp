// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Redistribution over in-process ranks, against what is done without it: gather everything and keep a part,
// or reduce everything and keep a part. Counters tell how many bytes the ranks receive together, and how many
// the baseline receives. Argument: ranks. And the transfer lists of a large model, which no baseline has.
#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <ragged/ragged.hpp>

#include "support/paired.hpp"
#include "support/ranks.hpp"

namespace {

using ragged::place;
using Grid = ragged::Topology<ragged::Axis<"shard">>;

/// A layer of 16 matrices, 64 MiB in f32.
constexpr std::int64_t num_tensors = 16, rows = 1024, columns = 1024;

template <class P>
auto layout_of(int ranks, const P& placements) {
    std::vector<ragged::TensorLayout<Grid, P>> tensors;
    for (std::int64_t t = 0; t < num_tensors; ++t)
        tensors.emplace_back(
            ragged::TensorSpec{"w" + std::to_string(t), {rows, columns}, ragged::rows(1), ragged::DType::f32},
            Grid(ranks), placements);
    return ragged::GroupLayout(std::move(tensors), Grid(ranks));
}

/// From `from` to `to` in one, and by way of a whole tensor on every rank.
template <class From, class To>
void by_way_of_all(benchmark::State& state, const From& from_placements, const To& to_placements) {
    const int ranks = static_cast<int>(state.range(0));
    const auto from = layout_of(ranks, from_placements);
    const auto all = layout_of(ranks, place<"shard">(ragged::Replicate{}));
    const auto to = layout_of(ranks, to_placements);
    std::atomic<std::int64_t> received[2] = {}; // by all ranks: directly, and by way of all
    const auto medians = bench::measure_ranks(ranks, [&](ragged::LocalCommunicator world) {
        static ragged::HostResource memory;
        using Mesh = ragged::Mesh<Grid, ragged::LocalCommunicator>;
        auto mesh = std::make_shared<Mesh>(Grid(ranks), world);
        const auto direct = ragged::make_redistribution<float>(from, to, *mesh, memory);
        const auto first = ragged::make_redistribution<float>(from, all, *mesh, memory);
        const auto second = ragged::make_redistribution<float>(all, to, *mesh, memory);
        const auto array = [&](const auto& layout) {
            return std::make_shared<std::vector<float>>(
                static_cast<std::size_t>(layout.storage_elems(world.rank())), 1.0f);
        };
        auto source = array(from), whole = array(all), destination = array(to);
        const auto bytes = [mesh] {
            return mesh->world().received_bytes() + mesh->along(0).received_bytes();
        };
        auto ours = [=, kept = mesh] { direct.start(source->data(), destination->data()).wait(); };
        auto baseline = [=, kept = mesh] {
            first.start(source->data(), whole->data()).wait();
            second.start(whole->data(), destination->data()).wait();
        };
        std::int64_t before = bytes();
        ours();
        received[0] += bytes() - before;
        before = bytes();
        baseline();
        received[1] += bytes() - before;
        return std::pair{ours, baseline};
    });
    bench::report(state, medians, received[0]);
    state.counters["received_MiB"] = static_cast<double>(received[0]) / (1 << 20);
    state.counters["baseline_MiB"] = static_cast<double>(received[1]) / (1 << 20);
}

ragged::RaggedByWeights weights(int ranks) {
    ragged::RaggedByWeights rule;
    for (int rank = 0; rank < ranks; ++rank)
        rule.weights.push_back(rank + 1);
    return rule;
}

void ragged_to_ragged(benchmark::State& state) {
    by_way_of_all(state, place<"shard">(ragged::RaggedEvenly{}),
                  place<"shard">(weights(static_cast<int>(state.range(0)))));
}
void rows_to_columns(benchmark::State& state) {
    by_way_of_all(state, place<"shard">(ragged::Shard<0>{}), place<"shard">(ragged::Shard<1>{}));
}
void sums_to_runs(benchmark::State& state) {
    by_way_of_all(state, place<"shard">(ragged::Partial<>{}), place<"shard">(ragged::RaggedEvenly{}));
}
void sums_to_columns(benchmark::State& state) {
    by_way_of_all(state, place<"shard">(ragged::Partial<>{}), place<"shard">(ragged::Shard<1>{}));
}

/// Every matrix to its owner and back, against a gather of all matrices by all ranks, whose update needs no
/// way back.
void owners_and_back(benchmark::State& state) {
    const int ranks = static_cast<int>(state.range(0));
    const auto from = layout_of(ranks, place<"shard">(ragged::RaggedEvenly{}));
    const auto all = layout_of(ranks, place<"shard">(ragged::Replicate{}));
    std::vector<ragged::RootTask> tasks;
    for (std::int64_t t = 0; t < num_tensors; ++t)
        tasks.push_back({from.name(t), from.shape(t), ragged::DType::f32});
    const auto owners = ragged::root_layout(tasks, ragged::choose_roots(tasks, ranks), Grid(ranks));
    const auto medians = bench::measure_ranks(ranks, [&](ragged::LocalCommunicator world) {
        static ragged::HostResource memory;
        using Mesh = ragged::Mesh<Grid, ragged::LocalCommunicator>;
        auto mesh = std::make_shared<Mesh>(Grid(ranks), world);
        const auto out = ragged::make_redistribution<float>(from, owners, *mesh, memory);
        const auto back = ragged::make_redistribution<float>(owners, from, *mesh, memory);
        const auto gather = ragged::make_redistribution<float>(from, all, *mesh, memory);
        const auto array = [&](const auto& layout) {
            return std::make_shared<std::vector<float>>(
                static_cast<std::size_t>(layout.storage_elems(world.rank())), 1.0f);
        };
        auto shards = array(from), whole = array(all), owned = array(owners);
        return std::pair{[=, kept = mesh] {
                             out.start(shards->data(), owned->data()).wait();
                             back.start(owned->data(), shards->data()).wait();
                         },
                         [=, kept = mesh] { gather.start(shards->data(), whole->data()).wait(); }};
    });
    bench::report(state, medians, num_tensors * rows * columns * 4 * 2 * (ranks - 1) / ranks);
}

/// All of deepseek-v3-671b from `devices` to half as many more.
void transfer_lists(benchmark::State& state) {
    ragged::ModelSpec model =
        ragged::read_inventory(std::filesystem::path(RAGGED_MODELS_DIR) / "deepseek-v3-671b.tsv");
    for (ragged::GroupSpec& group : model.groups)
        for (ragged::TensorSpec& tensor : group.tensors)
            if (tensor.shape.rank() > 1)
                tensor.block = ragged::rows(1);
    const std::int64_t devices = state.range(0), more = devices / 2 * 3;
    const auto from = ragged::make_plan(model, devices), to = ragged::make_plan(model, more);
    std::size_t transfers = 0;
    const auto lists = [&] {
        transfers = 0;
        for (std::size_t g = 0; g < from.groups.size(); ++g)
            transfers += ragged::transfer_list(ragged::PlanLayout(from.groups[g], Grid(devices)),
                                               ragged::PlanLayout(to.groups[g], Grid(more)))
                             .size();
    };
    std::vector<double> times;
    for (int repeat = 0; repeat < 5; ++repeat)
        times.push_back(bench::seconds(lists));
    for (auto _ : state)
        state.SetIterationTime(bench::median(times));
    state.counters["transfers"] = static_cast<double>(transfers);
}

} // namespace

#define RAGGED_BENCH(body)                                                                                   \
    BENCHMARK(body)->ArgName("ranks")->Arg(2)->Arg(4)->Iterations(1)->UseManualTime()->Unit(                 \
        benchmark::kMillisecond)

RAGGED_BENCH(ragged_to_ragged);
RAGGED_BENCH(rows_to_columns);
RAGGED_BENCH(sums_to_runs);
RAGGED_BENCH(sums_to_columns);
RAGGED_BENCH(owners_and_back);
BENCHMARK(transfer_lists)
    ->ArgName("devices")
    ->Arg(64)
    ->Arg(1024)
    ->Arg(8192)
    ->Iterations(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
