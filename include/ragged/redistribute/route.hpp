// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Which collectives turn one placement into another: chosen from the types alone, so by the compiler.
//
//     static_assert(ragged::collective_of(ragged::route<From, To>) == ragged::Collective::reduce_scatter);
//
// Reductions come first, so that everything later moves only what they leave: a cut that follows what is cut
// already is taken by a reduce-scatter or a local slice, the rest is reduced where it lies. Values then go by
// all-gathers when `to` only lacks the last cuts of `from`, else by one exchange that sends each rank what it
// has not.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <ragged/layout/local_spec.hpp>
#include <ragged/layout/placement.hpp>

namespace ragged {

/// One step of a route, on all tensors at once.
struct RouteStep {
    enum class Action : std::uint8_t {
        none,
        slice,          // local: keep this rank's part
        reduce_scatter, // along `axis`: keep this rank's part of the sum
        all_reduce,     // along `axis`
        all_gather,     // along `axis`: undo the last cut
        broadcast,      // along `axis`: undo the last cut, which left all on one rank
        exchange,       // over all ranks: messages by a transfer list
        gather_to_root, // an exchange within an axis, to the one rank that gets all
        scatter_from_root
    };

    Action action = Action::none;
    std::size_t axis = 0;          // of the topology
    PartialOp op = PartialOp::sum; // of reductions
    bool contiguous = true;        // parts lie one after another in rank order; else they are packed
    bool even = false;             // a reduce-scatter in equal parts, because `to` does not cut further
    bool of_to = true;     // after the step ranks hold what the first `depth` placements of `to` leave,
    std::size_t depth = 0; // or of `from`

    constexpr bool operator==(const RouteStep&) const = default;
};

/// The steps between two placements.
struct Route {
    static constexpr std::size_t max_steps = 12;

    std::array<RouteStep, max_steps> steps{};
    std::size_t size = 0;
    std::size_t averages = 0; // bit a: divide by the ranks of axis a at the end
    // Depths that hold the same by their types, if blocks do not differ; 0 where no ragged cut is among them.
    std::size_t alike_from = 0, alike_to = 0;

    constexpr bool operator==(const Route&) const = default;
    constexpr void push(const RouteStep& step) { steps[size++] = step; }
    constexpr std::size_t count(RouteStep::Action action) const {
        std::size_t result = 0;
        for (std::size_t i = 0; i < size; ++i)
            result += steps[i].action == action ? 1 : 0;
        return result;
    }
};

namespace detail {

/// A placement that cuts, and where it stands.
struct Cut {
    std::size_t axis = 0;
    PlacementKind kind;
    std::size_t position = 0; // in the order of application

