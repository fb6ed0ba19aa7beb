// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Which tensors go into which segment. One matrix with an odd row length multiplies its granularity into
// every shard of its segment; in a segment of its own it cannot.
//
// The search chooses shard sizes first and tensors second. A shard size that is a multiple of the lcm of some
// granularities may be covered by just those tensors, so the sizes worth trying are multiples of few numbers.
// A combination of sizes is possible only if, for every set of segments, the tensors that have no place
// outside of it fit into it (Hall's condition). That test costs next to nothing; combinations that pass are
// tried with real tensors, cheapest first.
#pragma once

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include <ragged/plan/order_search.hpp>

namespace ragged::detail {

class SegmentSearch {
  public:
    static constexpr std::size_t max_segments = 8;

    /// @param price_elems  what one more segment costs, in elements of padding of the gathered group
    constexpr SegmentSearch(const std::vector<Item>& items, std::int64_t num_devices,
                            std::int64_t alignment_elems, std::int64_t price_elems, policy::Order order)
        : items_(items)
        , kinds_(kinds_of(items))
        , num_devices_(num_devices)
        , alignment_(alignment_elems)
        , price_(price_elems)
        , order_(order)
        , exact_(order == policy::Order::search && EveryOrder::num_states(kinds_) > 0)
        , fair_(round_up(ceil_div(elements_of(items), num_devices), alignment_elems)) {
        best_.push_back(pack(items, num_devices, alignment_elems, order));
        best_cost_ = cost(best_.front().shard.shard_elems, 1);
    }

    /// The cheapest plan found with at most `limit` segments, largest shards first.
    constexpr std::vector<Packing> run(std::size_t limit) {
        limit = std::min({limit, items_.size(), max_segments});
        if (limit > 1 && may_improve(2)) {
            find_steps();
            for (std::size_t count = 2; count <= limit && may_improve(count); ++count)
                try_count(count);
        }
        std::sort(best_.begin(), best_.end(), [](const Packing& a, const Packing& b) {
            return a.shard.shard_elems != b.shard.shard_elems
                       ? a.shard.shard_elems > b.shard.shard_elems
                       : a.order.front().tensor < b.order.front().tensor;
        });
        if (order_ == policy::Order::search)
            number_copies();
        return best_;
    }

  private:
    using Sizes = std::array<std::int64_t, max_segments>;

    struct Trial {
        std::int64_t sum = 0;   // of the sizes
        std::int64_t slack = 0; // elements that the tightest set of segments has to spare
        Sizes sizes{};          // falling

        constexpr bool operator<(const Trial& other) const {
            if (sum != other.sum)
                return sum < other.sum;
            return slack != other.slack ? slack > other.slack : sizes > other.sizes;
        }
    };

    // Bounds on the work for one group; the search is as good as it gets within them.
    static constexpr std::size_t max_steps = 48;        // step sizes
    static constexpr std::int64_t all_sizes = 96;       // up to as many aligned sizes all are tried
    static constexpr std::int64_t window = 24;          // multiples of a step, from the least possible one
    static constexpr int num_closing = 12;              // and of the step that closes the sum,
    static constexpr int num_checks = 100'000;          // combinations tested by Hall's condition
    static constexpr std::size_t max_trials = 2048;     // combinations kept
    static constexpr int num_exact = 1024;              // and tried: exactly,
    static constexpr std::int64_t num_placed = 1 << 19; // or by filling, placing as many tensors
    static constexpr std::size_t num_alike = 16;        // of one sum, those with most slack

    constexpr std::int64_t cost(std::int64_t sum, std::size_t count) const {
        return num_devices_ * sum + price_ * static_cast<std::int64_t>(count - 1);
    }
    constexpr bool may_improve(std::size_t count) const { return cost(fair_, count) < best_cost_; }

