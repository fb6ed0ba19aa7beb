// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Advice against plans made by hand: each remedy is applied to the specs here once more, planned, and summed
// up.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include <ragged/plan/advice.hpp>
#include <ragged/spec/inventory.hpp>

#ifndef RAGGED_MODELS_DIR
#define RAGGED_MODELS_DIR "examples/models"
#endif

namespace {

using ragged::Advice;
using ragged::advise;
using ragged::Block;
using ragged::DType;
using ragged::GroupSpec;
using ragged::max_count;
using ragged::ModelPlan;
using ragged::ModelSpec;
using ragged::PlanTotals;
using ragged::Remedy;
using ragged::TensorSpec;
using ragged::policy::Exact;

/// A layer with a stack of 6 matrices; f32 is its largest element type.
GroupSpec layer(const std::string& name, std::int64_t rows = 2) {
    return {name,
            {{name + ".w", {40, 32}, ragged::rows(rows), DType::bf16},
             {name + ".gate", {16, 10}, ragged::rows(16), DType::bf16},
             {name + ".experts", {6, 24, 32}, ragged::tile({1, 16, 16}), DType::bf16},
             {name + ".norm", {100}, {}, DType::f32}}};
}

ModelSpec model() {
    return {"m",
            {{"embed", {{"e", {40, 48}, ragged::rows(16)}}},
             layer("l0"),
             layer("l1"),
             layer("l2"),
             {"head", {{"v", {640}, ragged::whole()}}}}};
}

constexpr std::int64_t devices = 6;
const Exact search{.order = ragged::policy::Order::search, .price = {.latency_ns = 0}};
const ragged::PlanOptions options{.alignment_bytes = 16};

/// In bytes, largest type of each group: 4 where there is a norm, else 2.
PlanTotals sums(const ModelPlan& plan) {
    PlanTotals totals;
    std::int64_t elements = 0, padded = 0;
    for (const ragged::Plan& group : plan.groups) {
        std::int64_t bytes = 2, region = 0;
        for (const ragged::PlacedTensor& tensor : group.tensors) {
            bytes = tensor.spec.dtype == DType::f32 ? 4 : bytes;
            elements += tensor.spec.shape.elements();
        }
        for (const ragged::Segment& segment : group.segments)
            region += segment.shard_elems;
        padded += region * group.num_devices;
        totals.region_bytes += region * bytes;
        totals.gathered_bytes += region * bytes * group.num_devices;
        totals.largest_gathered_bytes =
            std::max(totals.largest_gathered_bytes, region * bytes * group.num_devices);
    }
    totals.padding_ratio = static_cast<double>(padded - elements) / static_cast<double>(elements);
    return totals;
}

std::vector<Advice> of(const std::vector<Advice>& advice, Remedy remedy) {
    std::vector<Advice> found;
    std::copy_if(advice.begin(), advice.end(), std::back_inserter(found),
                 [&](const Advice& each) { return each.remedy == remedy; });
    return found;
}

/// What `advice` says is what `by_hand` takes, and saves against the model as it is.
void check_priced(const Advice& advice, const ModelPlan& by_hand) {
    const PlanTotals now = sums(ragged::make_plan(model(), devices, search, options));
    const PlanTotals then = sums(by_hand);
    CHECK(advice.totals.region_bytes == then.region_bytes);
    CHECK(advice.totals.gathered_bytes == then.gathered_bytes);
    CHECK(advice.totals.largest_gathered_bytes == then.largest_gathered_bytes);
    CHECK(advice.totals.padding_ratio == doctest::Approx(then.padding_ratio));
    CHECK(advice.saved_bytes_per_device == now.region_bytes - then.region_bytes);
    CHECK(advice.saved_gathered_bytes == now.gathered_bytes - then.gathered_bytes);
}

std::vector<std::int64_t> segments_of(const ModelSpec& spec, std::int64_t max_segments) {
    std::vector<std::int64_t> result;
    for (const Advice& each :
         of(advise(spec, devices, Exact{.max_segments = max_segments}), Remedy::more_segments))
        result.push_back(each.max_segments);
    std::sort(result.begin(), result.end());
    return result;
}

} // namespace

