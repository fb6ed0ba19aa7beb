// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Redistribution by NCCL and kernels, on one rank: every kind of step, staging, and the order of two streams.
// What happens between ranks is tested over threads.
#include <doctest/doctest.h>

#include <vector>

#include <ragged/cuda.cuh>
#include <ragged/nccl.hpp>

#include "gpu/device_arrays.hpp"
#include "support/known_layouts.hpp"

using namespace std::chrono_literals;
using ragged::Axis;
using ragged::NcclCommunicator;
using ragged::Partial;
using ragged::PartialOp;
using ragged::place;
using ragged::RaggedByWeights;
using ragged::RaggedEvenly;
using ragged::RaggedOnRank;
using ragged::Replicate;
using ragged::Shard;
using Line = ragged::Topology<Axis<"shard">>;
using Plane = ragged::Topology<Axis<"tensor">, Axis<"shard">>;

namespace {

const support::DeviceArrays arrays;

/// A mesh of one rank on one stream, an executor on it or on another.
template <class Topology, class R>
struct Ranks {
    ragged::Mesh<Topology, NcclCommunicator>& mesh;
    R& memory;
    const ragged::CudaExecutor& executor;
    const ragged::CudaStream other;

    template <class T, class From, class To>
    void move(const From& from_placements, const To& to_placements) {
        const auto from = support::known_layout(mesh.place().topology, from_placements);
        const auto to = support::known_layout(mesh.place().topology, to_placements);
        const std::vector<T> values = support::known_source<T>(from, 0);
        const std::vector<T> untouched(static_cast<std::size_t>(to.storage_elems(0)), T(99.0f));
        const auto source = arrays.of(values), destination = arrays.of(untouched);
        const auto check = [&] {
            const std::vector<T> found = destination.values();
            CHECK_NOTHROW(support::expect_known(from, to, 0, found.data(), T(99.0f)));
        };
        ragged::redistribute(from, source.data(), to, destination.data(), mesh, memory, executor).wait();
        check();
        const auto ready = ragged::make_redistribution<T>(from, to, mesh, memory, executor);
        for (int step = 0; step < 3; ++step) {
            if (ready.spends_source || step == 0)
                ragged::check(cudaMemcpyAsync(source.data(), values.data(), values.size() * sizeof(T),
                                              cudaMemcpyHostToDevice, executor.stream().native()),
                              "filling the source");
            ready.start(source.data(), destination.data()).wait(other);
            executor.stream().wait_for(other);
        }
        other.synchronise();
        check();
        const auto world_only =
            ragged::make_redistribution<T>(to, to, mesh.world(), memory, executor); // one exchange
        world_only.start(destination.data(), arrays.of(untouched).data()).wait();
    }
};

template <class T, class R>
void one_axis(Ranks<Line, R> ranks) {
    const auto replicate = place<"shard">(Replicate{});
    const auto rows = place<"shard">(Shard<0>{});
    const auto columns = place<"shard">(Shard<1>{});
    const auto even = place<"shard">(RaggedEvenly{});
    const auto weighted = place<"shard">(RaggedByWeights{{3}});
    const auto root = place<"shard">(RaggedOnRank{0});
    const auto to_all = [&](const auto& from) {
        ranks.template move<T>(from, replicate);
        ranks.template move<T>(from, rows);
        ranks.template move<T>(from, columns);
        ranks.template move<T>(from, even);
        ranks.template move<T>(from, weighted);
        ranks.template move<T>(from, root);
    };
    to_all(replicate);
    to_all(columns);
    to_all(weighted);
    to_all(root);
    to_all(place<"shard">(Partial<>{}));
    ranks.template move<T>(place<"shard">(Partial<PartialOp::avg>{}), weighted);
    ranks.template move<T>(place<"shard">(Partial<PartialOp::max>{}), columns);
    ranks.template move<T>(place<"shard">(Partial<PartialOp::avg>{}), replicate);
}

template <class R>
void two_axes(Ranks<Plane, R> ranks) {
    const auto column = place<"tensor">(Shard<1>{}).template then<"shard">(RaggedEvenly{});
    const auto row = place<"tensor">(Shard<0>{}).template then<"shard">(RaggedEvenly{});
    const auto whole = place<"tensor">(Replicate{}).template then<"shard">(Replicate{});
    const auto gradient = place<"tensor">(Shard<1>{}).template then<"shard">(Partial<>{});
    const auto all_partial = place<"tensor">(Partial<>{}).template then<"shard">(Partial<PartialOp::avg>{});
    const auto replicated = place<"tensor">(Replicate{}).template then<"shard">(RaggedEvenly{});
    ranks.template move<float>(column, row);
    ranks.template move<float>(row, whole);
    ranks.template move<float>(whole, column);
    ranks.template move<float>(gradient, column);
    ranks.template move<float>(gradient, row);
    ranks.template move<float>(all_partial, replicated);
    ranks.template move<float>(all_partial, row);
}

template <class R>
void everything(const ragged::CudaStream& stream, const ragged::CudaStream& work,
                const ragged::CudaStream& other, R& memory) {
    NcclCommunicator world(NcclCommunicator::make_id(), 0, 1, stream, {.timeout = 60s});
    ragged::Mesh line(Line(1), world);
    ragged::Mesh plane(Plane(1, 1), world);
    const ragged::CudaExecutor executor(work, memory);
    one_axis<float>(Ranks<Line, R>{line, memory, executor, other});
    one_axis<ragged::bf16>(Ranks<Line, R>{line, memory, executor, other});
    two_axes(Ranks<Plane, R>{plane, memory, executor, other});
}

} // namespace

TEST_CASE("every kind of step, all on the communicator's stream") {
    const ragged::OwnedCudaStream stream(0), other(0);
    ragged::CudaPoolResource memory(stream);
    everything(stream, stream, other, memory);
}

TEST_CASE("every kind of step, copies on a stream of their own") {
    const ragged::OwnedCudaStream stream(0), work(0), other(0);
    ragged::CudaPoolResource memory(work);
    everything(stream, work, other, memory);
}

TEST_CASE("staging in memory of NCCL") {
    const ragged::OwnedCudaStream stream(0), other(0);
    ragged::NcclResource memory(stream);
    everything(stream, stream, other, memory);
}
