// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What one training step does on every rank, as data: which group is gathered when and into which slot, when
// the model computes, when gradients are reduced. Every rank makes the same from the same options; the step
// carries it out line by line.
//
//     const auto schedule = ragged::make_schedule(3, {.rounds = 2, .prefetch = 1});
//     ragged::print(std::cout, schedule, {"embedding", "layers.0", "head"});
#pragma once

#include <algorithm> // std::min
#include <cstdint>
#include <deque>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/core/error.hpp>
#include <ragged/core/hash.hpp>

namespace ragged {

/// When gradients are summed over the ranks.
enum class ReduceGradients : std::uint8_t {
    each_round, // after the backward of every group; a gradient slot is free again soon
    last_round  // communicates once per step, and keeps a whole gradient of every group until then
};

struct ScheduleOptions {
    std::int64_t rounds = 1;   // micro-batches that each data-parallel rank computes, one after the other
    std::int64_t prefetch = 1; // groups that are gathered ahead of the one in use
    bool reshard = true;       // false: gathered weights stay until the end of the step, one slot per group
    ReduceGradients reduce = ReduceGradients::each_round;

    constexpr bool operator==(const ScheduleOptions&) const = default;
};

/// One line of a schedule.
struct Action {
    // clang-format off
    enum class What : std::uint8_t {
        gather,     // cast this rank's masters into the slot, and start to gather there
        forward,    // the model computes, when the weights are there
        backward,   // the same; it adds to the gradient slot
        release,    // the weight slot is free
        clear,      // the gradient slot becomes zero
        reduce,     // start to sum the gradient slot over the ranks
        accumulate, // add this rank's sums to its gradients, when they are there; the gradient slot is free
        norm,       // the norm of all gradients, over all ranks
        update      // the optimizer, unless a gradient is not finite
    };
    // clang-format on

    What what;
    std::int64_t group = -1; // -1: all
    std::int64_t round = -1;
    std::int64_t weight_slot = -1;
    std::int64_t gradient_slot = -1;

    constexpr bool operator==(const Action&) const = default;
};

constexpr std::string_view name(Action::What what) {
    constexpr std::string_view names[] = {"gather", "forward",    "backward", "release", "clear",
                                          "reduce", "accumulate", "norm",     "update"};
    return names[static_cast<std::size_t>(what)];
}

struct Schedule {
    std::int64_t num_groups = 0;
    std::int64_t num_rounds = 0;
    std::int64_t weight_slots = 0;
    std::int64_t gradient_slots = 0;
    std::vector<Action> actions;

    bool operator==(const Schedule&) const = default;
};

namespace detail {

/// Writes a schedule. Weights are used in the order of the model and back; neighbouring uses of one group are
/// one, so that the last group is gathered once for its forward and backward.
class ScheduleWriter {
    using What = Action::What;

    struct Use {
        std::int64_t group;
        std::vector<Action> computes;
    };

  public:
    ScheduleWriter(std::int64_t num_groups, const ScheduleOptions& options)
        : options_(options) {
        schedule_.num_groups = num_groups;
        schedule_.num_rounds = options.rounds;
        for (std::int64_t round = 0; round < options.rounds; ++round) {
            for (std::int64_t group = 0; group < num_groups; ++group)
                use({What::forward, group, round});
            for (std::int64_t group = num_groups; group-- > 0;)
                use({What::backward, group, round});
        }
        const auto num_uses = static_cast<std::int64_t>(uses_.size());
        prefetch_ = std::min(options.prefetch, num_uses);
        schedule_.weight_slots = options.reshard ? std::min(prefetch_ + 1, num_uses) : num_groups;
        const bool each_round = options.reduce == ReduceGradients::each_round;
        schedule_.gradient_slots =
            each_round ? std::min(num_reducing() + 1, num_groups * options.rounds) : num_groups;
    }

