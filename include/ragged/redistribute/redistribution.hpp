// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// From any layout to any other: the collectives of a route, run over arrays of the ranks.
//
//     auto move = ragged::make_redistribution<float>(column_sharded, on_roots, mesh, memory);   // once
//     auto moving = move.start(gradients, matrices);                                            // every step
//     moving.wait();
#pragma once

#include <algorithm> // std::any_of
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional> // std::less
#include <memory>
#include <optional>
#include <span>
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
#include <ragged/redistribute/route.hpp>

namespace ragged {

namespace detail {

/// A copy between two areas, ready to run.
template <class E>
struct PreparedCopy {
    Area from, to;
    typename E::run_table_type table;
    std::optional<std::int64_t> shift; // run.from - run.to, where all runs have the same
};

template <class E, class R>
std::optional<PreparedCopy<E>> prepare_copy(const ProgramCopy& copy, const E& executor, R& resource) {
    if (copy.runs.empty())
        return std::nullopt;
    const std::int64_t first = copy.runs.front().from - copy.runs.front().to;
    const bool alike = std::all_of(copy.runs.begin(), copy.runs.end(),
                                   [&](const CopyRun& run) { return run.from - run.to == first; });
    return PreparedCopy<E>{copy.from, copy.to, executor.run_table(copy.runs, resource),
                           alike ? std::optional(first) : std::nullopt};
}

/// What a redistribution keeps: its program made ready, and the operations in flight. A route says in which
/// order the members are called. Shared by the handles.
template <class T, class Communicator, class E>
class RedistributionState {
    using Completion = typename Communicator::Completion;

  public:
    /// Whether the copies and the operations are ordered by streams; else the host waits for one before it
    /// starts the other.
    static constexpr bool on_stream = [] {
        if constexpr (requires(const E& executor) { executor.stream(); })
            return has_stream_wait<Communicator,
                                   std::remove_cvref_t<decltype(std::declval<const E&>().stream())>>;
        else
            return false;
    }();
    static_assert(
        on_stream || !requires(const E& executor) { executor.stream(); },
        "ragged: the executor works on a stream, so this redistribution needs a communicator whose "
        "operations a stream can wait for");
    using Lines = std::array<Communicator*, max_axes>; // along each axis

    RedistributionState(Communicator& world, const Lines& lines, const E& executor)
        : world_(world)
        , lines_(lines)
        , executor_(executor) {}

    template <class R>
    void add(ProgramStep step, R& resource) {
        copies_.push_back(prepare_copy(step.copy, executor_, resource));
        step.copy.runs = {};
        num_calls_ += step.calls.size();
        steps_.push_back(std::move(step));
    }
    template <class R>
    void add(ProgramStep step, Exchange exchange, R& resource) {
        pack_ = prepare_copy({step.area, Area::staging, std::move(exchange.pack)}, executor_, resource);
        exchange_ = std::move(exchange);
        exchanges_ = true;
        sends_.reserve(exchange_.sends.size());
        receives_.reserve(exchange_.receives.size());
        add(std::move(step), resource);
    }
    /// @param ranks  to divide by at the end
    template <class R>
    void complete(Program& program, std::int64_t ranks, R& resource) {
        copies_.push_back(prepare_copy(program.finish(), executor_, resource));
        source_elems = program.source_elems();
        destination_elems = program.destination_elems();
        staging = Memory(resource, static_cast<std::size_t>(program.staging_elems()) * sizeof(T));
        completions_.reserve(num_calls_ + 1);
        if (ranks > 1)
            averaged_ = program.values();
        factor_ = 1.0 / static_cast<double>(ranks);
    }

    void begin(const T* source, T* destination) {
        if (running_)
            throw BufferError(
                "the redistribution is running: wait for its handle before it is started again");
        check_arrays(source, destination);
        source_ = source;
        destination_ = destination;
        running_ = true;
    }

