// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Owners of matrices against every way to own them, for few tasks; the laws that hold for any number, checked
// from the result alone; and matrices of real models.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/roots.hpp>
#include <ragged/plan/unequal_plan.hpp>
#include <ragged/redistribute/transfer_list.hpp>
#include <ragged/spec/inventory.hpp>

#include "support/expect.hpp"

#ifndef RAGGED_MODELS_DIR
#define RAGGED_MODELS_DIR "examples/models"
#endif

namespace {

using ragged::choose_roots;
using ragged::HeldElems;
using ragged::max_count;
using ragged::NewtonSchulzFlops;
using ragged::RootOptions;
using ragged::Roots;
using ragged::RootTask;
using ragged::Shape;
using support::message_of;

/// The first extent, so that costs, elements and bytes are chosen one by one.
struct FirstExtent {
    std::int64_t operator()(const Shape& shape) const { return shape[0]; }
};

/// @param bytes  -1: of the elements
RootTask task(std::int64_t cost, std::int64_t columns = 1, std::vector<HeldElems> held = {},
              std::int64_t bytes = -1) {
    RootTask made{.name = "w", .shape = {cost, columns}, .held = std::move(held)};
    if (bytes >= 0)
        made.bytes = bytes;
    return made;
}

Roots choose(const std::vector<RootTask>& tasks, std::int64_t ranks, const RootOptions& options = {}) {
    return choose_roots(tasks, ranks, options, FirstExtent{});
}

std::size_t at(std::int64_t index) {
    return static_cast<std::size_t>(index);
}

std::int64_t bytes_of(const RootTask& task) {
    return task.bytes ? *task.bytes : task.shape.elements() * ragged::size_bytes(task.dtype);
}

std::int64_t held_by(const RootTask& task, std::int64_t rank) {
    for (const HeldElems& holder : task.held)
        if (holder.rank == rank)
            return holder.elems;
    return 0;
}

std::int64_t travel_of(const std::vector<RootTask>& tasks, const std::vector<std::int64_t>& owners) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i)
        sum += tasks[i].shape.elements() - held_by(tasks[i], owners[i]);
    return sum;
}

/// Every number of the result, from the owners alone; "" when all are right.
template <class Cost = FirstExtent>
std::string wrong_sums(const std::vector<RootTask>& tasks, std::int64_t ranks, const RootOptions& options,
                       const Roots& roots, const Cost& cost = {}) {
    std::vector<std::int64_t> loads(at(ranks)), bytes(at(ranks));
    if (roots.owners.size() != tasks.size())
        return "owners";
    std::int64_t costliest = 0, sum = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        if (roots.owners[i] < 0 || roots.owners[i] >= ranks)
            return "an owner is no rank";
        loads[at(roots.owners[i])] += cost(tasks[i].shape);
        bytes[at(roots.owners[i])] += bytes_of(tasks[i]);
        costliest = std::max<std::int64_t>(costliest, cost(tasks[i].shape));
        sum += cost(tasks[i].shape);
    }
    if (loads != roots.loads)
        return "loads";
    if (bytes != roots.bytes)
        return "bytes";
    if (options.max_bytes_per_rank > 0 &&
        *std::max_element(bytes.begin(), bytes.end()) > options.max_bytes_per_rank)
        return "above the limit";
    if (roots.travelling_elems != travel_of(tasks, roots.owners))
        return "travel";
    if (roots.largest_load() != *std::max_element(loads.begin(), loads.end()))
        return "largest load";
    if (roots.lower_bound < costliest || roots.lower_bound < (sum + ranks - 1) / ranks ||
        roots.lower_bound > roots.largest_load())
        return "lower bound";
    return "";
}

