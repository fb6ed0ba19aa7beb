// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Gather and reduce over in-process ranks, against the plain work that cannot be avoided: as many threads
// copying as many bytes, and for the sum a loop over as many inputs. Arguments: ranks, MiB of the gathered
// buffer.
#include <cstring>
#include <vector>

#include <ragged/ragged.hpp>

#include "support/paired.hpp"
#include "support/ranks.hpp"

namespace {

using Grid = ragged::Topology<ragged::Axis<"shard">>;

ragged::Plan plan_of(std::int64_t elements, int ranks) {
    ragged::GroupSpec group{"g", {{"w", {elements / 1024, 1024}, ragged::rows(1), ragged::DType::f32}}};
    return ragged::make_plan(group, ranks);
}

void gather(benchmark::State& state) {
    const int ranks = static_cast<int>(state.range(0));
    const ragged::Plan plan = plan_of(state.range(1) << 18, ranks);
    const auto medians = bench::measure_ranks(ranks, [&](ragged::LocalCommunicator world) {
        auto mesh = std::make_shared<ragged::Mesh<Grid, ragged::LocalCommunicator>>(Grid(ranks), world);
        static ragged::HostResource memory;
        auto buffer = std::make_shared<ragged::DBuffer<float, Grid>>(plan, *mesh, memory);
        const std::size_t bytes = static_cast<std::size_t>(plan.region_elems()) * sizeof(float);
        const auto peers = static_cast<std::size_t>(ranks - 1);
        auto from = std::make_shared<std::vector<char>>(bytes * peers, 1);
        auto to = std::make_shared<std::vector<char>>(bytes * peers, 2);
        return std::pair{[=] { *buffer = release(ragged::gather(std::move(*buffer), *mesh).wait()); },
                         [=] {
                             for (std::size_t peer = 0; peer < peers; ++peer)
                                 std::memcpy(to->data() + peer * bytes, from->data() + peer * bytes, bytes);
                         }};
    });
    bench::report(state, medians, plan.region_elems() * 4 * (ranks - 1) * ranks * 2);
}

void reduce(benchmark::State& state) {
    const int ranks = static_cast<int>(state.range(0));
    const ragged::Plan plan = plan_of(state.range(1) << 18, ranks);
    using Partial = ragged::DBuffer<float, Grid, ragged::state::Partial>;
    const auto medians = bench::measure_ranks(ranks, [&](ragged::LocalCommunicator world) {
        auto mesh = std::make_shared<ragged::Mesh<Grid, ragged::LocalCommunicator>>(Grid(ranks), world);
        static ragged::HostResource memory;
        auto buffer = std::make_shared<Partial>(plan, *mesh, memory);
        const auto shard = static_cast<std::size_t>(plan.region_elems());
        auto from = std::make_shared<std::vector<float>>(shard * static_cast<std::size_t>(ranks), 1.0f);
        return std::pair{[=] {
                             auto reduced = ragged::reduce(std::move(*buffer), *mesh).wait();
                             *buffer = std::move(reduced).into<ragged::state::Partial>();
                         },
                         [=] { // add the other contributions to the own one
                             for (std::size_t peer = 1; peer < static_cast<std::size_t>(ranks); ++peer)
                                 for (std::size_t i = 0; i < shard; ++i)
                                     (*from)[i] += (*from)[peer * shard + i];
                         }};
    });
    bench::report(state, medians, plan.region_elems() * 4 * (ranks + 1) * ranks);
}

} // namespace

#define RAGGED_BENCH(body)                                                                                   \
    BENCHMARK(body)                                                                                          \
        ->ArgNames({"ranks", "MiB"})                                                                         \
        ->ArgsProduct({{2, 4}, {64, 256}})                                                                   \
        ->Iterations(1)                                                                                      \
        ->UseManualTime()                                                                                    \
        ->Unit(benchmark::kMillisecond)

RAGGED_BENCH(gather);
RAGGED_BENCH(reduce);
