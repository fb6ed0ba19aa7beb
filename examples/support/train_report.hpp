// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What came out of a training run, for programs and for readers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include <ragged/core/json.hpp>
#include <ragged/report/text.hpp>

#include "train_options.hpp"

namespace support {

/// Of rank 0, where ranks differ and it does not say otherwise.
struct TrainReport {
    std::vector<double> losses; // per step
    double tokens_per_second = 0;
    std::int64_t parameters = 0;
    double padding_ratio = 0;
    std::int64_t planned_peak_bytes = 0, peak_bytes = 0; // of buffers and optimizer, the largest of all ranks
    std::int64_t state_bytes = 0;                        // of the optimizer, the largest of all ranks
    // In all steps but the first, of all ranks: taken from the memory resource, and moved besides what the
    // collectives of weights and gradients need.
    std::int64_t steady_allocations = 0, steady_copied_bytes = 0;
    double gather_seconds = 0, compute_seconds = 0, reduce_seconds = 0, optimizer_seconds = 0;
    std::string digest;  // of the masters, equal for any number of ranks
    std::string routing; // which tensor goes where; empty where all go one way
};

inline void write_json(std::ostream& out, const TrainOptions& options, const TrainReport& report) {
    using ragged::json_number;
    out << "{\"schema\": \"ragged.train/1\",\n \"ranks\": " << options.ranks << ",\n \"losses\": [";
    for (std::size_t step = 0; step < report.losses.size(); ++step)
        out << (step == 0 ? "" : ", ") << json_number(report.losses[step]);
    out << "],\n \"tokens_per_second\": " << json_number(report.tokens_per_second)
        << ",\n \"padding_ratio\": " << json_number(report.padding_ratio)
        << ",\n \"planned_peak_bytes\": " << report.planned_peak_bytes
        << ",\n \"peak_bytes\": " << report.peak_bytes << ",\n \"state_bytes\": " << report.state_bytes
        << ",\n \"steady_allocations\": " << report.steady_allocations
        << ",\n \"steady_copied_bytes\": " << report.steady_copied_bytes
        << ",\n \"seconds\": {\"gather\": " << json_number(report.gather_seconds)
        << ", \"compute\": " << json_number(report.compute_seconds)
        << ", \"reduce\": " << json_number(report.reduce_seconds)
        << ", \"optimizer\": " << json_number(report.optimizer_seconds)
        << "},\n \"parameters_digest\": " << ragged::json_string(report.digest) << "}\n";
}

/// @param left_out  what this build lacks, one line each
inline void write_text(std::ostream& out, const TrainOptions& options, const TrainReport& report,
                       const std::string& left_out) {
    using namespace ragged::detail;
    out << grouped(report.parameters) << " parameters, " << options.ranks
        << (options.ranks == 1 ? " rank" : " ranks");
    if (options.replicas > 1)
        out << " (" << options.replicas << " replicas)";
    out << ", " << options.optimizer << ", " << options.precision << ", " << options.micro_batches
        << " micro-batches a step\n"
        << left_out << '\n'
        << "  step   loss\n";
    const std::size_t stride = std::max<std::size_t>(report.losses.size() / 10, 1);
    for (std::size_t step = 0; step < report.losses.size(); ++step)
        if (step % stride == 0 || step + 1 == report.losses.size()) {
            const std::string number = std::to_string(step);
            out << std::string(number.size() < 6 ? 6 - number.size() : 0, ' ') << number << "   "
                << fixed(report.losses[step], 4) << '\n';
        }
    out << "\n  tokens per second     " << grouped(static_cast<std::int64_t>(report.tokens_per_second))
        << "\n  padding               " << percent(report.padding_ratio) << "\n  peak memory per rank  "
        << human_bytes(report.peak_bytes) << ", planned " << human_bytes(report.planned_peak_bytes)
        << "\n  optimizer state       " << human_bytes(report.state_bytes) << " per rank"
        << "\n  after the first step  " << report.steady_allocations << " allocations, "
        << report.steady_copied_bytes << " bytes copied besides the collectives"
        << "\n  seconds               gather " << fixed(report.gather_seconds, 2) << ", compute "
        << fixed(report.compute_seconds, 2) << ", reduce " << fixed(report.reduce_seconds, 2)
        << ", optimizer " << fixed(report.optimizer_seconds, 2) << "\n  digest of parameters  "
        << report.digest << '\n';
    if (!report.routing.empty())
        out << '\n' << report.routing;
}

} // namespace support
