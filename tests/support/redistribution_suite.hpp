// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Pairs of layouts on one mesh, collected and then checked in one world. Only what must be is made for each
// pair of types: the redistribution itself.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <vector>

#include "support/redistribution_oracle.hpp"

namespace support {

/// A placement along an axis, by type. What it is for a tensor is said by placement_for.
template <ragged::FixedString Name, class P>
struct On {
    static constexpr ragged::FixedString name = Name;
    using placement_type = P;
};

/// Types one after another.
template <class... Each>
struct List {};

/// Different for each tensor where the type allows it.
template <class P>
P placement_for(const ragged::TensorSpec& spec, std::int64_t tensor, std::int64_t num_ranks) {
    if constexpr (std::is_same_v<P, ragged::RaggedByWeights>) { // some are 0, the last is not
        std::vector<std::int64_t> weights;
        for (std::int64_t rank = 0; rank < num_ranks; ++rank)
            weights.push_back((rank + tensor) % 3);
        weights.back() = 2;
        return {weights};
    } else if constexpr (std::is_same_v<P, ragged::RaggedOnRank>) {
        return {(tensor * 2 + 1) % num_ranks};
    } else if constexpr (std::is_same_v<P, ragged::RaggedShard>) { // all but one unit on the last rank
        const ragged::CutPattern cuts = ragged::cuts_of(spec);
        std::vector<std::int64_t> counts(static_cast<std::size_t>(num_ranks), 0);
        counts.back() = cuts.num_units();
        if (num_ranks > 1 && counts.back() > 0)
            --counts.back(), ++counts[static_cast<std::size_t>(num_ranks / 2 - 1)];
        return ragged::RaggedShard::from_counts(cuts, counts);
    } else {
        return {};
    }
}

/// All tensors under placements of these types, applied in this order.
template <class... Ons, class Topology>
auto layout_of(const std::vector<ragged::TensorSpec>& specs, const Topology& topology,
               std::int64_t alignment_elems = 4) {
    using Placements = ragged::Placements<ragged::AlongAxis<Ons::name, typename Ons::placement_type>...>;
    std::vector<ragged::TensorLayout<Topology, Placements>> tensors;
    tensors.reserve(specs.size());
    for (std::size_t t = 0; t < specs.size(); ++t)
        tensors.emplace_back(specs[t], topology,
                             Placements(std::tuple(ragged::AlongAxis<Ons::name, typename Ons::placement_type>{
                                 placement_for<typename Ons::placement_type>(
                                     specs[t], static_cast<std::int64_t>(t),
                                     topology.size(Topology::find(Ons::name.view())))}...)));
    return ragged::GroupLayout(std::move(tensors), topology, alignment_elems);
}

/// Every kind of block, tails, a scalar, no element at all, fewer elements than ranks.
inline std::vector<ragged::TensorSpec> awkward_matrices() {
    return {{"a", {7, 5}, ragged::rows(1)},      {"b", {6, 4, 3}, ragged::elements(2)},
            {"c", {1, 1}, ragged::whole()},      {"d", {0, 3}},
            {"e", {9, 8}, ragged::tile({2, 3})}, {"f", {3, 1}},
            {"g", {5, 6}, ragged::rows(2)},      {"h", {4, 11}, ragged::elements(1)}};
}

/// @tparam T  element type
template <class T, class Topology>
class RedistributionSuite {
    using World = ragged::Mesh<Topology, ragged::LocalCommunicator>;

  public:
    explicit RedistributionSuite(const Topology& topology,
                                 std::vector<ragged::TensorSpec> specs = awkward_matrices())
        : topology_(topology)
        , specs_(std::move(specs)) {}

    /// From the placements of one list to those of each other one.
    template <class From, class... To>
    void add(From from, To... to) {
        const auto source = make(from);
        (add_pair(source, make(to)), ...);
    }

    /// Check all pairs on all ranks. @param background  as in LocalOptions. @throws what went wrong on the
    /// rank where it did first
    void run(bool background = false) const {
        ragged::run_ranks(
            static_cast<int>(topology_.num_ranks()),
            [&](ragged::LocalCommunicator world) {
                World mesh(topology_, world);
                std::vector<ragged::LocalCommunicator*> communicators{&mesh.world()};
                for (std::size_t axis = 0; axis < Topology::num_axes; ++axis)
                    communicators.push_back(&mesh.along(axis));
                for (const Pair& pair : pairs_) {
                    ragged::CountingResource<> memory;
                    {
                        const RedistributionOracle<T> oracle(*pair.from_facts, *pair.to_facts, world.rank(),
                                                             communicators);
                        const Mover<T> there = pair.there(pair.from.get(), pair.to.get(), mesh, memory);
                        std::optional<std::int64_t> cost;
                        if (!pair.cost.empty())
                            cost = pair.cost[static_cast<std::size_t>(world.rank())];
                        oracle.check(there, cost, memory);
                        if (pair.back != nullptr)
                            oracle.check_back(there, pair.back(pair.to.get(), pair.from.get(), mesh, memory));
                    }
                    expect(memory.live_bytes() == 0, "no memory is left");
                }
            },
            {.timeout = std::chrono::seconds(20), .background = background});
    }
    std::size_t num_pairs() const { return pairs_.size(); }

