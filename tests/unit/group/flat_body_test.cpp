// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The threads of a flat operation, as loops: every length around a pack, every misalignment, every pair of
// types.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include <ragged/group/flat_body.hpp>
#include <ragged/group/host_executor.hpp>

namespace body = ragged::body;

namespace {

/// Room for `count` elements `shift` elements behind a word, all of a known byte.
template <class T>
struct Storage {
    std::vector<unsigned char> bytes;
    T* data;
    std::size_t count;

    Storage(std::size_t elements, std::size_t shift)
        : bytes((elements + shift) * sizeof(T) + 64, 0xa5)
        , count(elements) {
        const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
        data = reinterpret_cast<T*>(bytes.data() + (16 - address % 16) % 16) + shift;
    }
    void randomise(std::uint32_t seed) {
        std::mt19937 random(seed);
        for (std::size_t i = 0; i < count; ++i)
            data[i] = static_cast<T>(static_cast<float>(random()) * 0x1p-30f - 2.0f);
    }
    std::size_t poison_outside() const { // bytes that nobody wrote
        std::size_t left = 0;
        const auto* begin = reinterpret_cast<const unsigned char*>(data);
        for (const unsigned char& byte : bytes)
            if (&byte < begin || &byte >= begin + count * sizeof(T))
                left += byte == 0xa5;
        return left;
    }
};

template <class Op, class Out, class... In>
void check(const Op& op, std::size_t count, std::size_t shift_out, std::size_t shift_in) {
    for (const std::int64_t threads : {1, 3, 32}) {
        Storage<Out> out(count, shift_out), expected(count, 0);
        std::tuple<Storage<In>...> in(Storage<In>(count, shift_in)...);
        const std::size_t outside = out.poison_outside();
        std::apply(
            [&](auto&... storage) {
                std::uint32_t seed = 1;
                (storage.randomise(seed++), ...);
                ragged::HostExecutor{}.map(
                    op, ragged::Values<Out>{expected.data, static_cast<std::int64_t>(count)},
                    storage.data...);
                for (std::int64_t thread = 0; thread < threads; ++thread)
                    body::map(op, out.data, static_cast<std::int64_t>(count), thread, threads,
                              static_cast<const In*>(storage.data)...);
            },
            in);
        CHECK(std::memcmp(out.data, expected.data, count * sizeof(Out)) == 0);
        CHECK(out.poison_outside() == outside);
    }
}

template <class From, class To>
void check_cast() {
    constexpr std::size_t elems = static_cast<std::size_t>(body::pack_elems<From, To>);
    static_assert(elems * sizeof(From) >= 16 && elems * sizeof(To) >= 16);
    for (std::size_t count : {std::size_t{0}, std::size_t{1}, elems - 1, elems, elems + 1, 5 * elems + 3})
        for (std::size_t shift_out : {0u, 1u, 2u})
            for (std::size_t shift_in : {0u, 1u, 3u})
                check<ragged::op::Cast<To>, To, From>({0.75}, count, shift_out, shift_in);
}

template <class From>
void check_casts() {
    check_cast<From, float>();
    check_cast<From, double>();
    check_cast<From, ragged::bf16>();
    check_cast<From, ragged::f16>();
    check_cast<From, ragged::f8e4m3>();
    check_cast<From, ragged::f8e5m2>();
}

/// op of an update: writes two arrays of its own widths, reads a third.
struct Mix {
    template <class A, class B>
    void operator()(A& a, B& b, const float& c) const {
        const float sum = static_cast<float>(a) + 0.5f * c;
        a = static_cast<A>(sum);
        b = static_cast<B>(static_cast<float>(b) - sum);
    }
};

template <class A, class B>
void check_update(std::size_t count, std::size_t shift_a, std::size_t shift_c) {
    for (const std::int64_t threads : {1, 3, 32}) {
        Storage<A> a(count, shift_a), expected_a(count, 0), host_a(count, shift_a);
        Storage<B> b(count, 0), expected_b(count, 0), host_b(count, 0);
        Storage<float> c(count, shift_c);
        for (Storage<A>* storage : {&a, &expected_a, &host_a})
            storage->randomise(1);
        for (Storage<B>* storage : {&b, &expected_b, &host_b})
            storage->randomise(2);
        c.randomise(3);
        const std::size_t outside = a.poison_outside();
        const std::vector<float> kept(c.data, c.data + count);
        for (std::size_t i = 0; i < count; ++i)
            Mix{}(expected_a.data[i], expected_b.data[i], c.data[i]);
        const auto elements = static_cast<std::int64_t>(count);
        const float* const read = c.data;
        for (std::int64_t thread = 0; thread < threads; ++thread)
            body::update(Mix{}, elements, thread, threads, a.data, b.data, read);
        ragged::HostExecutor{}.update(Mix{}, elements, host_a.data, host_b.data, read);
        CHECK(std::memcmp(a.data, expected_a.data, count * sizeof(A)) == 0);
        CHECK(std::memcmp(b.data, expected_b.data, count * sizeof(B)) == 0);
        CHECK(std::memcmp(host_a.data, expected_a.data, count * sizeof(A)) == 0);
        CHECK(std::memcmp(host_b.data, expected_b.data, count * sizeof(B)) == 0);
        CHECK(std::equal(kept.begin(), kept.end(), c.data));
        CHECK(a.poison_outside() == outside);
    }
}

} // namespace

TEST_CASE("threads update several arrays as one element at a time does") {
    for (std::size_t count = 0; count < 40; ++count)
        for (std::size_t shift : {0u, 1u}) {
            check_update<float, float>(count, shift, 0);
            check_update<float, ragged::bf16>(count, 0, shift);
            check_update<std::int8_t, float>(count, shift, 0);
            check_update<ragged::f8e4m3, std::int8_t>(count, shift, shift);
        }
    check_update<float, ragged::bf16>(1000, 0, 0); // longer than a step of the host's loop
}

TEST_CASE_TEMPLATE("threads cast every pair of types as the host does", From, float, double, ragged::bf16,
                   ragged::f16, ragged::f8e4m3, ragged::f8e5m2) {
    check_casts<From>();
}

TEST_CASE_TEMPLATE("threads add and axpy as the host does", T, float, double, ragged::bf16, ragged::f16) {
    for (std::size_t count = 0; count < 40; ++count)
        for (std::size_t shift : {0u, 1u}) {
            check<ragged::op::Axpy, T, T, float>({0.3}, count, shift, 0);
            check<ragged::op::Axpy, T, T, T>({0.3}, count, 0, shift);
            check<ragged::op::Add, T, T, T>({}, count, shift, shift);
        }
}

TEST_CASE("each element is one thread's, in place too") {
    std::vector<float> storage(1000);
    for (std::int64_t count : {0, 5, 997}) {
        alignas(16) static float values[1000];
        for (float& value : values)
            value = 1;
        for (std::int64_t thread = 0; thread < 7; ++thread)
            body::map(ragged::op::Add{}, values, count, thread, 7, static_cast<const float*>(values),
                      static_cast<const float*>(values));
        for (std::int64_t i = 0; i < 1000; ++i)
            CHECK(values[i] == (i < count ? 2.0f : 1.0f));
    }
}