    Schedule write() {
        const auto num_uses = static_cast<std::int64_t>(uses_.size());
        std::int64_t next = 0; // to be gathered
        for (std::int64_t index = 0; index < num_uses; ++index) {
            for (; next < num_uses && next <= index + prefetch_; ++next)
                gather(next);
            for (const Action& compute : uses_[static_cast<std::size_t>(index)].computes)
                this->compute(compute, weight_slot(index));
            if (options_.reshard)
                add({What::release, uses_[static_cast<std::size_t>(index)].group, -1, weight_slot(index)});
        }
        if (!options_.reshard)
            for (std::int64_t group = 0; group < schedule_.num_groups; ++group)
                add({What::release, group, -1, group});
        while (!reducing_.empty())
            accumulate();
        add({What::norm});
        add({What::update});
        return std::move(schedule_);
    }

  private:
    /// Reductions that may run while the model computes.
    std::int64_t num_reducing() const { return options_.prefetch > 0 ? 1 : 0; }

    void use(const Action& compute) {
        if (uses_.empty() || uses_.back().group != compute.group)
            uses_.push_back({compute.group, {}});
        uses_.back().computes.push_back(compute);
    }

    std::int64_t weight_slot(std::int64_t use) const {
        return options_.reshard ? use % schedule_.weight_slots : uses_[static_cast<std::size_t>(use)].group;
    }

    void gather(std::int64_t use) {
        if (options_.reshard || use < schedule_.num_groups)
            add({What::gather, uses_[static_cast<std::size_t>(use)].group, -1, weight_slot(use)});
    }

    void compute(Action action, std::int64_t weight_slot) {
        action.weight_slot = weight_slot;
        if (action.what == What::forward) {
            add(action);
            return;
        }
        const bool each_round = options_.reduce == ReduceGradients::each_round;
        action.gradient_slot = each_round ? num_backwards_++ % schedule_.gradient_slots : action.group;
        while (static_cast<std::int64_t>(reducing_.size()) > num_reducing())
            accumulate();
        if (each_round || action.round == 0)
            add({What::clear, action.group, action.round, -1, action.gradient_slot});
        add(action);
        if (each_round || action.round + 1 == options_.rounds) {
            reducing_.push_back({What::reduce, action.group, action.round, -1, action.gradient_slot});
            add(reducing_.back());
        }
    }

    void accumulate() {
        Action action = reducing_.front();
        reducing_.pop_front();
        action.what = What::accumulate;
        add(action);
    }

    void add(const Action& action) { schedule_.actions.push_back(action); }

    ScheduleOptions options_;
    Schedule schedule_;
    std::int64_t prefetch_ = 0;
    std::vector<Use> uses_;
    std::deque<Action> reducing_; // started, not accumulated
    std::int64_t num_backwards_ = 0;
};

} // namespace detail

/// The schedule of a step over `num_groups` groups, used from the first to the last and back. Local; equal on
/// every rank.
/// @throws PlanError  no group, no round, a negative prefetch
inline Schedule make_schedule(std::int64_t num_groups, const ScheduleOptions& options = {}) {
    if (num_groups < 1 || options.rounds < 1 || options.prefetch < 0)
        throw PlanError(concat("a step takes at least 1 group, 1 round and a prefetch of 0, got ", num_groups,
                               ", ", options.rounds, " and ", options.prefetch));
    return detail::ScheduleWriter(num_groups, options).write();
}

/// "gather layers.1 into slot 0", "backward layers.1 of round 0, gradients in slot 1"
inline std::string to_string(const Action& action, std::string_view group) {
    std::string text(name(action.what));
    if (action.group >= 0)
        text += concat(" ", group);
    if (action.round >= 0)
        text += concat(" of round ", action.round);
    if (action.weight_slot >= 0)
        text += concat(action.what == Action::What::gather ? " into slot " : ", weights in slot ",
                       action.weight_slot);
    if (action.gradient_slot >= 0)
        text += concat(", gradients in slot ", action.gradient_slot);
    return text;
}

/// One action per line. @param groups  their names, [num_groups]
inline void print(std::ostream& out, const Schedule& schedule, std::span<const std::string> groups) {
    for (const Action& action : schedule.actions)
        out << to_string(action, action.group < 0 ? std::string_view()
                                                  : groups[static_cast<std::size_t>(action.group)])
            << '\n';
}

} // namespace ragged
