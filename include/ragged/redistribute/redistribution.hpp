// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// From any layout to any other: the collectives of a route, run over arrays of the ranks.
//
//     auto move = ragged::make_redistribution<float>(column_sharded, on_roots, mesh, memory);   // once
//     auto moving = move.start(gradients, matrices);                                            // every step
//     moving.wait();
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/comm/agree.hpp>
#include <ragged/comm/held_memory.hpp>
#include <ragged/comm/mesh.hpp>
#include <ragged/group/host_executor.hpp>
#include <ragged/redistribute/counts.hpp>
#include <ragged/redistribute/program.hpp>
#include <ragged/redistribute/redistribution_state.hpp>
#include <ragged/redistribute/route.hpp>
#include <ragged/redistribute/stage.hpp>
#include <ragged/redistribute/steps.hpp>

namespace ragged {

namespace detail {

/// A started redistribution, a completion like those of communicators. Dropped without wait(), it waits, and
/// a failure is lost.
template <class State, class Communicator>
class [[nodiscard]] RedistributionHandle {
  public:
    explicit RedistributionHandle(std::shared_ptr<State> state)
        : state_(std::move(state)) {}
    RedistributionHandle(RedistributionHandle&& other) noexcept
        : state_(std::move(other.state_))
        , holds_memory_(other.holds_memory_) {}
    RedistributionHandle& operator=(RedistributionHandle&&) = delete;
    ~RedistributionHandle() {
        if (state_ != nullptr)
            try {
                wait();
            } catch (...) { // the communicator stays failed and says so in the next call
            }
    }

    /// Block the host until this rank's destination is filled and its source may be used again.
    /// @throws CommError, or BufferError when waited for before
    void wait() {
        end([](State& state) { state.finish(); });
    }
    /// What is enqueued on `stream` from now on sees the filled destination. Does not block the host.
    template <class Stream>
    void wait(const Stream& stream) requires(State::on_stream&& has_stream_wait<Communicator, Stream>) {
        end([&](State& state) { state.finish_on(stream); });
    }
    /// After a failure: whether the engine may yet write to the arrays.
    bool holds_memory() const { return holds_memory_; }

  private:
    template <class End>
    void end(const End& how) {
        if (state_ == nullptr)
            throw BufferError("the handle was waited for before");
        const std::shared_ptr<State> state = std::exchange(state_, nullptr);
        try {
            how(*state);
        } catch (...) {
            holds_memory_ = state->holds();
            if (holds_memory_)
                keep(state);
            throw;
        }
    }

    std::shared_ptr<State> state_;
    bool holds_memory_ = false;
};

} // namespace detail

/// A redistribution between two layouts, made ready: counts, transfer lists and staging memory exist, and
/// start() allocates nothing of its own. A handle to one; use it from the thread of its communicators. These,
/// the memory resource and the executor outlive it; the layouts need not.
/// @tparam TheRoute  chosen from the types of the layouts
/// @tparam Counts    CountsAtRunTime, or FoldedCounts between static layouts
template <element T, Route TheRoute, class Counts, communicator Communicator, group_executor E = HostExecutor>
class Redistribution {
    using Action = RouteStep::Action;
    using State = detail::RedistributionState<T, Communicator, E>;

  public:
    static constexpr Route route = TheRoute;
    /// Whether reductions work in the source array: its values are spent afterwards.
    static constexpr bool spends_source = route.count(Action::reduce_scatter) > 0 ||
                                          route.count(Action::all_reduce) > 0;
    using source_type = std::conditional_t<spends_source, T, const T>;
    using Handle = detail::RedistributionHandle<State, Communicator>;

    static_assert(route.averages == 0 || floating_element<T>,
                  "ragged: an average is of an element type with a fraction");

