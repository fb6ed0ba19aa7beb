// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Written plans: random ones and those of real models come back equal; a plan that was changed before it was
// written, and has the right sums and fingerprint, is read just when the laws hold for it by the oracle;
// bytes that were changed do no harm.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <ragged/report/read_plan.hpp>
#include <ragged/spec/inventory.hpp>

#include "support/random_group.hpp"
#include "support/segment_oracle.hpp"
#include "support/written_plan.hpp"

#ifndef RAGGED_MODELS_DIR
#define RAGGED_MODELS_DIR "examples/models"
#endif

namespace {

using ragged::ModelPlan;
using ragged::Plan;
using support::written;

class Random {
  public:
    explicit Random(std::uint32_t seed)
        : engine_(seed) {}
    std::int64_t draw(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint32_t>(high - low + 1));
    }
    template <class List>
    auto& pick(List& list) {
        return list[static_cast<std::size_t>(draw(0, std::ssize(list) - 1))];
    }

  private:
    std::mt19937 engine_;
};

/// Tensors drawn into segments, some of which may stay empty; each segment is planned on its own.
struct Scattered {
    static constexpr std::string_view name = "scattered";
    std::uint32_t seed = 0;

    ragged::Arrangement operator()(const ragged::PlanInput& input) const {
        Random random(seed);
        ragged::Arrangement result;
        result.segments.resize(static_cast<std::size_t>(random.draw(1, 4)));
        for (std::size_t i = 0; i < input.tensors.size(); ++i)
            result.starts.push_back({random.draw(0, std::ssize(result.segments) - 1), 0});
        for (std::size_t s = 0; s < result.segments.size(); ++s) {
            std::vector<ragged::PlanTensor> inside;
            std::vector<std::size_t> index;
            for (std::size_t i = 0; i < input.tensors.size(); ++i)
                if (result.starts[i].segment == static_cast<std::int64_t>(s)) {
                    inside.push_back(input.tensors[i]);
                    index.push_back(i);
                }
            ragged::PlanInput part = input;
            part.tensors = inside;
            const auto [segments, starts, interleaved] = ragged::policy::Exact{}(part);
            result.segments[s] = segments[0];
            if (segments[0].set_by >= 0)
                result.segments[s].set_by =
                    static_cast<std::int64_t>(index[static_cast<std::size_t>(segments[0].set_by)]);
            for (std::size_t i = 0; i < index.size(); ++i)
                result.starts[index[i]].offset = starts[i].offset;
        }
        return result;
    }
};

ModelPlan random_plan(std::uint32_t seed) {
    Random random(seed);
    ragged::PlanOptions options{.alignment_bytes = std::int64_t{8} << random.draw(0, 4)};
    if (random.draw(0, 3) == 0)
        options.planes.insert(random.pick(ragged::all_dtypes));
    ragged::ModelSpec model{"model \"" + std::to_string(seed), {}};
    for (std::int64_t i = random.draw(0, 3); i > 0; --i)
        model.groups.push_back(support::awkward_group(seed * 5 + static_cast<std::uint32_t>(i)));
    return ragged::make_plan(model, random.draw(1, 8), Scattered{seed}, options);
}

struct Reading {
    std::string error; // "": there is a plan
    ModelPlan plan;
};

Reading read(const std::string& text) {
    try {
        return {"", ragged::read_plan_json(text)};
    } catch (const ragged::JsonError& error) {
        return {error.what(), {}};
    }
}

void check_same(const ModelPlan& found, const ModelPlan& expected) {
    REQUIRE(found == expected);
    for (std::size_t g = 0; g < found.groups.size(); ++g) {
        CHECK(found.groups[g].policy == expected.groups[g].policy);
        CHECK_FALSE(found.groups[g].violations.any());
    }
    CHECK(ragged::fingerprint(found) == ragged::fingerprint(expected));
}

/// Law 2, by the oracle's own legal cuts.
bool keeps_laws(const Plan& plan) {
    const std::int64_t element_bytes = plan.alignment_bytes / plan.alignment_elems;
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    std::int64_t start = 0;
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
        const std::int64_t shard = plan.segments[s].shard_elems;
        if (shard < 0 || shard % plan.alignment_elems != 0)
            return false;
        for (const ragged::PlacedTensor& tensor : plan.tensors) {
            if (tensor.segment != static_cast<std::int64_t>(s))
                continue;
            const oracle::Run run = oracle::run_of(tensor.spec, tensor.spec.align_bytes / element_bytes);
            if (tensor.offset < 0 || !oracle::may_start(run, tensor.offset, shard, plan.num_devices))
                return false;
            ranges.emplace_back(start + tensor.offset, start + tensor.offset + run.elements);
        }
        start += shard * plan.num_devices;
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i)
        if (ranges[i].first < ranges[i - 1].second)
            return false;
    return true;
}