    constexpr bool contiguous() const { return kind.is_ragged() || kind.dim == 0; }
};

inline constexpr std::size_t max_axes = 8;

/// Placements by axis, and those that cut in order.
struct PlacementList {
    std::array<PlacementKind, max_axes> by_axis{};
    std::array<Cut, max_axes> cuts{};
    std::size_t num_cuts = 0;
    std::size_t num_axes = 0;
    int kept_from = 0; // dimension that runs of the ragged axis keep whole, for the other axes' sake
};

template <class Topology, class Placements>
constexpr PlacementList list_placements() {
    static_assert(Topology::num_axes <= max_axes, "ragged: redistribution takes up to 8 axes");
    PlacementList list;
    list.num_axes = Topology::num_axes;
    list.kept_from = kept_from<Placements>;
    for (std::size_t i = 0; i < Placements::size; ++i) {
        const std::size_t axis = Topology::find(Placements::axes[i]);
        list.by_axis[axis] = Placements::kinds[i];
        if (Placements::kinds[i].cuts())
            list.cuts[list.num_cuts++] = {axis, Placements::kinds[i], i};
    }
    return list;
}

constexpr bool is_partial(const PlacementKind& kind) {
    return kind.kind == PlacementKind::Kind::partial;
}

/// Whether some axis would become partial.
constexpr bool becomes_partial(const PlacementList& from, const PlacementList& to) {
    for (std::size_t axis = 0; axis < to.num_axes; ++axis)
        if (is_partial(to.by_axis[axis]) && from.by_axis[axis] != to.by_axis[axis])
            return true;
    return false;
}
/// Whether some axes hold maxima and others sums: then the result depends on which is taken first.
constexpr bool mixes_operations(const PlacementList& from) {
    bool max = false, sum = false;
    for (std::size_t axis = 0; axis < from.num_axes; ++axis)
        if (is_partial(from.by_axis[axis]))
            (from.by_axis[axis].op == PartialOp::max ? max : sum) = true;
    return max && sum;
}

/// @pre neither of the above
constexpr Route make_route(const PlacementList& from, const PlacementList& to) {
    using Action = RouteStep::Action;
    Route route;
    std::array<bool, max_axes> pending{}; // partial, to be reduced
    for (std::size_t axis = 0; axis < from.num_axes; ++axis) {
        pending[axis] = is_partial(from.by_axis[axis]) && !is_partial(to.by_axis[axis]);
        if (pending[axis] && from.by_axis[axis].op == PartialOp::avg)
            route.averages |= std::size_t{1} << axis;
    }
    std::size_t same = 0; // leading cuts that are surely alike
    while (same < from.num_cuts && same < to.num_cuts && from.cuts[same].axis == to.cuts[same].axis &&
           from.cuts[same].kind == to.cuts[same].kind && to.cuts[same].kind.fixed &&
           (!to.cuts[same].kind.is_ragged() || from.kept_from == to.kept_from)) {
        if (to.cuts[same].kind.is_ragged()) {
            route.alike_from = from.cuts[same].position + 1;
            route.alike_to = to.cuts[same].position + 1;
        }
        ++same;
    }
    const bool extends = same == from.num_cuts;
    if (extends) // `to` cuts further what `from` cut: nothing else moves
        for (std::size_t i = same; i < to.num_cuts; ++i) {
            const Cut& cut = to.cuts[i];
            const bool reduces = pending[cut.axis];
            route.push({reduces ? Action::reduce_scatter : Action::slice, cut.axis, from.by_axis[cut.axis].op,
                        cut.contiguous(), false, true, cut.position + 1});
            pending[cut.axis] = false;
        }
    bool split = false;
    for (std::size_t axis = 0; axis < from.num_axes && !extends; ++axis)
        if (pending[axis] && to.by_axis[axis].cuts()) {
            route.push({Action::reduce_scatter, axis, from.by_axis[axis].op, true, true, false, max_axes});
            pending[axis] = false;
            split = true;
        }
    for (std::size_t axis = 0; axis < from.num_axes; ++axis)
        if (pending[axis]) {
            RouteStep step{Action::all_reduce, axis, from.by_axis[axis].op, true, false, extends, max_axes};
            route.push(step);
        }
    if (extends)
        return route;

    bool gathers = same == to.num_cuts && !split;
    if (from.num_cuts - same > 1) // what lies between two gathers would be packed
        for (std::size_t i = same; i < from.num_cuts; ++i)
            gathers = gathers && from.cuts[i].contiguous();
    for (std::size_t i = from.num_cuts; gathers && i-- > same;) {
        const Cut& cut = from.cuts[i];
        route.push({cut.kind.kind == PlacementKind::Kind::root ? Action::broadcast : Action::all_gather,
                    cut.axis, PartialOp::sum, cut.contiguous(), false, false, cut.position});
    }
    if (gathers)
        return route;
    RouteStep last{Action::exchange, 0, PartialOp::sum, true, false, true, max_axes};
    if (!split && from.num_cuts == same + 1 && to.num_cuts == same + 1 &&
        from.cuts[same].axis == to.cuts[same].axis) {
        if (to.cuts[same].kind.kind == PlacementKind::Kind::root)
            last.action = Action::gather_to_root;
        else if (from.cuts[same].kind.kind == PlacementKind::Kind::root)
            last.action = Action::scatter_from_root;
    }
    route.push(last);
    return route;
}

} // namespace detail

/// The route between two layouts over one mesh. A pair that has none does not compile.
template <class From, class To>
inline constexpr Route route = [] {
    static_assert(
        std::is_same_v<typename From::topology_type, typename To::topology_type>,
        "ragged: both layouts lie on one mesh here; between meshes, redistribute over a communicator");
    constexpr auto from =
        detail::list_placements<typename From::topology_type, typename From::placements_type>();
    constexpr auto to = detail::list_placements<typename To::topology_type, typename To::placements_type>();
    static_assert(
        !detail::becomes_partial(from, to),
        "ragged: nothing is redistributed to Partial but what is Partial of the same operation already; "
        "reduce to Replicate, Shard or a ragged placement, and let backward make new contributions");
    static_assert(
        !detail::mixes_operations(from),
        "ragged: one axis holds maxima and another sums, and the order in which they are taken matters; "
        "make both one operation, or reduce one of them over a mesh without the other axis");
    return detail::make_route(from, to);
}();

/// The name of a route, for people and tests.
enum class Collective : std::uint8_t {
    nothing,
    local_slice,
    all_gather,
    broadcast,
    reduce_scatter,
    all_reduce,
    reduce_scatter_all_reduce,
    gather_to_root,
    scatter_from_root,
    all_to_all,
    several
};

constexpr Collective collective_of(const Route& route) {
    using What = RouteStep::Action;
    const auto only = [&](What action) { return route.size > 0 && route.count(action) == route.size; };
    if (route.size == 0)
        return Collective::nothing;
    if (only(What::slice))
        return Collective::local_slice;
    if (only(What::all_gather))
        return Collective::all_gather;
    if (only(What::broadcast))
        return Collective::broadcast;
    if (only(What::reduce_scatter))
        return Collective::reduce_scatter;
    if (only(What::all_reduce))
        return Collective::all_reduce;
    if (only(What::exchange))
        return Collective::all_to_all;
    if (only(What::gather_to_root))
        return Collective::gather_to_root;
    if (only(What::scatter_from_root))
        return Collective::scatter_from_root;
    if (route.count(What::reduce_scatter) + route.count(What::all_reduce) == route.size)
        return Collective::reduce_scatter_all_reduce;
    return Collective::several;
}

} // namespace ragged
