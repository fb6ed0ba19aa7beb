// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Measures our code and a plain baseline in turns, so that a noisy machine disturbs both alike, and reports
// the medians and their ratio: `of_baseline` 1.0 is as quick as the baseline, above is quicker.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include <benchmark/benchmark.h>

#include "median.hpp"

namespace bench {

template <class Body>
double seconds(Body& body) {
    const auto start = std::chrono::steady_clock::now();
    body();
    benchmark::ClobberMemory();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

struct Medians {
    double ours;
    double baseline;
};

template <class Ours, class Baseline>
Medians measure(Ours ours, Baseline baseline, int repeats = 15) {
    std::vector<double> ours_seconds, baseline_seconds;
    for (int repeat = -1; repeat < repeats; ++repeat) { // the first round warms up
        const double a = seconds(baseline), b = seconds(ours);
        if (repeat >= 0) {
            baseline_seconds.push_back(a);
            ours_seconds.push_back(b);
        }
    }
    return {median(ours_seconds), median(baseline_seconds)};
}

/// @param bytes  read and written by one run of either
inline void report(benchmark::State& state, const Medians& medians, std::int64_t bytes) {
    for (auto _ : state)
        state.SetIterationTime(medians.ours);
    state.counters["GB/s"] = static_cast<double>(bytes) / medians.ours * 1e-9;
    state.counters["baseline_GB/s"] = static_cast<double>(bytes) / medians.baseline * 1e-9;
    state.counters["of_baseline"] = medians.baseline / medians.ours;
}

} // namespace bench
