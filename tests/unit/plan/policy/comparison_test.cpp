// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The comparison layouts: what each promises, and what each gives up, counted against an enumeration of every
// element, its block and its device.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/policy/comparison.hpp>

#include "support/random_group.hpp"

namespace {

using ragged::GroupSpec;
using ragged::PlacedTensor;
using ragged::Plan;
using ragged::PlanOptions;
using ragged::Shape;
using ragged::TensorSpec;
using ragged::Violations;

/// Elements below one index of dimension 0.
std::int64_t row_elements(const Shape& shape) {
    std::int64_t product = 1;
    for (int dim = 1; dim < shape.rank(); ++dim)
        product *= shape[dim];
    return product;
}

/// The block of a flat element, as coordinates in the grid of blocks.
std::vector<std::int64_t> block_of(const TensorSpec& tensor, std::int64_t position) {
    const Shape& shape = tensor.shape;
    switch (tensor.block.kind) {
    case ragged::Block::Kind::elements:
        return {position / tensor.block.sizes[0]};
    case ragged::Block::Kind::rows:
        return {position / shape[shape.rank() - 1] / tensor.block.sizes[0]};
    case ragged::Block::Kind::whole:
        return {0};
    case ragged::Block::Kind::tile:
        break;
    }
    std::vector<std::int64_t> coordinates;
    for (int dim = shape.rank() - 1; dim >= 0; --dim) {
        coordinates.push_back(position % shape[dim] / tensor.block.sizes[dim]);
        position /= shape[dim];
    }
    return coordinates;
}

/// The device of a flat element.
std::int64_t device_of(const Plan& plan, const PlacedTensor& tensor, std::int64_t position, bool even_rows) {
    if (!even_rows)
        return (tensor.offset + position) / plan.segments[0].shard_elems;
    const Shape& shape = tensor.spec.shape;
    if (shape.rank() == 0)
        return 0;
    const std::int64_t rows_per_device = (shape[0] + plan.num_devices - 1) / plan.num_devices;
    return position / row_elements(shape) / rows_per_device;
}

/// What the layout gives up, from every element.
Violations by_enumeration(const Plan& plan, bool even_rows) {
    Violations found;
    std::int64_t elements = 0;
    for (const PlacedTensor& tensor : plan.tensors) {
        std::map<std::vector<std::int64_t>, std::set<std::int64_t>> devices_of_block;
        for (std::int64_t p = 0; p < tensor.elements(); ++p, ++elements)
            devices_of_block[block_of(tensor.spec, p)].insert(device_of(plan, tensor, p, even_rows));
        for (const auto& [block, devices] : devices_of_block)
            found.blocks_cut += devices.size() > 1 ? 1 : 0;
        const std::int64_t align = tensor.spec.align_bytes * plan.alignment_elems / plan.alignment_bytes;
        found.misaligned += tensor.offset % align != 0 ? 1 : 0;
    }
    found.misaligned += plan.segments[0].shard_elems % plan.alignment_elems != 0 ? 1 : 0;
    if (even_rows &&
        plan.num_devices > 1) // each shard into the send buffer, each tensor out of the gathered one
        found.copied_per_gather = plan.segments[0].shard_elems + elements;
    return found;
}

/// No two tensors share an element of the buffer, none leaves it.
void check_places(const Plan& plan, bool even_rows) {
    const std::int64_t shard = plan.segments[0].shard_elems;
    std::set<std::int64_t> used;
    std::int64_t elements = 0;
    for (const PlacedTensor& tensor : plan.tensors)
        for (std::int64_t p = 0; p < tensor.elements(); ++p, ++elements) {
            std::int64_t place = tensor.offset + p;
            if (even_rows) {
                const std::int64_t device = device_of(plan, tensor, p, true);
                const Shape& shape = tensor.spec.shape;
                const std::int64_t run = shape.rank() == 0 ? 1
                                                           : (shape[0] + plan.num_devices - 1) /
                                                                 plan.num_devices * row_elements(shape);
                place = device * shard + tensor.offset + (p - device * run);
            }
            used.insert(place);
        }
    CHECK(static_cast<std::int64_t>(used.size()) == elements);
    if (!used.empty()) {
        CHECK(*used.begin() >= 0);
        CHECK(*used.rbegin() < plan.num_devices * shard);
    }
}

/// Compare over random groups, devices and alignments; `promise` checks what the policy is known for.
template <class Policy, class Promise>
Violations check_policy(bool even_rows, Promise promise) {
    Violations total;
    for (std::uint32_t seed = 0; seed < 300; ++seed)
        for (const std::int64_t devices : {1, 2, 3, 4, 5, 8}) {
            const Plan plan = ragged::make_plan(support::random_group(seed), devices, Policy{},
                                                {.alignment_bytes = std::int64_t{4} << seed % 5});
            CAPTURE(seed);
            CAPTURE(devices);
            const Violations expected = by_enumeration(plan, even_rows);
            CHECK(plan.violations.blocks_cut == expected.blocks_cut);
            CHECK(plan.violations.misaligned == expected.misaligned);
            CHECK(plan.violations.copied_per_gather == expected.copied_per_gather);
            check_places(plan, even_rows);
            promise(plan);
            total.blocks_cut += expected.blocks_cut;
            total.misaligned += expected.misaligned;
            total.copied_per_gather += expected.copied_per_gather;
        }
    return total;
}

std::int64_t fair_share(const Plan& plan) {
    return (plan.elements() + plan.num_devices - 1) / plan.num_devices;
}

} // namespace

