// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The search for owners: a first choice by cost, then moves and exchanges while they help.
#pragma once

#include <algorithm>
#include <charconv> // std::to_chars
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/plan/root_task.hpp>

namespace ragged {

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

} // namespace detail

} // namespace ragged
