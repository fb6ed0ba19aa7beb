// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Redistribution between MPI processes: one pair for every collective that a route may take, and for what
// lies in between, against values known for every element; matrices to their owners and back.
//
//     mpirun -n N redistribution window|messages
#include "mpi/support.hpp"

#include <ragged/redistribute/buffers.hpp>

#include "support/expect.hpp"
#include "support/fill_shards.hpp"
#include "support/known_layouts.hpp"
#include "support/random_group.hpp"

namespace {

using ragged::Axis;
using ragged::Mesh;
using ragged::MpiCommunicator;
using ragged::Partial;
using ragged::PartialOp;
using ragged::place;
using ragged::RaggedByWeights;
using ragged::RaggedEvenly;
using ragged::RaggedOnRank;
using ragged::Replicate;
using ragged::Shard;
using support::contains;
using support::expect;
using support::message_of;

using Line = ragged::Topology<Axis<"shard">>;
using Plane = ragged::Topology<Axis<"tensor">, Axis<"shard">>;

/// Every rank of a partial axis contributes as much; so the sum is a multiple, the average and maximum the
/// value itself, and all of them are exact in bf16 up to 8 ranks.
template <class T, class Topology, class From, class To>
void move(Mesh<Topology, MpiCommunicator>& mesh, const From& from_placements, const To& to_placements,
          support::WindowArrays& window) {
    const Topology& topology = mesh.place().topology;
    const auto from = support::known_layout(topology, from_placements);
    const auto to = support::known_layout(topology, to_placements);
    const std::int64_t rank = mesh.place().rank;
    float factor = 1;
    for (std::size_t i = 0; i < From::size; ++i)
        if (From::kinds[i].kind == ragged::PlacementKind::Kind::partial &&
            From::kinds[i].op == PartialOp::sum &&
            To::kinds[To::find(From::axes[i])].kind != ragged::PlacementKind::Kind::partial)
            factor *= static_cast<float>(topology.size(Topology::find(From::axes[i])));
    std::vector<T> source(static_cast<std::size_t>(from.storage_elems(rank)));
    const auto starts = from.offsets(rank), ends = to.offsets(rank);
    for (std::int64_t t = 0; t < from.num_tensors(); ++t) {
        const auto portion = from.portion(t, rank);
        for (std::int64_t i = 0; i < portion.elements; ++i)
            source[static_cast<std::size_t>(starts[static_cast<std::size_t>(t)] + i)] =
                T(support::value_of(static_cast<std::size_t>(t), portion.global(i)));
    }
    ragged::HostResource memory;
    std::vector<T> destination(static_cast<std::size_t>(to.storage_elems(rank)), T(99.0f));
    const auto check = [&](const std::vector<T>& values) {
        for (std::int64_t t = 0; t < to.num_tensors(); ++t) {
            const auto portion = to.portion(t, rank);
            for (std::int64_t i = 0; i < portion.elements; ++i)
                expect(static_cast<float>(
                           values[static_cast<std::size_t>(ends[static_cast<std::size_t>(t)] + i)]) ==
                           factor * support::value_of(static_cast<std::size_t>(t), portion.global(i)),
                       ragged::concat("tensor ", t, " element ", portion.global(i), " on rank ", rank));
        }
    };
    const auto shared_source = window.of(source), shared_destination = window.of(destination);
    ragged::redistribute(from, shared_source.data(), to, shared_destination.data(), mesh, memory).wait();
    check(shared_destination.values());
    ragged::redistribute(from, source.data(), to, destination.data(), mesh, memory).wait();
    check(destination);
}

template <class T>
void one_axis(Mesh<Line, MpiCommunicator>& mesh, support::WindowArrays& window) {
    const std::int64_t ranks = mesh.world().size();
    std::vector<std::int64_t> weights;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
        weights.push_back(rank % 3);
    weights.back() = 2;
    const auto replicate = place<"shard">(Replicate{});
    const auto rows = place<"shard">(Shard<0>{});
    const auto columns = place<"shard">(Shard<1>{});
    const auto even = place<"shard">(RaggedEvenly{});
    const auto weighted = place<"shard">(RaggedByWeights{weights});
    const auto root = place<"shard">(RaggedOnRank{ranks - 1});
    const auto to_all = [&](const auto& from) {
        move<T>(mesh, from, replicate, window);
        move<T>(mesh, from, rows, window);
        move<T>(mesh, from, columns, window);
        move<T>(mesh, from, even, window);
        move<T>(mesh, from, weighted, window);
        move<T>(mesh, from, root, window);
    };
    to_all(replicate);
    to_all(columns);
    to_all(weighted);
    to_all(root);
    to_all(place<"shard">(Partial<>{}));
    move<T>(mesh, place<"shard">(Partial<PartialOp::avg>{}), weighted, window);
    move<T>(mesh, place<"shard">(Partial<PartialOp::max>{}), columns, window);
}

void two_axes(MpiCommunicator& world, support::WindowArrays& window) {
    if (world.size() % 2 != 0)
        return;
    Mesh mesh(Plane(2, world.size() / 2), world);
    const auto column = place<"tensor">(Shard<1>{}).then<"shard">(RaggedEvenly{});
    const auto row = place<"tensor">(Shard<0>{}).then<"shard">(RaggedEvenly{});
    const auto whole = place<"tensor">(Replicate{}).then<"shard">(Replicate{});
    const auto gradient = place<"tensor">(Shard<1>{}).then<"shard">(Partial<>{});
    const auto all_partial = place<"tensor">(Partial<>{}).then<"shard">(Partial<>{});
    const auto replicated = place<"tensor">(Replicate{}).then<"shard">(RaggedEvenly{});
    move<float>(mesh, column, row, window);
    move<float>(mesh, row, whole, window);
    move<float>(mesh, whole, column, window);
    move<float>(mesh, gradient, column, window);
    move<float>(mesh, gradient, row, window);
    move<float>(mesh, all_partial, replicated, window);
    move<float>(mesh, all_partial, row, window);
}

/// Every rank owns some matrices of the whole group.
void owners(MpiCommunicator& world) {
    Mesh mesh(Line(world.size()), world);
    for (std::uint32_t seed = 0; seed < 6; ++seed) {
        const ragged::Plan plan = ragged::make_plan(support::random_group(seed), world.size());
        const auto tasks = ragged::root_tasks(plan);
        const auto layout =
            ragged::root_layout(tasks, ragged::choose_roots(tasks, world.size()), Line(world.size()));
        ragged::HostResource host;
        ragged::MpiSharedResource memory(world);
        ragged::DBuffer<float, Line, ragged::state::Sharded> weights(plan, mesh, memory);
        support::fill_shards(weights);
        std::vector<float> owned(static_cast<std::size_t>(layout.storage_elems(world.rank())));
        ragged::redistribute(ragged::layout_of(weights, mesh), weights.segment_data(0), layout, owned.data(),
                             world, host)
            .wait();
        for (float& value : owned)
            value += 1.0f;
        ragged::redistribute(layout, owned.data(), ragged::layout_of(weights, mesh), weights.segment_data(0),
                             world, host)
            .wait();
        for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
            const auto piece = ragged::shard(weights, t);
            const float more = plan.tensors[t].spec.shape.rank() >= 2 ? 1.0f : 0.0f;
            for (std::int64_t i = 0; i < piece.elements(); ++i)
                expect(piece[i] == support::value_of(t, piece.first() + i) + more, "owners and back");
        }
    }
}

