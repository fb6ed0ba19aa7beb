// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The command line of the training example, checked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "options.hpp"

namespace support {

struct TrainOptions {
    int ranks = 1;
    int replicas = 1;
    std::string optimizer = "adamw"; // adam8bit, muon, shampoo
    std::string precision = "fp32";  // bf16: weights are gathered and used as such
    std::int64_t steps = 200;
    std::int64_t micro_batches = 12; // of a step, of all ranks
    std::uint64_t seed = 1;
    std::string text; // a file; empty: the sources of this project
    bool trace = false;

    std::int64_t sequences = 4; // of a micro-batch

    /// Rounds that each rank takes: it may have no micro-batch in the last one.
    std::int64_t rounds() const { return (micro_batches + ranks - 1) / ranks; }
};

inline constexpr std::string_view train_usage = R"(usage: train_gpt [options]
Trains a small GPT byte by byte, sharded over ranks: threads of this process, or processes under mpirun.
  [--ranks N]              threads; not under mpirun, which says it itself (1)
  [--replicas R]           copies of the shards: R x N/R ranks (1)
  [--optimizer NAME]       adamw, adam8bit, muon or shampoo (adamw)
  [--precision NAME]       fp32 or bf16: what weights are gathered and used as (fp32)
  [--steps K]              (200)
  [--micro-batches A]      of a step, dealt to the ranks in turn (12)
  [--seed S]               of the first weights and of what is read when (1)
  [--text FILE]            what to learn (the sources of this project)
  [--json FILE|-]          the result for programs; - is standard output, without the report
  [--svg FILE]             the loss as a drawing
  [--trace FILE]           what each rank did when in the first steps, for chrome://tracing or Perfetto
)";

/// @param launched  ranks that a launcher started; 0: none did
/// @throws UsageError naming the option, what it got and what it takes
inline TrainOptions train_options(const Options& options, int launched) {
    constexpr std::int64_t most_ranks = 256, most = 1'000'000;
    const auto number = [&options](std::string_view name, std::int64_t otherwise, std::int64_t largest) {
        const std::int64_t found = options.number(name, 1, otherwise);
        if (found > largest)
            throw UsageError(ragged::concat(name, " ", found, " is above ", largest));
        return found;
    };
    const auto one_of = [&options](std::string_view name, std::initializer_list<std::string_view> known) {
        const std::string found = options.value(name, std::string(*known.begin()));
        if (std::find(known.begin(), known.end(), found) != known.end())
            return found;
        std::string all;
        for (const std::string_view each : known)
            all += ragged::concat(all.empty() ? "" : ", ", each);
        throw UsageError(ragged::concat(name, " '", found, "' is none of ", all));
    };
    if (!options.positional().empty())
        throw UsageError(ragged::concat("unexpected argument '", options.positional(), "'"));
    if (launched > 0 && options.has("--ranks"))
        throw UsageError(
            ragged::concat("--ranks is for threads; here a launcher started ", launched, " ranks"));

    TrainOptions result;
    result.ranks = launched > 0 ? launched : static_cast<int>(number("--ranks", 1, most_ranks));
    result.replicas = static_cast<int>(number("--replicas", 1, most_ranks));
    if (result.ranks % result.replicas != 0)
        throw UsageError(
            ragged::concat("--replicas ", result.replicas, " does not divide ", result.ranks, " ranks"));
    result.optimizer = one_of("--optimizer", {"adamw", "adam8bit", "muon", "shampoo"});
    result.precision = one_of("--precision", {"fp32", "bf16"});
    result.steps = number("--steps", result.steps, most);
    result.micro_batches = number("--micro-batches", result.micro_batches, most);
    result.seed = static_cast<std::uint64_t>(options.number("--seed", 0, 1));
    result.text = options.value("--text");
    if (options.has("--text") && result.text.empty())
        throw UsageError("--text needs a file");
    result.trace = options.has("--trace");
    return result;
}

} // namespace support
