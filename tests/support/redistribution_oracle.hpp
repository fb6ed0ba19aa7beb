// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a redistribution must do, element by element, for any pair of layouts: nothing here knows their types.
// A pair brings the facts of its layouts and a function that makes a Mover on a rank.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/comm/local_communicator.hpp>
#include <ragged/redistribute/redistribution.hpp>

#include "support/expect.hpp"

namespace support {

/// What every rank holds in a layout.
struct LayoutFacts {
    struct Tensor {
        std::string name;
        ragged::Shape shape;
    };

    std::vector<Tensor> tensors;
    std::vector<std::int64_t> sizes;                            // by axis
    std::vector<ragged::PlacementKind> kinds;                   // by axis
    std::vector<std::vector<std::vector<std::int64_t>>> counts; // [depth][rank][tensor], elements
    std::vector<std::vector<ragged::Portion>> portions;         // [rank][tensor]
    std::vector<std::vector<std::int64_t>> offsets;             // [rank][tensors + 1]
    std::vector<std::vector<std::int64_t>> coordinates;         // [rank][axis]
    std::string text;

    std::int64_t num_ranks() const { return static_cast<std::int64_t>(portions.size()); }
    std::int64_t rank(const std::vector<std::int64_t>& at) const {
        std::int64_t result = 0;
        for (std::size_t axis = 0; axis < sizes.size(); ++axis)
            result = result * sizes[axis] + at[axis];
        return result;
    }
    bool is_partial(std::size_t axis) const {
        return kinds[axis].kind == ragged::PlacementKind::Kind::partial;
    }
    bool is_partial() const {
        for (std::size_t axis = 0; axis < sizes.size(); ++axis)
            if (is_partial(axis))
                return true;
        return false;
    }
    /// Index of a tensor, or -1.
    std::int64_t find(std::string_view name) const {
        for (std::size_t t = 0; t < tensors.size(); ++t)
            if (tensors[t].name == name)
                return static_cast<std::int64_t>(t);
        return -1;
    }
};

namespace detail {

inline void add_numbers(LayoutFacts& facts, const ragged::detail::Stage& stage, std::size_t max_depth) {
    for (std::int64_t t = 0; t < stage.num_tensors(); ++t)
        facts.tensors.push_back({stage.name(t), stage.shape(t)});
    for (std::int64_t rank = 0; rank < stage.num_ranks(); ++rank) {
        facts.offsets.push_back(stage.offsets(rank));
        facts.coordinates.emplace_back(facts.sizes.size());
        for (std::size_t axis = facts.sizes.size(), rest = static_cast<std::size_t>(rank); axis-- > 0;) {
            const auto size = static_cast<std::size_t>(facts.sizes[axis]);
            facts.coordinates.back()[axis] = static_cast<std::int64_t>(rest % size);
            rest /= size;
        }
    }
    for (std::size_t depth = 0; depth <= max_depth; ++depth) {
        const ragged::detail::Stage part = stage.at_depth(depth);
        facts.counts.emplace_back();
        facts.portions.clear();
        for (std::int64_t rank = 0; rank < stage.num_ranks(); ++rank) {
            facts.counts.back().emplace_back();
            facts.portions.emplace_back();
            for (std::int64_t t = 0; t < stage.num_tensors(); ++t) {
                facts.portions.back().push_back(part.portion(t, rank));
                facts.counts.back().back().push_back(facts.portions.back().back().elements);
            }
        }
    }
}

} // namespace detail

template <class Layout>
LayoutFacts facts_of(const Layout& layout) {
    using Placements = typename Layout::placements_type;
    using Topology = typename Layout::topology_type;
    LayoutFacts facts;
    for (std::size_t axis = 0; axis < Topology::num_axes; ++axis) {
        facts.sizes.push_back(layout.topology().size(axis));
        facts.kinds.push_back(Placements::kinds[Placements::find(Topology::names[axis])]);
    }
    for (std::size_t i = 0; i < Layout::max_depth; ++i)
        facts.text.append(i == 0 ? "" : ", ")
            .append(Placements::axes[i])
            .append(" ")
            .append(to_string(Placements::kinds[i]));
    detail::add_numbers(facts, ragged::detail::Stage(layout), Layout::max_depth);
    return facts;
}

/// Every element is held by exactly one rank of those that agree in the coordinates along axes that do not
/// cut.
inline void check_partition(const LayoutFacts& facts) {
    for (std::size_t t = 0; t < facts.tensors.size(); ++t) {
        std::vector<std::vector<int>> held(static_cast<std::size_t>(facts.num_ranks()));
        for (std::size_t rank = 0; rank < held.size(); ++rank) {
            std::vector<std::int64_t> at = facts.coordinates[rank];
            for (std::size_t axis = 0; axis < at.size(); ++axis)
                if (facts.kinds[axis].cuts())
                    at[axis] = 0;
            std::vector<int>& counts = held[static_cast<std::size_t>(facts.rank(at))];
            counts.resize(static_cast<std::size_t>(facts.tensors[t].shape.elements()), 0);
            const ragged::Portion& portion = facts.portions[rank][t];
            for (std::int64_t i = 0; i < portion.elements; ++i) {
                expect(portion.local(portion.global(i)) == i, "local undoes global");
                ++counts[static_cast<std::size_t>(portion.global(i))];
            }
        }
        for (const std::vector<int>& counts : held)
            for (const int count : counts)
                expect(count == 1, ragged::concat("one owner of each element of ", facts.tensors[t].name,
                                                  " in ", facts.text));
    }
}

/// A redistribution made ready on one rank, whatever its route.
template <class T>
struct Mover {
    std::int64_t source_elems = 0, destination_elems = 0;
    std::optional<std::int64_t> in_place_shift;
    bool spends_source = false;
    ragged::Route route;
    std::shared_ptr<void> redistribution;
    void (*run)(void* redistribution, T* source, T* destination) = nullptr; // start and wait
};

template <class T, ragged::Route R, class Communicator, class E>
Mover<T> mover_of(ragged::Redistribution<T, R, Communicator, E> ready) {
    using Ready = ragged::Redistribution<T, R, Communicator, E>;
    return {ready.source_elems(),
            ready.destination_elems(),
            ready.in_place_shift(),
            Ready::spends_source,
            R,
            std::make_shared<Ready>(ready),
            [](void* redistribution, T* source, T* destination) {
                static_cast<const Ready*>(redistribution)->start(source, destination).wait();
            }};
}

/// Between the layouts of a pair, on one rank.
template <class T>
class RedistributionOracle {
  public:
    /// @param communicators  all that may move bytes: the world and the lines of its mesh
    RedistributionOracle(const LayoutFacts& from, const LayoutFacts& to, int rank,
                         const std::vector<ragged::LocalCommunicator*>& communicators)
        : from_(from)
        , to_(to)
        , rank_(rank)
        , communicators_(communicators) {}