    void copy_before(std::size_t step) { copy(copies_[step]); }

    /// Call start(line, base, call) for the calls of a step along `axis`.
    template <class Start>
    void start_calls(std::size_t index, std::size_t axis, const Start& start) {
        Communicator& line = *lines_[axis];
        const ProgramStep& step = steps_[index];
        T* const base = area(step.area);
        const auto all = [&] {
            for (const ProgramCall& call : step.calls)
                follow(start(line, base + call.offset, call));
        };
        order_after_copies(line);
        if constexpr (has_grouping<Communicator>)
            line.group(all);
        else
            all();
    }
    void start_all_reduce(std::size_t index, std::size_t axis, Reduction reduction) {
        static_assert(has_all_reduce<Communicator, T>,
                      "ragged: this redistribution needs a communicator with all_reduce");
        start_calls(index, axis, [=](auto& line, T* base, const ProgramCall& call) {
            return line.all_reduce(base, call.counts.front(), reduction);
        });
    }
    template <std::size_t I, class Counts>
    void start_reduce_scatter(std::size_t axis, Reduction reduction) {
        static_assert(has_reduce_scatter<Communicator, T>,
                      "ragged: this redistribution needs a communicator with reduce_scatter");
        static_assert(only_equal<I, Counts> || has_reduce_scatter_v<Communicator, T>,
                      "ragged: parts may differ in size: this redistribution needs a communicator with "
                      "reduce_scatter_v");
        start_calls(I, axis, [=, this](auto& line, T* base, const ProgramCall& call) {
            if constexpr (only_equal<I, Counts>)
                return line.reduce_scatter(base, Counts::template of<I>(0).front(), reduction);
            else if constexpr (Counts::folded)
                return line.reduce_scatter_v(base, Counts::template of<I>(world_.rank()), reduction);
            else
                return call.equal() ? line.reduce_scatter(base, call.counts.front(), reduction)
                                    : line.reduce_scatter_v(base, call.counts, reduction);
        });
    }
    template <std::size_t I, class Counts>
    void start_all_gather(std::size_t axis) {
        static_assert(has_all_gather<Communicator, T>,
                      "ragged: this redistribution needs a communicator with all_gather");
        static_assert(
            only_equal<I, Counts> || has_all_gather_v<Communicator, T>,
            "ragged: parts may differ in size: this redistribution needs a communicator with all_gather_v");
        start_calls(I, axis, [this](auto& line, T* base, const ProgramCall& call) {
            if constexpr (only_equal<I, Counts>)
                return line.all_gather(base, Counts::template of<I>(0).front());
            else if constexpr (Counts::folded)
                return line.all_gather_v(base, Counts::template of<I>(world_.rank()));
            else
                return call.equal() ? line.all_gather(base, call.counts.front())
                                    : line.all_gather_v(base, call.counts);
        });
    }
    void start_broadcast(std::size_t index, std::size_t axis) {
        static_assert(has_broadcast<Communicator, T>,
                      "ragged: this redistribution needs a communicator with broadcast");
        start_calls(index, axis, [](auto& line, T* base, const ProgramCall& call) {
            return line.broadcast(base, call.counts[static_cast<std::size_t>(call.root())], call.root());
        });
    }
    void start_exchange(std::size_t index) {
        static_assert(has_send_receive<Communicator, T>,
                      "ragged: this redistribution needs a communicator with send_receive");
        copy(pack_);
        sends_.clear();
        receives_.clear();
        const T* const from = area(steps_[index].area);
        for (const Exchange::Part& part : exchange_.sends)
            sends_.push_back({(part.packed ? staged() : from) + part.offset, part.elements, part.peer});
        for (const Exchange::Part& part : exchange_.receives)
            receives_.push_back(
                {(part.packed ? staged() : destination_) + part.offset, part.elements, part.peer});
        order_after_copies(world_);
        follow(world_.send_receive(std::span<const Message<const T>>(sends_),
                                   std::span<const Message<T>>(receives_)));
    }
    /// All is enqueued.
    void end() {
        if constexpr (on_stream)
            finish_copies();
    }
    /// Not all could be enqueued: what was, ends.
    void fail() noexcept {
        try {
            finish(false);
        } catch (...) { // after the failure that is on its way
        }
    }

