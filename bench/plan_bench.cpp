// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Planning whole models. The limit to stay under is 50 ms for deepseek-v3-671b, 300 ms with order search.
// `of_baseline` compares with copying the model's specs, the least that any planner does.
#include <ragged/ragged.hpp>

#include "support/paired.hpp"

namespace {

ragged::ModelSpec load(const std::string& model, std::int64_t rows) {
    auto spec = ragged::read_inventory(std::filesystem::path(RAGGED_MODELS_DIR) / (model + ".tsv"));
    for (ragged::GroupSpec& group : spec.groups)
        for (ragged::TensorSpec& tensor : group.tensors)
            if (tensor.shape.rank() > 1)
                tensor.block = ragged::rows(rows);
    return spec;
}

void plan(benchmark::State& state, const std::string& model, ragged::policy::Order order) {
    const ragged::ModelSpec spec = load(model, state.range(1));
    double padding = 0;
    const auto medians = bench::measure(
        [&] {
            padding = ragged::make_plan(spec, state.range(0), ragged::policy::Exact{order}).padding_ratio();
        },
        [&] {
            ragged::ModelSpec copy = spec;
            benchmark::DoNotOptimize(copy);
        },
        9);
    for (auto _ : state)
        state.SetIterationTime(medians.ours);
    state.counters["padding_%"] = padding * 100;
    state.counters["of_baseline"] = medians.baseline / medians.ours;
}

const bool registered = [] {
    for (const std::string model : {"llama-3-70b", "gpt-oss-120b", "deepseek-v3-671b"})
        for (const auto order : {ragged::policy::Order::as_given, ragged::policy::Order::search}) {
            const std::string name =
                model + (order == ragged::policy::Order::search ? "/search" : "/as-given");
            benchmark::RegisterBenchmark(name.c_str(), plan, model, order)
                ->ArgNames({"devices", "rows"})
                ->ArgsProduct({{8, 1024, 16384}, {1, 128}})
                ->Iterations(1)
                ->UseManualTime()
                ->Unit(benchmark::kMillisecond);
        }
    return true;
}();

} // namespace
