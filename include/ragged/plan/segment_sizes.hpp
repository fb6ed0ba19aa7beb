// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The combinations of shard sizes worth trying for a group of several segments. A shard size that is a
// multiple of the lcm of some granularities may be covered by just those tensors, so the sizes worth trying
// are multiples of few numbers. A combination is possible only if, for every set of segments, the tensors
// that have no place outside of it fit into it (Hall's condition); that test costs next to nothing.
#pragma once

#include <algorithm>
#include <array>
#include <iterator> // std::ssize
#include <utility>
#include <vector>

#include <ragged/plan/order_search.hpp>

namespace ragged::detail {

/// More segments than this are not tried.
inline constexpr std::size_t max_segments = 4;

/// Shard sizes of several segments together.
struct SegmentSizes {
    std::int64_t sum = 0;
    std::int64_t slack = 0; // elements that the tightest set of segments has to spare
    std::array<std::int64_t, max_segments> shards{}; // falling, the first `count` are used
    std::size_t count = 0;

    constexpr bool operator<(const SegmentSizes& other) const {
        if (sum != other.sum)
            return sum < other.sum;
        return slack != other.slack ? slack > other.slack : shards > other.shards;
    }
};

class SizeSearch {
  public:
    /// @param one_shard  S of all tensors in one segment: no segment needs more
    /// @param all_alike  keep all combinations of one sum, not only those with most slack
    constexpr SizeSearch(const std::vector<Kind>& kinds, std::int64_t num_devices,
                         std::int64_t alignment_elems, std::int64_t fair, std::int64_t one_shard,
                         bool all_alike)
        : kinds_(&kinds)
        , num_devices_(num_devices)
        , alignment_(alignment_elems)
        , fair_(fair)
        , one_shard_(one_shard)
        , all_alike_(all_alike)
        , max_checks_(num_checks / std::max<std::int64_t>(std::ssize(kinds) / 16, 1)) {
        find_steps();
    }

    /// Possible combinations of `count` sizes whose sum is below `limit`, cheapest first.
    constexpr std::vector<SegmentSizes> find(std::size_t count, std::int64_t limit) {
        found_.clear();
        checks_ = nodes_ = 0;
        limit_ = limit;
        Steps steps{};
        choose_steps(steps, 0, count, steps_.size());
        sort_found();
        return found_;
    }

  private:
    using Steps = std::array<std::int64_t, max_segments>;

    // Bounds on the work for one group; the search is as good as it gets within them.
    static constexpr std::size_t max_steps = 48;  // step sizes
    static constexpr std::int64_t all_sizes = 96; // up to as many aligned sizes all are tried
    static constexpr std::int64_t window = 24;    // multiples of a step, from the least possible one
    static constexpr int num_closing = 14;        // and of the step that closes the sum, ever further apart
    static constexpr std::int64_t num_nodes = 1 << 20;  // sizes chosen
    static constexpr std::int64_t num_checks = 100'000; // combinations tested by Hall's condition
    static constexpr std::size_t max_found = 2048;      // combinations kept
    static constexpr std::size_t max_alike = 16;        // of one sum

    /// Multiples of these may be covered: the alignment and lcms of granularities, those of many elements
    /// first.
    constexpr void find_steps() {
        steps_ = {alignment_};
        if (one_shard_ / alignment_ <= all_sizes)
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
        for (const Kind& kind : *kinds_) {
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
                if (step <= one_shard_ && std::find(steps_.begin(), steps_.end(), step) == steps_.end())
                    steps_.push_back(step);
            }
        }
        std::sort(steps_.begin(), steps_.end());
    }