void disagree(MpiCommunicator& world) {
    if (world.size() == 1)
        return;
    Mesh mesh(Line(world.size()), world);
    const std::int64_t rows = world.rank() == 0 ? 6 : 7;
    const ragged::TensorSpec tensor{"w", {rows, 4}, ragged::rows(1)};
    const ragged::GroupLayout from(
        ragged::TensorLayout(tensor, Line(world.size()), place<"shard">(Shard<0>{})));
    const ragged::GroupLayout to(
        ragged::TensorLayout(tensor, Line(world.size()), place<"shard">(Replicate{})));
    std::vector<float> source(28), destination(28);
    ragged::HostResource memory;
    const std::string message = message_of(
        [&] { ragged::redistribute(from, source.data(), to, destination.data(), mesh, memory).wait(); });
    expect(contains(message, "layouts differ: rank 1 has tensor 'w' 7x4"), message);
}

} // namespace

int main(int, char** arguments) {
    return support::run_under_mpi([&] {
        MpiCommunicator world(MPI_COMM_WORLD, support::options_of(arguments[1]));
        support::WindowArrays window(world);
        Mesh line(Line(world.size()), world);
        one_axis<float>(line, window);
        one_axis<ragged::bf16>(line, window);
        two_axes(world, window);
        owners(world);
        disagree(world);
    });
}