TEST_CASE("our own policy gives up nothing, by the same enumeration") {
    const Violations total = check_policy<ragged::policy::Exact>(false, [](const Plan& plan) {
        CHECK(plan.segments[0].shard_elems >= plan.segments[0].lower_bound_elems);
    });
    CHECK_FALSE(total.any());
}

TEST_CASE("flat elements: no gap, no more than a fair share, blocks cut anywhere") {
    const Violations total = check_policy<ragged::policy::FlatElements>(false, [](const Plan& plan) {
        std::int64_t end = 0;
        for (const PlacedTensor& tensor : plan.tensors) {
            CHECK(tensor.offset == end);
            end += tensor.elements();
        }
        CHECK(plan.segments[0].shard_elems == fair_share(plan));
    });
    CHECK(total.blocks_cut > 0);
    CHECK(total.misaligned > 0);
    CHECK(total.copied_per_gather == 0);
}

TEST_CASE("even rows per tensor: no row of dimension 0 cut, everything copied") {
    const Violations total = check_policy<ragged::policy::EvenRows>(true, [](const Plan& plan) {
        std::int64_t sum = 0;
        for (const PlacedTensor& tensor : plan.tensors) {
            CHECK(tensor.offset == sum);
            const std::int64_t rows = tensor.spec.shape[0];
            sum += (rows + plan.num_devices - 1) / plan.num_devices * row_elements(tensor.spec.shape);
        }
        CHECK(plan.segments[0].shard_elems == sum);
    });
    CHECK(total.blocks_cut > 0);
    CHECK(total.copied_per_gather > 0);
}

TEST_CASE("common row multiple: no row of dimension 0 on two devices") {
    const Violations total = check_policy<ragged::policy::CommonRowMultiple>(false, [](const Plan& plan) {
        for (const PlacedTensor& tensor : plan.tensors) {
            const std::int64_t row = row_elements(tensor.spec.shape);
            for (std::int64_t p = 0; p < tensor.elements(); ++p)
                if (device_of(plan, tensor, p, false) != device_of(plan, tensor, p / row * row, false))
                    FAIL_CHECK("row ", p / row, " of ", tensor.spec.name);
        }
    });
    CHECK(total.blocks_cut > 0); // blocks of several rows
    CHECK(total.misaligned > 0);
    CHECK(total.copied_per_gather == 0);
}

