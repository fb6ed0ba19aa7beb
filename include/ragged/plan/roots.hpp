// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Which rank of an axis owns each matrix, for work that one device does on a whole matrix: Muon's
// Newton-Schulz iteration. A matrix travels to its owner and back, so the owners share the work evenly, and
// among even shares a matrix goes where much of it lies already.
//
//     ragged::Roots roots = ragged::choose_roots(ragged::root_tasks(plan), plan.num_devices);
//     roots.owners[i], roots.imbalance();   // of the plan's i-th matrix; 1.0 is even
#pragma once

#include <algorithm>
#include <charconv> // std::to_chars
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/plan/model_plan.hpp>

namespace ragged {

/// Elements that one rank holds before the work.
struct HeldElems {
    std::int64_t rank = 0;
    std::int64_t elems = 0;

    constexpr bool operator==(const HeldElems&) const = default;
};

/// The non-empty runs of a layout.
constexpr std::vector<HeldElems> held_elems(const RaggedShard& shard) {
    std::vector<HeldElems> held;
    for (std::int64_t rank = 0; rank < shard.num_ranks(); ++rank)
        if (shard.size(rank) > 0)
            held.push_back({rank, shard.size(rank)});
    return held;
}

/// What one owner does as a whole: a matrix, or a stack of matrices.
struct RootTask {
    std::string name; // for errors
    Shape shape;
    DType dtype = DType::bf16;
    std::optional<std::int64_t> bytes{}; // needed on the owner; none: of the elements
    std::vector<HeldElems> held{};       // by rank, ascending; ranks that are not listed hold nothing
};

struct RootOptions {
    std::int64_t max_bytes_per_rank = 0; // of all tasks that a rank owns; 0: no limit

    constexpr bool operator==(const RootOptions&) const = default;
};

/// A function object from a task's shape to its cost, in any unit: operations, or nanoseconds as measured.
/// Integers, so that every machine chooses the same owners.
template <class Cost>
concept root_cost = requires(const Cost& cost, const Shape& shape) {
    { cost(shape) } -> std::integral;
};

/// Operations of Muon's iteration X <- aX + (bA + cA^2) X with A = X X^T. For m <= n, rows m of length n, a
/// step takes 2m^2 n for A, 2m^3 for A^2 and 2m^2 n for the product with X. A shape of more than two extents
/// is a stack of matrices of the last two.
/// Source: K. Jordan et al., Muon, 2024: the quintic Newton-Schulz iteration
struct NewtonSchulzFlops {
    std::int64_t steps = 5;

    /// @throws PlanError  a shape with fewer than two extents, negative steps, overflow
    constexpr std::int64_t operator()(const Shape& shape) const {
        if (shape.rank() < 2)
            throw PlanError(concat("shape ", to_string(shape), " is no matrix"));
        if (steps < 0)
            throw PlanError(concat(steps, " Newton-Schulz steps are negative"));
        if (shape.elements() == 0)
            return 0;
        const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
        const std::int64_t m = std::min(rows, columns), n = std::max(rows, columns);
        constexpr std::string_view what = "Newton-Schulz operations";
        const std::int64_t length = checked_add(checked_mul(2, n, what), m, what);
        const std::int64_t step = checked_mul(checked_mul(2 * m, m, what), length, what);
        return checked_mul(checked_mul(step, steps, what), shape.elements() / (rows * columns), what);
    }
    constexpr bool operator==(const NewtonSchulzFlops&) const = default;
};

static_assert(root_cost<NewtonSchulzFlops>);

/// The owner of each task, and what that gives each rank to do.
struct Roots {
    std::vector<std::int64_t> owners;  // [tasks], ranks
    std::vector<std::int64_t> loads;   // [ranks], cost of the tasks that the rank owns
    std::vector<std::int64_t> bytes;   // [ranks], of these tasks
    std::int64_t travelling_elems = 0; // that do not lie on the owner of their task; one way
    std::int64_t lower_bound = 0;      // no owners give a smaller largest load

