// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Gather and reduce of DBuffers over MPI processes: values known for every element, sums with the bits of a
// sum in rank order, grids of ranks, regions of unequal sizes, and ranks that disagree on the plan.
//
//     mpirun -n N collectives window|messages
#include <functional>

#include "mpi/support.hpp"

#include "support/expect.hpp"
#include "support/fill_shards.hpp"
#include "support/random_group.hpp"

namespace {

using ragged::Axis;
using ragged::Mesh;
using ragged::MpiCommunicator;
using support::contains;
using support::expect;
using support::message_of;
namespace state = ragged::state;

using Line = ragged::Topology<Axis<"shard">>;
using Plane = ragged::Topology<Axis<"replica">, Axis<"shard">>;
using Memories = std::vector<std::function<ragged::Memory(std::size_t)>>;

/// What a rank contributes: no sum of these is exact in bf16, and their order matters in float.
float contribution(std::int64_t rank, std::size_t tensor, std::int64_t i) {
    const auto bits =
        static_cast<std::uint32_t>(rank * 7919 + static_cast<std::int64_t>(tensor) * 104729 + i);
    return static_cast<float>(bits * 2654435761u >> 8) * 0x1p-20f - 7.0f;
}

template <class T, class Topology, class PlanType>
void gather(Mesh<Topology, MpiCommunicator>& mesh, const PlanType& plan, ragged::Memory memory) {
    ragged::DBuffer<T, Topology, state::Sharded, PlanType> weights(plan, mesh, std::move(memory));
    support::fill_shards(weights);
    const auto gathered = ragged::gather(std::move(weights), mesh).wait();
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        const auto whole = ragged::view(gathered, t).flat();
        for (std::size_t i = 0; i < whole.size(); ++i)
            expect(static_cast<float>(whole[i]) == support::value_of(t, static_cast<std::int64_t>(i)),
                   "gathered values");
    }
}

/// @param exact  whether the order of the sum is ours all the way
template <class T, class Topology, class PlanType>
void reduce(Mesh<Topology, MpiCommunicator>& mesh, const PlanType& plan, ragged::Memory memory, bool exact) {
    ragged::DBuffer<T, Topology, state::Partial, PlanType> gradients(plan, mesh, std::move(memory));
    const auto value = [&](std::int64_t rank, std::size_t t, std::int64_t i) {
        return exact ? T(contribution(rank, t, i)) : T(static_cast<float>((rank + i) % 3));
    };
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        const auto whole = ragged::view(gradients, t).flat();
        for (std::size_t i = 0; i < whole.size(); ++i)
            whole[i] = value(mesh.world().rank(), t, static_cast<std::int64_t>(i));
    }
    const auto reduced = ragged::reduce(std::move(gradients), mesh).wait();
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        const auto piece = ragged::shard(reduced, t);
        for (std::int64_t i = 0; i < piece.elements(); ++i) {
            float sum = 0;
            for (int rank = 0; rank < mesh.world().size(); ++rank)
                sum += static_cast<float>(value(rank, t, piece.first() + i));
            expect(static_cast<float>(piece[i]) == static_cast<float>(T(sum)), "reduced values");
        }
    }
}

template <class Topology>
void every_plan(Mesh<Topology, MpiCommunicator>& mesh, std::int64_t devices, const Memories& memories) {
    const bool one_axis = devices == mesh.world().size();
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
        const ragged::GroupSpec group = support::random_group(seed);
        const ragged::PlanOptions options{.alignment_bytes = 128, .planes = {ragged::DType::bf16}};
        const ragged::Plan plan = ragged::make_plan(
            group, devices,
            ragged::policy::Exact{ragged::policy::Order::search, 1 + seed % 3, {.latency_ns = 0}}, options);
        const auto unequal = ragged::make_unequal_plan(group, devices, options);
        for (const auto& memory : memories) {
            const auto bytes = [](const auto& p, std::size_t size) {
                return static_cast<std::size_t>(p.padded_elements()) * size;
            };
            gather<float>(mesh, plan, memory(bytes(plan, 4)));
            gather<ragged::bf16>(mesh, plan, memory(bytes(plan, 2)));
            gather<ragged::bf16>(mesh, unequal, memory(bytes(unequal, 2)));
            reduce<float>(mesh, plan, memory(bytes(plan, 4)), one_axis);
            reduce<ragged::bf16>(mesh, plan, memory(bytes(plan, 2)), one_axis);
            reduce<ragged::bf16>(mesh, unequal, memory(bytes(unequal, 2)), one_axis);
        }
    }
}

/// Nodes have room for some communicators to meet in shared memory; the ones after them do without, and the
/// room is given back.
void many_communicators(MpiCommunicator& world) {
    if (world.size() == 1)
        return; // has nobody to meet
    std::vector<MpiCommunicator> parts;
    while (std::ssize(parts) < 70)
        parts.push_back(world.split(0, world.rank()));
    expect(!parts.back().shares_memory(), "70 are too many for a node");
    for (MpiCommunicator& part : {std::ref(parts.front()), std::ref(parts.back())}) {
        std::vector<float> ranks(static_cast<std::size_t>(part.size()));
        ranks[static_cast<std::size_t>(part.rank())] = static_cast<float>(part.rank());
        part.all_gather(ranks.data(), 1).wait();
        for (std::size_t rank = 0; rank < ranks.size(); ++rank)
            expect(ranks[rank] == static_cast<float>(rank), "each of them gathers");
    }
    parts.clear();
    expect(world.split(0, 0).shares_memory() == world.shares_memory(), "the room is given back");
}

void disagree(MpiCommunicator& world) {
    if (world.size() == 1)
        return;
    Mesh mesh(Line(world.size()), world);
    const std::int64_t rows = world.rank() == world.size() - 1 ? 7 : 8;
    const ragged::Plan plan =
        ragged::make_plan(ragged::GroupSpec{"g", {{"w", {rows, 64}, ragged::rows(1)}}}, world.size());
    ragged::HostResource memory;
    ragged::DBuffer<float, Line> buffer(plan, mesh, memory);
    const std::string message = message_of([&] { ragged::gather(std::move(buffer), mesh).wait(); });
    expect(contains(message, ragged::concat("plans differ: rank ", world.size() - 1)), message);
}

} // namespace

int main(int, char** arguments) {
    return support::run_under_mpi([&] {
        MpiCommunicator world(MPI_COMM_WORLD, support::options_of(arguments[1]));
        ragged::HostResource host;
        ragged::MpiSharedResource window(world);
        const ragged::Memory shared(window, 1 << 20); // one buffer at a time
        const Memories memories{
            [&](std::size_t bytes) { return ragged::Memory(host, bytes); },
            [&](std::size_t bytes) {
                expect(bytes <= shared.bytes(), "the plans are small");
                std::memset(shared.data(), 0, bytes);
                return ragged::Memory::adopt(shared.data(), bytes, shared.space());
            },
        };
        Mesh line(Line(world.size()), world);
        every_plan(line, world.size(), memories);
        if (world.size() % 2 == 0) {
            Mesh plane(Plane(2, world.size() / 2), world);
            every_plan(plane, world.size() / 2, memories);
        }
        ragged::CountingResource counting(window);
        { ragged::Memory(counting, 100); }
        expect(counting.live_bytes() == 0, "windows are given back");
        many_communicators(world);
        disagree(world);
    });
}
