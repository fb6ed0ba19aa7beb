// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One step of sharded training on four ranks: fp32 masters, bf16 weights gathered in place, gradients reduced
// in place.
#include <iostream>

#include <ragged/ragged.hpp>

using Mesh = ragged::Topology<ragged::Axis<"shard">>;
namespace state = ragged::state;

int main() {
    const ragged::GroupSpec layer{
        "layer",
        {{"wq", {64, 64}, ragged::tile({32, 32})}, {"w1", {200, 64}, ragged::rows(16)}, {"norm", {64}}}};
    const ragged::Plan plan = ragged::make_plan(layer, 4);

    ragged::run_ranks(4, [&](ragged::LocalCommunicator world) {
        ragged::Mesh mesh(Mesh(4), world);
        ragged::HostResource memory;
        ragged::DBuffer<float, Mesh, state::Resident> master(plan, mesh, memory);
        ragged::DBuffer<float, Mesh, state::Partial> gradients(plan, mesh, memory);
        ragged::DBuffer<ragged::bf16, Mesh> weights(plan, mesh, memory);
        ragged::fill(ragged::PieceTable(plan, master.shard_rank()), master, 1.0f);

        ragged::cast(master, weights);                                      // straight into its slot
        auto gathered = ragged::gather(std::move(weights), mesh).wait();    // in place
        const auto wq = ragged::view(gathered, "wq");                       // [64, 64], no copy
        ragged::view(gradients, "wq")(3, 5) = static_cast<float>(wq(3, 5)); // backward would fill all of it

        auto reduced = ragged::reduce(std::move(gradients), mesh).wait(); // sums over the ranks, in place
        ragged::axpy(-0.25, reduced, master);                             // one pass over this rank's share
        const auto piece = ragged::shard(master, "wq");
        if (piece.first() <= 3 * 64 + 5 && 3 * 64 + 5 < piece.first() + piece.elements())
            std::cout << "rank " << world.rank() << " updated wq(3, 5) to "
                      << piece[3 * 64 + 5 - piece.first()] << '\n';
    });
}
