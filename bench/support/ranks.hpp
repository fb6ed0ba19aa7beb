// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Measures ranks that are threads of this process.
#pragma once

#include <vector>

#include <ragged/comm/local_communicator.hpp>

#include "paired.hpp"

namespace bench {

/// Time `ours` and `baseline` on every rank at once; rank 0 keeps the times between barriers.
template <class Prepare>
Medians measure_ranks(int ranks, Prepare prepare) {
    Medians result{};
    ragged::run_ranks(ranks, [&](ragged::LocalCommunicator world) {
        auto [ours, baseline] = prepare(world);
        std::vector<double> ours_seconds, baseline_seconds;
        for (int repeat = -1; repeat < 9; ++repeat)
            for (const bool is_ours : {false, true}) {
                world.barrier().wait();
                auto body = [&, &run_ours = ours, &run_baseline = baseline] {
                    is_ours ? run_ours() : run_baseline();
                    world.barrier().wait();
                };
                const double elapsed = seconds(body);
                if (repeat >= 0)
                    (is_ours ? ours_seconds : baseline_seconds).push_back(elapsed);
            }
        if (world.rank() == 0)
            result = {median(ours_seconds), median(baseline_seconds)};
    });
    return result;
}

} // namespace bench