/// The move of one task, or swap of two, that lowers the largest load, or keeps it and saves travel.
std::string missed_exchange(const std::vector<RootTask>& tasks, std::int64_t ranks,
                            const RootOptions& options, const Roots& roots) {
    const auto try_owners = [&](const std::vector<std::int64_t>& owners) {
        std::vector<std::int64_t> loads(at(ranks)), bytes(at(ranks));
        for (std::size_t i = 0; i < tasks.size(); ++i)
            loads[at(owners[i])] += tasks[i].shape[0], bytes[at(owners[i])] += bytes_of(tasks[i]);
        if (options.max_bytes_per_rank > 0 &&
            *std::max_element(bytes.begin(), bytes.end()) > options.max_bytes_per_rank)
            return false;
        const std::int64_t largest = *std::max_element(loads.begin(), loads.end());
        return largest < roots.largest_load() ||
               (largest == roots.largest_load() && travel_of(tasks, owners) < roots.travelling_elems);
    };
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        std::vector<std::int64_t> owners = roots.owners;
        for (std::int64_t rank = 0; rank < ranks; ++rank) {
            owners[i] = rank;
            if (try_owners(owners))
                return "move";
        }
        for (std::size_t j = 0; j < i; ++j) {
            owners = roots.owners;
            std::swap(owners[i], owners[j]);
            if (try_owners(owners))
                return "swap";
        }
    }
    return "";
}

/// The smallest largest load over all owners below the limit, and the least travel among these; -1: none.
struct Optimum {
    std::int64_t largest = -1, travel = 0;
};

struct Oracle {
    const std::vector<RootTask>& tasks;
    std::int64_t limit;
    bool alike; // ranks differ in nothing, so a task goes to one of the empty ones only
    std::vector<std::int64_t> loads, bytes;
    Optimum best{};

    void place(std::size_t i, std::int64_t largest, std::int64_t travel) {
        if (best.largest >= 0 && largest > best.largest)
            return;
        if (i == tasks.size()) {
            if (best.largest < 0 || largest < best.largest || travel < best.travel)
                best = {largest, travel};
            return;
        }
        const std::int64_t cost = tasks[i].shape[0], size = bytes_of(tasks[i]);
        for (std::size_t rank = 0; rank < loads.size(); ++rank) {
            if (limit > 0 && bytes[rank] + size > limit)
                continue;
            loads[rank] += cost, bytes[rank] += size;
            place(i + 1, std::max(largest, loads[rank]),
                  travel + tasks[i].shape.elements() - held_by(tasks[i], static_cast<std::int64_t>(rank)));
            loads[rank] -= cost, bytes[rank] -= size;
            if (alike && loads[rank] == 0 && bytes[rank] == 0)
                return;
        }
    }
};

Optimum optimum(const std::vector<RootTask>& tasks, std::int64_t ranks, std::int64_t limit = 0,
                bool alike = false) {
    Oracle oracle{tasks, limit, alike, std::vector<std::int64_t>(at(ranks)),
                  std::vector<std::int64_t>(at(ranks))};
    oracle.place(0, 0, 0);
    return oracle.best;
}

std::vector<HeldElems> random_held(std::mt19937& random, std::int64_t ranks, std::int64_t elements) {
    std::vector<HeldElems> held;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
        if (random() % 3 != 0) {
            const std::int64_t elems = static_cast<std::int64_t>(random()) % (elements + 1);
            held.push_back({rank, elems});
            elements -= elems;
        }
    return held;
}

std::vector<RootTask> random_tasks(std::mt19937& random, std::size_t count, std::int64_t ranks,
                                   std::int64_t costs) {
    std::vector<RootTask> tasks;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t cost = static_cast<std::int64_t>(random()) % costs + 1;
        const std::int64_t columns = static_cast<std::int64_t>(random()) % 5;
        tasks.push_back(task(cost, columns, random_held(random, ranks, cost * columns),
                             static_cast<std::int64_t>(random()) % 8));
    }
    return tasks;
}

} // namespace

