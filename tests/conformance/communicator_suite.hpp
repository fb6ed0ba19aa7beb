// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What every communicator must do, as functions that run on one rank and throw when a law is broken. Their
// memory comes from `arrays`: arrays.of(values).data() is what the communicator is given, .values() what it
// left.
#pragma once

#include <algorithm> // std::ranges
#include <chrono>
#include <cstdint>
#include <cstring>
#include <numeric> // std::accumulate
#include <thread>
#include <type_traits>
#include <vector>

#include <ragged/comm/communicator.hpp>
#include <ragged/core/config.hpp> // bit_cast

#include "support/expect.hpp"

namespace conformance {

using ragged::Reduction;
using support::expect;

inline constexpr std::int64_t counts[] = {0, 1, 3, 1000};

template <class T>
double number(T x) {
    return static_cast<double>(static_cast<ragged::accumulator_t<T>>(x));
}

/// Zero or one: sums over up to 8 ranks are exact in every element type. Without a short period: parts that
/// are off by a few elements differ.
template <class T>
T value(int rank, std::int64_t i) {
    const auto bits = static_cast<std::uint32_t>(rank * 1009 + i) * 2654435761u;
    return static_cast<T>(static_cast<float>(bits >> 31));
}

/// Any bits, but no NaN: of both signs, infinities among them.
template <class T>
T any_value(int rank, std::int64_t i) {
    auto bits = static_cast<std::uint64_t>(rank * 1009 + i + 1) * 0x9e3779b97f4a7c15u;
    bits ^= bits >> 29; // the low bytes are those of the small types
    T value;
    std::memcpy(&value, &bits, sizeof value);
    if constexpr (!std::is_integral_v<T>)
        if (number(value) != number(value))
            return static_cast<T>(1.0f);
    return value;
}

template <class T>
bool same_bits(const T* a, const T* b, std::int64_t count) {
    return count == 0 || std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(T)) == 0;
}

/// Memory of the C++ runtime.
struct HostArrays {
    template <class T>
    struct Array {
        std::vector<T> held;
        T* data() { return held.data(); }
        const std::vector<T>& values() const { return held; }
    };
    template <class T>
    Array<T> of(const std::vector<T>& values) const {
        return {values};
    }
};