    /// Block the host until all is done. After a failure, until no copy runs any more.
    void finish(bool complete = true) {
        running_ = false;
        if constexpr (on_stream) {
            std::exception_ptr failure;
            try {
                wait_for_operations();
            } catch (...) {
                failure = std::current_exception();
            }
            executor_.stream().synchronise();
            if (failure)
                std::rethrow_exception(failure);
        } else {
            wait_for_operations();
            if (complete)
                finish_copies();
        }
    }
    /// From now on `stream`, and the executor's, are behind all of it: the staging memory may be used again
    /// there, or given back.
    template <class Stream>
    void finish_on(const Stream& stream) {
        running_ = false;
        settle();
        completions_.clear();
        const std::remove_cvref_t<decltype(executor_.stream())>& other = stream; // which may only convert
        if (!(other == executor_.stream()))
            other.wait_for(executor_.stream());
    }

    /// After a failure: whether an engine may yet write to the arrays or the staging memory.
    bool holds() const { return held_ || holds_memory(world_); }

    /// Of the copies between source and destination; nothing where they cannot be left out.
    std::optional<std::int64_t> in_place_shift() const {
        if (exchanges_)
            return std::nullopt;
        for (const auto& copy : copies_)
            if (copy && copy->from == Area::source && copy->to == Area::destination)
                return copy->shift;
        return 0;
    }

    std::int64_t source_elems = 0, destination_elems = 0;
    Memory staging;

  private:
    /// Whether the compiler knows that all parts of step `I` have one size.
    template <std::size_t I, class Counts>
    static constexpr bool only_equal = [] {
        if constexpr (Counts::folded)
            return Counts::template equal<I>;
        else
            return false;
    }();

    /// Work of the executor between operations: on a stream it is ordered, on the host they end first.
    void copy(const std::optional<PreparedCopy<E>>& prepared) {
        if (!prepared)
            return;
        const T* const from = area(prepared->from);
        T* const to = area(prepared->to);
        if (prepared->shift && from + *prepared->shift == to)
            return; // it is there
        settle();
        executor_.copy_runs(prepared->table, to, from);
    }
    void settle() {
        if constexpr (on_stream) {
            if (!completions_.empty() && !(world_.stream() == executor_.stream()))
                completions_.back().wait(executor_.stream());
        } else {
            wait_for_operations();
        }
    }
    /// Keep the completion of what was started. On a stream the last one is that of all before it.
    void follow(Completion started) {
        if constexpr (on_stream)
            completions_.clear();
        completions_.push_back(std::move(started));
    }
    void order_after_copies(Communicator& communicator) {
        if constexpr (on_stream)
            if (!(communicator.stream() == executor_.stream()))
                communicator.stream().wait_for(executor_.stream());
    }
    void finish_copies() {
        copy(copies_.back());
        if constexpr (floating_element<T>) {
            if (!averaged_.empty())
                settle();
            for (const CopyRun& run : averaged_) {
                T* const first = destination_ + run.to;
                executor_.map(op::Cast<T>{factor_}, Values<T>{first, run.elements},
                              static_cast<const T*>(first));
            }
        }
    }
    void wait_for_operations() {
        std::exception_ptr failure; // every operation ends before its memory is used
        for (Completion& operation : completions_)
            try {
                operation.wait();
            } catch (...) {
                failure = failure ? failure : std::current_exception();
            }
        if (failure)
            held_ = std::any_of(completions_.begin(), completions_.end(), detail::holds_memory<Completion>);
        completions_.clear();
        if (failure)
            std::rethrow_exception(failure);
    }