TEST_CASE("few tasks: the largest load is within Graham's bound of the smallest, and mostly is it") {
    // Every multiset of up to 7 costs from 0 to 6, ascending: the opposite of the order in which they go.
    std::int64_t cases = 0, optimal = 0, proven = 0;
    std::vector<std::int64_t> costs;
    const auto check = [&] {
        std::vector<RootTask> tasks;
        for (const std::int64_t cost : costs)
            tasks.push_back(task(cost));
        for (const std::int64_t ranks : {1, 2, 3, 4}) {
            const Roots roots = choose(tasks, ranks);
            const std::int64_t least = optimum(tasks, ranks, 0, true).largest;
            const bool within = 3 * ranks * roots.largest_load() <= (4 * ranks - 1) * least;
            const std::string wrong = wrong_sums(tasks, ranks, {}, roots);
            if (!within || roots.lower_bound > least || !wrong.empty()) {
                CAPTURE(costs.size());
                CAPTURE(ranks);
                CAPTURE(roots.largest_load());
                CAPTURE(roots.lower_bound);
                CAPTURE(least);
                FAIL_CHECK(wrong);
            }
            ++cases;
            optimal += roots.largest_load() == least;
            proven += roots.proven_optimal();
        }
    };
    const auto extend = [&](const auto& self, std::int64_t least) -> void {
        check();
        for (std::int64_t cost = least; cost <= 6 && costs.size() < 7; ++cost) {
            costs.push_back(cost);
            self(self, cost);
            costs.pop_back();
        }
    };
    extend(extend, 0);
    MESSAGE(optimal << " of " << cases << " are optimal, " << proven << " proven so by the bound");
    CHECK(cases == 4 * 3432);
    CHECK(optimal * 1000 >= cases * 998);
    CHECK(proven * 10 >= cases * 9);
}

TEST_CASE("few tasks with holders and limits: feasible, sums right, no exchange missed") {
    std::int64_t returned = 0, infeasible = 0, missed = 0, smallest = 0, least_travel = 0;
    for (std::uint32_t seed = 0; seed < 4000; ++seed) {
        std::mt19937 random(seed);
        const std::int64_t ranks = 1 + seed % 4;
        const std::vector<RootTask> tasks = random_tasks(random, random() % 8, ranks, 9);
        const RootOptions options{
            static_cast<std::int64_t>(random()) % 3 == 0 ? 0 : 1 + static_cast<std::int64_t>(random()) % 24};
        CAPTURE(seed);
        const Optimum best = optimum(tasks, ranks, options.max_bytes_per_rank);
        Roots roots;
        const std::string message = message_of([&] { roots = choose(tasks, ranks, options); });
        if (best.largest < 0) {
            CHECK(message != "");
            ++infeasible;
        } else if (!message.empty()) {
            CHECK(options.max_bytes_per_rank > 0);
            ++missed;
        } else {
            ++returned;
            REQUIRE(wrong_sums(tasks, ranks, options, roots) == "");
            REQUIRE(missed_exchange(tasks, ranks, options, roots) == "");
            REQUIRE(roots.largest_load() >= best.largest);
            smallest += roots.largest_load() == best.largest;
            if (roots.largest_load() == best.largest) {
                REQUIRE(roots.travelling_elems >= best.travel);
                least_travel += roots.travelling_elems == best.travel;
            }
            REQUIRE(choose(tasks, ranks, options) == roots);
        }
    }
    MESSAGE(returned << " returned, " << smallest << " with the smallest largest load, " << least_travel
                     << " of these with the least travel; " << infeasible << " have no owners, of " << missed
                     << " none were found");
    CHECK(missed * 100 <= returned);
    CHECK(smallest * 100 >= returned * 97);
    CHECK(least_travel * 100 >= smallest * 84);
}

TEST_CASE("more tasks: no exchange lowers the largest load, or keeps it and saves travel") {
    std::int64_t returned = 0;
    for (std::uint32_t seed = 0; seed < 240; ++seed) {
        std::mt19937 random(seed);
        const std::int64_t ranks = 1 + seed % 9;
        const std::vector<RootTask> tasks =
            random_tasks(random, seed % 3 ? 12 : 40, ranks, seed % 2 ? 1000 : 6);
        std::int64_t bytes = 0;
        for (const RootTask& each : tasks)
            bytes += bytes_of(each);
        for (const std::int64_t room : {-1, 0, 1, 2, 4, 8}) { // -1: no limit
            const RootOptions options{room < 0 ? 0 : bytes / ranks + room};
            CAPTURE(seed);
            CAPTURE(room);
            Roots roots;
            if (message_of([&] { roots = choose(tasks, ranks, options); }) != "") {
                CHECK(room >= 0);
                continue;
            }
            ++returned;
            CHECK(wrong_sums(tasks, ranks, options, roots) == "");
            CHECK(missed_exchange(tasks, ranks, options, roots) == "");
            if (room < 0 && tasks.size() == 40)
                CHECK(roots.largest_load() * 100 <= roots.lower_bound * 102);
        }
    }
    CHECK(returned > 1000);
}