TEST_CASE("blame has the tensor, its granularity and the bytes lost for each segment") {
    const GroupSpec group{
        "g",
        {{"w", {4, 1000}, ragged::rows(2)}, {"n", {64}, {}, DType::f32}, {"v", {3, 333}, ragged::rows(1)}}};
    const ragged::Plan one = ragged::make_plan(group, 4);
    const std::vector<ragged::Blame> blames = ragged::blame(one);
    REQUIRE(blames.size() == 1);
    CHECK(blames[0].tensor == 0);
    CHECK(blames[0].step_elems == 2000);
    const std::int64_t fair = (4000 + 64 + 999 + 3) / 4;
    CHECK(blames[0].lost_bytes == (one.segments[0].shard_elems - fair) * 4);

    const ragged::Plan two = ragged::make_plan(
        GroupSpec{"g", {{"w", {64, 1000}, ragged::rows(1)}, {"v", {60, 1008}, ragged::rows(1)}}}, 16,
        Exact{.max_segments = 2, .price = {.latency_ns = 0}});
    REQUIRE(two.segments.size() == 2);
    REQUIRE(ragged::blame(two).size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        const ragged::Blame blame = ragged::blame(two)[i];
        REQUIRE(blame.tensor == two.segments[i].set_by);
        REQUIRE(blame.tensor >= 0);
        CHECK(blame.step_elems == two.tensors[static_cast<std::size_t>(blame.tensor)].cuts.step);
        CHECK(blame.lost_bytes == (two.segments[i].shard_elems - two.segments[i].elements / 16) * 2);
    }

    const std::vector<ragged::Blame> even =
        ragged::blame(ragged::make_plan(GroupSpec{"g", {{"b", {500}}}}, 4));
    REQUIRE(even.size() == 1);
    CHECK(even[0].tensor == -1);
    CHECK(even[0].step_elems == 1);
    CHECK(even[0].lost_bytes == (128 - 125) * 2);
}

TEST_CASE("more segments are priced") {
    const auto found = of(advise(model(), devices, search, options), Remedy::more_segments);
    REQUIRE(found.size() == 2);
    for (const Advice& advice : found) {
        Exact split = search;
        split.max_segments = advice.max_segments;
        check_priced(advice, ragged::make_plan(model(), devices, split, options));
        CHECK(advice.saved_bytes_per_device > 0);
        CHECK(advice.num_devices == devices);
        CHECK(advice.tensors.empty());
    }
    CHECK(found[0].max_segments != found[1].max_segments);
}

TEST_CASE("segments are one more and three, but not above four or the tensors of every group") {
    const ModelSpec many{
        "m",
        {{"g", {{"a", {64}}, {"b", {64}}, {"c", {64}}, {"d", {64}}, {"e", {64}}}}, {"h", {{"i", {64}}}}}};
    CHECK(segments_of(many, 1) == std::vector<std::int64_t>{2, 3});
    CHECK(segments_of(many, 2) == std::vector<std::int64_t>{3});
    CHECK(segments_of(many, 3) == std::vector<std::int64_t>{4});
    CHECK(segments_of(many, 4).empty());
    CHECK(segments_of(many, max_count).empty());
    CHECK(segments_of({"m", {{"g", {{"a", {64}}, {"b", {64}}}}}}, 1) == std::vector<std::int64_t>{2});
    CHECK(segments_of({"m", {{"g", {{"a", {64}}}}}}, 1).empty());
}

TEST_CASE("slices are priced") {
    const auto found = of(advise(model(), devices, search, options), Remedy::slices);
    REQUIRE(found.size() == 1);
    ModelSpec sliced = model();
    for (const std::size_t g : {1u, 2u, 3u})
        sliced.groups[g].tensors[2].sliced = true;
    check_priced(found[0], ragged::make_plan(sliced, devices, search, options));
    CHECK(found[0].saved_bytes_per_device > 0);
    CHECK(found[0].tensors == std::vector<std::string>{"l0.experts", "l1.experts", "l2.experts"});
    CHECK(found[0].slices == 18);
}