/// What `rank` brings: zeros and ones, or anything to take the maximum of.
template <class T>
std::vector<T> values_of(int rank, std::int64_t count, Reduction reduction = Reduction::sum) {
    std::vector<T> values(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
        values[static_cast<std::size_t>(i)] =
            reduction == Reduction::max ? any_value<T>(rank, i) : value<T>(rank, i);
    return values;
}

/// The reduction over `size` ranks of their element i.
template <class T>
double reduced(int size, std::int64_t i, Reduction reduction = Reduction::sum) {
    double result = reduction == Reduction::max ? number(any_value<T>(0, i)) : 0;
    for (int rank = 0; rank < size; ++rank)
        result = reduction == Reduction::max ? std::max(result, number(any_value<T>(rank, i)))
                                             : result + number(value<T>(rank, i));
    return result;
}

inline constexpr Reduction reductions[] = {Reduction::sum, Reduction::max};

template <class T, class C, class Arrays>
void all_gather(C& c, Arrays& arrays) {
    for (const std::int64_t count : counts) {
        std::vector<T> own(static_cast<std::size_t>(count * c.size()), static_cast<T>(9.0f));
        std::ranges::copy(values_of<T>(c.rank(), count), own.begin() + c.rank() * count);
        auto x = arrays.of(own);
        c.all_gather(x.data(), count).wait();
        const std::vector<T> found = x.values();
        for (int rank = 0; rank < c.size(); ++rank)
            expect(same_bits(found.data() + rank * count, values_of<T>(rank, count).data(), count),
                   "all_gather brings every slot");
    }
}

template <class T, class C, class Arrays>
void reduce_scatter(C& c, Arrays& arrays, Reduction reduction) {
    for (const std::int64_t count : counts) {
        auto x = arrays.of(values_of<T>(c.rank(), count * c.size(), reduction));
        c.reduce_scatter(x.data(), count, reduction).wait();
        const std::vector<T> found = x.values();
        for (std::int64_t i = c.rank() * count; i < (c.rank() + 1) * count; ++i)
            expect(number(found[static_cast<std::size_t>(i)]) == reduced<T>(c.size(), i, reduction),
                   "reduce_scatter reduces this rank's slot");
    }
}

/// Counts of the v forms on `size` ranks: nothing first, nothing last, nearly all on one rank, all equal.
inline std::vector<std::vector<std::int64_t>> lists_of_counts(int size) {
    const auto ranks = static_cast<std::size_t>(size);
    std::vector<std::vector<std::int64_t>> lists(3, std::vector<std::int64_t>(ranks));
    std::iota(lists[0].begin(), lists[0].end(), 0);
    std::iota(lists[1].rbegin(), lists[1].rend(), 0);
    std::iota(lists[2].begin(), lists[2].end(), 0);
    lists[2][ranks / 2] = 3000;
    for (const std::int64_t count : counts)
        lists.emplace_back(ranks, count);
    return lists;
}

template <class T, class C, class Arrays>
void all_gather_v(C& c, Arrays& arrays) {
    for (const auto& list : lists_of_counts(c.size())) {
        std::vector<T> own, whole;
        for (int rank = 0; rank < c.size(); ++rank)
            for (std::int64_t i = 0; i < list[static_cast<std::size_t>(rank)]; ++i) {
                whole.push_back(value<T>(rank, i));
                own.push_back(rank == c.rank() ? whole.back() : static_cast<T>(9.0f));
            }
        auto x = arrays.of(own), equal_form = arrays.of(own);
        auto operation = c.all_gather_v(x.data(), std::vector(list)); // gone before it runs
        operation.wait();
        expect(same_bits(x.values().data(), whole.data(), std::ssize(whole)),
               "all_gather_v brings every part");
        if (std::ranges::count(list, list[0]) == c.size()) {
            c.all_gather(equal_form.data(), list[0]).wait();
            expect(same_bits(equal_form.values().data(), whole.data(), std::ssize(whole)),
                   "equal counts make an all_gather");
        }
    }
}

template <class T, class C, class Arrays>
void reduce_scatter_v(C& c, Arrays& arrays, Reduction reduction) {
    for (const auto& list : lists_of_counts(c.size())) {
        const auto own = list.begin() + c.rank();
        const std::int64_t first = std::accumulate(list.begin(), own, std::int64_t{0});
        const std::int64_t all = std::accumulate(own, list.end(), first);
        const std::vector<T> brought = values_of<T>(c.rank(), all, reduction);
        auto x = arrays.of(brought), equal_form = arrays.of(brought);
        auto operation = c.reduce_scatter_v(x.data(), std::vector(list), reduction); // gone before it runs
        operation.wait();
        const std::vector<T> found = x.values();
        for (std::int64_t i = first; i < first + *own; ++i)
            expect(number(found[static_cast<std::size_t>(i)]) == reduced<T>(c.size(), i, reduction),
                   "reduce_scatter_v reduces this rank's part");
        if (std::ranges::count(list, list[0]) == c.size()) {
            c.reduce_scatter(equal_form.data(), list[0], reduction).wait();
            expect(same_bits(found.data() + first, equal_form.values().data() + first, *own),
                   "equal counts make a reduce_scatter");
        }
    }
}

template <class T, class C, class Arrays>
void all_reduce(C& c, Arrays& arrays, Reduction reduction) {
    for (const std::int64_t count : counts) {
        auto x = arrays.of(values_of<T>(c.rank(), count, reduction));
        c.all_reduce(x.data(), count, reduction).wait();
        const std::vector<T> found = x.values();
        for (std::int64_t i = 0; i < count; ++i)
            expect(number(found[static_cast<std::size_t>(i)]) == reduced<T>(c.size(), i, reduction),
                   "all_reduce reduces every element");
    }
}

template <class T, class C, class Arrays>
void broadcast(C& c, Arrays& arrays) {
    for (const std::int64_t count : counts)
        for (int root = 0; root < c.size(); ++root) {
            auto x = arrays.of(values_of<T>(c.rank(), count));
            c.broadcast(x.data(), count, root).wait();
            expect(same_bits(x.values().data(), values_of<T>(root, count).data(), count),
                   "broadcast brings the root's values");
        }
}

/// Every rank sends two messages of different length to every rank, itself included.
template <class T, class C, class Arrays>
void send_receive(C& c, Arrays& arrays) {
    const auto length = [](int from, int to, int which) {
        return std::int64_t{(from * 5 + to * 3 + which * 7) % 11};
    };
    using Array = decltype(arrays.of(std::vector<T>()));
    std::vector<Array> out, in;
    std::vector<ragged::Message<const T>> sends;
    std::vector<ragged::Message<T>> receives;
    for (int peer = 0; peer < c.size(); ++peer)
        for (int which : {0, 1}) {
            out.push_back(arrays.of(values_of<T>(c.rank() + which, length(c.rank(), peer, which))));
            sends.push_back({out.back().data(), length(c.rank(), peer, which), peer});
            in.push_back(arrays.of(std::vector<T>(static_cast<std::size_t>(length(peer, c.rank(), which)))));
            receives.push_back({in.back().data(), length(peer, c.rank(), which), peer});
        }
    c.send_receive(std::span<const ragged::Message<const T>>(sends),
                   std::span<const ragged::Message<T>>(receives))
        .wait();
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto rank = static_cast<int>(i / 2 + i % 2);
        expect(
            same_bits(in[i].values().data(), values_of<T>(rank, receives[i].count).data(), receives[i].count),
            "messages between two ranks match in order");
    }
}