TEST_CASE("the order of exchanges: one that lowers the largest load comes before travel") {
    // Costliest first reaches 3 + 2 + 2 and 3 + 2; only a swap reaches 3 + 3 and 2 + 2 + 2.
    const Roots swapped = choose({task(3), task(3), task(2), task(2), task(2)}, 2);
    CHECK(swapped.loads == std::vector<std::int64_t>{6, 6});
    CHECK(swapped.proven_optimal());
    CHECK(swapped.imbalance() == 1.0);
    // Rank 0 holds everything; it gives up what an even load needs, and no more.
    std::vector<RootTask> held;
    for (const std::int64_t cost : {3, 3, 2, 2, 2})
        held.push_back(task(cost, 1, {{0, cost}}));
    const Roots kept = choose(held, 2);
    CHECK(kept.loads == std::vector<std::int64_t>{6, 6});
    CHECK(kept.travelling_elems == 6);
}

TEST_CASE("tasks of equal cost stay with the rank that holds them whole") {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        std::mt19937 random(seed);
        const std::int64_t ranks = 1 + seed % 7, each = 1 + seed % 5;
        std::vector<std::int64_t> homes;
        for (std::int64_t i = 0; i < ranks * each; ++i)
            homes.push_back(i % ranks);
        std::shuffle(homes.begin(), homes.end(), random);
        homes.resize(homes.size() - random() % at(ranks)); // some ranks hold less
        std::vector<RootTask> tasks;
        for (const std::int64_t home : homes)
            tasks.push_back({.name = "w", .shape = {8, 6}, .held = {{home, 48}}});
        CAPTURE(seed);
        const Roots roots = choose_roots(tasks, ranks);
        CHECK(roots.owners == homes);
        CHECK(roots.travelling_elems == 0);
        CHECK(roots.proven_optimal());
    }
}

TEST_CASE("of equally loaded ranks the one that holds most owns a task, then the lowest") {
    CHECK(choose({task(5, 2, {{1, 2}, {2, 5}, {3, 3}})}, 5).owners == std::vector<std::int64_t>{2});
    CHECK(choose({task(5, 2, {{1, 4}, {3, 4}})}, 5).owners == std::vector<std::int64_t>{1});
    CHECK(choose({task(5, 2, {{3, 0}})}, 5).owners == std::vector<std::int64_t>{0});
    CHECK(choose({task(5), task(5), task(5)}, 5).owners == std::vector<std::int64_t>{0, 1, 2});
    CHECK(choose({task(1), task(5), task(3)}, 3).owners == std::vector<std::int64_t>{2, 0, 1});
}

TEST_CASE("ranks that trade what they hold trade what they own") {
    // Each task has one holder and each rank is the holder of one, so no tie is left.
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        std::mt19937 random(seed);
        std::vector<std::int64_t> ranks{0, 1, 2, 3, 4};
        std::shuffle(ranks.begin(), ranks.end(), random);
        std::vector<RootTask> tasks;
        for (std::int64_t i = 0; i < 5; ++i)
            tasks.push_back(task(10 + i, 1, {{ranks[at(i)], 3}}));
        CHECK(choose(tasks, 5).owners == ranks);
    }
}

TEST_CASE("nothing to do is done evenly") {
    const Roots none = choose({}, 3);
    CHECK(none == Roots{{}, {0, 0, 0}, {0, 0, 0}, 0, 0});
    CHECK(none.imbalance() == 1.0);
    CHECK(none.proven_optimal());
    CHECK(Roots{}.imbalance() == 1.0);
    const std::vector<RootTask> empty{{.name = "a", .shape = {0, 4}},
                                      {.name = "b", .shape = {3, 0, 4}},
                                      {.name = "c", .shape = {0, std::int64_t{1} << 62}}};
    const Roots roots = choose_roots(empty, 2, {.max_bytes_per_rank = 1});
    CHECK(roots.loads == std::vector<std::int64_t>{0, 0});
    CHECK(roots.bytes == std::vector<std::int64_t>{0, 0});
    CHECK(roots.imbalance() == 1.0);
    CHECK(roots.travelling_elems == 0);
}

