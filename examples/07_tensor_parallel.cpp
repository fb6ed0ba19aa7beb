// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// FSDP with replicas beside tensor parallelism: w1 is cut along its outputs, w2 along its inputs, and what a
// rank is left with is planned and sharded over the data axes. Eight ranks, threads of this process.
#include <iostream>
#include <string>

#include <ragged/ragged.hpp>

using Grid =
    ragged::Topology<ragged::Axis<"replica", 2>, ragged::Axis<"shard", 2>, ragged::Axis<"tensor", 2>>;
using Data = decltype(Grid().part<"replica", "shard">());
namespace state = ragged::state;

constexpr auto by_outputs = ragged::place<"tensor">(ragged::Shard<0>{}); // weights are [outputs, inputs]
constexpr auto by_inputs = ragged::place<"tensor">(ragged::Shard<1>{});

int main() {
    const ragged::TensorSpec w1{"w1", {192, 64}, ragged::rows(16)}, w2{"w2", {96, 192}, ragged::rows(16)};

    ragged::run_ranks(8, [&](ragged::LocalCommunicator world) {
        // A buffer takes every axis but "shard" for replicas: the tensor axis has no place on its mesh.
        ragged::Mesh all(Grid(), world);
        auto data = all.part<"replica", "shard">();
        const auto tensor = static_cast<int>(all.place().coordinate<"tensor">());

        const ragged::GroupSpec layer{"layer",
                                      {ragged::local_spec(w1, Grid(), by_outputs, world.rank()),  // [96, 64]
                                       ragged::local_spec(w2, Grid(), by_inputs, world.rank())}}; // [96, 96]
        const ragged::Plan plan = ragged::make_plan(layer, Data().size<"shard">());
        ragged::HostResource memory;
        ragged::DBuffer<float, Data, state::Partial> gradients(plan, data, memory);
        const auto g1 = ragged::view(gradients, "w1");
        for (int i = 0; i < 96; ++i)
            for (int j = 0; j < 64; ++j)
                g1(i, j) = static_cast<float>(1 + tensor); // backward
        const auto reduced = ragged::reduce(std::move(gradients), data).wait();
        const auto sums = ragged::shard(reduced, "w1");
        for (std::int64_t i = 0; i < sums.elements(); ++i)
            if (sums[i] != static_cast<float>(4 * (1 + tensor)))
                throw ragged::Error("four ranks contribute to a sum; found " + std::to_string(sums[i]));

        // This half of each matrix goes to one owner among the four ranks, and comes back to both replicas.
        const auto shards = ragged::layout_of(reduced, data);
        const auto tasks = ragged::root_tasks(shards);
        const ragged::Topology<ragged::Axis<"rank">> ranks(data.world().size());
        const auto owners = ragged::root_layout(tasks, ragged::choose_roots(tasks, ranks.num_ranks()), ranks);
        if (world.rank() == 0)
            std::cout << ragged::cost(shards, owners, ragged::DType::f32).moved_bytes << " bytes to owners\n";
        const auto collect = ragged::make_redistribution<float>(shards, owners, data.world(), memory);
        const auto give_back = ragged::make_redistribution<float>(owners, shards, data.world(), memory);
        std::vector<float> matrices(static_cast<std::size_t>(collect.destination_elems()));
        collect.start(reduced.segment_data(0), matrices.data()).wait();
        for (float& x : matrices)
            x *= 0.5f; // the work of an owner
        give_back.start(matrices.data(), reduced.segment_data(0)).wait();
        for (std::int64_t i = 0; i < sums.elements(); ++i)
            if (sums[i] != static_cast<float>(2 * (1 + tensor)))
                throw ragged::Error("halved by the owner; found " + std::to_string(sums[i]));
    });
}