    constexpr std::int64_t largest_load() const {
        return loads.empty() ? 0 : *std::max_element(loads.begin(), loads.end());
    }
    constexpr bool proven_optimal() const { return largest_load() == lower_bound; }
    /// Largest load / mean load; 1.0 when there is nothing to do.
    constexpr double imbalance() const {
        std::int64_t sum = 0;
        for (const std::int64_t load : loads)
            sum += load;
        return sum == 0 ? 1.0
                        : static_cast<double>(largest_load()) * static_cast<double>(loads.size()) /
                              static_cast<double>(sum);
    }
    constexpr bool operator==(const Roots&) const = default;
};

/// The result in one sentence.
inline std::string to_string(const Roots& roots) {
    char text[64];
    const char* end =
        std::to_chars(text, text + sizeof text, roots.imbalance(), std::chars_format::fixed, 3).ptr;
    return concat("the largest load of ", roots.loads.size(), " ranks with ", roots.owners.size(),
                  " tasks is ", roots.largest_load(), ", ",
                  std::string_view(text, static_cast<std::size_t>(end - text)), " of the mean, ",
                  roots.proven_optimal() ? "and no owners give a smaller one"
                                         : concat("where no owners give less than ", roots.lower_bound),
                  "; ", roots.travelling_elems, " elements travel");
}

namespace detail {

/// Loads are listed per rank.
inline constexpr std::int64_t max_root_ranks = 1 << 20;

/// Tasks by number, costliest first, and an owner for each that changes for the better.
class RootSearch {
  public:
    struct Task {
        const RootTask* given = nullptr;
        std::size_t index = 0; // in the caller's list
        std::int64_t cost = 0;
        std::int64_t bytes = 0;
        std::size_t owner = 0;
        std::int64_t held = 0; // elements on the owner
    };

    /// @pre sums of cost, of bytes and of elements fit 64 bits
    constexpr RootSearch(std::vector<Task> tasks, std::size_t num_ranks, std::int64_t limit)
        : tasks_(std::move(tasks))
        , limit_(limit)
        , loads_(num_ranks)
        , bytes_(num_ranks)
        , owned_(num_ranks) {
        std::sort(tasks_.begin(), tasks_.end(), [](const Task& a, const Task& b) {
            return a.cost != b.cost ? a.cost > b.cost : a.index < b.index;
        });
        bound_ = bound();
        if (!place_costliest_first())
            place_largest_first();
        for (std::size_t task = 0; task < tasks_.size(); ++task)
            owned_[tasks_[task].owner].push_back(task);
        lower_largest_load();
        effort_ = max_effort;
        lower_travel();
        // which may leave a rank with most that can now give away
        for (RootSearch next = *this; next.lower_largest_load(), next.largest() < largest();) {
            next.lower_travel();
            *this = next;
        }
    }

    constexpr Roots result() const {
        Roots roots{std::vector<std::int64_t>(tasks_.size()), loads_, bytes_, 0, bound_};
        for (const Task& task : tasks_) {
            roots.owners[task.index] = static_cast<std::int64_t>(task.owner);
            roots.travelling_elems += task.given->shape.elements() - task.held;
        }
        return roots;
    }

  private:
    static constexpr auto none = static_cast<std::size_t>(-1);

    /// `give` goes to rank `to`, for which its owner takes `take`, if any.
    struct Exchange {
        std::size_t give = none, take = none, to = none;
    };

    /// Some rank owns k + 1 of the k * ranks + 1 costliest tasks, for every k; and none is below the mean.
    constexpr std::int64_t bound() const {
        const std::size_t ranks = loads_.size();
        std::vector<std::int64_t> before{0}; // cost of the tasks before each
        for (const Task& task : tasks_)
            before.push_back(before.back() + task.cost);
        std::int64_t bound = ceil_div(before.back(), static_cast<std::int64_t>(ranks));
        for (std::size_t k = 0, last = 0; last < tasks_.size(); ++k, last += ranks)
            bound = std::max(bound, before[last + 1] - before[last - k]);
        return bound;
    }

    constexpr std::int64_t held(std::size_t task, std::size_t rank) const {
        const auto& list = tasks_[task].given->held;
        const auto wanted = static_cast<std::int64_t>(rank);
        const auto at = std::lower_bound(list.begin(), list.end(), wanted,
                                         [](const HeldElems& h, std::int64_t r) { return h.rank < r; });
        return at != list.end() && at->rank == wanted ? at->elems : 0;
    }
    constexpr std::int64_t largest() const { return loads_[by_load_.back()]; }
    constexpr bool fits(std::size_t rank, std::int64_t more_bytes) const {
        return bytes_[rank] + more_bytes <= limit_;
    }

