// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The layout of a constant tensor on a mesh whose sizes and placements are types: what every rank holds is a
// constant, so that counts of collectives are too.
//
//     static constexpr ragged::Tensor wq{"wq", {4096, 4096}, ragged::tile({32, 32})};
//     constexpr auto columns = ragged::place<"shard">(ragged::Shard<1>{});
//     using Layout = ragged::StaticLayout<wq, Mesh, std::remove_const_t<decltype(columns)>>;
//     static_assert(Layout::portion(0, 3).elements == 4096 * 512);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ragged/layout/group_layout.hpp>
#include <ragged/layout/tensor_layout.hpp>

namespace ragged {

/// A group of one, equal to the GroupLayout of the same tensor. A tensor or placements that TensorLayout
/// refuses do not compile; the compiler shows the throw that was reached.
template <const auto& Spec, class Topology, class PlacementsType>
class StaticLayout {
    static_assert(Topology::num_dynamic == 0,
                  "ragged: a static layout needs a topology with all sizes in its type");
    static_assert(
        [] {
            for (const PlacementKind& kind : PlacementsType::kinds)
                if (!kind.fixed)
                    return false;
            return true;
        }(),
        "ragged: a static layout takes ragged rules without members; with weights, make a TensorLayout");

  public:
    using topology_type = Topology;
    using placements_type = PlacementsType;
    static constexpr std::size_t max_depth = PlacementsType::size;
    static constexpr auto num_ranks = static_cast<std::size_t>(Topology().num_ranks());
    static constexpr bool is_static = true;

    static constexpr TensorLayout<Topology, PlacementsType, std::string_view> layout() {
        return {Spec, Topology(), PlacementsType()};
    }

    static constexpr Topology topology() { return Topology(); }
    static constexpr std::int64_t num_tensors() { return 1; }
    static std::string name(std::int64_t) { return std::string(Spec.name); }
    static constexpr const Shape& shape(std::int64_t) { return Spec.shape; }
    static constexpr Portion portion(std::int64_t, std::int64_t rank, std::size_t depth = max_depth) {
        return portions[depth][static_cast<std::size_t>(rank)];
    }
    static constexpr Holders holders(std::int64_t) { return {}; }
    static std::vector<std::int64_t> offsets(std::int64_t rank) { return {0, storage_elems(rank)}; }
    static constexpr std::int64_t storage_elems(std::int64_t rank) { return portion(0, rank).elements; }
    static constexpr void add_to(detail::Hash& hash) { GroupLayout(layout()).add_to(hash); }
    static std::vector<std::string> describe() { return GroupLayout(layout()).describe(); }

  private:
    static constexpr auto portions = [] {
        const auto tensor = layout();
        std::array<std::array<Portion, num_ranks>, max_depth + 1> result;
        for (std::size_t depth = 0; depth <= max_depth; ++depth)
            for (std::size_t rank = 0; rank < num_ranks; ++rank)
                result[depth][rank] = tensor.portion(static_cast<std::int64_t>(rank), depth);
        return result;
    }();
};

} // namespace ragged