  private:
    template <class Layout>
    struct Made {
        std::shared_ptr<const Layout> layout;
        std::shared_ptr<const LayoutFacts> facts;
    };
    using Make = Mover<T> (*)(const void* from, const void* to, World&, ragged::CountingResource<>&);
    struct Pair {
        std::shared_ptr<const void> from, to;
        std::shared_ptr<const LayoutFacts> from_facts, to_facts;
        std::vector<std::int64_t> cost; // by rank, where there is one
        Make there, back;
    };

    template <class... Ons>
    auto make(List<Ons...>) const {
        const auto layout = std::make_shared<const decltype(layout_of<Ons...>(specs_, topology_))>(
            layout_of<Ons...>(specs_, topology_));
        const auto facts = std::make_shared<const LayoutFacts>(facts_of(*layout));
        check_partition(*facts);
        return Made<std::remove_const_t<typename decltype(layout)::element_type>>{layout, facts};
    }
    template <class From, class To>
    static Mover<T> mover(const void* from, const void* to, World& mesh, ragged::CountingResource<>& memory) {
        return mover_of(ragged::make_redistribution<T>(*static_cast<const From*>(from),
                                                       *static_cast<const To*>(to), mesh, memory));
    }
    template <class From, class To>
    void add_pair(const Made<From>& from, const Made<To>& to) {
        Pair pair{from.layout, to.layout, from.facts, to.facts, {}, &mover<From, To>, nullptr};
        if constexpr (!is_partial<From> && !is_partial<To>) {
            pair.cost = ragged::cost(*from.layout, *to.layout, ragged::dtype_of<T>).received_bytes;
            pair.back = &mover<To, From>;
        }
        pairs_.push_back(std::move(pair));
    }
    template <class Layout>
    static constexpr bool is_partial = [] {
        for (const ragged::PlacementKind& kind : Layout::placements_type::kinds)
            if (kind.kind == ragged::PlacementKind::Kind::partial)
                return true;
        return false;
    }();

    Topology topology_;
    std::vector<ragged::TensorSpec> specs_;
    std::vector<Pair> pairs_;
};

/// From one layout to every placement of values along an axis. @tparam To  To<P> is a list for that placement
template <template <class> class To, class From, class Suite>
void add_values(Suite& suite, From from) {
    suite.add(from, To<ragged::Replicate>{}, To<ragged::Shard<0>>{}, To<ragged::Shard<1>>{},
              To<ragged::RaggedEvenly>{}, To<ragged::RaggedByWeights>{}, To<ragged::RaggedOnRank>{});
}
/// From every placement of values to each.
template <template <class> class From, template <class> class To, class Suite>
void add_all(Suite& suite) {
    add_values<To>(suite, From<ragged::Replicate>{});
    add_values<To>(suite, From<ragged::Shard<0>>{});
    add_values<To>(suite, From<ragged::Shard<1>>{});
    add_values<To>(suite, From<ragged::RaggedEvenly>{});
    add_values<To>(suite, From<ragged::RaggedByWeights>{});
    add_values<To>(suite, From<ragged::RaggedOnRank>{});
}

using Plane = ragged::Topology<ragged::Axis<"r">, ragged::Axis<"s">>;

/// Run what add(suite) adds, in f32 and in bf16. @throws what went wrong, with the element type
template <class Topology, class Add>
void check_elements(const Topology& topology, const Add& add,
                    const std::vector<ragged::TensorSpec>& specs = awkward_matrices()) {
    const auto check = [&]<class T>(T) {
        RedistributionSuite<T, Topology> suite(topology, specs);
        try {
            add(suite);
            suite.run();
        } catch (const std::exception& error) {
            throw std::runtime_error(ragged::concat(ragged::name(ragged::dtype_of<T>), ", ", error.what()));
        }
    };
    check(float{});
    check(ragged::bf16{});
}

/// The same on planes of several sizes.
template <class Add>
void check_on_planes(const Add& add) {
    for (const std::array<int, 2> sizes : {std::array{1, 3}, {2, 1}, {2, 2}, {2, 3}, {3, 2}, {2, 4}})
        try {
            check_elements(Plane(sizes[0], sizes[1]), add);
        } catch (const std::exception& error) {
            throw std::runtime_error(ragged::concat("on ", sizes[0], "x", sizes[1], ", ", error.what()));
        }
}

} // namespace support