TEST_CASE("concatenation: aligned starts and shards, blocks cut anywhere") {
    const Violations total = check_policy<ragged::policy::Concatenate>(false, [](const Plan& plan) {
        std::int64_t end = 0;
        for (const PlacedTensor& tensor : plan.tensors) {
            CHECK(tensor.offset >= end);
            CHECK(tensor.offset < end + plan.alignment_elems);
            end = tensor.offset + tensor.elements();
        }
        CHECK(plan.segments[0].shard_elems * plan.num_devices >= end);
        CHECK((plan.segments[0].shard_elems - plan.alignment_elems) * plan.num_devices < end);
    });
    CHECK(total.blocks_cut > 0);
    CHECK(total.misaligned == 0);
    CHECK(total.copied_per_gather == 0);
}

TEST_CASE("tiles cut by hand: a boundary cuts every tile that it passes through, once") {
    // 4x6 in 2x3 tiles, shards of 8: the boundaries 8 and 16 lie in the first and second row of tiles
    const GroupSpec group{"g", {{"w", {4, 6}, ragged::tile({2, 3}), ragged::DType::u8}}};
    const PlanOptions unaligned{.alignment_bytes = 1};
    const Plan flat = ragged::make_plan(group, 3, ragged::policy::FlatElements{}, unaligned);
    CHECK(flat.violations == by_enumeration(flat, false));
    CHECK(flat.violations.blocks_cut == 4);
    // shards of 2: many boundaries in each tile count once
    CHECK(ragged::make_plan(group, 12, ragged::policy::FlatElements{}, unaligned).violations.blocks_cut == 4);
    CHECK(ragged::make_plan(group, 2, ragged::policy::FlatElements{}, unaligned).violations.blocks_cut == 0);
}

TEST_CASE("scalars, tensors of rank 4 and more devices than elements") {
    const GroupSpec group{"g",
                          {{"scalar", {}, ragged::whole(), ragged::DType::u8},
                           {"deep", {2, 3, 2, 4}, ragged::tile({1, 3, 1, 2}), ragged::DType::u8},
                           {"empty", {3, 0}, ragged::rows(2), ragged::DType::u8},
                           {"tail", {5}, ragged::elements(2), ragged::DType::u8}}};
    for (std::int64_t devices = 1; devices <= 80; ++devices) {
        CAPTURE(devices);
        const PlanOptions options{.alignment_bytes = 2};
        const Plan plans[] = {
            ragged::make_plan(group, devices, ragged::policy::FlatElements{}, options),
            ragged::make_plan(group, devices, ragged::policy::CommonRowMultiple{}, options),
            ragged::make_plan(group, devices, ragged::policy::Concatenate{}, options),
            ragged::make_plan(group, devices, ragged::policy::Exact{}, options),
        };
        for (const Plan& plan : plans) {
            CAPTURE(plan.policy);
            CHECK(plan.violations == by_enumeration(plan, false));
            check_places(plan, false);
        }
        const Plan even = ragged::make_plan(group, devices, ragged::policy::EvenRows{}, options);
        CHECK(even.violations == by_enumeration(even, true));
        check_places(even, true);
    }
}

TEST_CASE("sums beyond 64 bits are refused") {
    const GroupSpec group{"g", {{"a", {ragged::max_count}}, {"b", {1}}}};
    CHECK_THROWS_AS(ragged::make_plan(group, 2, ragged::policy::FlatElements{}), ragged::PlanError);
    CHECK_THROWS_AS(ragged::make_plan(group, 2, ragged::policy::Concatenate{}), ragged::PlanError);
    CHECK_THROWS_AS(ragged::make_plan(group, 2, ragged::policy::CommonRowMultiple{}), ragged::PlanError);
    CHECK_THROWS_AS(ragged::make_plan(group, 1, ragged::policy::EvenRows{}), ragged::PlanError);
}