template <class T, class C, class Arrays>
void all_to_all_v(C& c, Arrays& arrays) {
    const auto length = [](int from, int to) { return std::int64_t{(from * 5 + to * 3) % 7}; };
    std::vector<std::int64_t> send_counts, receive_counts;
    std::vector<T> sent, wanted;
    for (int peer = 0; peer < c.size(); ++peer) {
        send_counts.push_back(length(c.rank(), peer));
        receive_counts.push_back(length(peer, c.rank()));
        for (const T x : values_of<T>(c.rank() + peer, send_counts.back()))
            sent.push_back(x);
        for (const T x : values_of<T>(c.rank() + peer, receive_counts.back()))
            wanted.push_back(x);
    }
    auto out = arrays.of(sent), in = arrays.of(std::vector<T>(wanted.size()));
    c.all_to_all_v(static_cast<const T*>(out.data()), std::span<const std::int64_t>(send_counts), in.data(),
                   std::span<const std::int64_t>(receive_counts))
        .wait();
    expect(same_bits(in.values().data(), wanted.data(), std::ssize(wanted)),
           "all_to_all_v packs parts in rank order");
}

/// Odd and even ranks apart, in reversed order; then every rank alone.
template <class C, class Arrays>
void split(C& c, Arrays& arrays) {
    C half = c.split(c.rank() % 2, -c.rank());
    std::vector<float> own(static_cast<std::size_t>(half.size()));
    own[static_cast<std::size_t>(half.rank())] = static_cast<float>(c.rank());
    auto x = arrays.of(own);
    half.all_gather(x.data(), 1).wait();
    const std::vector<float> ranks = x.values();
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        expect(static_cast<int>(ranks[i]) % 2 == c.rank() % 2, "split joins equal colors");
        expect(i == 0 || ranks[i] < ranks[i - 1], "split orders by key");
    }
    C alone = c.split(c.rank(), 0);
    expect(alone.size() == 1 && alone.rank() == 0, "a color of one rank is a communicator of one");
    auto one = arrays.of(std::vector<float>{5.0f});
    alone.all_reduce(one.data(), 1).wait();
    expect(one.values()[0] == 5.0f, "a sum over one rank");
}