    constexpr void start_empty() {
        std::fill(loads_.begin(), loads_.end(), 0);
        std::fill(bytes_.begin(), bytes_.end(), 0);
        by_load_.clear();
        for (std::size_t rank = 0; rank < loads_.size(); ++rank)
            by_load_.push_back(rank);
    }
    /// A rank's load, and its place among the others.
    constexpr void set_load(std::size_t rank, std::int64_t load) {
        const auto before = [this](std::size_t a, std::size_t b) {
            return loads_[a] != loads_[b] ? loads_[a] < loads_[b] : a < b;
        };
        const auto begin = by_load_.begin(), end = by_load_.end();
        const auto at = std::lower_bound(begin, end, rank, before);
        const bool more = load > loads_[rank];
        loads_[rank] = load;
        if (more)
            std::rotate(at, at + 1, std::lower_bound(at + 1, end, rank, before));
        else
            std::rotate(std::lower_bound(begin, at, rank, before), at, at + 1);
    }
    constexpr void put(std::size_t task, std::size_t rank) {
        tasks_[task].owner = rank;
        tasks_[task].held = held(task, rank);
        bytes_[rank] += tasks_[task].bytes;
        set_load(rank, loads_[rank] + tasks_[task].cost);
    }

    /// The rank with least load that has room; of equal ones that which holds most, then the lowest.
    constexpr std::size_t least_loaded(std::size_t task) const {
        const auto takes = [&](std::size_t rank) { return fits(rank, tasks_[task].bytes); };
        const auto found = std::find_if(by_load_.begin(), by_load_.end(), takes);
        if (found == by_load_.end())
            return none;
        std::size_t best = *found;
        std::int64_t most = 0;
        for (const HeldElems& holder : tasks_[task].given->held) {
            const auto rank = static_cast<std::size_t>(holder.rank);
            if (holder.elems > most && loads_[rank] == loads_[*found] && takes(rank))
                best = rank, most = holder.elems;
        }
        return best;
    }
    constexpr bool place_costliest_first() {
        start_empty();
        for (std::size_t task = 0; task < tasks_.size(); ++task) {
            const std::size_t rank = least_loaded(task);
            if (rank == none)
                return false;
            put(task, rank);
        }
        return true;
    }
    /// The order that packs bytes best, into the first rank with room.
    constexpr void place_largest_first() {
        start_empty();
        std::vector<std::size_t> order;
        for (std::size_t task = 0; task < tasks_.size(); ++task)
            order.push_back(task);
        std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
            return tasks_[a].bytes != tasks_[b].bytes ? tasks_[a].bytes > tasks_[b].bytes : a < b;
        });
        for (const std::size_t task : order) {
            std::size_t rank = 0;
            while (rank < bytes_.size() && !fits(rank, tasks_[task].bytes))
                ++rank;
            if (rank == bytes_.size())
                throw PlanError(concat("task '", tasks_[task].given->name, "' needs ", tasks_[task].bytes,
                                       " bytes on its owner, the largest room left is ",
                                       limit_ - *std::min_element(bytes_.begin(), bytes_.end()), " of ",
                                       limit_, " bytes per rank"));
            put(task, rank);
        }
    }

    constexpr void move(std::size_t task, std::size_t to) {
        const std::size_t from = tasks_[task].owner;
        auto& list = owned_[from];
        list.erase(std::lower_bound(list.begin(), list.end(), task));
        owned_[to].insert(std::lower_bound(owned_[to].begin(), owned_[to].end(), task), task);
        bytes_[from] -= tasks_[task].bytes;
        set_load(from, loads_[from] - tasks_[task].cost);
        put(task, to);
    }
    constexpr void apply(const Exchange& exchange) {
        const std::size_t from = tasks_[exchange.give].owner;
        move(exchange.give, exchange.to);
        if (exchange.take != none)
            move(exchange.take, from);
    }