    /// Cheapest first; of one sum no more than will be tried.
    constexpr void sort_found() {
        std::sort(found_.begin(), found_.end());
        std::size_t kept = 0, alike = 0;
        for (std::size_t i = 0; i < found_.size(); ++i) {
            if (i > 0 && found_[i].shards == found_[kept - 1].shards)
                continue;
            alike = kept > 0 && found_[i].sum == found_[kept - 1].sum ? alike + 1 : 0;
            if (all_alike_ || alike < max_alike)
                found_[kept++] = found_[i];
        }
        found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(kept), found_.end());
    }

    /// Every combination of steps, from coarse to fine.
    constexpr void choose_steps(Steps& steps, std::size_t at, std::size_t count, std::size_t below) {
        if (at >= std::min(count, max_segments)) { // compilers see that indices stay inside
            for (std::size_t closing = try_all() ? count - 1 : 0; closing < count; ++closing) {
                Steps sizes{};
                choose_sizes(steps, sizes, 0, count, closing, 0);
            }
            return;
        }
        for (std::size_t i = below; i-- > 0 && checks_ < max_checks_ && nodes_ < num_nodes;) {
            steps[at] = steps_[i];
            choose_steps(steps, at + 1, count, try_all() ? 1 : i);
        }
    }

    /// One step only, the alignment: all sizes are its multiples, and all are tried, falling.
    constexpr bool try_all() const { return steps_.size() == 1; }

    /// Every size but the closing one from a window of multiples of its step; the closing one from the fair
    /// share that is left.
    constexpr void choose_sizes(const Steps& steps, Steps& sizes, std::size_t at, std::size_t count,
                                std::size_t closing, std::int64_t sum) {
        if (at >= std::min(count, max_segments))
            return close(steps, sizes, count, closing, sum);
        if (at == closing)
            return choose_sizes(steps, sizes, at + 1, count, closing, sum);
        const std::int64_t least = try_all() ? steps[at] : least_multiple(steps, at, count);
        if (least == 0)
            return;
        for (std::int64_t i = 0; (try_all() || i < window) && checks_ < max_checks_; ++i) {
            if (++nodes_ > num_nodes)
                return;
            sizes[at] = least + i * steps[at];
            if (sum + sizes[at] >= limit_ || (try_all() && at > 0 && sizes[at] > sizes[at - 1]))
                return;
            choose_sizes(steps, sizes, at + 1, count, closing, sum + sizes[at]);
        }
    }

    /// Whether a tensor certainly covers shards, whatever the sizes: then its granularity must divide one.
    constexpr bool must_cover(const Item& item) const {
        return item.uniform && item.elements() / 2 >= one_shard_;
    }

    /// The smallest multiple of steps[at] that holds the tensors which may cover shards of no other segment;
    /// 0 when some tensor may cover none at all.
    constexpr std::int64_t least_multiple(const Steps& steps, std::size_t at, std::size_t count) const {
        std::int64_t bound = 0;
        for (const Kind& kind : *kinds_) {
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

    constexpr void close(const Steps& steps, const Steps& sizes, std::size_t count, std::size_t closing,
                         std::int64_t sum) {
        const std::int64_t step = steps[closing];
        std::int64_t size = std::max(round_up(std::max<std::int64_t>(fair_ - sum, 1), step), step);
        for (int i = 0; (try_all() || i < num_closing) && sum + size < limit_; ++i) {
            if (++checks_ > max_checks_ || (try_all() && size > sizes[count - 2]))
                return;
            SegmentSizes trial{sum + size, 0, sizes, count};
            trial.shards[closing] = size;
            sort_falling(trial.shards, count);
            trial.slack = slack(trial.shards, count);
            // most tensors need some room between them; no further than the limit, within 64 bits
            size += try_all() ? step : step > limit_ >> i ? limit_ : step << i;
            if (trial.slack < 0)
                continue;
            found_.push_back(trial);
            if (found_.size() >= 2 * max_found) { // keep the cheapest half
                sort_found();
                if (found_.size() > max_found) {
                    found_.erase(found_.begin() + static_cast<std::ptrdiff_t>(max_found), found_.end());
                    limit_ = found_.back().sum;
                }
            }
        }
    }

    static constexpr void sort_falling(Steps& sizes, std::size_t count) {
        for (std::size_t i = 1; i < std::min(count, max_segments); ++i)
            for (std::size_t j = i; j > 0 && sizes[j - 1] < sizes[j]; --j)
                std::swap(sizes[j - 1], sizes[j]);
    }

    /// Hall's condition: the tensors that fit only into some of the segments fit into those together. What
    /// the tightest set of segments has to spare; negative when it has too little.
    constexpr std::int64_t slack(const Steps& sizes, std::size_t count) const {
        std::array<std::int64_t, std::size_t{1} << max_segments> load{};
        for (const Kind& kind : *kinds_) {
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

    const std::vector<Kind>* kinds_;
    std::int64_t num_devices_, alignment_, fair_, one_shard_;
    bool all_alike_;
    std::vector<std::int64_t> steps_;
    std::vector<SegmentSizes> found_;
    std::int64_t limit_ = 0;  // sums from here on are not kept
    std::int64_t max_checks_; // each looks at every kind
    std::int64_t checks_ = 0, nodes_ = 0;
};

} // namespace ragged::detail