    /// For make_redistribution.
    template <class R>
    Redistribution(const detail::Stage& from, const detail::Stage& to, Communicator& world,
                   const typename State::Lines& lines, R& resource, const E& executor, Memory staging)
        : state_(std::make_shared<State>(world, lines, executor)) {
        if constexpr (route.alike_to > 0)
            detail::require_alike(from.at_depth(route.alike_from), to.at_depth(route.alike_to));
        detail::Program program(from, to, world.rank(), world.size());
        detail::add_steps<route>(program, from, to,
                                 [&](auto&&... made) { state_->add(std::move(made)..., resource); });
        std::int64_t ranks = 1;
        for (std::size_t axis = 0; axis < detail::max_axes; ++axis)
            if ((route.averages >> axis & 1) != 0)
                ranks *= to.axis_size(axis);
        state_->complete(program, ranks, resource, std::move(staging));
    }

    /// Elements of this rank's arrays.
    std::int64_t source_elems() const { return state_->source_elems; }
    std::int64_t destination_elems() const { return state_->destination_elems; }
    /// Bytes of messages and parts that must be packed.
    std::int64_t staging_bytes() const { return state_->staging_bytes; }
    /// Elements by which the destination lies behind the source where the two may overlap; nothing where they
    /// must be two arrays. What needs no packing is then not copied on this rank.
    std::optional<std::int64_t> in_place_shift() const { return state_->in_place_shift(); }

    /// Move this rank's part. Collective: all ranks of the mesh, in the same order as their other
    /// collectives.
    /// @param source       [source_elems()], in the communicator's space; spent where reductions use it
    /// @param destination  [destination_elems()]; may overlap the source as in_place_shift() says. What lies
    /// between tensors stays as it was
    /// @return a handle; until it was waited for, both arrays belong to it
    /// Sync: enqueues; where the host must pack what an operation leaves, blocks for that operation. On a
    /// device all of it comes after what is on the executor's stream now.
    /// @throws BufferError  running already, no array, or arrays that overlap otherwise; CommError
    Handle start(source_type* source, T* destination) const {
        state_->begin(source, destination);
        try {
            [&]<std::size_t... I>(std::index_sequence<I...>) {
                (start_step<I>(), ...);
            }
            (std::make_index_sequence<route.size>{});
            state_->end();
        } catch (...) {
            state_->fail();
            if (state_->holds())
                detail::keep(state_);
            throw;
        }
        return Handle(state_);
    }

  private:
    template <std::size_t I>
    void start_step() const {
        constexpr RouteStep step = route.steps[I];
        constexpr Reduction reduction = step.op == PartialOp::max ? Reduction::max : Reduction::sum;
        state_->copy_before(I);
        if constexpr (step.action == Action::all_reduce)
            state_->start_all_reduce(I, step.axis, reduction);
        else if constexpr (step.action == Action::reduce_scatter)
            state_->template start_reduce_scatter<I, Counts>(step.axis, reduction);
        else if constexpr (step.action == Action::all_gather)
            state_->template start_all_gather<I, Counts>(step.axis);
        else if constexpr (step.action == Action::broadcast)
            state_->start_broadcast(I, step.axis);
        else if constexpr (detail::is_exchange(step.action))
            state_->start_exchange(I);
    }

    std::shared_ptr<State> state_;
};

namespace detail {

/// Both layouts line by line, for ranks that have different ones.
struct DescribeBoth {
    const Stage& from;
    const Stage& to;

