// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The same input gives the same plan on every machine, with every compiler and at every level of
// optimisation: fingerprints as constants. A planner that finds other plans needs new constants and a line in
// the changelog, for plans that are made anew no longer fit checkpoints and ranks of before.
#include <doctest/doctest.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include <ragged/plan/make_plan.hpp>
#include <ragged/spec/inventory.hpp>

#ifndef RAGGED_MODELS_DIR
#define RAGGED_MODELS_DIR "examples/models"
#endif

namespace {

using ragged::policy::Exact;
using ragged::policy::Order;

struct Golden {
    std::string model;
    std::int64_t devices, segments;
    std::uint64_t as_given, search;
};

} // namespace

TEST_CASE("plans of small models, with 16 rows of each matrix whole") {
    for (const Golden& golden : {
             Golden{"tiny-llama", 3, 1, 0x77ba4d83386759b8, 0xc54723289cec25e5},
             Golden{"tiny-llama", 3, 3, 0x4e2de3936d2414da, 0xc54723289cec25e5},
             Golden{"tiny-llama", 8, 1, 0xd5ea4ed97f618c0f, 0xd5ea4ed97f618c0f},
             Golden{"tiny-llama", 8, 3, 0xd5ea4ed97f618c0f, 0xd5ea4ed97f618c0f},
             Golden{"gpt2", 3, 1, 0xcc1b160ec2e45f1c, 0xb84e328cb7ba0e7c},
             Golden{"gpt2", 3, 3, 0x8ed7e5fb0f551a48, 0xb84e328cb7ba0e7c},
             Golden{"gpt2", 8, 1, 0x8387a40351475915, 0x8387a40351475915},
             Golden{"gpt2", 8, 3, 0xaecdf26e8ee0372f, 0x32592a8e99b7729f},
         }) {
        ragged::ModelSpec model =
            ragged::read_inventory(std::filesystem::path(RAGGED_MODELS_DIR) / (golden.model + ".tsv"));
        for (ragged::GroupSpec& group : model.groups)
            for (ragged::TensorSpec& tensor : group.tensors)
                if (tensor.shape.rank() >= 2)
                    tensor.block = ragged::rows(16);
        const auto print = [&](Order order) {
            return ragged::fingerprint(
                ragged::make_plan(model, golden.devices, Exact{order, golden.segments, {0, 0}}));
        };
        CAPTURE(golden.model);
        CAPTURE(golden.devices);
        CAPTURE(golden.segments);
        CHECK(print(Order::as_given) == golden.as_given);
        CHECK(print(Order::search) == golden.search);
    }
}

TEST_CASE("plans of slices, tails and alignments of their own on 1 to 64 devices, in one number") {
    using ragged::DType;
    const ragged::GroupSpec group{"g",
                                  {{"stack", {5, 6, 7}, ragged::rows(2), DType::f32, 0, true},
                                   {"tiles", {3, 20, 9}, ragged::tile({1, 8, 4}), DType::bf16},
                                   {"whole", {300}, ragged::whole(), DType::f8e4m3},
                                   {"norm", {77}, {}, DType::f64, 256},
                                   {"none", {0, 4}, ragged::rows(1), DType::i8, 0, true},
                                   {"scalar", {}, ragged::whole(), DType::u8},
                                   {"odd", {101, 13}, ragged::rows(4), DType::f16, 16},
                                   {"bulk", {4000}, ragged::elements(1), DType::f8e5m2}}};
    ragged::detail::Hash hash;
    for (std::int64_t devices = 1; devices <= 64; ++devices)
        for (std::int64_t segments = 1; segments <= 3; ++segments)
            for (const Order order : {Order::as_given, Order::search})
                hash.add(static_cast<std::int64_t>(ragged::fingerprint(ragged::make_plan(
                    group, devices, Exact{order, segments, {0, 0}}, {.alignment_bytes = 8}))));
    CHECK(hash.value() == 0x61c9a72c0221767d);
}