    /// Multiples of these may be covered: the alignment and lcms of granularities, those of many elements
    /// first.
    constexpr void find_steps() {
        steps_ = {alignment_};
        if (best_.front().shard.shard_elems / alignment_ <= all_sizes)
            return;
        std::vector<std::pair<std::int64_t, std::int64_t>> granularities; // elements, step
        const auto add = [&](std::int64_t step, std::int64_t elements) {
            for (auto& [sum, known] : granularities)
                if (known == step) {
                    sum += elements;
                    return;
                }
            granularities.emplace_back(elements, step);
        };
        for (const Kind& kind : kinds_) {
            const Item& item = kind.item();
            const std::int64_t elements = kind.count() * item.elements();
            if (item.elements() == 0)
                continue;
            add(saturating_lcm(item.cuts.step, alignment_), elements);
            if (!item.uniform)
                add(saturating_lcm(item.cuts.period, alignment_), elements);
        }
        std::sort(granularities.begin(), granularities.end(),
                  [](const auto& a, const auto& b) { return a > b; });
        for (const auto& [elements, granularity] : granularities) {
            const std::size_t before = steps_.size();
            for (std::size_t i = 0; i < before && steps_.size() < max_steps; ++i) {
                const std::int64_t step = saturating_lcm(steps_[i], granularity);
                if (step <= best_.front().shard.shard_elems &&
                    std::find(steps_.begin(), steps_.end(), step) == steps_.end())
                    steps_.push_back(step);
            }
        }
        std::sort(steps_.begin(), steps_.end());
    }

    constexpr void try_count(std::size_t count) {
        trials_.clear();
        checks_ = 0;
        worst_ = max_count;
        Sizes steps{};
        choose_steps(steps, 0, count, steps_.size());
        sort_trials();
        int exact = 0;
        std::int64_t placed = 0;
        for (const Trial& trial : trials_) {
            if (cost(trial.sum, count) >= best_cost_)
                break;
            const std::vector<std::int64_t> sizes(trial.sizes.begin(),
                                                  trial.sizes.begin() + static_cast<std::ptrdiff_t>(count));
            if (!exact_ && placed < num_placed)
                placed += fill_all(sizes);
            else if (exact_ && exact++ < num_exact)
                accept(EveryOrder::solve(kinds_, sizes, num_devices_));
        }
    }

    /// Cheapest first; of one sum no more than will be tried.
    constexpr void sort_trials() {
        std::sort(trials_.begin(), trials_.end());
        std::size_t kept = 0, alike = 0;
        for (std::size_t i = 0; i < trials_.size(); ++i) {
            if (i > 0 && trials_[i].sizes == trials_[kept - 1].sizes)
                continue;
            alike = kept > 0 && trials_[i].sum == trials_[kept - 1].sum ? alike + 1 : 0;
            if (exact_ || alike < num_alike)
                trials_[kept++] = trials_[i];
        }
        trials_.erase(trials_.begin() + static_cast<std::ptrdiff_t>(kept), trials_.end());
    }

    /// Every combination of steps, from coarse to fine.
    constexpr void choose_steps(Sizes& steps, std::size_t at, std::size_t count, std::size_t below) {
        if (at == count) {
            for (std::size_t closing = try_all() ? count - 1 : 0; closing < count; ++closing) {
                Sizes sizes{};
                choose_sizes(steps, sizes, 0, count, closing, 0);
            }
            return;
        }
        for (std::size_t i = below; i-- > 0 && checks_ < num_checks;) {
            steps[at] = steps_[i];
            choose_steps(steps, at + 1, count, try_all() ? 1 : i);
        }
    }

    /// One step only, the alignment: all sizes are its multiples, and all are tried, falling.
    constexpr bool try_all() const { return steps_.size() == 1; }