    T* staged() { return static_cast<T*>(staging.data()); }
    T* area(Area which) {
        switch (which) {
        case Area::source:
            return const_cast<T*>(
                source_); // written by reductions only, which ask for an array they may write
        case Area::destination:
            return destination_;
        default:
            return staged();
        }
    }

    void check_arrays(const T* source, const T* destination) const {
        if ((source == nullptr && source_elems > 0) || (destination == nullptr && destination_elems > 0))
            throw BufferError(concat("a redistribution of ", source_elems, " elements into ",
                                     destination_elems, " is given no array for them"));
        const std::less<const T*> before;
        if (source_elems == 0 || destination_elems == 0 || !before(source, destination + destination_elems) ||
            !before(destination, source + source_elems))
            return;
        const std::optional<std::int64_t> shift = in_place_shift();
        if (!shift)
            throw BufferError("source and destination overlap; this redistribution needs two arrays");
        if (source + *shift != destination)
            throw BufferError(concat("source and destination overlap, the destination starting ",
                                     destination - source, " elements behind the source; in place it starts ",
                                     *shift, " behind it"));
    }

    Communicator& world_;
    Lines lines_;
    std::conditional_t<std::is_empty_v<E>, E, const E&> executor_;
    std::vector<ProgramStep> steps_;
    std::vector<std::optional<PreparedCopy<E>>> copies_; // before each step, and after the last
    std::size_t num_calls_ = 0;
    bool exchanges_ = false;
    Exchange exchange_;
    std::optional<PreparedCopy<E>> pack_;
    std::vector<Message<const T>> sends_;
    std::vector<Message<T>> receives_;
    std::vector<CopyRun> averaged_; // of the destination
    double factor_ = 1.0;
    std::vector<Completion> completions_;
    const T* source_ = nullptr;
    T* destination_ = nullptr;
    bool running_ = false;
    bool held_ = false;
};

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

/// Where no mesh joins two layouts: one exchange.
inline constexpr Route exchange_only = [] {
    Route route;
    route.push({RouteStep::Action::exchange, 0, PartialOp::sum, true, false, true, max_axes});
    return route;
}();

inline constexpr HostExecutor host_executor{};

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
                   const typename State::Lines& lines, R& resource, const E& executor)
        : state_(std::make_shared<State>(world, lines, executor)) {
        if constexpr (route.alike_to > 0)
            detail::require_alike(from.at_depth(route.alike_from), to.at_depth(route.alike_to));
        detail::Program program(from, to, world.rank(), world.size());
        [&]<std::size_t... I>(std::index_sequence<I...>) {
            (add_step<I>(program, from, to, resource), ...);
        }
        (std::make_index_sequence<route.size>{});
        std::int64_t ranks = 1;
        for (std::size_t axis = 0; axis < detail::max_axes; ++axis)
            if ((route.averages >> axis & 1) != 0)
                ranks *= to.axis_size(axis);
        state_->complete(program, ranks, resource);
    }

    /// Elements of this rank's arrays.
    std::int64_t source_elems() const { return state_->source_elems; }
    std::int64_t destination_elems() const { return state_->destination_elems; }
    /// Bytes taken from the resource for messages and parts that must be packed.
    std::int64_t staging_bytes() const { return static_cast<std::int64_t>(state_->staging.bytes()); }
    /// Elements by which the destination lies behind the source where it may overlap it, and then the rank
    /// copies nothing of its own; nothing where the arrays must be two.
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
    static constexpr bool is_exchange(Action action) {
        return action == Action::exchange || action == Action::gather_to_root ||
               action == Action::scatter_from_root;
    }

    /// Whether what step `I` leaves is only gathered, in place.
    template <std::size_t I>
    static constexpr bool gathers_follow = [] {
        std::size_t next = I;
        while (next < route.size && route.steps[next].action == Action::all_reduce)
            ++next;
        return next < route.size && route.steps[next].contiguous &&
               (route.steps[next].action == Action::all_gather ||
                route.steps[next].action == Action::broadcast);
    }();

