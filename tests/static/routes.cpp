// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The collectives between two layouts follow from their types alone: every pair along one axis, and steps
// along several.
#include <ragged/redistribute/route.hpp>

#include <ragged/layout/group_layout.hpp>

namespace {

using namespace ragged;
using Action = RouteStep::Action;

template <class Topology, class Placements>
using Laid = GroupLayout<Topology, Placements>;

// Along one axis.

template <class P>
using One = Laid<Topology<Axis<"s">>, Placements<AlongAxis<"s", P>>>;
template <class From, class To>
constexpr Collective along = collective_of(route<One<From>, One<To>>);

using Sum = Partial<>;
using Avg = Partial<PartialOp::avg>;
using Max = Partial<PartialOp::max>;
using C = Collective;

/// From a placement to Replicate, Shard<0>, Shard<1>, RaggedEvenly, RaggedByWeights, RaggedOnRank.
template <class From>
constexpr bool goes(C replicate, C shard, C columns, C evenly, C weights, C root) {
    return along<From, Replicate> == replicate && along<From, Shard<0>> == shard &&
           along<From, Shard<1>> == columns && along<From, RaggedEvenly> == evenly &&
           along<From, RaggedByWeights> == weights && along<From, RaggedOnRank> == root;
}
static_assert(goes<Replicate>(C::nothing, C::local_slice, C::local_slice, C::local_slice, C::local_slice,
                              C::local_slice));
static_assert(goes<Shard<0>>(C::all_gather, C::nothing, C::all_to_all, C::all_to_all, C::all_to_all,
                             C::gather_to_root));
static_assert(goes<Shard<1>>(C::all_gather, C::all_to_all, C::nothing, C::all_to_all, C::all_to_all,
                             C::gather_to_root));
static_assert(goes<RaggedEvenly>(C::all_gather, C::all_to_all, C::all_to_all, C::nothing, C::all_to_all,
                                 C::gather_to_root));
static_assert(goes<RaggedByWeights>(C::all_gather, C::all_to_all, C::all_to_all, C::all_to_all, C::all_to_all,
                                    C::gather_to_root));
static_assert(goes<RaggedShard>(C::all_gather, C::all_to_all, C::all_to_all, C::all_to_all, C::all_to_all,
                                C::gather_to_root));
static_assert(goes<RaggedOnRank>(C::broadcast, C::scatter_from_root, C::scatter_from_root,
                                 C::scatter_from_root, C::scatter_from_root, C::gather_to_root));
template <class P>
constexpr bool reduces = goes<P>(C::all_reduce, C::reduce_scatter, C::reduce_scatter, C::reduce_scatter,
                                 C::reduce_scatter, C::reduce_scatter) &&
                         along<P, P> == C::nothing;
static_assert(reduces<Sum> && reduces<Avg> && reduces<Max>);
static_assert(along<RaggedByWeights, RaggedShard> == C::all_to_all);

// The steps themselves.

template <class From, class To>
constexpr RouteStep only_step = [] {
    static_assert(route<From, To>.size == 1);
    return route<From, To>.steps[0];
}();
static_assert(only_step<One<Sum>, One<Shard<0>>> == RouteStep{.action = Action::reduce_scatter, .depth = 1});
static_assert(only_step<One<Max>, One<Shard<1>>> ==
              RouteStep{
                  .action = Action::reduce_scatter, .op = PartialOp::max, .contiguous = false, .depth = 1});
static_assert(only_step<One<Shard<1>>, One<Replicate>> ==
              RouteStep{.action = Action::all_gather, .contiguous = false, .of_to = false});
static_assert(route<One<Avg>, One<Replicate>>.averages == 1 && route<One<Sum>, One<Replicate>>.averages == 0);
static_assert(route<One<Avg>, One<Avg>>.averages == 0);
static_assert(route<One<RaggedEvenly>, One<RaggedEvenly>>.alike_to == 1);
static_assert(route<One<Shard<0>>, One<Shard<0>>>.alike_to == 0);

// Along two axes: r is axis 0, s axis 1, whatever the order of application.

using Plane = Topology<Axis<"r">, Axis<"s">>;
template <class R, class S>
using RS = Laid<Plane, Placements<AlongAxis<"r", R>, AlongAxis<"s", S>>>;
template <class S, class R>
using SR = Laid<Plane, Placements<AlongAxis<"s", S>, AlongAxis<"r", R>>>;

template <class From, class To>
constexpr bool steps(std::initializer_list<std::pair<Action, std::size_t>> wanted) {
    constexpr Route found = route<From, To>;
    std::size_t i = 0;
    for (const auto& [action, axis] : wanted) {
        if (i >= found.size || found.steps[i].action != action || found.steps[i].axis != axis)
            return false;
        ++i;
    }
    return i == found.size;
}
// HSDP: scatter within a replica, then sum over replicas.
static_assert(steps<RS<Sum, Sum>, RS<Replicate, RaggedEvenly>>({{Action::reduce_scatter, 1},
                                                                {Action::all_reduce, 0}}));
static_assert(collective_of(route<RS<Sum, Sum>, RS<Replicate, RaggedEvenly>>) ==
              C::reduce_scatter_all_reduce);
static_assert(steps<RS<Replicate, Sum>, RS<Replicate, RaggedEvenly>>({{Action::reduce_scatter, 1}}));
static_assert(steps<RS<Sum, RaggedEvenly>, RS<Replicate, RaggedEvenly>>({{Action::all_reduce, 0}}));
static_assert(steps<RS<Sum, Sum>, RS<Sum, Shard<0>>>({{Action::reduce_scatter, 1}})); // kept
static_assert(steps<RS<Sum, Sum>, RS<Sum, Sum>>({}));
static_assert(route<RS<Avg, Avg>, RS<Replicate, Shard<0>>>.averages == 0b11);
static_assert(route<RS<Avg, Avg>, RS<Avg, Shard<0>>>.averages == 0b10);
// One cut after the other, in the order of application.
static_assert(steps<RS<Replicate, Replicate>, RS<Shard<0>, RaggedEvenly>>({{Action::slice, 0},
                                                                           {Action::slice, 1}}));
static_assert(steps<RS<Replicate, Replicate>, SR<RaggedEvenly, Shard<0>>>({{Action::slice, 1},
                                                                           {Action::slice, 0}}));
static_assert(steps<RS<Sum, Replicate>, SR<Shard<0>, Shard<0>>>({{Action::slice, 1},
                                                                 {Action::reduce_scatter, 0}}));
static_assert(steps<RS<Shard<0>, RaggedEvenly>, RS<Replicate, Replicate>>({{Action::all_gather, 1},
                                                                           {Action::all_gather, 0}}));
static_assert(steps<SR<RaggedEvenly, Shard<0>>, SR<Replicate, Replicate>>({{Action::all_gather, 0},
                                                                           {Action::all_gather, 1}}));
static_assert(steps<RS<Shard<0>, RaggedOnRank>, RS<Replicate, Replicate>>({{Action::broadcast, 1},
                                                                           {Action::all_gather, 0}}));
static_assert(steps<RS<Shard<0>, RaggedEvenly>, RS<Shard<0>, Replicate>>({{Action::all_gather, 1}}));
static_assert(steps<RS<Shard<1>, RaggedEvenly>, RS<Shard<1>, Replicate>>({{Action::all_gather, 1}}));
// What lies between two gathers would have to be packed.
static_assert(steps<RS<Shard<1>, RaggedEvenly>, RS<Replicate, Replicate>>({{Action::exchange, 0}}));
// The first cut goes, the second stays: an exchange.
static_assert(steps<RS<Shard<0>, RaggedEvenly>, RS<Replicate, RaggedEvenly>>({{Action::exchange, 0}}));
static_assert(steps<RS<Shard<0>, Shard<1>>, SR<Shard<1>, Shard<0>>>({{Action::exchange, 0}}));
static_assert(steps<RS<Shard<0>, RaggedEvenly>, RS<Shard<1>, RaggedEvenly>>({{Action::exchange, 0}}));
// Within an axis, below a cut that stays.
static_assert(steps<RS<Shard<0>, RaggedEvenly>, RS<Shard<0>, RaggedOnRank>>({{Action::gather_to_root, 0}}));
static_assert(steps<RS<Shard<0>, RaggedOnRank>, RS<Shard<0>, RaggedEvenly>>({{Action::scatter_from_root,
                                                                              0}}));
// What is cut otherwise is reduced in equal parts, then exchanged.
static_assert(steps<RS<Sum, Shard<0>>, RS<Shard<0>, RaggedEvenly>>({{Action::reduce_scatter, 0},
                                                                    {Action::exchange, 0}}));
static_assert(route<RS<Sum, Shard<0>>, RS<Shard<0>, RaggedEvenly>>.steps[0].even);
static_assert(steps<RS<Sum, Shard<0>>, RS<Replicate, Shard<1>>>({{Action::all_reduce, 0},
                                                                 {Action::exchange, 0}}));
static_assert(collective_of(route<RS<Sum, Shard<0>>, RS<Replicate, Shard<1>>>) == C::several);
static_assert(steps<RS<Sum, Shard<0>>, RS<Replicate, Replicate>>({{Action::all_reduce, 0},
                                                                  {Action::all_gather, 1}}));
static_assert(steps<RS<Sum, Shard<0>>, RS<Shard<0>, Replicate>>({{Action::reduce_scatter, 0},
                                                                 {Action::exchange, 0}}));
// A rule cuts by whole rows where another axis cuts rows behind it, so it cuts otherwise than without.
static_assert(steps<SR<RaggedEvenly, Replicate>, SR<RaggedEvenly, Shard<0>>>({{Action::exchange, 0}}));
static_assert(steps<SR<RaggedEvenly, Sum>, SR<RaggedEvenly, Shard<0>>>({{Action::reduce_scatter, 0},
                                                                        {Action::exchange, 0}}));
static_assert(steps<SR<RaggedEvenly, Shard<1>>, SR<RaggedEvenly, Shard<0>>>({{Action::exchange, 0}}));
static_assert(route<SR<RaggedEvenly, Shard<1>>, SR<RaggedEvenly, Shard<0>>>.alike_to == 1);
static_assert(route<SR<RaggedEvenly, Replicate>, SR<RaggedEvenly, Shard<0>>>.alike_to == 0);

// Along three axes: pipeline of a dense layer, replica x FSDP x TP.
template <class Replica, class Fsdp, class Tensor>
using Layer =
    Laid<Topology<Axis<"replica">, Axis<"fsdp">, Axis<"tp">>,
         Placements<AlongAxis<"tp", Tensor>, AlongAxis<"fsdp", Fsdp>, AlongAxis<"replica", Replica>>>;
static_assert(steps<Layer<Sum, Sum, Shard<1>>, Layer<Replicate, RaggedEvenly, Shard<1>>>(
    {{Action::reduce_scatter, 1}, {Action::all_reduce, 0}}));
static_assert(steps<Layer<Sum, Avg, Sum>, Layer<Replicate, RaggedEvenly, Shard<0>>>(
    {{Action::reduce_scatter, 2}, {Action::reduce_scatter, 1}, {Action::all_reduce, 0}}));
static_assert(steps<Layer<Replicate, RaggedEvenly, Shard<0>>, Layer<Replicate, RaggedOnRank, Shard<0>>>(
    {{Action::gather_to_root, 0}}));
static_assert(steps<Layer<Replicate, RaggedEvenly, Shard<0>>, Layer<Replicate, RaggedOnRank, Replicate>>(
    {{Action::exchange, 0}}));
static_assert(steps<Layer<Replicate, RaggedByWeights, Shard<0>>, Layer<Replicate, Replicate, Shard<0>>>(
    {{Action::all_gather, 1}}));

} // namespace