    /// Every size but the closing one from a window of multiples of its step; the closing one from the fair
    /// share that is left.
    constexpr void choose_sizes(const Sizes& steps, Sizes& sizes, std::size_t at, std::size_t count,
                                std::size_t closing, std::int64_t sum) {
        if (at == count)
            return close(steps, sizes, count, closing, sum);
        if (at == closing)
            return choose_sizes(steps, sizes, at + 1, count, closing, sum);
        const std::int64_t least = try_all() ? steps[at] : least_multiple(steps, at, count);
        if (least == 0)
            return;
        for (std::int64_t i = 0; (try_all() || i < window) && checks_ < num_checks; ++i) {
            sizes[at] = least + i * steps[at];
            if (sum + sizes[at] >= limit_sum(count) || (try_all() && at > 0 && sizes[at] > sizes[at - 1]))
                return;
            choose_sizes(steps, sizes, at + 1, count, closing, sum + sizes[at]);
        }
    }

    constexpr std::int64_t limit_sum(std::size_t count) const {
        const std::int64_t affordable = best_cost_ - price_ * static_cast<std::int64_t>(count - 1);
        return std::min(ceil_div(affordable, num_devices_), worst_);
    }

    /// Whether a tensor certainly covers shards, whatever the sizes: then its granularity must divide one.
    constexpr bool must_cover(const Item& item) const {
        return item.uniform && item.elements() / 2 >= best_.front().shard.shard_elems;
    }

    /// The smallest multiple of steps[at] that holds the tensors which may cover shards of no other segment;
    /// 0 when some tensor may cover none at all.
    constexpr std::int64_t least_multiple(const Sizes& steps, std::size_t at, std::size_t count) const {
        std::int64_t bound = 0;
        for (const Kind& kind : kinds_) {
            if (!must_cover(kind.item()))
                continue;
            bool here = false, elsewhere = false;
            for (std::size_t i = 0; i < count; ++i)
                (i == at ? here : elsewhere) |= steps[i] % kind.item().cuts.step == 0;
            if (!here && !elsewhere)
                return 0;
            if (!elsewhere)
                bound += kind.count() * kind.item().elements();
        }
        return std::max(round_up(ceil_div(bound, num_devices_), steps[at]), steps[at]);
    }

    constexpr void close(const Sizes& steps, const Sizes& sizes, std::size_t count, std::size_t closing,
                         std::int64_t sum) {
        const std::int64_t step = steps[closing];
        std::int64_t size = std::max(round_up(std::max<std::int64_t>(fair_ - sum, 1), step), step);
        for (int i = 0; (try_all() || i < num_closing) && sum + size < limit_sum(count); ++i) {
            if (++checks_ > num_checks || (try_all() && size > sizes[count - 2]))
                return;
            Trial trial{sum + size, 0, sizes};
            trial.sizes[closing] = size;
            sort_falling(trial.sizes, count);
            trial.slack = slack(trial.sizes, count);
            size += try_all() ? step : step << i; // most tensors need some room between them
            if (trial.slack < 0)
                continue;
            trials_.push_back(trial);
            if (trials_.size() >= 2 * max_trials) { // keep the cheapest half
                sort_trials();
                if (trials_.size() > max_trials) {
                    trials_.erase(trials_.begin() + static_cast<std::ptrdiff_t>(max_trials), trials_.end());
                    worst_ = trials_.back().sum;
                }
            }
        }
    }

    static constexpr void sort_falling(Sizes& sizes, std::size_t count) {
        for (std::size_t i = 1; i < count; ++i)
            for (std::size_t j = i; j > 0 && sizes[j - 1] < sizes[j]; --j)
                std::swap(sizes[j - 1], sizes[j]);
    }

    /// Hall's condition: the tensors that fit only into some of the segments fit into those together. What
    /// the tightest set of segments has to spare; negative when it has too little.
    constexpr std::int64_t slack(const Sizes& sizes, std::size_t count) const {
        std::array<std::int64_t, std::size_t{1} << max_segments> load{};
        for (const Kind& kind : kinds_) {
            std::size_t where = 0;
            for (std::size_t i = 0; i < count; ++i)
                where |= (kind.item().fits_alone(sizes[i]) ? std::size_t{1} : 0) << i;
            if (where == 0)
                return -1;
            load[where] += kind.count() * kind.item().elements();
        }
        std::int64_t least = max_count;
        for (std::size_t set = 1; set < std::size_t{1} << count; ++set) {
            std::int64_t inside = 0, room = 0;
            for (std::size_t where = 1; where <= set; ++where)
                inside += (where & ~set) == 0 ? load[where] : 0;
            for (std::size_t i = 0; i < count; ++i)
                room += (set >> i & 1) != 0 ? sizes[i] : 0;
            if (inside > 0)
                least = std::min(least, room * num_devices_ - inside);
        }
        return least;
    }

