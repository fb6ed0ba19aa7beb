// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The layouts of today's systems as policies, so that their padding, cut blocks and copies can be read beside
// ours. They keep what those systems promise and not our laws; buffers refuse their plans unless nothing is
// violated. What each system does was read from its public sources; names are those systems'.
#pragma once

#include <numeric>

#include <ragged/plan/planner.hpp>

namespace ragged::policy {

/// Tensors packed without gaps, equal shards by element: DeepSpeed ZeRO, PyTorch FSDP1.
struct FlatElements {
    static constexpr std::string_view name = "flat elements (ZeRO, FSDP1)";
    static constexpr bool keeps_laws = false;

    constexpr Arrangement operator()(const PlanInput& input) const {
        Arrangement result;
        std::int64_t end = 0;
        for (const PlanTensor& tensor : input.tensors) {
            result.starts.push_back({0, end});
            end = checked_add(end, tensor.elements(), "elements of a group");
        }
        result.segments = {{ceil_div(end, input.num_devices)}};
        return result;
    }
};

/// Each tensor cut into even runs of rows of dimension 0, the last ones padded: PyTorch FSDP2.
/// A gather interleaves the tensors of a group, so shards are copied in before it and tensors out after it.
struct EvenRows {
    static constexpr std::string_view name = "even rows per tensor (FSDP2)";
    static constexpr bool keeps_laws = false;

    constexpr Arrangement operator()(const PlanInput& input) const {
        Arrangement result;
        result.interleaved = true;
        std::int64_t shard = 0;
        for (const PlanTensor& tensor : input.tensors) {
            const Shape& shape = tensor.spec.shape;
            const std::int64_t rows_per_device =
                shape.rank() == 0 ? 1 : ceil_div(shape[0], input.num_devices);
            result.starts.push_back({0, shard});
            shard = checked_add(
                shard,
                checked_mul(rows_per_device, shape.rank() == 0 ? 1 : inner_elements(shape, 0), "even rows"),
                "shard");
        }
        result.segments = {{shard}};
        return result;
    }
};

/// Rows of dimension 0 stay whole: tensors start on a multiple of their row, and the shard is a multiple of
/// every row of the group: Megatron-FSDP.
struct CommonRowMultiple {
    static constexpr std::string_view name = "common row multiple (Megatron-FSDP)";
    static constexpr bool keeps_laws = false;

    constexpr Arrangement operator()(const PlanInput& input) const {
        Arrangement result;
        std::int64_t end = 0, multiple = 1;
        for (const PlanTensor& tensor : input.tensors) {
            const Shape& shape = tensor.spec.shape;
            const std::int64_t row =
                tensor.elements() == 0 || shape.rank() < 2 ? 1 : inner_elements(shape, 0);
            multiple = saturating_lcm(multiple, row);
            end = round_up(end, row);
            result.starts.push_back({0, end});
            end = checked_add(end, tensor.elements(), "elements of a group");
        }
        result.segments = {{round_up(ceil_div(end, input.num_devices), multiple)}};
        return result;
    }
};

/// Tensors one after another at aligned starts, equal aligned shards: a group buffer without a planner.
struct Concatenate {
    static constexpr std::string_view name = "concatenation";
    static constexpr bool keeps_laws = false;

    constexpr Arrangement operator()(const PlanInput& input) const {
        Arrangement result;
        std::int64_t end = 0;
        for (const PlanTensor& tensor : input.tensors) {
            end = round_up(end, tensor.align_elems);
            result.starts.push_back({0, end});
            end = checked_add(end, tensor.elements(), "elements of a group");
        }
        result.segments = {{round_up(ceil_div(end, input.num_devices), input.alignment_elems)}};
        return result;
    }
};

static_assert(planner_policy<FlatElements> && planner_policy<EvenRows> && planner_policy<CommonRowMultiple> &&
              planner_policy<Concatenate>);

} // namespace ragged::policy