/// Operations finish in any order of waiting, on several communicators at once.
template <class C, class Arrays>
void out_of_order(C& c, Arrays& arrays) {
    C other = c.split(0, c.rank());
    std::vector<float> own(static_cast<std::size_t>(c.size()));
    own[static_cast<std::size_t>(c.rank())] = 1.0f;
    auto a = arrays.of(own), b = arrays.of(own), sum = arrays.of(std::vector<float>{1.0f});
    auto first = c.all_gather(a.data(), 1);
    auto second = other.all_gather(b.data(), 1);
    auto third = c.all_reduce(sum.data(), 1);
    if (c.rank() % 2 == 0)
        third.wait(), first.wait(), second.wait();
    else
        second.wait(), third.wait(), first.wait();
    const std::vector<float> ones(own.size(), 1.0f);
    expect(a.values() == ones && b.values() == ones, "gathers finished");
    expect(sum.values()[0] == static_cast<float>(c.size()), "the sum finished");
}

/// The same inside groups that take turns, where the communicator has groups.
template <class C, class Arrays>
void interleaved_groups(C& c, Arrays& arrays) {
    if constexpr (ragged::has_grouping<C>) {
        C other = c.split(0, -c.rank());
        std::vector<float> own(static_cast<std::size_t>(c.size())), reversed = own;
        own[static_cast<std::size_t>(c.rank())] = 1.0f;
        reversed[static_cast<std::size_t>(other.rank())] = 1.0f;
        auto a = arrays.of(own), b = arrays.of(reversed), x = arrays.of(own), y = arrays.of(reversed);
        std::vector<typename C::Completion> done;
        c.group([&] {
            done.push_back(c.all_gather(a.data(), 1));
            other.group([&] { done.push_back(other.all_gather(b.data(), 1)); });
        });
        other.group([&] {
            done.push_back(other.all_gather(y.data(), 1));
            done.push_back(c.all_gather(x.data(), 1));
        });
        if (c.rank() % 2 == 0)
            std::ranges::reverse(done);
        for (auto& operation : done)
            operation.wait();
        const std::vector<float> ones(own.size(), 1.0f);
        expect(a.values() == ones && b.values() == ones && x.values() == ones && y.values() == ones,
               "grouped gathers finished");
    }
}

/// An operation may read what the one before it wrote, also on another communicator.
template <class C, class Arrays>
void in_call_order(C& c, Arrays& arrays) {
    C other = c.split(0, c.rank());
    auto x = arrays.of(values_of<float>(c.rank(), c.size() * 100));
    static_cast<void>(c.reduce_scatter(x.data(), 100));
    other.all_gather(x.data(), 100).wait();
    const std::vector<float> found = x.values();
    for (std::int64_t i = 0; i < std::ssize(found); ++i)
        expect(found[static_cast<std::size_t>(i)] == reduced<float>(c.size(), i), "sums are gathered");
}

/// What was waited for is done, and what came before it too, where the communicator tells.
template <class C, class Arrays>
void done_when_waited_for(C& c, Arrays& arrays) {
    if constexpr (ragged::has_done<C>) {
        auto x = arrays.of(std::vector<float>(static_cast<std::size_t>(c.size())));
        const auto first = c.all_gather(x.data(), 1);
        auto second = c.barrier();
        second.wait();
        expect(first.done() && second.done(), "what was waited for is done");
    }
}

/// Not a law for all: operations end when they are asked whether they did, and nobody waits.
template <class C, class Arrays>
void progress_without_wait(C& c, Arrays& arrays) {
    C other = c.split(0, c.rank());
    auto x = arrays.of(values_of<float>(c.rank(), c.size() * 100));
    const auto first = c.reduce_scatter(x.data(), 100);
    const auto second = other.all_gather(x.data(), 100);
    const auto start = std::chrono::steady_clock::now();
    while (!second.done()) {
        expect(std::chrono::steady_clock::now() - start < std::chrono::seconds(60), "operations move on");
        std::this_thread::yield();
    }
    expect(first.done(), "what comes before is done");
    const std::vector<float> found = x.values();
    for (std::int64_t i = 0; i < std::ssize(found); ++i)
        expect(found[static_cast<std::size_t>(i)] == reduced<float>(c.size(), i), "done is done");
}