    /// Whether both ranks have room after an exchange.
    constexpr bool has_room(std::size_t give, std::size_t take, std::size_t to) const {
        const std::int64_t taken = take == none ? 0 : tasks_[take].bytes;
        return fits(to, tasks_[give].bytes - taken) && fits(tasks_[give].owner, taken - tasks_[give].bytes);
    }
    /// The exchange of ranks `from` and `to` after which the larger of their loads is smallest, if it is
    /// below that of `from`.
    constexpr Exchange best_exchange(std::size_t from, std::size_t to) {
        Exchange best;
        std::int64_t peak = loads_[from];
        const auto& others = owned_[to];
        for (const std::size_t give : owned_[from]) {
            // Each task of `to` that may come back leaves `difference` there; the last choice is none. Costs
            // descend, so differences ascend, and the peak is lowest where both loads are nearly equal.
            const auto difference = [&](std::size_t i) {
                return tasks_[give].cost - (i < others.size() ? tasks_[others[i]].cost : 0);
            };
            const auto better = [&](std::size_t i, std::int64_t new_peak) { // whether to stop
                if (--effort_ < 0 || new_peak >= peak)
                    return true;
                const std::size_t take = i < others.size() ? others[i] : none;
                if (!has_room(give, take, to))
                    return false;
                best = {give, take, to}, peak = new_peak;
                return true;
            };
            std::size_t low = 0, high = others.size();
            while (low < high) {
                const std::size_t middle = low + (high - low) / 2;
                if (loads_[from] - difference(middle) > loads_[to] + difference(middle))
                    low = middle + 1;
                else
                    high = middle;
            }
            for (std::size_t i = low; i <= others.size(); ++i)
                if (better(i, loads_[to] + difference(i)))
                    break;
            for (std::size_t i = low; i > 0; --i)
                if (better(i - 1, loads_[from] - difference(i - 1)))
                    break;
        }
        return best;
    }
    /// Exchanges with a rank that has most, until one such rank has none that helps. Loads sorted downwards
    /// decrease in lexicographic order, so this ends.
    constexpr void lower_largest_load() {
        for (;;) {
            const std::size_t most = by_load_.back();
            Exchange found;
            for (std::size_t i = 0; i < by_load_.size() && found.give == none && effort_ > 0; ++i)
                if (loads_[most] > bound_ && loads_[most] - loads_[by_load_[i]] > 1)
                    found = best_exchange(most, by_load_[i]);
            if (found.give == none)
                return;
            apply(found);
        }
    }

    /// The exchange that brings one task to a rank which holds more of it and saves most travel.
    constexpr Exchange best_return(std::size_t task) {
        Exchange best;
        std::int64_t most = 0;
        const Task& give = tasks_[task];
        const std::size_t from = give.owner;
        for (const HeldElems& holder : give.given->held) {
            if (holder.elems <= give.held)
                continue;
            const auto to = static_cast<std::size_t>(holder.rank);
            const auto consider = [&](std::size_t take, std::int64_t cost, std::int64_t saved) {
                --effort_;
                if (saved > most && loads_[to] + give.cost - cost <= largest() &&
                    loads_[from] - give.cost + cost <= largest() && has_room(task, take, to))
                    best = {task, take, to}, most = saved;
            };
            consider(none, 0, holder.elems - give.held);
            for (const std::size_t take : owned_[to])
                consider(take, tasks_[take].cost,
                         holder.elems - give.held + held(take, from) - tasks_[take].held);
        }
        return best;
    }
    /// Exchanges that save travel and do not raise the largest load, until no task has one.
    constexpr void lower_travel() {
        for (bool changed = true; changed;) {
            changed = false;
            for (std::size_t task = 0; task < tasks_.size() && effort_ > 0; ++task) {
                const Exchange found = best_return(task);
                if (found.give == none)
                    continue;
                apply(found);
                changed = true;
            }
        }
    }

    static constexpr std::int64_t max_effort = 1 << 23; // exchanges to look at: well below a second

    std::vector<Task> tasks_;
    std::int64_t limit_; // bytes per rank
    std::int64_t bound_ = 0;
    std::vector<std::int64_t> loads_, bytes_;     // [ranks]
    std::vector<std::vector<std::size_t>> owned_; // [ranks], tasks, ascending: costs descend
    std::vector<std::size_t> by_load_;            // ranks, least load first, equal ones by rank
    std::int64_t effort_ = max_effort;            // left
};

template <class Cost>
constexpr RootSearch::Task checked_task(const RootTask& given, std::size_t index, std::int64_t num_ranks,
                                        const Cost& cost) {
    try {
        const auto costs = static_cast<std::int64_t>(cost(given.shape));
        if (costs < 0)
            throw PlanError(concat("cost ", costs, " is negative"));
        const std::int64_t bytes =
            given.bytes ? *given.bytes
                        : checked_mul(given.shape.elements(), size_bytes(given.dtype), "bytes of a task");
        if (bytes < 0)
            throw PlanError(concat("size of ", bytes, " bytes is negative"));
        std::int64_t next = 0;
        for (const auto& [rank, elems] : given.held) {
            if (rank < 0 || rank >= num_ranks)
                throw PlanError(concat("holder ", rank, " is not in [0, ", num_ranks, ")"));
            if (rank < next)
                throw PlanError(concat("holder ", rank, " is listed behind ", next - 1));
            if (elems < 0 || elems > given.shape.elements())
                throw PlanError(
                    concat("rank ", rank, " holds ", elems, " elements of ", given.shape.elements()));
            next = rank + 1;
        }
        return {&given, index, costs, bytes};
    } catch (const PlanError& error) {
        throw PlanError(concat("task '", given.name, "': ", error.what()));
    }
}

} // namespace detail