    template <std::size_t I, class R>
    void add_step(detail::Program& program, const detail::Stage& from, const detail::Stage& to, R& resource) {
        constexpr RouteStep step = route.steps[I];
        if constexpr (step.action == Action::slice)
            state_->add(program.slice(to.at_depth(step.depth), step.contiguous, I + 1 == route.size),
                        resource);
        else if constexpr (step.action == Action::reduce_scatter && step.even)
            state_->add(program.split_reduce_scatter(step.axis), resource);
        else if constexpr (step.action == Action::reduce_scatter)
            state_->add(program.reduce_scatter(to.at_depth(step.depth), true, step.axis, step.contiguous),
                        resource);
        else if constexpr (step.action == Action::all_reduce)
            state_->add(program.all_reduce(gathers_follow<I>), resource);
        else if constexpr (is_exchange(step.action)) {
            detail::Exchange exchange;
            detail::ProgramStep made = program.exchange(exchange);
            state_->add(std::move(made), std::move(exchange), resource);
        } else
            state_->add(program.all_gather(from.at_depth(step.depth), step.axis, step.contiguous), resource);
    }

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
        else if constexpr (is_exchange(step.action))
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
           const std::array<Communicator*, max_axes>& lines, R& resource, const E& executor) {
    if (resource.space() != world.space() || executor.space() != world.space())
        throw BufferError(concat("a redistribution stages in ", to_string(resource.space()),
                                 " and copies in ", to_string(executor.space()),
                                 ", its communicator works in ", to_string(world.space())));
    Hash hash;
    from.add_to(hash);
    to.add_to(hash);
    agree_on(world, hash.value(), "layouts", DescribeBoth{from, to});
    return Redistribution<T, TheRoute, Counts, Communicator, E>(from, to, world, lines, resource, executor);
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
template <element T, group_layout From, group_layout To, class Topology, class Communicator,
          memory_resource R, group_executor E = HostExecutor>
auto make_redistribution(const From& from, const To& to, Mesh<Topology, Communicator>& mesh, R& resource,
                         const E& executor = detail::host_executor) {
    static_assert(std::is_same_v<Topology, typename From::topology_type>,
                  "ragged: the layouts lie on another kind of topology than the mesh");
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
/// @throws PlanError  a topology has more ranks than the world; else as above
template <element T, group_layout From, group_layout To, communicator Communicator, memory_resource R,
          group_executor E = HostExecutor>
auto make_redistribution(const From& from, const To& to, Communicator& world, R& resource,
                         const E& executor = detail::host_executor) {
    detail::require_values<From, To>();
    for (const std::int64_t ranks : {from.topology().num_ranks(), to.topology().num_ranks()})
        if (ranks > world.size())
            throw PlanError(concat("a layout on ", ranks, " ranks, the communicator has ", world.size()));
    return detail::ready<T, detail::exchange_only, CountsAtRunTime>(detail::Stage(from), detail::Stage(to),
                                                                    world, {}, resource, executor);
}

/// Make ready and start, for what is moved once. Collective; blocks until the layouts were compared.
/// @param source, destination  as Redistribution::start; parameters and errors as make_redistribution
template <group_layout From, group_layout To, class Source, element T, class MeshOrCommunicator,
          memory_resource R, group_executor E = HostExecutor>
auto redistribute(const From& from, Source* source, const To& to, T* destination, MeshOrCommunicator& ranks,
                  R& resource, const E& executor = detail::host_executor) {
    static_assert(std::is_same_v<std::remove_const_t<Source>, T>,
                  "ragged: source and destination have one element type; cast before or afterwards");
    return make_redistribution<T>(from, to, ranks, resource, executor).start(source, destination);
}

} // namespace ragged