template <class T, class C, class Arrays>
void every_collective(C& c, Arrays& arrays) {
    all_gather<T>(c, arrays);
    broadcast<T>(c, arrays);
    send_receive<T>(c, arrays);
    all_to_all_v<T>(c, arrays);
    all_gather_v<T>(c, arrays);
    for (const Reduction reduction : reductions) {
        reduce_scatter<T>(c, arrays, reduction);
        reduce_scatter_v<T>(c, arrays, reduction);
        all_reduce<T>(c, arrays, reduction);
    }
}

/// Where the library takes the maximum itself, a NaN of any rank is the result, as the one canonical NaN, and
/// zeros of both signs make +0.
template <class T, class C, class Arrays>
void max_of_special_values(C& c, Arrays& arrays) {
    T nan, negative_nan;
    std::memset(&negative_nan, 0xff, sizeof(T));
    nan = static_cast<T>(ragged::bit_cast<float>(0x7fffffffu));
    if constexpr (std::is_same_v<T, double>)
        nan = ragged::bit_cast<double>(0x7fff'ffff'ffff'ffffu);

    const std::int64_t count = c.size() + 1; // the NaN of each rank, and a zero
    std::vector<T> own, wanted;
    for (int part = 0; part < c.size(); ++part) {
        for (int rank = 0; rank < c.size(); ++rank) {
            own.push_back(rank != c.rank() ? any_value<T>(c.rank(), rank)
                          : part % 2 == 0  ? nan
                                           : negative_nan);
            wanted.push_back(nan);
        }
        own.push_back(static_cast<T>(c.rank() == part ? 0.0f : -0.0f));
        wanted.push_back(static_cast<T>(0.0f));
    }
    auto x = arrays.of(own), y = arrays.of(own), z = arrays.of(own);
    c.all_reduce(x.data(), std::ssize(own), Reduction::max).wait();
    c.reduce_scatter(y.data(), count, Reduction::max).wait();
    const std::vector<std::int64_t> list(static_cast<std::size_t>(c.size()), count);
    c.reduce_scatter_v(z.data(), list, Reduction::max).wait();
    expect(same_bits(x.values().data(), wanted.data(), std::ssize(wanted)), "all_reduce keeps NaN");
    const std::int64_t first = c.rank() * count;
    expect(same_bits(y.values().data() + first, wanted.data(), count), "reduce_scatter keeps NaN");
    expect(same_bits(z.values().data() + first, wanted.data(), count), "reduce_scatter_v keeps NaN");
}

template <class C, class Arrays>
void max_of_special_values(C& c, Arrays& arrays) {
    max_of_special_values<float>(c, arrays);
    max_of_special_values<double>(c, arrays);
    max_of_special_values<ragged::bf16>(c, arrays);
    max_of_special_values<ragged::f16>(c, arrays);
    max_of_special_values<ragged::f8e4m3>(c, arrays);
    max_of_special_values<ragged::f8e5m2>(c, arrays);
}

template <class C, class Arrays>
void everything(C& c, Arrays& arrays) {
    every_collective<float>(c, arrays);
    every_collective<double>(c, arrays);
    every_collective<ragged::bf16>(c, arrays);
    every_collective<ragged::f16>(c, arrays);
    every_collective<ragged::f8e4m3>(c, arrays);
    every_collective<ragged::f8e5m2>(c, arrays);
    every_collective<std::int8_t>(c, arrays);
    every_collective<std::uint8_t>(c, arrays);
    c.barrier().wait();
    split(c, arrays);
    out_of_order(c, arrays);
    interleaved_groups(c, arrays);
    in_call_order(c, arrays);
    done_when_waited_for(c, arrays);
}

template <class C>
void everything(C& c) {
    HostArrays arrays;
    everything(c, arrays);
}

} // namespace conformance