/// Choose an owner for each task: costliest first, each to the rank with least load; then tasks move and
/// change places while that lowers the largest load, and while it saves travel and does not raise that load.
/// Host, local, deterministic. Without a limit the largest load is at most 4/3 - 1/(3 num_ranks) of the
/// smallest possible one. With one, tasks that do not fit costliest first go largest first, each to the first
/// rank with room; such a result may be less even.
/// @param cost  of a task by its shape; its unit is that of Roots::loads
/// @post no rank's bytes are above the limit                             (test: unit/plan/roots)
/// @throws PlanError  num_ranks < 1 or above 2^20; a negative cost, size or limit; holders that are no ranks,
/// not ascending, or have more than there is; sums beyond 64 bits; tasks that fit in neither order
/// Source: R. L. Graham, Bounds on multiprocessing timing anomalies, 1969: the first order and its bound
template <root_cost Cost = NewtonSchulzFlops>
constexpr Roots choose_roots(std::span<const RootTask> tasks, std::int64_t num_ranks,
                             const RootOptions& options = {}, const Cost& cost = {}) {
    if (num_ranks < 1 || num_ranks > detail::max_root_ranks)
        throw PlanError(concat("roots are for 1 to ", detail::max_root_ranks, " ranks, got ", num_ranks));
    if (options.max_bytes_per_rank < 0)
        throw PlanError(concat("a limit of ", options.max_bytes_per_rank, " bytes per rank is negative"));
    std::vector<detail::RootSearch::Task> checked;
    std::int64_t costs = 0, bytes = 0, elements = 0;
    for (const RootTask& task : tasks) {
        checked.push_back(detail::checked_task(task, checked.size(), num_ranks, cost));
        costs = checked_add(costs, checked.back().cost, "cost of all tasks");
        bytes = checked_add(bytes, checked.back().bytes, "bytes of all tasks");
        elements = checked_add(elements, task.shape.elements(), "elements of all tasks");
    }
    return detail::RootSearch(std::move(checked), static_cast<std::size_t>(num_ranks),
                              options.max_bytes_per_rank == 0 ? max_count : options.max_bytes_per_rank)
        .result();
}

namespace detail {

/// As held_elems(ragged_shard(plan, tensor)), without a look at every device.
template <class SegmentType>
constexpr std::vector<HeldElems> held_elems(const BasicPlan<SegmentType>& plan, const PlacedTensor& tensor) {
    const SegmentType& segment = plan.segments[static_cast<std::size_t>(tensor.segment)];
    std::int64_t rank = 0; // the first whose region ends behind the tensor's start
    for (std::int64_t end = plan.num_devices; rank < end;) {
        const std::int64_t middle = rank + (end - rank) / 2;
        if (segment.region_begin(middle + 1) <= tensor.offset)
            rank = middle + 1;
        else
            end = middle;
    }
    std::vector<HeldElems> held;
    for (; rank < plan.num_devices; ++rank) {
        if (segment.region_begin(rank) >= tensor.offset + tensor.elements())
            break;
        if (const Piece piece = piece_of(plan, tensor, rank); piece.elements > 0)
            held.push_back({rank, piece.elements});
    }
    return held;
}

} // namespace detail

/// What Muon works on.
struct IsMatrix {
    constexpr bool operator()(const PlacedTensor& tensor) const { return tensor.spec.shape.rank() >= 2; }
};

/// The tensors of a plan for which `wanted(const PlacedTensor&)` holds, each slice a task of its own, with
/// what each device holds of them. @pre plan.violations is empty
template <class SegmentType, class Wanted = IsMatrix>
constexpr std::vector<RootTask> root_tasks(const BasicPlan<SegmentType>& plan, const Wanted& wanted = {}) {
    std::vector<RootTask> tasks;
    for (const PlacedTensor& tensor : plan.tensors)
        if (wanted(tensor))
            tasks.push_back(
                {tensor.slice < 0 ? tensor.spec.name : concat(tensor.spec.name, "[", tensor.slice, "]"),
                 tensor.spec.shape,
                 tensor.spec.dtype,
                 {},
                 detail::held_elems(plan, tensor)});
    return tasks;
}

/// The same of all groups, one after another: owners even out the work of the whole model.
template <class PlanType, class Wanted = IsMatrix>
constexpr std::vector<RootTask> root_tasks(const BasicModelPlan<PlanType>& model, const Wanted& wanted = {}) {
    std::vector<RootTask> tasks;
    for (const PlanType& plan : model.groups)
        for (RootTask& task : root_tasks(plan, wanted))
            tasks.push_back(std::move(task));
    return tasks;
}

} // namespace ragged
