// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/step/schedule.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/expect.hpp"

namespace {

using ragged::Action;
using ragged::ReduceGradients;
using ragged::Schedule;
using ragged::ScheduleOptions;
using What = Action::What;

/// Carries a schedule out over slots that know what is in them, and throws where a real one would go wrong.
class Checker {
  public:
    Checker(const Schedule& schedule, const ScheduleOptions& options)
        : schedule_(schedule)
        , options_(options) {}

    void run() {
        for (const Action& action : schedule_.actions)
            step(action);
        require(weights_.empty(), "all weights are released");
        require(gradients_.empty(), "all gradients are taken");
        require(updated_, "the step ends with an update");
        for (std::int64_t group = 0; group < schedule_.num_groups; ++group)
            for (std::int64_t round = 0; round < options_.rounds; ++round)
                require(summed_[group].count(round) == 1, "every gradient is summed once");
    }
    std::int64_t num_gathers = 0, num_reduces = 0;

  private:
    struct Gradient {
        std::int64_t group;
        std::set<std::int64_t> rounds;
        bool reducing = false;
    };

    static void require(bool held, const std::string& what) {
        if (!held)
            throw std::logic_error(what);
    }

    void step(const Action& action) {
        require(!updated_, "nothing follows the update");
        switch (action.what) {
        case What::gather:
            ++num_gathers;
            require(action.weight_slot >= 0 && action.weight_slot < schedule_.weight_slots, "a slot");
            require(weights_.emplace(action.weight_slot, action.group).second, "the slot is free");
            ahead_.push_back(action.group);
            require(static_cast<std::int64_t>(ahead_.size()) <= options_.prefetch + 1, "not too far ahead");
            break;
        case What::forward:
        case What::backward: {
            require(weights_.at(action.weight_slot) == action.group, "the weights are there");
            if (!ahead_.empty() && ahead_.front() == action.group)
                ahead_.erase(ahead_.begin());
            const bool back = action.what == What::backward;
            const auto& last = computed_.empty() ? Action{What::forward, -1, 0} : computed_.back();
            if (!back)
                require(action.group == (last.what == What::forward ? last.group + 1 : 0), "forward order");
            else
                require(action.group ==
                            (last.what == What::forward ? schedule_.num_groups - 1 : last.group - 1),
                        "backward order");
            computed_.push_back(action);
            if (back) {
                Gradient& gradient = gradients_.at(action.gradient_slot);
                require(gradient.group == action.group && !gradient.reducing, "its gradient slot");
                require(gradient.rounds.insert(action.round).second, "one backward per round");
            }
            break;
        }
        case What::release:
            require(weights_.at(action.weight_slot) == action.group, "released where it was");
            weights_.erase(action.weight_slot);
            break;
        case What::clear:
            require(action.gradient_slot >= 0 && action.gradient_slot < schedule_.gradient_slots, "a slot");
            require(gradients_.emplace(action.gradient_slot, Gradient{action.group, {}}).second,
                    "the gradient slot is free");
            break;
        case What::reduce:
            ++num_reduces;
            require(gradients_.at(action.gradient_slot).group == action.group, "reduced where it is");
            gradients_.at(action.gradient_slot).reducing = true;
            break;
        case What::accumulate: {
            const Gradient& gradient = gradients_.at(action.gradient_slot);
            require(gradient.group == action.group && gradient.reducing, "reduced before");
            for (const std::int64_t round : gradient.rounds)
                require(summed_[action.group].insert(round).second, "summed once");
            gradients_.erase(action.gradient_slot);
            break;
        }
        case What::norm:
            require(gradients_.empty(), "the norm is of all gradients");
            normed_ = true;
            break;
        default:
            require(normed_ && weights_.empty(), "the update is last");
            updated_ = true;
        }
    }