/// Change one number that says where tensors lie.
void change_place(Plan& plan, Random& random) {
    const std::int64_t by =
        random.draw(0, 3) == 0 ? random.draw(-3, 3) : plan.alignment_elems * random.draw(-2, 2);
    switch (plan.tensors.empty() ? 0 : random.draw(0, 3)) {
    case 0: {
        std::int64_t& shard = random.pick(plan.segments).shard_elems;
        shard = std::max<std::int64_t>(shard + by, 0);
    } break;
    case 1:
        random.pick(plan.tensors).offset += by;
        break;
    case 2:
        random.pick(plan.tensors).segment =
            random.draw(0, static_cast<std::int64_t>(plan.segments.size()) - 1);
        break;
    default:
        std::swap(random.pick(plan.tensors).offset, random.pick(plan.tensors).offset);
    }
    for (ragged::Segment& segment : plan.segments) {
        segment.elements = 0;
        segment.set_by = -1;
    }
    for (const ragged::PlacedTensor& tensor : plan.tensors)
        plan.segments[static_cast<std::size_t>(tensor.segment)].elements += tensor.elements();
    for (ragged::Segment& segment : plan.segments)
        segment.lower_bound_elems =
            std::min(segment.shard_elems, ragged::ceil_div(segment.elements, plan.num_devices));
}

/// Change one fact of a tensor, so that the text says what follows from it.
void change_tensor(Plan& plan, Random& random) {
    ragged::PlacedTensor& tensor = random.pick(plan.tensors);
    ragged::TensorSpec& spec = tensor.spec;
    const ragged::Block blocks[] = {ragged::elements(random.draw(1, 20)), ragged::rows(random.draw(1, 3)),
                                    ragged::tile({random.draw(1, 3), random.draw(1, 3)}), ragged::whole()};
    switch (random.draw(0, 8)) {
    case 0:
        spec.name = random.pick(plan.tensors).spec.name;
        break;
    case 1:
        spec.block = random.pick(blocks);
        break;
    case 2:
        spec.dtype = random.pick(ragged::all_dtypes);
        break;
    case 3:
        spec.align_bytes = std::int64_t{1} << random.draw(0, 9);
        break;
    case 4:
        tensor.slice = random.draw(-1, 2);
        break;
    case 5:
        spec.sliced = !spec.sliced;
        break;
    case 6:
        spec.whole_from = static_cast<int>(random.draw(-1, 2));
        break;
    case 7:
        plan.alignment_bytes = std::int64_t{1} << random.draw(0, 9);
        break;
    default:
        std::swap(tensor, random.pick(plan.tensors)); // in the order of registration
    }
    try {
        tensor.cuts = ragged::cuts_of(spec);
    } catch (const ragged::SpecError&) { // then there is none to write
    }
}

} // namespace

TEST_CASE("2000 random models come back equal") {
    std::int64_t several = 0, slices = 0, strict = 0, set_by = 0, whole = 0;
    for (std::uint32_t seed = 0; seed < 2000; ++seed) {
        const ModelPlan plan = random_plan(seed);
        const std::string text = written(plan);
        CAPTURE(seed);
        const Reading found = read(text);
        REQUIRE(found.error == "");
        check_same(found.plan, plan);
        CHECK(written(found.plan) == text);
        for (const Plan& group : plan.groups) {
            several += group.segments.size() > 1 ? 1 : 0;
            strict += group.alignment_bytes > plan.groups[0].alignment_bytes ? 1 : 0;
            for (const ragged::Segment& segment : group.segments)
                set_by += segment.set_by >= 0 ? 1 : 0;
            for (const ragged::PlacedTensor& tensor : group.tensors) {
                slices += tensor.slice >= 0 || tensor.spec.sliced ? 1 : 0;
                whole += tensor.spec.whole_from >= 0 ? 1 : 0;
            }
        }
    }
    CHECK(std::min({several, slices, strict, set_by, whole}) > 300);
}