TEST_CASE("stacks are taken apart where no block spans slices, up to a number that can be planned") {
    const auto sliced = [](std::vector<TensorSpec> tensors) {
        const auto found = of(advise({"m", {{"g", std::move(tensors)}}}, devices), Remedy::slices);
        return found.empty() ? std::vector<std::string>{} : found[0].tensors;
    };
    TensorSpec already{"already", {2, 8, 8}};
    already.sliced = true;
    CHECK(sliced({{"matrix", {16, 16}},
                  {"rows", {2, 8, 8}, ragged::rows(16)},
                  {"whole", {2, 8, 8}, ragged::whole()},
                  {"tile", {2, 2, 8, 8}, ragged::tile({1, 2, 8, 8})},
                  {"spanned", {2, 8, 8}, ragged::tile({2, 8, 8})},
                  {"never", {2, 8, 8}, ragged::rows(1), DType::bf16, 0, false, 0},
                  {"kept", {2, 8, 8}, ragged::rows(1), DType::bf16, 0, false, 1},
                  {"single", {1, 8, 8}},
                  already}) == std::vector<std::string>{"rows", "tile", "kept"});
    CHECK(sliced({already, {"spanned", {2, 8, 8}, ragged::tile({2, 8, 8})}}).empty());
    CHECK(sliced({{"tall", {std::int64_t{1} << 40, 1, 1}}}).empty());
    CHECK(sliced({{"hollow", {max_count, 0, 1}}, {"other", {max_count, 0, 1}}}).empty());
}

TEST_CASE("two and four layers per group are priced, with what is left of a run as a smaller group") {
    const auto found = of(advise(model(), devices, search, options), Remedy::more_layers);
    REQUIRE(found.size() == 2);
    const auto joined = [](std::vector<GroupSpec> groups) {
        GroupSpec result{"joined", {}};
        for (const GroupSpec& group : groups)
            result.tensors.insert(result.tensors.end(), group.tensors.begin(), group.tensors.end());
        return result;
    };
    const ModelSpec now = model();
    const ModelSpec two{"m", {now.groups[0], joined({layer("l0"), layer("l1")}), layer("l2"), now.groups[4]}};
    const ModelSpec four{"m",
                         {now.groups[0], joined({layer("l0"), layer("l1"), layer("l2")}), now.groups[4]}};
    for (const Advice& advice : found) {
        REQUIRE((advice.layers_per_group == 2 || advice.layers_per_group == 4));
        check_priced(advice,
                     ragged::make_plan(advice.layers_per_group == 2 ? two : four, devices, search, options));
        CHECK(advice.saved_bytes_per_device > 0);
    }
    CHECK(found[0].layers_per_group != found[1].layers_per_group);
}

TEST_CASE("layers are neighbours that differ in names only, whatever the names") {
    const auto layers = [](std::vector<GroupSpec> groups) {
        std::vector<std::int64_t> result;
        for (const Advice& each : of(advise({"m", std::move(groups)}, devices), Remedy::more_layers))
            result.push_back(each.layers_per_group);
        std::sort(result.begin(), result.end());
        return result;
    };
    const GroupSpec same{"same", {{"w", {8, 64}, ragged::rows(2)}, {"0.w", {64}}}};
    CHECK(layers({same, same, same}) == std::vector<std::int64_t>{2, 4});
    CHECK(layers({same, same}) == std::vector<std::int64_t>{2}); // four would be the same again
    CHECK(layers({same}).empty());
    CHECK(layers({layer("a", 8), layer("b", 16), layer("c", 8)}).empty());
}

TEST_CASE("half the shard axis with replicas is priced, where the number of devices is even") {
    const auto found = of(advise(model(), devices, search, options), Remedy::replicas);
    REQUIRE(found.size() == 1);
    CHECK(found[0].num_devices == 3);
    CHECK(found[0].replicas == 2);
    check_priced(found[0], ragged::make_plan(model(), 3, search, options));
    CHECK(found[0].saved_bytes_per_device < 0); // each device holds more
    CHECK(found[0].saved_gathered_bytes > 0);   // of which less is padding
    CHECK(of(advise(model(), 5, search, options), Remedy::replicas).empty());
    CHECK(of(advise(model(), 1, search, options), Remedy::replicas).empty());
}

