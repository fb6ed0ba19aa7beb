// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/step/step_memory.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/unequal_plan.hpp>

#include "support/expect.hpp"

using ragged::DType;
using ragged::StepBuffer;

namespace {

constexpr auto page = static_cast<std::int64_t>(ragged::buffer_alignment);

ragged::ModelSpec two_groups() {
    return {"model", {{"small", {{"w", {256}}}}, {"large", {{"w", {100, 8}, ragged::rows(10)}}}}};
}

ragged::ScheduleOptions kept() {
    return {.reshard = false, .reduce = ragged::ReduceGradients::last_round};
}

} // namespace

TEST_CASE("masters and gradients are this rank's regions, slots whole groups in their types") {
    const ragged::ModelPlan model = ragged::make_plan(two_groups(), 2);
    const std::int64_t small = model.groups[0].region_elems(0), large = model.groups[1].region_elems(0);
    REQUIRE(small == 128);
    REQUIRE(large == 512);
    const auto memory = ragged::plan_step_memory(model, ragged::make_schedule(2, kept()), DType::bf16, 1);
    const std::vector<StepBuffer> wanted{{"master of small", 0, 4 * 128},
                                         {"master of large", page, 4 * 512},
                                         {"gradient of small", 2 * page, 4 * 128},
                                         {"gradient of large", 3 * page, 4 * 512},
                                         {"weight slot 0", 4 * page, 2 * 256},
                                         {"weight slot 1", 5 * page, 2 * 1024},
                                         {"gradient slot 0", 6 * page, 4 * 256},
                                         {"gradient slot 1", 7 * page, 4 * 1024},
                                         {"norm", 8 * page, 8 * ragged::exact_sum::num_digits}};
    CHECK(memory.buffers == wanted);
    CHECK(memory.bytes() == 9 * page);
}

TEST_CASE("a slot that groups take in turns is as large as the largest of them") {
    const ragged::ModelPlan model = ragged::make_plan(two_groups(), 2);
    const auto memory =
        ragged::plan_step_memory(model, ragged::make_schedule(2, {.prefetch = 0}), DType::f32, 0);
    REQUIRE(memory.buffers.size() == 7); // one slot for weights, one for gradients
    CHECK(memory.buffers[4] == StepBuffer{"weight slot 0", 4 * page, 4 * 1024});
    CHECK(memory.buffers[5] == StepBuffer{"gradient slot 0", 5 * page, 4 * 1024});
}

TEST_CASE("buffers start at the alignment of buffers, behind each other, also where one is empty") {
    const ragged::ModelSpec spec{"model", {{"none", {{"w", {0, 3}}}}, {"odd", {{"w", {37}}}}}};
    const ragged::PlanOptions options{.alignment_bytes = 4};
    for (const std::int64_t ranks : {1, 2, 3, 5, 8}) {
        const ragged::ModelPlan model = ragged::make_plan(spec, ranks, {}, options);
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            const auto memory = ragged::plan_step_memory(model, ragged::make_schedule(2), DType::bf16, rank);
            std::int64_t end = 0;
            for (const StepBuffer& buffer : memory.buffers) {
                CAPTURE(buffer.name);
                CHECK(buffer.offset % page == 0);
                CHECK(buffer.offset >= end);
                CHECK(buffer.offset < end + page);
                end = buffer.offset + buffer.bytes;
            }
            CHECK(memory.bytes() >= end);
        }
    }
    CHECK(ragged::StepMemory{}.bytes() == 0);
}

TEST_CASE("regions that differ are those of the rank") {
    const ragged::UnequalModelPlan model = ragged::make_unequal_plan(two_groups(), 3);
    for (std::int64_t rank = 0; rank < 3; ++rank) {
        const auto memory = ragged::plan_step_memory(model, ragged::make_schedule(2), DType::bf16, rank);
        CHECK(memory.buffers[1].bytes == 4 * model.groups[1].region_elems(rank));
        CHECK(memory.buffers[3].bytes == 4 * model.groups[1].region_elems(rank));
    }
}

TEST_CASE("bytes beyond 64 bits are an error") {
    ragged::StepMemory memory;
    memory.add("most", std::numeric_limits<std::int64_t>::max() - 200);
    CHECK_THROWS_AS(memory.add("more", 1000); memory.bytes(), ragged::PlanError);
}