TEST_CASE("every model on 64 devices in 3 segments comes back equal") {
    std::size_t models = 0;
    for (const auto& entry : std::filesystem::directory_iterator(RAGGED_MODELS_DIR)) {
        if (entry.path().extension() != ".tsv")
            continue;
        ragged::ModelSpec model = ragged::read_inventory(entry.path());
        for (ragged::GroupSpec& group : model.groups)
            for (ragged::TensorSpec& tensor : group.tensors)
                if (tensor.shape.rank() >= 2)
                    tensor.block = ragged::rows(128), tensor.sliced = tensor.shape.rank() > 2;
        const ModelPlan plan =
            ragged::make_plan(model, 64, ragged::policy::Exact{ragged::policy::Order::search, 3},
                              {.planes = {ragged::DType::f32}});
        CAPTURE(model.name);
        const Reading found = read(written(plan));
        REQUIRE(found.error == "");
        check_same(found.plan, plan);
        ++models;
    }
    CHECK(models >= 8);
}

TEST_CASE("a plan with other places, sums and fingerprint right, is read just when it keeps the laws") {
    std::int64_t kept = 0, broke = 0;
    for (std::uint32_t seed = 0; seed < 4000; ++seed) {
        ModelPlan model = random_plan(seed);
        if (model.groups.empty())
            continue;
        Random random(seed);
        change_place(random.pick(model.groups), random);
        if (random.draw(0, 3) == 0)
            change_place(random.pick(model.groups), random);
        const bool expected = std::all_of(model.groups.begin(), model.groups.end(), keeps_laws);
        const Reading found = read(written(model));
        CAPTURE(seed);
        CAPTURE(found.error);
        CHECK((found.error == "") == expected);
        if (expected)
            CHECK(found.plan == model);
        ++(expected ? kept : broke);
    }
    CHECK(kept > 1000);
    CHECK(broke > 1000);
}

TEST_CASE("a plan with other tensors is not read, or is one that keeps the laws") {
    std::int64_t refused = 0, accepted = 0;
    for (std::uint32_t seed = 0; seed < 4000; ++seed) {
        ModelPlan model = random_plan(seed);
        if (model.groups.empty() || model.groups[0].tensors.empty())
            continue;
        Random random(seed);
        change_tensor(model.groups[0], random);
        for (ragged::Segment& segment : model.groups[0].segments)
            segment.set_by = -1;
        const Reading found = read(written(model));
        CAPTURE(seed);
        if (found.error == "") {
            CHECK(found.plan == model);
            CHECK(std::all_of(model.groups.begin(), model.groups.end(), keeps_laws));
        }
        ++(found.error == "" ? accepted : refused);
    }
    CHECK(refused > 1000);
    CHECK(accepted > 1000);
}

TEST_CASE("no part of a text is read, and changed bytes give the same layout or an error") {
    const std::string number_ends = "0123456789-+.eE";
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        const ModelPlan plan = seed == 0 ? support::two_segments() : random_plan(seed);
        const std::string text = written(plan);
        Random random(seed);
        CAPTURE(seed);
        for (std::size_t length = 0; length + 2 < text.size(); length += seed == 0 ? 1 : 97) // 2: the newline
            CHECK(read(text.substr(0, length)).error != "");
        for (int change = 0; change < 400; ++change) {
            std::string other = text;
            for (std::int64_t i = random.draw(1, 2); i > 0; --i) {
                const auto at =
                    static_cast<std::size_t>(random.draw(0, static_cast<std::int64_t>(other.size()) - 1));
                const std::size_t number = other.find_first_of("0123456789", at);
                switch (random.draw(0, 4)) {
                case 0:
                    other[at] = static_cast<char>(random.draw(0, 255));
                    break;
                case 1:
                    other.erase(at, static_cast<std::size_t>(random.draw(1, 9)));
                    break;
                case 2: {
                    const auto from = static_cast<std::size_t>(random.draw(0, 300)) % other.size();
                    other.insert(at, other.substr(from, static_cast<std::size_t>(random.draw(1, 99))));
                    break;
                }
                default: // another number
                    if (number != std::string::npos) {
                        const std::size_t end = other.find_first_not_of(number_ends, number);
                        const char* const numbers[] = {"0",
                                                       "-1",
                                                       "1",
                                                       "2",
                                                       "64",
                                                       "9223372036854775807",
                                                       "4611686018427387904",
                                                       "-9223372036854775808"};
                        other.replace(number, end - number, random.pick(numbers));
                    }
                }
            }
            const Reading found = read(other);
            if (found.error == "")
                CHECK(ragged::fingerprint(found.plan) == ragged::fingerprint(plan));
        }
    }
}
