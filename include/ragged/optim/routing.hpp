// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Which optimizer updates which tensor, where one that works on matrices shares a model with AdamW.
#pragma once

#include <algorithm> // std::max
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/plan/plan.hpp>

namespace ragged {

/// Whether an optimizer of matrices takes a tensor: those of two dimensions, and stacks of them, but not
/// embeddings, heads and stacks of biases, which are known by a part of their own or their group's name
/// between dots: one that contains "embed" or "bias", is "wte", "wpe" or "head", or ends in "_head". A rule
/// of your own is any function object of (group name, PlacedTensor) that says yes or no.
struct MatrixRule {
    bool operator()(std::string_view group, const PlacedTensor& tensor) const {
        return tensor.spec.shape.rank() >= 2 && !is_excluded(group) && !is_excluded(tensor.spec.name);
    }

  private:
    static bool is_excluded(std::string_view name) {
        for (std::size_t begin = 0; begin <= name.size();) {
            const std::size_t end = std::min(name.find('.', begin), name.size());
            const std::string_view part = name.substr(begin, end - begin);
            if (part.find("embed") != part.npos || part.find("bias") != part.npos || part == "wte" ||
                part == "wpe" || part == "head" || part.ends_with("_head"))
                return true;
            begin = end + 1;
        }
        return false;
    }
};

namespace detail {

/// The rule for the tensors of one plan: those that it takes, or all others.
template <class Rule, class PlanType>
auto taken_by(const Rule& rule, const PlanType& plan, bool taken = true) {
    return [&rule, &plan, taken](const PlacedTensor& tensor) { return rule(plan.name, tensor) == taken; };
}

} // namespace detail

struct RoutedTensor {
    std::string group, tensor; // of a slice with its number
    Shape shape;
    std::string_view optimizer;
    std::int64_t owner = -1; // rank that does the work of the whole tensor; -1: each rank that of its piece

    bool operator==(const RoutedTensor&) const = default;
};

/// One line per tensor, in columns.
inline std::string to_string(std::span<const RoutedTensor> routing) {
    std::vector<std::vector<std::string>> rows{{"group", "tensor", "shape", "optimizer", "owner"}};
    for (const RoutedTensor& routed : routing)
        rows.push_back({routed.group, routed.tensor, to_string(routed.shape), std::string(routed.optimizer),
                        routed.owner < 0 ? std::string("-") : std::to_string(routed.owner)});
    std::vector<std::size_t> widths(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    std::string text;
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            text +=
                i + 1 < row.size() ? row[i] + std::string(widths[i] + 2 - row[i].size(), ' ') : row[i] + "\n";
    return text;
}

} // namespace ragged
