// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The ragged axis planned over what other axes leave: plans of local specs keep the laws by the oracle, keep
// whole what the other axes shard, and are rules that layouts of the whole tensors accept; on random small
// groups and on a real model with tensor and expert parallelism.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/layout/tensor_layout.hpp>
#include <ragged/plan/whole_axis_cost.hpp>
#include <ragged/report/plan_table.hpp>
#include <ragged/spec/inventory.hpp>

#include "support/random_group.hpp"
#include "support/segment_oracle.hpp"

#ifndef RAGGED_MODELS_DIR
#define RAGGED_MODELS_DIR "examples/models"
#endif

namespace {

using ragged::Axis;
using ragged::place;
using ragged::Plan;
using ragged::RaggedEvenly;
using ragged::Replicate;
using ragged::Shard;
using ragged::TensorSpec;

/// A planned run wherever cuts are those that it was planned for, as many blocks on each rank elsewhere:
/// ranks of other boxes have plans of their own.
struct Planned {
    ragged::CutPattern cuts;
    ragged::RaggedShard shard;

    ragged::RaggedShard operator()(const ragged::CutPattern& here, std::int64_t num_ranks) const {
        return here == cuts ? shard : RaggedEvenly{}(here, num_ranks);
    }
    bool operator==(const Planned&) const = default;
};

/// How one tensor lies on the mesh: run(placements, placements up to and with the ragged one, outermost
/// dimension that must stay whole or -1).
constexpr int num_ways = 8;
constexpr int dimensions_of_way[num_ways] = {0, 1, 2, 3, 1, 2, 3, 2};

template <class Rule, class Run>
void placed(int way, const Rule& rule, const Run& run) {
    const auto first = place<"expert">(Replicate{});
    switch (way) {
    case 0:
        return run(first.then<"tensor">(Replicate{}).template then<"shard">(rule), 3, -1);
    case 1:
        return run(first.then<"tensor">(Shard<0>{}).template then<"shard">(rule), 3, -1);
    case 2:
        return run(first.then<"tensor">(Shard<1>{}).template then<"shard">(rule), 3, 1);
    case 3:
        return run(place<"expert">(Shard<0>{}).then<"tensor">(Shard<2>{}).template then<"shard">(rule), 3, 2);
    case 4:
        return run(first.template then<"shard">(rule).template then<"tensor">(Shard<0>{}), 2, 1);
    case 5:
        return run(first.template then<"shard">(rule).template then<"tensor">(Shard<1>{}), 2, 1);
    case 6:
        return run(
            place<"tensor">(Shard<2>{}).template then<"shard">(rule).template then<"expert">(Shard<1>{}), 2,
            1);
    default:
        return run(place<"tensor">(Shard<0>{}).then<"expert">(Shard<1>{}).template then<"shard">(rule), 3, 1);
    }
}

/// Law 2 by the oracle, which knows what stays whole from the coordinates of elements.
std::string broken_law(const Plan& plan) {
    const std::int64_t element_bytes = plan.alignment_bytes / plan.alignment_elems;
    for (const ragged::Segment& segment : plan.segments)
        if (segment.shard_elems % plan.alignment_elems != 0)
            return "alignment of the shard";
    for (const ragged::PlacedTensor& tensor : plan.tensors)
        if (!oracle::may_start(
                oracle::run_of(tensor.spec, tensor.spec.align_bytes / element_bytes), tensor.offset,
                plan.segments[static_cast<std::size_t>(tensor.segment)].shard_elems, plan.num_devices))
            return tensor.spec.name;
    return "";
}

/// Whether every run of a tensor, or of a slice of it, starts on a whole step of the dimension before `dim`.
bool keeps_whole(const Plan& plan, const ragged::PlacedTensor& tensor, int dim) {
    const int own = tensor.slice >= 0 ? dim - 1 : dim;
    if (dim < 0 || tensor.elements() == 0 || own >= tensor.spec.shape.rank())
        return true;
    const std::int64_t whole = ragged::inner_elements(tensor.spec.shape, own - 1);
    for (std::int64_t rank = 0; rank < plan.num_devices; ++rank) {
        const std::int64_t first = ragged::piece_of(plan, tensor, rank).first;
        if (first != tensor.elements() && first % whole != 0)
            return false;
    }
    return true;
}

using Mesh = ragged::Topology<Axis<"expert">, Axis<"shard">, Axis<"tensor">>;

struct Counts {
    std::int64_t layouts = 0, refused_when_cut_by_blocks = 0, kept = 0, slices = 0;
};

/// Plan what is left to one position along the other axes, and hold every tensor against its layout.
void check_position(const ragged::GroupSpec& group, const std::vector<int>& ways, const Mesh& mesh,
                    std::int64_t expert, std::int64_t tensor_rank, const ragged::policy::Exact& policy,
                    Counts& counts) {
    ragged::GroupSpec local{group.name, {}};
    const std::int64_t num_devices = mesh.size<"shard">();
    for (std::size_t i = 0; i < ways.size(); ++i)
        placed(ways[i], RaggedEvenly{}, [&](const auto& placements, std::size_t, int) {
            local.tensors.push_back(ragged::local_spec(group.tensors[i], mesh, placements,
                                                       mesh.rank({expert, num_devices - 1, tensor_rank})));
        });
    ragged::GroupSpec by_blocks = local;
    for (TensorSpec& tensor : by_blocks.tensors)
        tensor.whole_from = -1;
    const ragged::PlanOptions options{.alignment_bytes = 4};
    const Plan plan = ragged::make_plan(local, num_devices, policy, options);
    const Plan cut = ragged::make_plan(by_blocks, num_devices, policy, options);
    CHECK(broken_law(plan) == "");
    for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
        const ragged::PlacedTensor& tensor = plan.tensors[t];
        const auto i = static_cast<std::size_t>(
            std::find_if(group.tensors.begin(), group.tensors.end(),
                         [&](const TensorSpec& spec) { return spec.name == tensor.spec.name; }) -
            group.tensors.begin());
        CAPTURE(tensor.spec.name);
        CAPTURE(ways[i]);
        placed(ways[i], RaggedEvenly{}, [&](const auto&, std::size_t, int whole_from) {
            CHECK(keeps_whole(plan, tensor, whole_from));
            counts.kept += whole_from > 0 ? 1 : 0;
        });
        if (tensor.spec.sliced || tensor.slice >= 0) { // layouts are of whole tensors
            ++counts.slices;
            continue;
        }
        const Planned rule{tensor.cuts, ragged::ragged_shard(plan, tensor)};
        placed(ways[i], rule, [&](const auto& placements, std::size_t depth, int) {
            const ragged::TensorLayout layout(group.tensors[i], mesh, placements);
            for (std::int64_t rank = 0; rank < num_devices; ++rank) {
                const ragged::Portion portion = layout.portion(mesh.rank({expert, rank, tensor_rank}), depth);
                const ragged::Piece piece = ragged::piece_of(plan, tensor, rank);
                CHECK(portion.box == tensor.spec.shape);
                CHECK(portion.first == piece.first);
                CHECK(portion.elements == piece.elements);
            }
            ++counts.layouts;
        });
        // the same without whole_from: what cuts other places than the layout allows is refused
        const Planned wrong{tensor.cuts, ragged::ragged_shard(cut, cut.tensors[t])};
        bool legal = true;
        for (std::int64_t rank = 0; rank < num_devices; ++rank)
            legal = legal && tensor.cuts.is_cut(wrong.shard.offset(rank));
        placed(ways[i], wrong, [&](const auto& placements, std::size_t, int) {
            if (legal)
                return;
            CHECK_THROWS_AS(ragged::TensorLayout(group.tensors[i], mesh, placements), ragged::PlanError);
            ++counts.refused_when_cut_by_blocks;
        });
    }
}

} // namespace

