// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The running part of a redistribution: copies of the executor and operations of communicators over three
// arrays, in the order in which a route calls for them.
#pragma once

#include <algorithm> // std::all_of, std::any_of
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional> // std::less
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/comm/communicator.hpp>
#include <ragged/comm/held_memory.hpp>
#include <ragged/core/integer.hpp>
#include <ragged/group/executor.hpp>
#include <ragged/redistribute/counts.hpp>
#include <ragged/redistribute/engine_order.hpp>
#include <ragged/redistribute/program.hpp>
#include <ragged/redistribute/route.hpp>
#include <ragged/redistribute/steps.hpp>

namespace ragged::detail {

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
    static constexpr bool on_stream = detail::on_stream<Communicator, E>;
    static_assert(can_be_ordered<Communicator, E>,
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
    /// @param given  staging memory; none: from the resource
    template <class R>
    void complete(Program& program, std::int64_t ranks, R& resource, Memory given) {
        copies_.push_back(prepare_copy(program.finish(), executor_, resource));
        source_elems = program.source_elems();
        destination_elems = program.destination_elems();
        staging_bytes = staging_bytes_of<T>(program);
        const auto needed = static_cast<std::size_t>(staging_bytes);
        staging_ = given.data() == nullptr ? Memory(resource, needed) : std::move(given);
        if (staging_.bytes() < needed || (needed > 0 && staging_.space() != resource.space()))
            throw BufferError(concat("a redistribution that stages ", needed, " bytes in ",
                                     to_string(resource.space()), " is given ", staging_.bytes(), " in ",
                                     to_string(staging_.space())));
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
        order_behind(line, executor_);
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
        order_behind(world_, executor_);
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

    std::int64_t source_elems = 0, destination_elems = 0, staging_bytes = 0;

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

    T* staged() { return static_cast<T*>(staging_.data()); }
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
    Memory staging_;
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

} // namespace ragged::detail