    /// Run it twice, and once more in place where it may.
    /// @param cost  what the library says that this rank receives, where it says so
    void check(const Mover<T>& mover, std::optional<std::int64_t> cost,
               const ragged::CountingResource<>& memory) const {
        try {
            expect(mover.source_elems == size_of(from_) && mover.destination_elems == size_of(to_),
                   "sizes of the arrays");
            const bool exchanges = mover.route.size == 1 && is_exchange(mover.route.steps[0]);
            if (cost)
                expect(*cost == missing_elements() * bytes_of_element,
                       ragged::concat("the stated cost, ", *cost, ", is what the rank does not hold, ",
                                      missing_elements() * bytes_of_element));
            const std::size_t allocations = memory.allocations();
            std::vector<T> source(static_cast<std::size_t>(mover.source_elems)),
                destination(static_cast<std::size_t>(mover.destination_elems));
            for (int step = 0; step < 2; ++step) {
                fill(source, step);
                std::fill(destination.begin(), destination.end(), sentinel());
                const std::vector<T> before = source;
                const std::int64_t received = received_bytes();
                mover.run(mover.redistribution.get(), source.data(), destination.data());
                const std::int64_t bytes = received_bytes() - received;
                check_values(destination.data(), step);
                check_between(destination);
                if (!mover.spends_source)
                    expect(same(source, before), "the source is as it was");
                const Bytes wanted =
                    exchanges ? Bytes{missing_elements() * bytes_of_element, true} : bytes_of(mover.route);
                expect(wanted.exact ? bytes == wanted.count : bytes <= wanted.count,
                       ragged::concat("received ", bytes, " bytes of ", wanted.count));
            }
            check_in_place(mover);
            expect(memory.allocations() == allocations, "start allocates nothing");
        } catch (const ragged::CommError&) {
            throw;
        } catch (const std::exception& error) {
            throw std::runtime_error(
                ragged::concat("rank ", rank_, ", ", from_.text, " -> ", to_.text, ": ", error.what()));
        }
    }

    /// There and back: what lies in tensors is as it was. @pre no contributions
    void check_back(const Mover<T>& there, const Mover<T>& back) const {
        std::vector<T> source(static_cast<std::size_t>(there.source_elems)),
            other(static_cast<std::size_t>(there.destination_elems));
        fill(source, 0);
        std::vector<T> result(source.size(), sentinel());
        const std::vector<T> before = source;
        there.run(there.redistribution.get(), source.data(), other.data());
        back.run(back.redistribution.get(), other.data(), result.data());
        for (std::size_t t = 0; t < from_.tensors.size() && holds(from_); ++t)
            for (std::int64_t i = 0; i < portion(from_, t).elements && to_.find(from_.tensors[t].name) >= 0;
                 ++i) {
                const auto at = static_cast<std::size_t>(offset(from_, t) + i);
                expect(static_cast<float>(result[at]) == static_cast<float>(before[at]),
                       ragged::concat("rank ", rank_, ", ", from_.text, " -> ", to_.text, " and back"));
            }
    }