    /// Fill the segments one after another, in every sequence of them: first what fits nowhere else.
    /// @return tensors placed
    constexpr std::int64_t fill_all(const std::vector<std::int64_t>& sizes) {
        std::int64_t placed = 0;
        std::vector<std::size_t> sequence;
        for (std::size_t i = 0; i < sizes.size(); ++i)
            sequence.push_back(i);
        do {
            std::vector<Kind> left = kinds_;
            std::vector<std::vector<Item>> orders(sizes.size(), std::vector<Item>{});
            for (std::size_t at = 0; at < sequence.size(); ++at) {
                const std::int64_t shard = sizes[sequence[at]];
                std::vector<Kind> bound, free, elsewhere;
                for (Kind& kind : left) {
                    if (kind.copies.empty())
                        continue;
                    bool later = false;
                    for (std::size_t next = at + 1; next < sequence.size(); ++next)
                        later = later || kind.item().fits_alone(sizes[sequence[next]]);
                    if (!kind.item().fits_alone(shard))
                        elsewhere.push_back(std::move(kind));
                    else
                        (later ? free : bound).push_back(std::move(kind));
                }
                const std::size_t num_bound = bound.size();
                bound.insert(bound.end(), free.begin(), free.end());
                orders[sequence[at]] = fill(bound, num_bound, shard, num_devices_);
                placed += static_cast<std::int64_t>(orders[sequence[at]].size());
                left = std::move(elsewhere);
                left.insert(left.end(), bound.begin(), bound.end());
            }
            bool complete = true;
            for (const Kind& kind : left)
                complete = complete && kind.copies.empty();
            if (complete)
                accept(orders);
        } while (std::next_permutation(sequence.begin(), sequence.end()));
        return placed;
    }

    /// Tensors that are alike may change places: let them follow one another as they were registered, so that
    /// slices of a stack keep their order and mostly their distance.
    constexpr void number_copies() {
        std::vector<std::size_t> next(kinds_.size(), 0);
        for (Packing& packing : best_)
            for (Item& item : packing.order) {
                std::size_t kind = 0;
                while (!kinds_[kind].item().alike(item))
                    ++kind;
                item = kinds_[kind].copies[next[kind]++];
            }
    }

    /// Take an assignment when it is cheaper: segments without tensors are dropped, S is what the tensors
    /// need.
    constexpr void accept(std::vector<std::vector<Item>> orders) {
        std::vector<Packing> found;
        std::int64_t sum = 0;
        for (std::vector<Item>& order : orders) {
            if (order.empty())
                continue;
            if (order_ == policy::Order::as_given)
                std::sort(order.begin(), order.end(),
                          [](const Item& a, const Item& b) { return a.tensor < b.tensor; });
            found.push_back(pack(order, num_devices_, alignment_, policy::Order::as_given));
            sum += found.back().shard.shard_elems;
        }
        if (found.empty() || cost(sum, found.size()) >= best_cost_)
            return;
        best_ = std::move(found);
        best_cost_ = cost(sum, best_.size());
    }

    std::vector<Item> items_;
    std::vector<Kind> kinds_;
    std::int64_t num_devices_, alignment_, price_;
    policy::Order order_;
    bool exact_; // every order of the tensors is tried at once
    std::int64_t fair_;
    std::vector<Packing> best_;
    std::int64_t best_cost_ = 0;
    std::vector<std::int64_t> steps_;
    std::vector<Trial> trials_;
    std::int64_t worst_ = max_count; // sums from here on are not kept
    int checks_ = 0;
};

} // namespace ragged::detail
