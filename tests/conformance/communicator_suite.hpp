// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What every communicator must do, as functions that run on one rank and throw when a law is broken.
#pragma once

#include <algorithm> // std::ranges::count
#include <cstdint>
#include <cstring>
#include <numeric> // std::accumulate
#include <vector>

#include <ragged/comm/communicator.hpp>

#include "support/expect.hpp"

namespace conformance {

using support::expect;

inline constexpr std::int64_t counts[] = {0, 1, 3, 1000};

/// Zero or one: sums over up to 8 ranks are exact in every element type. Without a short period: parts that
/// are off by a few elements differ.
template <class T>
T value(int rank, std::int64_t i) {
    const auto bits = static_cast<std::uint32_t>(rank * 1009 + i) * 2654435761u;
    return static_cast<T>(static_cast<float>(bits >> 31));
}
template <class T>
bool equal(T a, float b) {
    return static_cast<float>(a) == b;
}

template <class T>
bool same_bits(const T* a, const T* b, std::int64_t count) {
    return count == 0 || std::memcmp(a, b, static_cast<std::size_t>(count) * sizeof(T)) == 0;
}

template <class T, class C>
void all_gather(C& c) {
    for (const std::int64_t count : counts) {
        std::vector<T> x(static_cast<std::size_t>(count * c.size()), static_cast<T>(9.0f));
        for (std::int64_t i = 0; i < count; ++i)
            x[static_cast<std::size_t>(c.rank() * count + i)] = value<T>(c.rank(), i);
        c.all_gather(x.data(), count).wait();
        for (int rank = 0; rank < c.size(); ++rank)
            for (std::int64_t i = 0; i < count; ++i)
                expect(equal(x[static_cast<std::size_t>(rank * count + i)],
                             static_cast<float>(value<T>(rank, i))),
                       "all_gather brings every slot");
    }
}

template <class T, class C>
void reduce_scatter(C& c) {
    for (const std::int64_t count : counts) {
        std::vector<T> x(static_cast<std::size_t>(count * c.size()));
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = value<T>(c.rank(), static_cast<std::int64_t>(i));
        c.reduce_scatter(x.data(), count).wait();
        for (std::int64_t i = c.rank() * count; i < (c.rank() + 1) * count; ++i) {
            float sum = 0;
            for (int rank = 0; rank < c.size(); ++rank)
                sum += static_cast<float>(value<T>(rank, i));
            expect(equal(x[static_cast<std::size_t>(i)], sum), "reduce_scatter sums this rank's slot");
        }
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

template <class T, class C>
void all_gather_v(C& c) {
    for (const auto& list : lists_of_counts(c.size())) {
        std::vector<T> x, whole;
        for (int rank = 0; rank < c.size(); ++rank)
            for (std::int64_t i = 0; i < list[static_cast<std::size_t>(rank)]; ++i) {
                whole.push_back(value<T>(rank, i));
                x.push_back(rank == c.rank() ? whole.back() : static_cast<T>(9.0f));
            }
        std::vector<T> equal_form = x;
        auto operation = c.all_gather_v(x.data(), std::vector(list)); // gone before it runs
        operation.wait();
        expect(same_bits(x.data(), whole.data(), std::ssize(x)), "all_gather_v brings every part");
        if (std::ranges::count(list, list[0]) == c.size()) {
            c.all_gather(equal_form.data(), list[0]).wait();
            expect(same_bits(x.data(), equal_form.data(), std::ssize(x)), "equal counts make an all_gather");
        }
    }
}

template <class T, class C>
void reduce_scatter_v(C& c) {
    for (const auto& list : lists_of_counts(c.size())) {
        const auto own = list.begin() + c.rank();
        const std::int64_t first = std::accumulate(list.begin(), own, std::int64_t{0});
        std::vector<T> x(static_cast<std::size_t>(std::accumulate(own, list.end(), first)));
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = value<T>(c.rank(), static_cast<std::int64_t>(i));
        std::vector<T> equal_form = x;
        auto operation = c.reduce_scatter_v(x.data(), std::vector(list)); // gone before it runs
        operation.wait();
        for (std::int64_t i = first; i < first + *own; ++i) {
            float sum = 0;
            for (int rank = 0; rank < c.size(); ++rank)
                sum += static_cast<float>(value<T>(rank, i));
            expect(equal(x[static_cast<std::size_t>(i)], sum), "reduce_scatter_v sums this rank's part");
        }
        if (std::ranges::count(list, list[0]) == c.size()) {
            c.reduce_scatter(equal_form.data(), list[0]).wait();
            expect(same_bits(x.data() + first, equal_form.data() + first, *own),
                   "equal counts make a reduce_scatter");
        }
    }
}

template <class T, class C>
void all_reduce(C& c) {
    for (const std::int64_t count : counts) {
        std::vector<T> x(static_cast<std::size_t>(count));
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = value<T>(c.rank(), static_cast<std::int64_t>(i));
        c.all_reduce(x.data(), count).wait();
        for (std::int64_t i = 0; i < count; ++i) {
            float sum = 0;
            for (int rank = 0; rank < c.size(); ++rank)
                sum += static_cast<float>(value<T>(rank, i));
            expect(equal(x[static_cast<std::size_t>(i)], sum), "all_reduce sums every element");
        }
    }
}

template <class T, class C>
void broadcast(C& c) {
    for (const std::int64_t count : counts)
        for (int root = 0; root < c.size(); ++root) {
            std::vector<T> x(static_cast<std::size_t>(count));
            for (std::int64_t i = 0; i < count; ++i)
                x[static_cast<std::size_t>(i)] = value<T>(c.rank(), i);
            c.broadcast(x.data(), count, root).wait();
            for (std::int64_t i = 0; i < count; ++i)
                expect(equal(x[static_cast<std::size_t>(i)], static_cast<float>(value<T>(root, i))),
                       "broadcast brings the root's values");
        }
}

/// Every rank sends two messages of different length to every rank, itself included.
template <class T, class C>
void send_receive(C& c) {
    const auto length = [](int from, int to, int which) {
        return std::int64_t{(from * 5 + to * 3 + which * 7) % 11};
    };
    std::vector<std::vector<T>> out, in;
    std::vector<ragged::Message<const T>> sends;
    std::vector<ragged::Message<T>> receives;
    for (int peer = 0; peer < c.size(); ++peer)
        for (int which : {0, 1}) {
            out.emplace_back();
            for (std::int64_t i = 0; i < length(c.rank(), peer, which); ++i)
                out.back().push_back(value<T>(c.rank() + which, i));
            in.emplace_back(static_cast<std::size_t>(length(peer, c.rank(), which)));
        }
    for (std::size_t i = 0; i < out.size(); ++i) {
        sends.push_back({out[i].data(), static_cast<std::int64_t>(out[i].size()), static_cast<int>(i / 2)});
        receives.push_back({in[i].data(), static_cast<std::int64_t>(in[i].size()), static_cast<int>(i / 2)});
    }
    c.send_receive(std::span<const ragged::Message<const T>>(sends),
                   std::span<const ragged::Message<T>>(receives))
        .wait();
    for (std::size_t i = 0; i < in.size(); ++i)
        for (std::size_t j = 0; j < in[i].size(); ++j)
            expect(equal(in[i][j], static_cast<float>(value<T>(static_cast<int>(i / 2 + i % 2),
                                                               static_cast<std::int64_t>(j)))),
                   "messages between two ranks match in order");
}

template <class T, class C>
void all_to_all_v(C& c) {
    const auto length = [](int from, int to) { return std::int64_t{(from * 5 + to * 3) % 7}; };
    std::vector<std::int64_t> send_counts, receive_counts;
    std::vector<T> out;
    std::int64_t total = 0;
    for (int peer = 0; peer < c.size(); ++peer) {
        send_counts.push_back(length(c.rank(), peer));
        receive_counts.push_back(length(peer, c.rank()));
        total += receive_counts.back();
        for (std::int64_t i = 0; i < send_counts.back(); ++i)
            out.push_back(value<T>(c.rank() + peer, i));
    }
    std::vector<T> in(static_cast<std::size_t>(total));
    c.all_to_all_v(out.data(), std::span<const std::int64_t>(send_counts), in.data(),
                   std::span<const std::int64_t>(receive_counts))
        .wait();
    std::size_t at = 0;
    for (int peer = 0; peer < c.size(); ++peer)
        for (std::int64_t i = 0; i < length(peer, c.rank()); ++i)
            expect(equal(in[at++], static_cast<float>(value<T>(peer + c.rank(), i))),
                   "all_to_all_v packs parts in rank order");
}

/// Odd and even ranks apart, in reversed order; then every rank alone.
template <class C>
void split(C& c) {
    C half = c.split(c.rank() % 2, -c.rank());
    std::vector<float> x(static_cast<std::size_t>(half.size()));
    x[static_cast<std::size_t>(half.rank())] = static_cast<float>(c.rank());
    half.all_gather(x.data(), 1).wait();
    for (std::size_t i = 0; i < x.size(); ++i) {
        expect(static_cast<int>(x[i]) % 2 == c.rank() % 2, "split joins equal colors");
        expect(i == 0 || x[i] < x[i - 1], "split orders by key");
    }
    C alone = c.split(c.rank(), 0);
    expect(alone.size() == 1 && alone.rank() == 0, "a color of one rank is a communicator of one");
    std::vector<float> one{5.0f};
    alone.all_reduce(one.data(), 1).wait();
    expect(one[0] == 5.0f, "a sum over one rank");
}

/// Operations finish in any order of waiting, on several communicators at once.
template <class C>
void out_of_order(C& c) {
    C other = c.split(0, c.rank());
    std::vector<float> a(static_cast<std::size_t>(c.size())), b = a, sum{1.0f};
    a[static_cast<std::size_t>(c.rank())] = 1.0f;
    b[static_cast<std::size_t>(c.rank())] = 2.0f;
    auto first = c.all_gather(a.data(), 1);
    auto second = other.all_gather(b.data(), 1);
    auto third = c.all_reduce(sum.data(), 1);
    if (c.rank() % 2 == 0)
        third.wait(), first.wait(), second.wait();
    else
        second.wait(), third.wait(), first.wait();
    for (std::size_t i = 0; i < a.size(); ++i)
        expect(a[i] == 1.0f && b[i] == 2.0f, "gathers finished");
    expect(sum[0] == static_cast<float>(c.size()), "the sum finished");
}

template <class T, class C>
void every_collective(C& c) {
    all_gather<T>(c);
    reduce_scatter<T>(c);
    all_reduce<T>(c);
    broadcast<T>(c);
    send_receive<T>(c);
    all_to_all_v<T>(c);
    all_gather_v<T>(c);
    reduce_scatter_v<T>(c);
}

template <class C>
void everything(C& c) {
    every_collective<float>(c);
    every_collective<double>(c);
    every_collective<ragged::bf16>(c);
    every_collective<ragged::f16>(c);
    every_collective<ragged::f8e4m3>(c);
    every_collective<ragged::f8e5m2>(c);
    every_collective<std::int8_t>(c);
    every_collective<std::uint8_t>(c);
    c.barrier().wait();
    split(c);
    out_of_order(c);
}

} // namespace conformance