  private:
    static constexpr auto bytes_of_element = static_cast<std::int64_t>(sizeof(T));
    static T sentinel() { return static_cast<T>(-96.0f); }

    struct Bytes {
        std::int64_t count;
        bool exact;
    };

    bool holds(const LayoutFacts& facts) const { return rank_ < facts.num_ranks(); }
    std::int64_t size_of(const LayoutFacts& facts) const {
        return holds(facts) ? facts.offsets[static_cast<std::size_t>(rank_)].back() : 0;
    }
    const ragged::Portion& portion(const LayoutFacts& facts, std::size_t tensor) const {
        return facts.portions[static_cast<std::size_t>(rank_)][tensor];
    }
    std::int64_t offset(const LayoutFacts& facts, std::size_t tensor) const {
        return facts.offsets[static_cast<std::size_t>(rank_)][tensor];
    }
    const std::vector<std::int64_t>& own() const {
        return from_.coordinates[static_cast<std::size_t>(rank_)];
    }
    std::int64_t received_bytes() const {
        std::int64_t sum = 0;
        for (const ragged::LocalCommunicator* each : communicators_)
            sum += each->received_bytes();
        return sum;
    }
    static bool same(const std::vector<T>& a, const std::vector<T>& b) {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                          [](T x, T y) { return static_cast<float>(x) == static_cast<float>(y); });
    }
    static bool is_exchange(const ragged::RouteStep& step) {
        using Action = ragged::RouteStep::Action;
        return step.action == Action::exchange || step.action == Action::gather_to_root ||
               step.action == Action::scatter_from_root;
    }

    /// Small integers: sums of eight of them are exact in every type.
    static float value(std::string_view name, std::int64_t global, int step) {
        const std::int64_t seed = name.empty() ? 0 : static_cast<std::int64_t>(name.back());
        return static_cast<float>((seed * 31 + global * 7 + step * 5 + 1) % 13 - 6);
    }
    /// What a rank at these coordinates contributes.
    float contribution(const std::vector<std::int64_t>& at, std::string_view name, std::int64_t global,
                       int step) const {
        float result = value(name, global, step);
        for (std::size_t axis = 0; axis < at.size(); ++axis)
            if (from_.is_partial(axis)) // the largest is on another rank for each element
                result += static_cast<float>((at[axis] * 3 + global + static_cast<std::int64_t>(axis)) % 5);
        return result;
    }
    /// Contributions of all ranks that differ in reduced coordinates only, as one; not rounded.
    double expected(std::string_view name, std::int64_t global, int step) const {
        if (!from_.is_partial())
            return value(name, global, step);
        std::vector<std::vector<std::int64_t>> peers{own()};
        bool takes_max = false;
        double divisor = 1;
        for (std::size_t axis = 0; axis < from_.sizes.size(); ++axis) {
            if (!from_.is_partial(axis) || to_.is_partial(axis))
                continue;
            takes_max = from_.kinds[axis].op == ragged::PartialOp::max;
            if (from_.kinds[axis].op == ragged::PartialOp::avg)
                divisor *= static_cast<double>(from_.sizes[axis]);
            std::vector<std::vector<std::int64_t>> more;
            for (std::vector<std::int64_t> at : peers)
                for (at[axis] = 0; at[axis] < from_.sizes[axis]; ++at[axis])
                    more.push_back(at);
            peers = more;
        }
        double result = takes_max ? -1000 : 0;
        for (const std::vector<std::int64_t>& at : peers) {
            const double each = contribution(at, name, global, step);
            result = takes_max ? std::max(result, each) : result + each;
        }
        return result / divisor;
    }

    void fill(std::vector<T>& source, int step) const { fill(source.data(), source.size(), step); }
    void fill(T* source, std::size_t size, int step) const {
        std::fill_n(source, size, static_cast<T>(99.0f));
        for (std::size_t t = 0; t < from_.tensors.size() && holds(from_); ++t) {
            const ragged::Portion& held = portion(from_, t);
            for (std::int64_t i = 0; i < held.elements; ++i)
                source[offset(from_, t) + i] =
                    static_cast<T>(contribution(own(), from_.tensors[t].name, held.global(i), step));
        }
    }

