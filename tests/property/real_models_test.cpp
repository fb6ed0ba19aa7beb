// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Plans of real models: the laws, checked from the offsets alone, and that S is the smallest one possible, by
// trying every aligned S from the fair share upwards with a plain placement of its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <ragged/plan/make_plan.hpp>
#include <ragged/spec/inventory.hpp>

#include "support/plan_oracle.hpp"

#ifndef RAGGED_MODELS_DIR
#define RAGGED_MODELS_DIR "examples/models"
#endif

namespace {

using oracle::Item;

constexpr std::int64_t alignment = 64; // 128 bytes of bf16

/// The end of the item at its earliest legal start not before `from`, or -1 when there is none. The start is
/// aligned; boundaries inside the item lie on multiples of its granularity. S is aligned.
std::int64_t earliest_end(const Item& item, std::int64_t from, std::int64_t shard, std::int64_t devices) {
    const std::int64_t step = std::lcm(item.granularity, alignment);
    const bool spans_any = shard % item.granularity == 0; // a full shard is then whole blocks
    std::int64_t start = (from + alignment - 1) / alignment * alignment;
    // In the shard of `start`, and, should nothing do there, from the start of the next one.
    for (int attempt = 0; attempt < 2; ++attempt) {
        const std::int64_t boundary = (start / shard + 1) * shard, room = boundary - start;
        if (item.elements <= room)
            break;
        if (start % shard == 0 && spans_any)
            break; // every boundary inside is a multiple of S from the start
        // The largest head of whole blocks before the boundary; behind it one shard, or any number of them.
        const std::int64_t head = room / step * step;
        if (head > 0 && (item.elements - head <= shard || spans_any)) {
            start = boundary - head;
            break;
        }
        if (attempt == 1)
            return -1;
        start = boundary;
    }
    const std::int64_t end = start + item.elements;
    return end <= shard * devices ? end : -1;
}

bool placeable(const std::vector<Item>& items, std::int64_t shard, std::int64_t devices) {
    std::int64_t end = 0;
    for (const Item& item : items) {
        if (item.elements == 0)
            continue;
        end = earliest_end(item, end, shard, devices);
        if (end < 0)
            return false;
    }
    return true;
}

/// N rows of the last dimension stay whole in tensors of 2-D and more; 1-D tensors may be cut anywhere.
std::vector<Item> items_of(const ragged::GroupSpec& group, std::int64_t rows) {
    std::vector<Item> items;
    for (const ragged::TensorSpec& tensor : group.tensors) {
        const ragged::Shape& shape = tensor.shape;
        items.push_back({shape.elements(), shape.rank() < 2 ? 1 : rows * shape[shape.rank() - 1]});
    }
    return items;
}

std::int64_t fair_share(const std::vector<Item>& items, std::int64_t devices) {
    std::int64_t elements = 0;
    for (const Item& item : items)
        elements += item.elements;
    return ((elements + devices - 1) / devices + alignment - 1) / alignment * alignment;
}

/// Law 2, from shapes, offsets and S alone; "" when it holds.
std::string broken_law(const std::vector<Item>& items, const ragged::Plan& plan) {
    const std::int64_t shard = plan.segments[0].shard_elems, devices = plan.num_devices;
    if (shard % alignment != 0 || plan.alignment_elems != alignment)
        return "alignment of the shard";
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (std::size_t i = 0; i < items.size(); ++i) {
        const std::int64_t start = plan.tensors[i].offset, end = start + items[i].elements;
        if (start < 0 || start % alignment != 0 || end > shard * devices)
            return plan.tensors[i].spec.name + ": place";
        for (std::int64_t boundary = (start / shard + 1) * shard; boundary < end; boundary += shard)
            if ((boundary - start) % items[i].granularity != 0)
                return plan.tensors[i].spec.name + ": cut";
        ranges.emplace_back(start, end);
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
        if (ranges[i].first < ranges[i - 1].second)
            return "overlap";
    return "";
}

struct Walked {
    std::int64_t groups = 0, candidates = 0;
};

/// Every aligned S from the fair share to the plan's is impossible, and the plan's is possible. Below the
/// lower bound already some tensor alone is impossible, so no order helps there.
void check_smallest(const std::vector<Item>& items, const ragged::Plan& plan, Walked& walked) {
    const ragged::Segment& segment = plan.segments[0];
    const auto all_alone = [&](std::int64_t shard) {
        return std::all_of(items.begin(), items.end(),
                           [&](const Item& item) { return placeable({item}, shard, plan.num_devices); });
    };
    if (!placeable(items, segment.shard_elems, plan.num_devices))
        FAIL_CHECK("S = ", segment.shard_elems, " is not placeable in this order");
    if (!all_alone(segment.lower_bound_elems))
        FAIL_CHECK("the lower bound ", segment.lower_bound_elems, " could be higher");
    ++walked.groups;
    for (std::int64_t smaller = fair_share(items, plan.num_devices); smaller < segment.shard_elems;
         smaller += alignment, ++walked.candidates) {
        if (placeable(items, smaller, plan.num_devices)) {
            FAIL_CHECK("S = ", smaller, " is possible, the plan has ", segment.shard_elems);
            return;
        }
        if (smaller < segment.lower_bound_elems && all_alone(smaller)) {
            FAIL_CHECK("S = ", smaller, " is possible for each alone, the bound is ",
                       segment.lower_bound_elems);
            return;
        }
    }
}

/// All plans of one model, every group against the laws, distinct ones for the smallest S.
void check_model(const ragged::ModelSpec& plain, Walked& walked) {
    for (const std::int64_t rows : {1, 16, 128}) {
        ragged::ModelSpec model = plain;
        std::vector<std::vector<Item>> items;
        for (ragged::GroupSpec& group : model.groups) {
            items.push_back(items_of(group, rows));
            for (ragged::TensorSpec& tensor : group.tensors)
                if (tensor.shape.rank() >= 2)
                    tensor.block = ragged::rows(rows);
        }
        for (const std::int64_t devices : {8, 64, 512, 1024, 8192}) {
            const ragged::ModelPlan plans = ragged::make_plan(model, devices);
            REQUIRE(plans.groups.size() == items.size());
            std::vector<std::vector<std::pair<std::int64_t, std::int64_t>>> seen;
            for (std::size_t g = 0; g < items.size(); ++g) {
                const ragged::Plan& plan = plans.groups[g];
                const ragged::Segment& segment = plan.segments[0];
                CAPTURE(model.name);
                CAPTURE(plan.name);
                CAPTURE(rows);
                CAPTURE(devices);
                const std::string broken = broken_law(items[g], plan);
                if (!broken.empty())
                    FAIL_CHECK(broken);
                CHECK(segment.lower_bound_elems <= segment.shard_elems);
                CHECK(segment.lower_bound_elems >= fair_share(items[g], devices));
                std::vector<std::pair<std::int64_t, std::int64_t>> key;
                for (const Item& item : items[g])
                    key.emplace_back(item.elements, item.granularity);
                if (std::find(seen.begin(), seen.end(), key) != seen.end())
                    continue;
                seen.push_back(std::move(key));
                check_smallest(items[g], plan, walked);
            }
        }
    }
}

} // namespace

TEST_CASE("the placement used here is the exhaustive one, on 4000 random small groups") {
    // Everything in units of the alignment, so that the oracle's small numbers mean the same.
    std::mt19937 random(17);
    const auto draw = [&](std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
    };
    std::int64_t possible = 0, impossible = 0;
    for (int trial = 0; trial < 4000; ++trial) {
        const std::int64_t devices = draw(1, 6);
        std::vector<Item> small, large;
        for (std::int64_t i = draw(1, 5); i > 0; --i) {
            const std::int64_t granularity = draw(1, 8);
            const std::int64_t elements = draw(0, 3) == 0 ? draw(0, 30) : granularity * draw(0, 6);
            small.push_back({elements, granularity});
            large.push_back({elements * alignment, granularity * alignment});
        }
        for (std::int64_t shard = 1; shard <= 24; ++shard) {
            const bool expected = oracle::feasible(small, shard, devices, 1);
            ++(expected ? possible : impossible);
            if (placeable(large, shard * alignment, devices) != expected)
                FAIL_CHECK("trial ", trial, ", S = ", shard);
        }
    }
    CHECK(possible > 10'000);
    CHECK(impossible > 10'000);
}

TEST_CASE("every model on 8 to 8192 devices in blocks of 1, 16 and 128 rows: the laws, and no smaller S") {
    Walked walked;
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(RAGGED_MODELS_DIR))
        if (entry.path().extension() == ".tsv")
            paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    REQUIRE(paths.size() >= 8);
    for (const std::filesystem::path& path : paths)
        check_model(ragged::read_inventory(path), walked);
    MESSAGE("smallest S proven for ", walked.groups, " groups by ", walked.candidates, " smaller ones");
    CHECK(walked.groups >= 300);
}