TEST_CASE(
    "plans of 300 random groups on what tensor and expert axes leave, and the layouts of their tensors") {
    Counts counts;
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        std::mt19937 random(seed + 7'000'000);
        const auto draw = [&](std::int64_t low, std::int64_t high) {
            return low + static_cast<std::int64_t>(random() % static_cast<std::uint32_t>(high - low + 1));
        };
        ragged::GroupSpec group = support::random_group(seed);
        std::vector<int> ways;
        for (TensorSpec& tensor : group.tensors) {
            if (tensor.shape.rank() > 1 && draw(0, 5) == 0)
                tensor.whole_from = static_cast<int>(draw(1, tensor.shape.rank() - 1));
            int way = 0;
            do
                way = static_cast<int>(draw(0, num_ways - 1));
            while (dimensions_of_way[way] > tensor.shape.rank());
            ways.push_back(way);
        }
        const Mesh mesh(draw(1, 2), draw(1, 6), draw(1, 4));
        const ragged::policy::Exact policy{draw(0, 1) == 0 ? ragged::policy::Order::as_given
                                                           : ragged::policy::Order::search,
                                           draw(1, 3),
                                           {0, 0}};
        CAPTURE(seed);
        for (std::int64_t expert = 0; expert < mesh.size<"expert">(); ++expert)
            for (std::int64_t rank = 0; rank < mesh.size<"tensor">(); ++rank)
                check_position(group, ways, mesh, expert, rank, policy, counts);
    }
    MESSAGE(counts.layouts, " layouts agree, ", counts.kept, " tensors and slices keep an axis whole, ",
            counts.slices, " slices; ", counts.refused_when_cut_by_blocks,
            " plans by blocks alone are refused");
    CHECK(counts.layouts > 1000);
    CHECK(counts.kept > 500);
    CHECK(counts.slices > 200);
    CHECK(counts.refused_when_cut_by_blocks > 50);
}

