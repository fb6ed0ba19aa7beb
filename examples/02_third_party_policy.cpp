// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A planner policy as somebody else would write it: never cut a tensor, give each to the device with the most
// room. make_plan checks what it returns against the same laws as the library's own.
#include <algorithm>
#include <iostream>
#include <numeric>

#include <ragged/ragged.hpp>

namespace somewhere_else {

struct WholeTensors {
    static constexpr std::string_view name = "whole tensors";

    ragged::Arrangement operator()(const ragged::PlanInput& input) const {
        // Largest first, each to the device that is least full.
        std::vector<std::size_t> order(input.tensors.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
            return input.tensors[a].elements() > input.tensors[b].elements();
        });
        std::vector<std::int64_t> used(static_cast<std::size_t>(input.num_devices), 0), start(order.size()),
            device(order.size());
        for (std::size_t tensor : order) {
            const auto least = std::min_element(used.begin(), used.end());
            device[tensor] = least - used.begin();
            start[tensor] = *least;
            *least += ragged::round_up(input.tensors[tensor].elements(), input.alignment_elems);
        }
        const std::int64_t shard = *std::max_element(used.begin(), used.end());
        ragged::Arrangement result{.segments = {{shard}}};
        for (std::size_t tensor = 0; tensor < order.size(); ++tensor)
            result.starts.push_back({0, device[tensor] * shard + start[tensor]});
        return result;
    }
};
static_assert(ragged::planner_policy<WholeTensors>);

} // namespace somewhere_else

int main() {
    ragged::GroupSpec group{"layer", {}};
    for (std::int64_t rows : {512, 384, 384, 256, 256, 128})
        group.tensors.push_back({"w" + std::to_string(rows) + "." + std::to_string(group.tensors.size()),
                                 {rows, 64},
                                 ragged::whole()});
    const ragged::Plan theirs = ragged::make_plan(group, 4, somewhere_else::WholeTensors{});
    const ragged::Plan ours = ragged::make_plan(group, 4);
    std::cout << theirs.policy << ": S = " << theirs.segments[0].shard_elems << ", padding "
              << theirs.padding_ratio() * 100 << " %\n"
              << ours.policy << " in the order as given: S = " << ours.segments[0].shard_elems << ", padding "
              << ours.padding_ratio() * 100 << " %\n";
    return theirs.violations.any() ? 1 : 0;
}
