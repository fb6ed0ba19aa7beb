// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Muon on any mesh has the bits of one rank.
#pragma once

#include <cstdint>
#include <mutex>

#include <ragged/comm/local_communicator.hpp>
#include <ragged/optim/muon.hpp>

#include "support/expect.hpp"
#include "support/trained_model.hpp"

namespace support {

using Plane = ragged::Topology<ragged::Axis<"replica">, ragged::Axis<"shard">>;

/// Three steps on all ranks of `topology`; an even number of them moves matrices in the background.
template <class Topology, class G>
Logical trained_by_muon(const Topology& topology, const G& product, bool with_weights) {
    const ragged::ModelPlan model = small_model(topology.template size<"shard">());
    Logical result;
    std::mutex mutex;
    ragged::run_ranks(static_cast<int>(topology.num_ranks()),
                      [&](ragged::LocalCommunicator world) {
                          ragged::Mesh mesh(topology, world);
                          ragged::CountingResource<> memory;
                          ragged::Muon optimizer(model, mesh, memory, {.learning_rate = 0.05}, product);
                          const std::size_t allocations = memory.allocations();
                          expect(optimizer.memory_bytes() == static_cast<std::int64_t>(memory.live_bytes()),
                                 "memory_bytes");
                          expect(optimizer.memory_bytes() == decltype(optimizer)::planned_bytes(model, mesh),
                                 "planned_bytes");
                          TrainedModel<Topology> rank(model, mesh, with_weights);
                          for (std::uint32_t index = 1; index <= 3; ++index)
                              rank.step(optimizer, index);
                          expect(memory.allocations() == allocations, "a step allocates nothing");
                          const std::lock_guard lock(mutex);
                          for (std::size_t group = 0; group < model.groups.size(); ++group) {
                              keep(result, 0, group, rank.masters[group]);
                              if (with_weights)
                                  keep(result, 1, group, rank.weights[group]);
                              keep(result, 2, group, optimizer.momentum(group));
                              keep(result, 3, group, optimizer.adamw().first_moment(group));
                          }
                      },
                      {.background = topology.num_ranks() % 2 == 0});
    return result;
}

template <class G>
void check_bits_of_muon(const G& product) {
    const Logical expected = trained_by_muon(Line(1), product, true);
    for (const int ranks : {2, 3, 4, 5, 8})
        expect(trained_by_muon(Line(ranks), product, true) == expected,
               ragged::concat(ranks, " ranks have the bits of one"));
    expect(trained_by_muon(Plane(2, 2), product, true) == expected,
           "2 replicas of 2 ranks have the bits of one");
    expect(trained_by_muon(Plane(3, 1), product, true) == expected, "3 replicas have the bits of one");
}

} // namespace support