TEST_CASE("half a block is priced for all tensors that have the block of one to blame") {
    const auto found = of(advise(model(), devices, search, options), Remedy::smaller_block);
    const ModelPlan plan = ragged::make_plan(model(), devices, search, options);
    REQUIRE(plan.groups[0].segments[0].set_by == 0); // rows(16)
    REQUIRE(plan.groups[1].segments[0].set_by == 2); // the tile
    REQUIRE(found.size() == 2);                      // and none for the whole tensor of the head
    for (const Advice& advice : found) {
        const bool rows = advice.block == ragged::rows(8);
        REQUIRE((rows || advice.block == ragged::tile({1, 8, 16})));
        ModelSpec smaller = model();
        std::vector<std::string> names;
        for (GroupSpec& group : smaller.groups)
            for (TensorSpec& tensor : group.tensors)
                if (tensor.block == (rows ? ragged::rows(16) : ragged::tile({1, 16, 16}))) {
                    tensor.block = advice.block;
                    names.push_back(tensor.name);
                }
        CHECK(advice.tensors == names);
        CHECK(advice.tensors.size() == (rows ? 4u : 3u));
        check_priced(advice, ragged::make_plan(smaller, devices, search, options));
        CHECK(advice.saved_bytes_per_device > 0);
    }
    CHECK(found[0].block != found[1].block);
}

TEST_CASE("a block is halved where cuts are decided") {
    using ragged::detail::half_of;
    CHECK(half_of(ragged::rows(128)) == ragged::rows(64));
    CHECK(half_of(ragged::rows(3)) == ragged::rows(1));
    CHECK(half_of(ragged::rows(1)) == ragged::rows(1));
    CHECK(half_of(ragged::elements(512)) == ragged::elements(256));
    CHECK(half_of(ragged::elements(1)) == ragged::elements(1));
    CHECK(half_of(ragged::tile({128, 64})) == ragged::tile({64, 64}));
    CHECK(half_of(ragged::tile({1, 1, 32, 32})) == ragged::tile({1, 1, 16, 32}));
    CHECK(half_of(ragged::tile({1, 32})) == ragged::tile({1, 16}));
    CHECK(half_of(ragged::tile({1, 1})) == ragged::tile({1, 1}));
    CHECK(half_of(ragged::tile({})) == ragged::tile({}));
    CHECK(half_of(ragged::whole()) == ragged::whole());
}

TEST_CASE("of blocks to blame the four that cost most are tried, and none that cannot be smaller") {
    const auto halves = [](const std::vector<std::int64_t>& rows) {
        ModelSpec spec{"m", {}};
        for (std::int64_t count : rows)
            spec.groups.push_back({"g", {{"w", {11, 1024}, ragged::rows(count)}}});
        std::vector<std::int64_t> result;
        for (const Advice& each : of(advise(spec, 1000), Remedy::smaller_block))
            result.push_back(each.block.sizes[0]);
        std::sort(result.begin(), result.end());
        return result;
    };
    CHECK(halves({3, 5, 7, 9, 11}) == std::vector<std::int64_t>{2, 3, 4, 5});
    CHECK(halves({3, 5, 7, 9, 11, 3}) == std::vector<std::int64_t>{1, 3, 4, 5}); // twice 3 costs more than 5

    for (const Block& block : {ragged::whole(), ragged::rows(1), ragged::tile({1, 1024})}) {
        const bool smaller =
            !of(advise({"m", {{"g", {{"w", {11, 1024}, block}}}}}, 1000), Remedy::smaller_block).empty();
        CHECK(smaller == (block.kind == Block::Kind::tile));
    }
    TensorSpec stack{"stack", {3, 8, 1000}, ragged::tile({1, 8, 1000})};
    stack.sliced = true;
    const auto of_slices = of(advise({"m", {{"g", {stack}}}}, 1000), Remedy::smaller_block);
    REQUIRE(of_slices.size() == 1);
    CHECK(of_slices[0].block == ragged::tile({1, 4, 1000}));
}

TEST_CASE("unequal regions: what the device with most has, of all groups together") {
    // one block each on 2 of 4 devices; the next group's on the other two
    const GroupSpec one{"g", {{"w", {2, 1024}, ragged::rows(1), DType::u8}}};
    const auto found = of(advise({"m", {one, one}}, 4), Remedy::unequal);
    REQUIRE(found.size() == 1);
    CHECK(found[0].totals.region_bytes == 1024);
    CHECK(found[0].totals.gathered_bytes == 4096);
    CHECK(found[0].totals.largest_gathered_bytes == 2048);
    CHECK(found[0].totals.padding_ratio == 0.0);
    CHECK(found[0].saved_bytes_per_device == 1024); // of 2 x 1024
    CHECK(found[0].saved_gathered_bytes == 4096);   // of 2 x 4096
}

