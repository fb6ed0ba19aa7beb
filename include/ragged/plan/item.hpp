// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One tensor in the planner's units, and the question everything else is built on: where may it start?
// Shards of S elements lie end to end; boundary b is at b * S. A tensor that lies over a boundary has a
// **head** before the first one; the head, and every whole shard behind it, must end on a legal cut.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric> // std::gcd
#include <vector>

#include <ragged/plan/planner.hpp>

namespace ragged::detail {

/// Sums of three counts below stay in 64 bits.
inline constexpr std::int64_t max_elements = max_count / 4;

struct Item {
    CutPattern cuts;
    std::int64_t align = 1; // of the start; divides S
    std::int64_t head_step =
        1;                   // lcm(cuts.step, align): where cuts are uniform, an aligned head is a multiple
    std::int64_t tensor = 0; // index in PlanInput
    bool uniform = true;     // cuts.uniform()

    constexpr Item() = default;
    /// @param alignment  of the start in elements: a power of two
    constexpr Item(const CutPattern& pattern, std::int64_t alignment, std::int64_t index)
        : cuts(pattern)
        , align(alignment)
        , head_step(std::min(saturating_lcm(pattern.step, alignment), max_elements + 1))
        , tensor(index)
        , uniform(pattern.uniform()) {}

    constexpr std::int64_t elements() const { return cuts.elements; }
    /// What the item takes up before another of the same alignment.
    constexpr std::int64_t aligned_elems() const { return round_up(cuts.elements, align); }

    /// Whether the planner can tell the two apart.
    constexpr bool alike(const Item& other) const { return cuts == other.cuts && align == other.align; }

    /// The largest head of at most `room` elements that ends on an aligned cut, whatever lies behind it.
    /// @pre room < elements()
    constexpr std::int64_t cut_below(std::int64_t room) const {
        if (uniform)
            return round_down(room, head_step);
        std::int64_t last = room % cuts.period / cuts.step; // step inside the period
        for (std::int64_t period = room / cuts.period;; --period, last = cuts.units_per_period() - 1) {
            const auto [first, apart] = aligned_steps(period);
            if (apart > 0 && first <= last)
                return period * cuts.period + (last - (last - first) % apart) * cuts.step;
        }
    }

    /// The next larger one; elements() when there is none.
    constexpr std::int64_t cut_above(std::int64_t head) const {
        if (uniform)
            return head + head_step;
        std::int64_t least = head % cuts.period / cuts.step + 1; // step inside the period
        for (std::int64_t period = head / cuts.period; period < cuts.elements / cuts.period;
             ++period, least = 0) {
            const auto [first, apart] = aligned_steps(period);
            const std::int64_t step = apart == 0
                                          ? cuts.units_per_period()
                                          : first + round_up(std::max(least - first, std::int64_t{0}), apart);
            if (step < cuts.units_per_period())
                return period * cuts.period + step * cuts.step;
        }
        return cuts.elements;
    }

    /// The largest legal head of at most `room` elements on shards of `shard`; 0 when there is none.
    /// @pre room < elements(), room <= shard
    constexpr std::int64_t head(std::int64_t shard, std::int64_t room) const {
        std::int64_t head = cut_below(room);
        if (head == 0 || cuts.elements - head <= shard) // one boundary only
            return head;
        if (uniform)
            return shard % cuts.step == 0 ? head : 0;
        // Shards step through the period by `shift`. They stay on its cuts only as long as they do not pass
        // its end, where the steps begin anew behind a short one: going up when the shift is whole steps, or
        // down when what it lacks of a period is.
        const std::int64_t shift = shard % cuts.period, lack = cuts.period - shift;
        const bool up = shift % cuts.step == 0;
        if (shift == 0)
            return head;
        if (!up && lack % cuts.step != 0)
            return 0;
        const std::int64_t last = round_down(cuts.period - 1, cuts.step); // the last cut inside a period
        while (head > 0) {
            const std::int64_t boundaries = ceil_div(cuts.elements - head, shard) - 1; // behind the head's
            const std::int64_t inside = head % cuts.period;
            if (boundaries > last / (up ? shift : lack))
                return 0; // and smaller heads leave as many boundaries or more
            const std::int64_t way = boundaries * (up ? shift : lack);
            if (up ? inside <= last - way : inside >= way)
                return head;
            head = up               ? cut_below(head - inside + last - way)
                   : inside == head ? 0
                                    : cut_below(head - inside - 1);
        }
        return head;
    }

    /// Whether the item can be placed on shards of `shard` when it is alone.
    constexpr bool fits_alone(std::int64_t shard) const {
        return elements() <= shard || (shard > 0 && head(shard, shard) > 0);
    }

    /// The next larger S at which the item may cover whole shards.
    constexpr std::int64_t next_covering(std::int64_t shard) const {
        if (uniform)
            return round_down(shard, head_step) + head_step;
        const std::int64_t base = round_down(shard, cuts.period), shift = shard % cuts.period;
        const std::int64_t up = std::min(round_down(shift, cuts.step) + cuts.step, cuts.period);
        const std::int64_t lack = round_down(cuts.period - shift - 1, cuts.step);
        return base + std::min(up, cuts.period - lack);
    }

    /// Where the item starts when it starts as early as possible at or behind `from`; -1 when it cannot on
    /// these shards. An earlier end never hurts what follows, so this is all that a given order needs.
    constexpr std::int64_t earliest_start(std::int64_t shard, std::int64_t from) const {
        const std::int64_t start = round_up(from, align), boundary = round_down(start, shard) + shard;
        if (elements() <= boundary - start)
            return start;
        if (const std::int64_t here = head(shard, boundary - start); here > 0)
            return boundary - here;
        if (elements() <= shard)
            return boundary;
        const std::int64_t next = head(shard, shard);
        return next > 0 ? boundary + shard - next : -1;
    }

  private:
    struct Steps {
        std::int64_t first; // of a period, from 0
        std::int64_t apart; // 0: none
    };
    /// The steps of a period that start on an aligned element: first, first + apart, ... The alignment is a
    /// power of two, so an odd factor has an inverse modulo it.
    constexpr Steps aligned_steps(std::int64_t period) const {
        const std::int64_t common = std::gcd(cuts.step, align), apart = align / common;
        const std::int64_t offset = (period % align) * (cuts.period % align) % align;
        if (offset % common != 0)
            return {0, 0};
        const auto odd = static_cast<std::uint64_t>(cuts.step / common);
        std::uint64_t inverse = odd; // right in 3 bits, and in twice as many after each turn
        for (int bits = 3; bits < 64; bits *= 2)
            inverse *= 2 - odd * inverse;
        const std::uint64_t lack = static_cast<std::uint64_t>(apart - offset / common % apart);
        return {static_cast<std::int64_t>(lack * inverse & static_cast<std::uint64_t>(apart - 1)), apart};
    }
};

constexpr std::vector<Item> make_items(const PlanInput& input) {
    std::vector<Item> items;
    items.reserve(input.tensors.size());
    for (std::size_t i = 0; i < input.tensors.size(); ++i) {
        const PlanTensor& tensor = input.tensors[i];
        items.emplace_back(tensor.cuts, tensor.align_elems, static_cast<std::int64_t>(i));
    }
    return items;
}

/// Sum of the elements of items.
constexpr std::int64_t elements_of(const std::vector<Item>& items) {
    std::int64_t sum = 0;
    for (const Item& item : items)
        sum = checked_add(sum, item.elements(), "elements of a group");
    return sum;
}

} // namespace ragged::detail