TEST_CASE("a limit of bytes decides before loads, and largest first fits where costliest first does not") {
    // By cost alone the two tasks of 6 bytes meet on one rank.
    const std::vector<RootTask> tasks{task(9, 1, {}, 1), task(5, 1, {}, 6), task(4, 1, {}, 6)};
    CHECK(choose(tasks, 2).loads == std::vector<std::int64_t>{9, 9});
    const Roots limited = choose(tasks, 2, {.max_bytes_per_rank = 8});
    CHECK(limited.bytes == std::vector<std::int64_t>{7, 6});
    CHECK(limited.largest_load() == 13);
    // Costliest first puts 3 and 3 on two ranks, and 6 then has no room; 6 alone and 3 + 3 together do.
    const std::vector<RootTask> packed{task(9, 1, {}, 3), task(8, 1, {}, 3), task(7, 1, {}, 6)};
    const Roots roots = choose(packed, 2, {.max_bytes_per_rank = 6});
    CHECK(roots.owners == std::vector<std::int64_t>{1, 1, 0});
    CHECK(message_of([&] { choose(packed, 2, {.max_bytes_per_rank = 5}); }) ==
          "task 'w' needs 6 bytes on its owner, the largest room left is 5 of 5 bytes per rank");
    CHECK(message_of([&] {
              choose({task(1, 1, {}, 5), task(1, 1, {}, 4), task(1, 1, {}, 4)}, 2, {.max_bytes_per_rank = 7});
          }) == "task 'w' needs 4 bytes on its owner, the largest room left is 3 of 7 bytes per rank");
}