TEST_CASE("advice is sorted by the bytes it saves, then by remedy") {
    const auto sorted = [](const std::vector<Advice>& advice) {
        return std::is_sorted(advice.begin(), advice.end(), [](const Advice& a, const Advice& b) {
            return a.saved_bytes_per_device != b.saved_bytes_per_device
                       ? a.saved_bytes_per_device > b.saved_bytes_per_device
                       : a.remedy < b.remedy;
        });
    };
    const std::vector<Advice> advice = advise(model(), devices, search, options);
    CHECK(advice.size() == 9);
    CHECK(sorted(advice));
    CHECK(advice.front().saved_bytes_per_device > advice[1].saved_bytes_per_device);
    // nothing to save: all equal but the replicas
    const std::vector<Advice> even = advise(
        {"m", {{"a", {{"b", {2, 2, 64}}, {"c", {256}}}}, {"d", {{"e", {2, 2, 64}}, {"f", {256}}}}}}, 4);
    REQUIRE(even.size() == 5);
    CHECK(sorted(even));
    CHECK(even[3].saved_bytes_per_device == 0);
    CHECK(even[4].remedy == Remedy::replicas);
}

TEST_CASE("a remedy that has no plan in 64 bits is left out, and bad input is refused") {
    const GroupSpec large{"g", {{"w", {(std::int64_t{1} << 60) + 1}, {}, DType::u8}}};
    const std::vector<Advice> advice = advise({"m", {large, large}}, 2);
    REQUIRE(advice.size() == 2); // a group of both layers is too large
    CHECK(advice[0].remedy == Remedy::unequal);
    CHECK(advice[1].remedy == Remedy::replicas);
    CHECK_THROWS_AS(advise(model(), 0), ragged::PlanError);
    CHECK_THROWS_AS(advise({"m", {{"g", {{"w", {4}, ragged::rows(0)}}}}}, 2), ragged::SpecError);
    CHECK(advise({"m", {}}, 1).empty());
}

TEST_CASE("advice for gpt-oss-120b on 1,024 devices with blocks of 128 rows") {
    ModelSpec spec = ragged::read_inventory(std::filesystem::path(RAGGED_MODELS_DIR) / "gpt-oss-120b.tsv");
    for (GroupSpec& group : spec.groups)
        for (TensorSpec& tensor : group.tensors)
            if (tensor.shape.rank() > 1)
                tensor.block = ragged::rows(128);
    const auto largest = [](const std::vector<Advice>& advice, Remedy remedy) {
        const auto found = of(advice, remedy); // sorted
        REQUIRE(!found.empty());
        return found[0].saved_bytes_per_device;
    };
    const std::vector<Advice> by_rows = advise(spec, 1024);
    CHECK(largest(by_rows, Remedy::more_layers) > 220 << 20); // of 458 MiB
    CHECK(largest(by_rows, Remedy::more_segments) > 190 << 20);
    CHECK(largest(by_rows, Remedy::unequal) > 240 << 20);
    CHECK(largest(by_rows, Remedy::smaller_block) > 25 << 20);
    CHECK(largest(by_rows, Remedy::slices) == 0); // blocks run over the experts, and cover shards as before
    CHECK(of(by_rows, Remedy::replicas)[0].saved_gathered_bytes > std::int64_t{220} << 30);

    // Within each expert the last block is short; only as a slice of its own an expert may then cover shards.
    for (GroupSpec& group : spec.groups)
        for (TensorSpec& tensor : group.tensors)
            if (tensor.shape.rank() == 3)
                tensor.block = ragged::tile({1, 128, tensor.shape[2]});
    const std::vector<Advice> by_expert = advise(spec, 1024, Exact{.max_segments = 3});
    CHECK(by_expert[0].remedy == Remedy::unequal);
    CHECK(by_expert[1].remedy == Remedy::slices);
    CHECK(by_expert[1].saved_bytes_per_device > 870 << 20); // of 1.12 GiB
    CHECK(by_expert[1].slices == 36 * 2 * 128);
}