namespace {

/// HSDP over 2 x 16, experts over 8 and matrices over 8.
using Cluster = ragged::Topology<Axis<"replica", 2>, Axis<"shard", 16>, Axis<"expert", 8>, Axis<"tensor", 8>>;

/// Place a tensor of gpt-oss by its name: o_proj by columns, other matrices by rows; experts apart, and each
/// along its intermediate dimension.
template <class Rule, class Run>
auto placed_by_name(const TensorSpec& tensor, const Rule& rule, const Run& run) {
    const auto ends_with = [&](std::string_view end) { return tensor.name.ends_with(end); };
    const auto finish = [&](const auto& placements) {
        return run(placements.template then<"shard">(rule).template then<"replica">(Replicate{}));
    };
    const auto alone = place<"expert">(Replicate{});
    const auto apart = place<"expert">(Shard<0>{});
    if (ends_with("gate_up_proj"))
        return finish(apart.then<"tensor">(Shard<2>{}));
    if (ends_with("gate_up_proj_bias") || ends_with("experts.down_proj"))
        return finish(apart.then<"tensor">(Shard<1>{}));
    if (ends_with("down_proj_bias"))
        return finish(apart.then<"tensor">(Replicate{}));
    if (ends_with("o_proj.weight"))
        return finish(alone.then<"tensor">(Shard<1>{}));
    if (ends_with("norm.weight") || ends_with("router.weight") || ends_with("router.bias") ||
        ends_with("o_proj.bias"))
        return finish(alone.then<"tensor">(Replicate{}));
    return finish(alone.then<"tensor">(Shard<0>{}));
}

} // namespace

TEST_CASE("gpt-oss-120b with tensor and expert parallelism of 8, and HSDP over 16") {
    const Cluster cluster;
    const ragged::ModelSpec whole =
        ragged::read_inventory(std::filesystem::path(RAGGED_MODELS_DIR) / "gpt-oss-120b.tsv");
    for (const std::int64_t rows : {1, 16})
        for (const bool sliced : {false, true}) {
            ragged::ModelSpec local{whole.name, {}};
            std::vector<TensorSpec> layer; // of the first layer, whole
            for (const ragged::GroupSpec& group : whole.groups) {
                local.groups.push_back({group.name, {}});
                for (TensorSpec tensor : group.tensors) {
                    if (tensor.shape.rank() >= 2)
                        tensor.block = ragged::rows(rows);
                    tensor.sliced = sliced && tensor.shape.rank() == 3;
                    local.groups.back().tensors.push_back(
                        placed_by_name(tensor, RaggedEvenly{}, [&](const auto& placements) {
                            return ragged::local_spec(tensor, cluster, placements, 0);
                        }));
                    if (group.name == "layers.0")
                        layer.push_back(tensor);
                }
            }
            std::int64_t elements = 0; // every shape divides by 8
            for (const ragged::GroupSpec& group : local.groups)
                for (const TensorSpec& tensor : group.tensors)
                    elements += tensor.shape.elements();
            ragged::ModelSpec by_blocks = local;
            for (ragged::GroupSpec& group : by_blocks.groups)
                for (TensorSpec& tensor : group.tensors)
                    tensor.whole_from = -1;
            const ragged::policy::Exact three{ragged::policy::Order::search, 3};
            const auto percent = [&](const ragged::ModelSpec& model, const ragged::policy::Exact& policy) {
                return ragged::detail::percent(ragged::make_plan(model, 16, policy).padding_ratio());
            };
            MESSAGE("rows:", rows, std::string(sliced ? ", slices, " : ", "), elements,
                    " elements: padding with axes whole and without, 1 segment ", percent(local, {}), " and ",
                    percent(by_blocks, {}), ", 3 segments ", percent(local, three), " and ",
                    percent(by_blocks, three));
            const ragged::GroupSpec& first = local.groups[1];
            MESSAGE(ragged::to_string(ragged::whole_axis_cost(first, 16)));
            MESSAGE(ragged::to_string(ragged::whole_axis_cost(first, 16, three)));

            const Plan plan = ragged::make_plan(first, 16, three);
            std::size_t at = 0;
            for (const TensorSpec& tensor : layer) {
                if (tensor.sliced) {
                    CHECK(plan.slices_of(tensor.name).count == tensor.shape[0] / 8);
                    at += static_cast<std::size_t>(plan.slices_of(tensor.name).count);
                    continue;
                }
                const ragged::PlacedTensor& here = plan.tensors[at++];
                REQUIRE(here.spec.name == tensor.name);
                placed_by_name(tensor, ragged::ragged_shard(plan, here), [&](const auto& placements) {
                    const ragged::TensorLayout layout(tensor, cluster, placements);
                    for (const std::int64_t rank : {0, 63, 64, 700, 1023, 1024, 2047}) { // some of each axis
                        const ragged::Piece piece =
                            ragged::piece_of(plan, here, cluster.coordinates(rank)[1]);
                        CHECK(layout.portion(rank).first == piece.first);
                        CHECK(layout.portion(rank).elements == piece.elements);
                    }
                });
            }
        }
}