    std::vector<std::string> operator()() const {
        std::vector<std::string> lines = from.describe();
        for (const std::string& line : to.describe())
            lines.push_back(concat("as destination, ", line));
        return lines;
    }
};

template <element T, Route TheRoute, class Counts, class Communicator, class R, class E>
auto ready(const Stage& from, const Stage& to, Communicator& world,
           const std::array<Communicator*, max_axes>& lines, R& resource, const E& executor,
           Memory staging = {}) {
    if (resource.space() != world.space() || executor.space() != world.space())
        throw BufferError(concat("a redistribution stages in ", to_string(resource.space()),
                                 " and copies in ", to_string(executor.space()),
                                 ", its communicator works in ", to_string(world.space())));
    Hash hash;
    from.add_to(hash);
    to.add_to(hash);
    agree_on(world, hash.value(), "layouts", DescribeBoth{from, to});
    return Redistribution<T, TheRoute, Counts, Communicator, E>(from, to, world, lines, resource, executor,
                                                                std::move(staging));
}

} // namespace detail

/// Make ready to redistribute between two layouts of one mesh, by the collectives that their types ask for.
/// Collective and blocking: ranks compare the layouts. A pair that has no route does not compile.
/// @param resource  of the communicator's space, on a device ready for work on the executor's stream; staging
/// memory comes from it
/// @param executor  of that space; on a device best on the communicator's own stream
/// @throws PlanError    the layouts are not of the same tensors, or of another topology than the mesh; a rule
/// without members cuts a tensor in two ways because its blocks differ
/// @throws BufferError  memory or executor of another space; CommError  ranks have different layouts
template <element T, class From, class To, class Topology, class Communicator, memory_resource R,
          group_executor E = HostExecutor>
auto make_redistribution(const From& from, const To& to, Mesh<Topology, Communicator>& mesh, R& resource,
                         const E& executor = detail::host_executor) {
    detail::require_group_layouts<From, To>();
    static_assert(std::is_same_v<Topology, typename From::topology_type>,
                  "ragged: the layouts lie on another kind of topology than the mesh");
    static_assert(
        std::is_same_v<typename From::topology_type, typename To::topology_type>,
        "ragged: both layouts lie on one mesh here; between meshes, redistribute over a communicator");
    const Topology& topology = mesh.place().topology;
    if (from.topology() != topology || to.topology() != topology)
        throw PlanError(concat("layouts on ", from.topology().num_ranks(), " and ", to.topology().num_ranks(),
                               " ranks, a mesh of ", topology.num_ranks(),
                               ": all three must be of one topology; over a communicator they need not"));
    std::array<Communicator*, detail::max_axes> lines{};
    for (std::size_t axis = 0; axis < Topology::num_axes; ++axis)
        lines[axis] = &mesh.along(axis);
    return detail::ready<T, route<From, To>, counts_between<From, To>>(
        detail::Stage(from), detail::Stage(to), mesh.world(), lines, resource, executor);
}

/// The same between layouts of any two topologies, of which the ranks of `world` form both: by one exchange.
/// Ranks beyond a topology hold nothing there.
/// @param staging  memory to pack in, of redistribution_bytes().staging at least; redistributions that never
/// run at the same time may share it. None: taken from the resource
/// @throws PlanError  a topology has more ranks than the world; BufferError  too little staging memory, or of
/// another space; else as above
template <element T, class From, class To, communicator Communicator, memory_resource R,
          group_executor E = HostExecutor>
auto make_redistribution(const From& from, const To& to, Communicator& world, R& resource,
                         const E& executor = detail::host_executor, Memory staging = {}) {
    detail::require_group_layouts<From, To>();
    detail::require_values<From, To>();
    for (const std::int64_t ranks : {from.topology().num_ranks(), to.topology().num_ranks()})
        if (ranks > world.size())
            throw PlanError(concat("a layout on ", ranks, " ranks, the communicator has ", world.size()));
    return detail::ready<T, detail::exchange_only, CountsAtRunTime>(
        detail::Stage(from), detail::Stage(to), world, {}, resource, executor, std::move(staging));
}

/// Make ready and start, for what is moved once. Collective; blocks until the layouts were compared.
/// @param source, destination  as Redistribution::start; parameters and errors as make_redistribution
template <class From, class To, class Source, element T, class MeshOrCommunicator, memory_resource R,
          group_executor E = HostExecutor>
auto redistribute(const From& from, Source* source, const To& to, T* destination, MeshOrCommunicator& ranks,
                  R& resource, const E& executor = detail::host_executor) {
    static_assert(std::is_same_v<std::remove_const_t<Source>, T>,
                  "ragged: source and destination have one element type; cast before or afterwards");
    const auto move = make_redistribution<T>(from, to, ranks, resource, executor);
    static_assert(std::is_convertible_v<Source*, typename decltype(move)::source_type*>,
                  "ragged: this redistribution reduces in its source array, whose values are spent; give it "
                  "one that is not const");
    return move.start(source, destination);
}

} // namespace ragged
