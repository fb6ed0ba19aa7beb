// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Tensor parallelism cuts columns, data parallelism what is left: a gradient is reduced to its shards, goes
// to one owner per matrix for whole-matrix work, and comes back. Six ranks, threads of this process.
#include <iostream>
#include <string>

#include <ragged/ragged.hpp>

using Grid = ragged::Topology<ragged::Axis<"shard", 3>, ragged::Axis<"tensor", 2>>;
using Line = ragged::Topology<ragged::Axis<"shard">>;

// The order of application is what `then` says: columns first, then runs of blocks.
constexpr auto sharded = ragged::place<"tensor">(ragged::Shard<1>{}).then<"shard">(ragged::RaggedEvenly{});
constexpr auto gradient = ragged::place<"tensor">(ragged::Shard<1>{}).then<"shard">(ragged::Partial<>{});

template <class P>
auto layout_of(const P& placements) {
    std::vector<ragged::TensorLayout<Grid, P>> tensors;
    for (const ragged::TensorSpec& spec : {ragged::TensorSpec{"w1", {96, 64}, ragged::tile({32, 32})},
                                           ragged::TensorSpec{"w2", {64, 96}, ragged::tile({32, 32})}})
        tensors.emplace_back(spec, Grid(), placements);
    return ragged::GroupLayout(std::move(tensors), Grid());
}

int main() {
    const auto from = layout_of(gradient);
    const auto to = layout_of(sharded);
    static_assert(ragged::collective_of(ragged::route<decltype(from), decltype(to)>) ==
                  ragged::Collective::reduce_scatter);

    const std::vector<ragged::RootTask> tasks{{"w1", {96, 64}, ragged::DType::f32},
                                              {"w2", {64, 96}, ragged::DType::f32}};
    const ragged::Roots roots = ragged::choose_roots(tasks, 6);
    const auto owners = ragged::root_layout(tasks, roots, Line(6));
    const ragged::TransferCost cost = ragged::cost(to, owners, ragged::DType::f32);
    std::cout << ragged::to_string(roots) << '\n'
              << cost.moved_bytes << " bytes will move to the owners, " << cost.kept_bytes << " are there\n";

    ragged::run_ranks(6, [&](ragged::LocalCommunicator world) {
        ragged::Mesh mesh(Grid(), world);
        ragged::HostResource memory;
        const int rank = world.rank();
        std::vector<float> contribution(static_cast<std::size_t>(from.storage_elems(rank)), 1.0f);
        std::vector<float> shard(static_cast<std::size_t>(to.storage_elems(rank)));
        std::vector<float> matrices(static_cast<std::size_t>(owners.storage_elems(rank)));

        // Made once: after that a step allocates nothing.
        const auto reduce = ragged::make_redistribution<float>(from, to, mesh, memory);
        const auto collect = ragged::make_redistribution<float>(to, owners, world, memory);
        const auto give_back = ragged::make_redistribution<float>(owners, to, world, memory);

        reduce.start(contribution.data(), shard.data()).wait();
        collect.start(shard.data(), matrices.data()).wait();
        for (float& x : matrices)
            x *= 0.5f; // the work of an owner
        give_back.start(matrices.data(), shard.data()).wait();

        for (const float x : shard)
            if (x != 1.5f)
                throw ragged::Error("three contributions, halved by the owner, are 1.5; found " +
                                    std::to_string(x));
    });
    std::cout << "every shard is back\n";
}
