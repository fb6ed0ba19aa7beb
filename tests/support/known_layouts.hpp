// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Arrays of a layout, filled with values that are known for every element of every tensor. Ranks of a partial
// axis contribute multiples of the value: the rank at coordinate c brings c + 1 of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <ragged/core/error.hpp>
#include <ragged/layout/group_layout.hpp>
#include <ragged/layout/placement.hpp>

#include "support/expect.hpp"
#include "support/random_group.hpp"

namespace support {

using Kind = ragged::PlacementKind::Kind;

/// Tensors of any shape under placements of one kind: rows that do not divide, tiles, an empty one.
template <class Topology, class P>
auto known_layout(const Topology& topology, const P& placements) {
    const std::vector<ragged::TensorSpec> tensors{{"rows", {7, 5}, ragged::rows(1)},
                                                  {"tiles", {9, 8}, ragged::tile({2, 3})},
                                                  {"stack", {4, 3, 5}, ragged::elements(2)},
                                                  {"none", {0, 3}},
                                                  {"one", {1, 1}, ragged::whole()}};
    std::vector<ragged::TensorLayout<Topology, P>> layouts;
    for (const ragged::TensorSpec& tensor : tensors)
        layouts.emplace_back(tensor, topology, placements);
    return ragged::GroupLayout(std::move(layouts), topology, 4);
}

/// An element on `rank` after axes that are not partial in `To` were reduced.
template <class To, class From>
float known_value(const From& from, std::int64_t rank, std::int64_t tensor, std::int64_t element) {
    using Topology = typename From::topology_type;
    using P = typename From::placements_type;
    const auto at = from.topology().coordinates(rank);
    float value = value_of(static_cast<std::size_t>(tensor), element);
    for (std::size_t i = 0; i < P::size; ++i) {
        if (P::kinds[i].kind != Kind::partial)
            continue;
        const std::size_t axis = Topology::find(P::axes[i]);
        const auto ranks = static_cast<float>(from.topology().size(axis));
        if (To::kinds[To::find(P::axes[i])].kind == Kind::partial)
            value *= static_cast<float>(at[axis] + 1);
        else if (P::kinds[i].op == ragged::PartialOp::max)
            value *= value < 0 ? 1.0f : ranks;
        else
            value *= (ranks + 1) / 2 * (P::kinds[i].op == ragged::PartialOp::sum ? ranks : 1.0f);
    }
    return value;
}

/// What `rank` brings.
template <class T, class From>
std::vector<T> known_source(const From& from, std::int64_t rank) {
    std::vector<T> values(static_cast<std::size_t>(from.storage_elems(rank)));
    const auto starts = from.offsets(rank);
    for (std::int64_t t = 0; t < from.num_tensors(); ++t) {
        const auto portion = from.portion(t, rank);
        for (std::int64_t i = 0; i < portion.elements; ++i)
            values[static_cast<std::size_t>(starts[static_cast<std::size_t>(t)] + i)] =
                T(known_value<typename From::placements_type>(from, rank, t, portion.global(i)));
    }
    return values;
}

/// Between tensors `values` must still hold `untouched`.
template <class T, class From, class To>
void expect_known(const From& from, const To& to, std::int64_t rank, const T* values, T untouched) {
    const auto starts = to.offsets(rank);
    std::int64_t end = 0;
    for (std::int64_t t = 0; t < to.num_tensors(); ++t) {
        const std::int64_t start = starts[static_cast<std::size_t>(t)];
        for (; end < start; ++end)
            expect(static_cast<float>(values[end]) == static_cast<float>(untouched), "gaps stay as they are");
        const auto portion = to.portion(t, rank);
        for (std::int64_t i = 0; i < portion.elements; ++i) {
            const std::int64_t element = portion.global(i);
            const float wanted = known_value<typename To::placements_type>(from, rank, t, element);
            const float found = static_cast<float>(values[start + i]);
            expect(found == wanted, ragged::concat("tensor ", t, " element ", element, " on rank ", rank,
                                                   " is ", wanted, ", found ", found));
        }
        end = start + portion.elements;
    }
}

} // namespace support