    void check_values(const T* destination, int step) const {
        constexpr double rounding = sizeof(T) == 2 ? 1.0 / 128 : 1.0 / (1 << 22);
        for (std::size_t t = 0; t < to_.tensors.size() && holds(to_); ++t) {
            const bool known = from_.find(to_.tensors[t].name) >= 0;
            const ragged::Portion& held = portion(to_, t);
            for (std::int64_t i = 0; i < held.elements; ++i) {
                const double got = static_cast<double>(static_cast<float>(destination[offset(to_, t) + i]));
                const double wanted = known ? expected(to_.tensors[t].name, held.global(i), step)
                                            : static_cast<double>(static_cast<float>(sentinel()));
                const double allowed = wanted == std::floor(wanted) ? 0 : std::abs(wanted) * rounding;
                expect(std::abs(got - wanted) <= allowed,
                       ragged::concat("tensor ", to_.tensors[t].name, " element ", held.global(i), " at ", i,
                                      ": got ", std::to_string(got), ", wanted ", std::to_string(wanted)));
            }
        }
    }
    /// What lies between the tensors is as it was.
    void check_between(const std::vector<T>& destination) const {
        std::vector<bool> used(destination.size(), false);
        for (std::size_t t = 0; t < to_.tensors.size() && holds(to_); ++t)
            for (std::int64_t i = 0; i < portion(to_, t).elements; ++i)
                used[static_cast<std::size_t>(offset(to_, t) + i)] = true;
        for (std::size_t i = 0; i < used.size(); ++i)
            expect(used[i] || static_cast<float>(destination[i]) == static_cast<float>(sentinel()),
                   ragged::concat("element ", i, " lies between tensors"));
    }
    /// Collective, as every run.
    void check_in_place(const Mover<T>& mover) const {
        const std::int64_t apart = mover.source_elems; // where this rank needs two arrays; others may not
        const std::int64_t shift = mover.in_place_shift.value_or(apart);
        const std::int64_t before = std::max<std::int64_t>(0, -shift);
        const std::int64_t end = before + std::max(mover.source_elems, mover.destination_elems + shift);
        std::vector<T> both(static_cast<std::size_t>(std::max<std::int64_t>(end, 0)), sentinel());
        T* const source = both.data() + before;
        fill(source, static_cast<std::size_t>(mover.source_elems), 2);
        mover.run(mover.redistribution.get(), source, source + shift);
        check_values(source + shift, 2);
    }

    /// Elements of the destination that are not in this rank's source.
    std::int64_t missing_elements() const {
        std::int64_t sum = 0;
        for (std::size_t t = 0; t < to_.tensors.size() && holds(to_); ++t) {
            const std::int64_t source = from_.find(to_.tensors[t].name);
            const ragged::Portion& held = portion(to_, t);
            for (std::int64_t i = 0; i < held.elements && source >= 0; ++i)
                sum += holds(from_) &&
                               portion(from_, static_cast<std::size_t>(source)).local(held.global(i)) >= 0
                           ? 0
                           : 1;
        }
        return sum;
    }
    /// What the collectives of a route receive on this rank; at most that, where an exchange ends it.
    Bytes bytes_of(const ragged::Route& route) const {
        using Action = ragged::RouteStep::Action;
        std::int64_t elements = 0;
        bool exact = true;
        for (std::size_t t = 0; t < to_.tensors.size(); ++t) {
            const std::int64_t found = from_.find(to_.tensors[t].name);
            if (found < 0)
                continue;
            const auto at_depth = [&](const LayoutFacts& facts, std::size_t depth, std::size_t tensor) {
                return facts.counts[std::min(depth, facts.counts.size() - 1)][static_cast<std::size_t>(rank_)]
                                   [tensor];
            };
            std::int64_t held = portion(from_, static_cast<std::size_t>(found)).elements;
            for (std::size_t i = 0; i < route.size; ++i) {
                const ragged::RouteStep& step = route.steps[i];
                const std::int64_t ranks = from_.sizes[step.axis], coordinate = own()[step.axis];
                if (step.action == Action::slice) {
                    held = at_depth(to_, step.depth, t);
                } else if (step.action == Action::reduce_scatter) {
                    held = step.even ? ragged::Chunk(held, ranks, coordinate).extent
                                     : at_depth(to_, step.depth, t);
                    elements += (ranks - 1) * held;
                } else if (step.action == Action::all_reduce) {
                    const std::int64_t part = held / ranks + (coordinate < held % ranks ? 1 : 0);
                    elements += (ranks - 1) * part + held - part;
                } else if (is_exchange(step)) {
                    elements += portion(to_, t).elements;
                    exact = false;
                } else {
                    const std::int64_t joined = at_depth(from_, step.depth, static_cast<std::size_t>(found));
                    elements += joined - held;
                    held = joined;
                }
            }
        }
        return {elements * bytes_of_element, exact};
    }

    const LayoutFacts& from_;
    const LayoutFacts& to_;
    int rank_;
    const std::vector<ragged::LocalCommunicator*>& communicators_;
};

} // namespace support