TEST_CASE("operations of Newton-Schulz, and bytes by element type") {
    const NewtonSchulzFlops flops;
    // 2 m^2 n + 2 m^3 + 2 m^2 n for m = 2, n = 3
    CHECK(flops({2, 3}) == 5 * (24 + 16 + 24));
    CHECK(flops({3, 2}) == flops({2, 3}));
    CHECK(flops({7, 4, 3, 2}) == 28 * flops({2, 3}));
    CHECK(NewtonSchulzFlops{.steps = 1}({4, 4}) == 6 * 64);
    CHECK(NewtonSchulzFlops{.steps = 0}({4, 4}) == 0);
    CHECK(flops({7168, 2048}) == std::int64_t{687'194'767'360}); // an expert of DeepSeek-V3
    const std::vector<RootTask> tasks{{.name = "a", .shape = {2, 3}, .dtype = ragged::DType::f32},
                                      {.name = "b", .shape = {2, 2}, .bytes = 5}};
    CHECK(choose_roots(tasks, 2).bytes == std::vector<std::int64_t>{24, 5});
    // costs of another kind of integer, and of a lambda
    const auto elements = [](const Shape& shape) { return static_cast<int>(shape.elements()); };
    CHECK(choose_roots(tasks, 2, {}, elements).loads == std::vector<std::int64_t>{6, 4});
    const auto seconds = [](const Shape&) { return 0.5; };
    static_assert(!ragged::root_cost<decltype(seconds)>);
    static_assert(NewtonSchulzFlops{}({2, 3}) == 320);
}

TEST_CASE("the result in a sentence") {
    CHECK(to_string(choose({task(3), task(3), task(2), task(2), task(2)}, 2)) ==
          "the largest load of 2 ranks with 5 tasks is 6, 1.000 of the mean, and no owners give a smaller "
          "one; 12 elements travel");
    CHECK(to_string(Roots{{0, 0, 1}, {5, 3}, {1, 1}, 7, 4}) ==
          "the largest load of 2 ranks with 3 tasks is 5, 1.250 of the mean, where no owners give less than "
          "4; 7 elements travel");
}

TEST_CASE("the bound counts how many of the costliest tasks must share a rank") {
    CHECK(choose({task(4), task(4), task(4)}, 2).lower_bound == 8);                   // the mean is 6
    CHECK(choose({task(5), task(4), task(4), task(1)}, 3).lower_bound == 5);          // 4 + 1, and 5
    CHECK(choose(std::vector<RootTask>(10, task(3)), 3).lower_bound == 12);           // 4 of 10 on one rank
    CHECK(choose({task(9), task(1), task(1), task(1)}, 4).lower_bound == 9);          // the costliest
    CHECK(choose({task(2), task(2), task(1), task(1), task(1)}, 2).lower_bound == 4); // ceil(7 / 2)
}

TEST_CASE("errors name the task and the numbers") {
    const auto message = [](const std::vector<RootTask>& tasks, std::int64_t ranks = 2,
                            const RootOptions& options = {}) {
        return message_of([&] { choose_roots(tasks, ranks, options); });
    };
    const RootTask good{.name = "g", .shape = {2, 3}};
    const auto holds = [&](std::vector<HeldElems> held) {
        return message({good, {.name = "w", .shape = {2, 3}, .held = std::move(held)}});
    };
    CHECK_THROWS_AS(choose({}, 0), ragged::PlanError);
    CHECK(message({good}, 0) == "roots are for 1 to 1048576 ranks, got 0");
    CHECK(message({good}, -3) == "roots are for 1 to 1048576 ranks, got -3");
    CHECK(message({good}, (1 << 20) + 1) == "roots are for 1 to 1048576 ranks, got 1048577");
    CHECK(message({good}, 2, {.max_bytes_per_rank = -1}) == "a limit of -1 bytes per rank is negative");
    CHECK(message({{.name = "w", .shape = {7168}}}) == "task 'w': shape 7168 is no matrix");
    CHECK(message({{.name = "w", .shape = {}}}) == "task 'w': shape scalar is no matrix");
    CHECK(message({{.name = "w", .shape = {2, 2}, .bytes = -5}}) == "task 'w': size of -5 bytes is negative");
    CHECK(holds({{2, 1}}) == "task 'w': holder 2 is not in [0, 2)");
    CHECK(holds({{-1, 1}}) == "task 'w': holder -1 is not in [0, 2)");
    CHECK(holds({{1, 1}, {0, 1}}) == "task 'w': holder 0 is listed behind 1");
    CHECK(holds({{1, 1}, {1, 1}}) == "task 'w': holder 1 is listed behind 1");
    CHECK(holds({{0, 7}}) == "task 'w': rank 0 holds 7 elements of 6");
    CHECK(holds({{0, -1}}) == "task 'w': rank 0 holds -1 elements of 6");
    CHECK(message_of([&] { choose_roots(std::vector{good}, 2, {}, [](const Shape&) { return -4; }); }) ==
          "task 'g': cost -4 is negative");
    CHECK(message_of([&] { choose_roots(std::vector{good}, 2, {}, NewtonSchulzFlops{.steps = -1}); }) ==
          "task 'g': -1 Newton-Schulz steps are negative");
    const std::int64_t huge = std::int64_t{1} << 31;
    CHECK(message({{.name = "w", .shape = {huge, huge - 1}}}) ==
          "task 'w': Newton-Schulz operations: 9223372028264841218 * 6442450943 does not fit 64 bits");
    CHECK(support::contains(message_of([&] {
                                choose({task(huge, huge), good}, 2);
                            }),
                            "task 'w': bytes of a task"));
    CHECK(support::contains(message_of([&] {
                                choose({task(max_count, 0), task(1)}, 2);
                            }),
                            "cost of all tasks"));
    CHECK(support::contains(message_of([&] {
                                choose({task(1, 1, {}, max_count), task(1)}, 2);
                            }),
                            "bytes of all tasks"));
    CHECK(support::contains(message_of([&] {
                                choose({task(1, max_count, {}, 0), task(1)}, 2);
                            }),
                            "elements of all tasks"));
    CHECK(message({good, good}) == "");
}

TEST_CASE("tasks of a plan: matrices and slices with what each device holds") {
    const ragged::GroupSpec group{"layer",
                                  {{.name = "w", .shape = {6, 8}},
                                   {.name = "experts", .shape = {3, 4, 8}, .sliced = true},
                                   {.name = "norm", .shape = {40}},
                                   {.name = "stack", .shape = {2, 4, 4}, .dtype = ragged::DType::f32}}};
    const auto check = [&](const auto& plan) {
        const std::vector<RootTask> tasks = ragged::root_tasks(plan);
        REQUIRE(tasks.size() == 5);
        CHECK(tasks[0].name == "w");
        CHECK(tasks[1].name == "experts[0]");
        CHECK(tasks[3].name == "experts[2]");
        CHECK(tasks[3].shape == Shape{4, 8});
        CHECK(tasks[4].shape == Shape{2, 4, 4});
        CHECK(tasks[4].dtype == ragged::DType::f32);
        for (std::size_t i = 0; i < tasks.size(); ++i) {
            const ragged::PlacedTensor& tensor = plan.tensors[i < 4 ? i : 5];
            std::int64_t sum = 0;
            for (std::int64_t rank = 0; rank < plan.num_devices; ++rank) {
                CHECK(held_by(tasks[i], rank) == piece_of(plan, tensor, rank).elements);
                sum += held_by(tasks[i], rank);
            }
            CHECK(sum == tasks[i].shape.elements());
            CHECK(tasks[i].held == ragged::held_elems(ragged_shard(plan, tensor)));
        }
        CHECK(wrong_sums(tasks, 3, {}, choose(tasks, 3)) == "");
        const auto named_w = [](const ragged::PlacedTensor& tensor) { return tensor.spec.name == "w"; };
        CHECK(ragged::root_tasks(plan, named_w).size() == 1);
    };
    check(ragged::make_plan(group, 3));
    check(ragged::make_unequal_plan(group, 3));
    const ragged::ModelSpec model{"m", {group, {"head", {{.name = "out", .shape = {8, 4}}}}}};
    const std::vector<RootTask> all = ragged::root_tasks(ragged::make_plan(model, 3));
    REQUIRE(all.size() == 6);
    CHECK(all[5].name == "out");
}

TEST_CASE("tasks of a layout: replicas hold the same, and count as ranks of the mesh") {
    using Behind = ragged::Topology<ragged::Axis<"shard">, ragged::Axis<"replica">>; // not rank = coordinate
    const ragged::GroupSpec group{"layer", {{.name = "w", .shape = {6, 8}}, {.name = "v", .shape = {2, 30}}}};
    const ragged::Plan plan = ragged::make_plan(group, 3);
    const ragged::PlanLayout layout(plan, Behind(3, 2));
    const std::vector<RootTask> tasks = ragged::root_tasks(layout);
    REQUIRE(tasks.size() == 2);
    for (std::size_t i = 0; i < tasks.size(); ++i)
        for (std::int64_t rank = 0; rank < 6; ++rank)
            CHECK(held_by(tasks[i], rank) == layout.portion(static_cast<std::int64_t>(i), rank).elements);
    const Roots roots = choose(tasks, 6);
    CHECK(wrong_sums(tasks, 6, {}, roots) == "");
    const auto owners = ragged::root_layout(tasks, roots, ragged::Topology<ragged::Axis<"all">>(6));
    CHECK(ragged::cost(layout, owners, ragged::DType::u8).moved_bytes == roots.travelling_elems);
    const auto named_w = [](const ragged::PlacedTensor& tensor) { return tensor.spec.name == "w"; };
    CHECK(ragged::root_tasks(layout, named_w).size() == 1);
}

TEST_CASE("matrices of real models, without embedding and head") {
    struct Model {
        std::string name;
        std::int64_t ranks;
        double imbalance; // at most
    };
    const std::vector<Model> models{
        {"gpt2", 8, 1.03},        {"llama-3-8b", 64, 1.06},     {"llama-3-70b", 256, 1.18},
        {"gpt-oss-20b", 32, 1.3}, {"qwen3-30b-a3b", 128, 1.01}, {"deepseek-v3-671b", 1024, 1.01}};
    for (const Model& each : models) {
        CAPTURE(each.name);
        ragged::ModelSpec model =
            ragged::read_inventory(std::filesystem::path(RAGGED_MODELS_DIR) / (each.name + ".tsv"));
        model.groups.erase(model.groups.begin());
        model.groups.pop_back();
        const std::vector<RootTask> tasks = ragged::root_tasks(ragged::make_plan(model, each.ranks));
        const Roots roots = choose_roots(tasks, each.ranks);
        CHECK(wrong_sums(tasks, each.ranks, {}, roots, NewtonSchulzFlops{}) == "");
        CHECK(roots.imbalance() <= each.imbalance);
        CHECK(roots == choose_roots(tasks, each.ranks));
        MESSAGE(to_string(roots));
    }
}