    const Schedule& schedule_;
    const ScheduleOptions& options_;
    std::map<std::int64_t, std::int64_t> weights_; // slot to group
    std::map<std::int64_t, Gradient> gradients_;   // by slot
    std::map<std::int64_t, std::set<std::int64_t>> summed_;
    std::vector<std::int64_t> ahead_; // gathered, not yet used
    std::vector<Action> computed_;
    bool normed_ = false, updated_ = false;
};

} // namespace

TEST_CASE("every schedule computes in order, with each slot holding what is used") {
    for (std::int64_t groups = 1; groups <= 6; ++groups)
        for (std::int64_t rounds = 1; rounds <= 3; ++rounds)
            for (std::int64_t prefetch = 0; prefetch <= 7; ++prefetch)
                for (const bool reshard : {true, false})
                    for (const auto reduce : {ReduceGradients::each_round, ReduceGradients::last_round}) {
                        CAPTURE(groups);
                        CAPTURE(rounds);
                        CAPTURE(prefetch);
                        CAPTURE(reshard);
                        const ScheduleOptions options{rounds, prefetch, reshard, reduce};
                        const Schedule schedule = ragged::make_schedule(groups, options);
                        Checker checker(schedule, options);
                        REQUIRE_NOTHROW(checker.run());
                        // neighbouring uses of the last group, and of the first across rounds, are one
                        const std::int64_t uses = groups == 1 ? 1 : rounds * (2 * groups - 2) + 1;
                        CHECK(checker.num_gathers == (reshard ? uses : groups));
                        CHECK(checker.num_reduces ==
                              groups * (reduce == ReduceGradients::each_round ? rounds : 1));
                        if (reshard)
                            CHECK(schedule.weight_slots == std::min(prefetch + 1, uses));
                        if (reduce == ReduceGradients::each_round)
                            CHECK(schedule.gradient_slots <= (prefetch > 0 ? 2 : 1));
                    }
}

TEST_CASE("gathers run ahead, and a reduction runs beside the next backward") {
    const Schedule schedule = ragged::make_schedule(3);
    std::ostringstream out;
    const std::vector<std::string> names{"embedding", "layer", "head"};
    ragged::print(out, schedule, names);
    CHECK(out.str() == R"(gather embedding into slot 0
gather layer into slot 1
forward embedding of round 0, weights in slot 0
release embedding, weights in slot 0
gather head into slot 0
forward layer of round 0, weights in slot 1
release layer, weights in slot 1
gather layer into slot 1
forward head of round 0, weights in slot 0
clear head of round 0, gradients in slot 0
backward head of round 0, weights in slot 0, gradients in slot 0
reduce head of round 0, gradients in slot 0
release head, weights in slot 0
gather embedding into slot 0
clear layer of round 0, gradients in slot 1
backward layer of round 0, weights in slot 1, gradients in slot 1
reduce layer of round 0, gradients in slot 1
release layer, weights in slot 1
accumulate head of round 0, gradients in slot 0
clear embedding of round 0, gradients in slot 0
backward embedding of round 0, weights in slot 0, gradients in slot 0
reduce embedding of round 0, gradients in slot 0
release embedding, weights in slot 0
accumulate layer of round 0, gradients in slot 1
accumulate embedding of round 0, gradients in slot 0
norm
update
)");
}

TEST_CASE("without a prefetch there is one slot of each kind, and nothing runs beside the model") {
    const Schedule schedule = ragged::make_schedule(3, {.rounds = 2, .prefetch = 0});
    CHECK(schedule.weight_slots == 1);
    CHECK(schedule.gradient_slots == 1);
}

TEST_CASE("numbers that make no step are refused") {
    for (const auto& wrong :
         {std::pair<std::int64_t, ScheduleOptions>{0, {}}, {1, {.rounds = 0}}, {1, {.prefetch = -1}}})
        CHECK(
            support::contains(support::message_of([&] { ragged::make_schedule(wrong.first, wrong.second); }),
                              "a step takes at least 1 group, 1 round and a prefetch of 0, got "));
}
