// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Group operations on a device against the host: the same bits, in every byte of the buffers.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include <ragged/cuda.cuh>
#include <ragged/optim/adam8bit.hpp>
#include <ragged/optim/adamw.hpp>

#include "gpu/device.hpp"
#include "support/expect.hpp"
#include "support/random_group.hpp"
#include "support/random_runs.hpp"

using support::Buffer;
using support::Device;
using support::download;
using support::Line;
using support::message_of;
using support::Pair;
namespace state = ragged::state;

namespace {

struct Fixture {
    ragged::Plan plan;
    ragged::Place<Line> place{Line(3), 1};
    ragged::HostResource memory{};
    Device device{};
    ragged::CudaExecutor executor{device.stream, device.memory};

    explicit Fixture(const ragged::GroupSpec& group)
        : plan(ragged::make_plan(group, 3, ragged::policy::Exact{.max_segments = 2},
                                 {.planes = {ragged::DType::f64, ragged::DType::i8}})) {}

    template <class T, class State = state::Resident>
    Pair<T, State> pair(std::uint32_t seed, float reach = 2.0f) {
        Pair<T, State> result(plan, place, memory, device);
        result.randomise(seed, reach);
        return result;
    }
    template <class T>
    T* array(ragged::Memory& storage, std::int64_t count) {
        storage = ragged::Memory(device.memory, static_cast<std::size_t>(count) * sizeof(T));
        return static_cast<T*>(storage.data());
    }
};

/// More than one grid of a large device, and more chunks than rows, in two segments.
ragged::GroupSpec large_group() {
    return {"large",
            {{"a", {9000, 4096}, ragged::tile({32, 32})},
             {"b", {1237, 771}, ragged::rows(7)},
             {"c", {4096, 3000}, ragged::tile({1, 128})},
             {"d", {5000, 1000}, ragged::whole()},
             {"e", {777}}}};
}

template <class T, class State>
void check_in_place(Fixture& f) {
    auto x = f.pair<T, State>(1), y = f.pair<T, State>(2);
    const auto& e = f.executor;
    const auto on_both = [&](const char* what, auto operation) {
        CAPTURE(what);
        operation(x.host, y.host, ragged::HostExecutor{});
        operation(x.device, y.device, e);
        CHECK(y.same());
    };
    on_both("add", [](auto& a, auto& b, const auto& on) { ragged::add(a, b, on); });
    on_both("axpy", [](auto& a, auto& b, const auto& on) { ragged::axpy(0.3, a, b, on); });
    on_both("scale", [](auto&, auto& b, const auto& on) { ragged::scale(b, 1.7, on); });
    on_both("add to itself", [](auto&, auto& b, const auto& on) { ragged::add(b, b, on); });
    on_both("copy", [](auto& a, auto& b, const auto& on) { ragged::copy(a, b, on); });
    on_both("zero", [](auto&, auto& b, const auto& on) { ragged::zero(b, on); });
}

/// op of an update: writes two arrays, reads the third.
struct Mix {
    template <class A, class B>
    RAGGED_HOST_DEVICE void operator()(A& a, B& b, const float& c) const {
        const float sum = ragged::fused_multiply_add(0.3f, c, static_cast<float>(a));
        a = static_cast<A>(sum);
        b = static_cast<B>(
            ragged::square_root(ragged::bit_cast<float>(ragged::bit_cast<std::uint32_t>(sum) & 0x7fffffffu)));
    }
};

template <class A, class B>
void check_update(Fixture& f) {
    auto a = f.pair<A>(1);
    auto b = f.pair<B, state::Sharded>(2); // other ranks' regions must stay as they are
    auto c = f.pair<float>(3);
    const auto update = [](auto& x, auto& y, const auto& z, const auto& on) {
        for (std::int64_t segment = 0; segment < x.num_segments(); ++segment) {
            const auto written = ragged::detail::written(x, segment);
            on.update(Mix{}, written.count, written.data, ragged::detail::written(y, segment).data,
                      ragged::detail::read(z, segment).data);
        }
    };
    update(a.host, b.host, c.host, ragged::HostExecutor{});
    update(a.device, b.device, c.device, f.executor);
    CHECK(a.same());
    CHECK(b.same());
    CHECK(c.same());
}

template <class A, class B>
void check_cast(Fixture& f) {
    auto x = f.pair<A>(3, 700.0f);
    auto y = f.pair<B, state::Sharded>(4); // other ranks' regions must stay as they are
    ragged::cast(x.host, y.host, 0.7);
    ragged::cast(x.device, y.device, 0.7, f.executor);
    CHECK(y.same());
}

template <class T>
void check_reductions(Fixture& f) {
    auto x = f.pair<T>(5);
    ragged::Memory sum_storage, finite_storage;
    double* const sum = f.array<double>(sum_storage, 1);
    bool* const finite = f.array<bool>(finite_storage, 1);
    ragged::sum_of_squares(x.device, sum, f.executor);
    CHECK(download(f.device.stream, sum, 1)[0] == ragged::sum_of_squares(x.host));
    const auto is_finite = [&] {
        ragged::all_finite(x.device, finite, f.executor);
        return download(f.device.stream, reinterpret_cast<const char*>(finite), 1)[0] == 1;
    };
    for (std::int64_t segment = 0; segment < x.host.num_segments(); ++segment) {
        const auto values = x.host.values(segment);
        for (std::size_t i : {std::size_t{0}, values.size() / 3, values.size() - 1}) {
            if (i >= values.size())
                continue;
            CHECK(is_finite());
            const T kept = values[i];
            values[i] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
            x.upload();
            CHECK_FALSE(is_finite());
            values[i] = kept;
            x.upload();
        }
    }
}

/// Of two buffers into one array, as the groups of a model do.
template <class T>
void check_exact_sum(Fixture& f) {
    auto x = f.pair<T>(10), y = f.pair<T>(11, 1e-12f);
    ragged::Memory storage;
    double* const digits = f.array<double>(storage, ragged::exact_sum::num_digits);
    std::vector<double> expected(ragged::exact_sum::num_digits), found(expected.size());
    const auto check = [&] {
        std::fill(expected.begin(), expected.end(), 0.0);
        f.executor.zero(digits, found.size() * sizeof(double));
        for (const auto* pair : {&x, &y}) {
            ragged::exact_sum_of_squares(pair->host, expected.data());
            ragged::exact_sum_of_squares(pair->device, digits, f.executor);
        }
        f.executor.fetch(found.data(), digits, found.size() * sizeof(double));
        CHECK(found == expected);
    };
    check();
    if (const auto values = x.host.values(0); !values.empty()) {
        values.back() = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
        values.front() = static_cast<T>(1e-30f);
        x.upload();
        check();
    }
}

template <class T, class Code>
void check_blocks(Fixture& f) {
    const ragged::PieceTable table(f.plan, 1);
    const ragged::CudaPieceTable on_device(f.plan, 1, f.device.memory, f.device.stream);
    auto x = f.pair<T>(6), back = f.pair<T>(7), filled = f.pair<T>(8);
    auto codes = f.pair<Code>(9);
    const auto blocks = static_cast<std::size_t>(table.num_blocks());
    std::vector<float> largest(blocks), scales(blocks);
    std::vector<double> sums(static_cast<std::size_t>(table.num_tensors()));
    ragged::Memory a, b, c;
    const std::span<float> largest_there(f.array<float>(a, table.num_blocks()), blocks);
    const std::span<float> scales_there(f.array<float>(b, table.num_blocks()), blocks);
    const std::span<double> sums_there(f.array<double>(c, table.num_tensors()), sums.size());

    ragged::absmax_per_block(table, x.host, std::span(largest));
    ragged::absmax_per_block(on_device, x.device, largest_there, f.executor);
    CHECK(download(f.device.stream, largest_there.data(), blocks) == largest);
    ragged::quantize_per_block(table, x.host, codes.host, std::span(scales));
    ragged::quantize_per_block(on_device, x.device, codes.device, scales_there, f.executor);
    CHECK(download(f.device.stream, scales_there.data(), blocks) == scales);
    CHECK(codes.same()); // with the poison between the pieces
    ragged::dequantize_per_block(table, codes.host, std::span<const float>(scales), back.host);
    ragged::dequantize_per_block(on_device, codes.device, std::span<const float>(scales_there), back.device,
                                 f.executor);
    CHECK(back.same());
    ragged::fill(table, filled.host, static_cast<T>(0.5f));
    ragged::fill(on_device, filled.device, static_cast<T>(0.5f), f.executor);
    CHECK(filled.same());
    ragged::reduce_per_tensor(ragged::op::SumOfSquares{}, table, x.host, std::span(sums));
    ragged::reduce_per_tensor(ragged::op::SumOfSquares{}, on_device, x.device, sums_there, f.executor);
    CHECK(download(f.device.stream, sums_there.data(), sums.size()) == sums);
}

/// An optimizer of `model` on both, some steps: every byte of masters, weights and what `state` shows.
template <class Host, class There, class State>
void check_optimizer(const ragged::GroupSpec& group, const State& state_of) {
    Fixture f(group);
    const ragged::ModelPlan model{"m", {f.plan}};
    Host host(model, f.place, f.memory, {.weight_decay = 0.1});
    There there(model, f.place, f.device.memory, {.weight_decay = 0.1}, f.executor);
    auto gradient = f.pair<float, state::Accumulated>(1);
    auto master = f.pair<float>(2);
    auto weights = f.pair<ragged::bf16, state::Sharded>(3);
    using Parameters = ragged::Parameters<ragged::bf16, Line>;
    for (int step = 0; step < 4; ++step) {
        gradient.randomise(static_cast<std::uint32_t>(10 + step));
        const Parameters here{&gradient.host, &master.host, step % 2 == 0 ? nullptr : &weights.host};
        const Parameters on_device{&gradient.device, &master.device,
                                   step % 2 == 0 ? nullptr : &weights.device};
        host.update(std::span<const Parameters>(&here, 1), 0.5);
        there.update(std::span<const Parameters>(&on_device, 1), 0.5);
        CHECK(master.same());
        CHECK(weights.same());
        CHECK(gradient.same());
        state_of(host, [&](std::size_t index, const void* bytes, std::size_t count) {
            state_of(there, [&](std::size_t other, const void* found, std::size_t found_count) {
                if (other != index || count == 0)
                    return;
                CHECK(found_count == count);
                const auto copied = download(f.device.stream, static_cast<const char*>(found), count);
                CHECK(std::memcmp(copied.data(), bytes, count) == 0);
            });
        });
    }
}

void check_optimizers(const ragged::GroupSpec& group) {
    check_optimizer<ragged::AdamW<Line>, ragged::AdamW<Line, ragged::Plan, ragged::CudaExecutor>>(
        group, [](const auto& optimizer, const auto& show) {
            const auto &first = optimizer.first_moment(0), &second = optimizer.second_moment(0);
            show(0, first.segment_data(0), first.bytes());
            show(1, second.segment_data(0), second.bytes());
        });
    check_optimizer<ragged::Adam8bit<Line>, ragged::Adam8bit<Line, ragged::Plan, ragged::CudaExecutor>>(
        group, [](const auto& optimizer, const auto& show) {
            const auto& of = optimizer.group(0);
            show(0, of.first.segment_data(0), of.first.bytes());
            show(1, of.second.segment_data(0), of.second.bytes());
            show(2, of.scales.data(), of.scales.bytes());
        });
}

/// `shift` elements behind a word, on the device; on the host the runs are copied one element at a time.
template <class T>
void check_runs(Fixture& f, const support::RandomRuns& random, std::int64_t shift_to,
                std::int64_t shift_from) {
    std::vector<T> from(static_cast<std::size_t>(random.from_elements)),
        expected(static_cast<std::size_t>(random.to_elements));
    support::randomise_bytes(std::span(from), 1);
    support::randomise_bytes(std::span(expected), 2);
    ragged::Memory a, b;
    T* const from_there = f.array<T>(a, random.from_elements + shift_from) + shift_from;
    T* const to_there = f.array<T>(b, random.to_elements + shift_to) + shift_to;
    const auto upload = [&](T* there, const std::vector<T>& values) {
        ragged::check(cudaMemcpyAsync(there, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice,
                                      f.device.stream->native()),
                      "upload");
    };
    upload(from_there, from);
    upload(to_there, expected);
    const ragged::CudaRunTable table = f.executor.run_table(random.runs, f.device.memory);
    f.executor.copy_runs(table, to_there, static_cast<const T*>(from_there));
    support::copy_each_element<T>(random.runs, expected, from);
    const std::vector<T> found = download(f.device.stream, to_there, expected.size());
    CHECK(std::memcmp(found.data(), expected.data(), found.size() * sizeof(T)) == 0);
}

template <class T>
void check_runs(Fixture& f) {
    for (const std::int64_t shift : {0, 1}) {
        for (const std::int64_t longest : {1, 40, 600, 5000}) {
            CAPTURE(longest);
            check_runs<T>(f, support::random_runs(1, 90, longest), shift, 0);
            check_runs<T>(f, support::random_runs(2, 90, longest, 16), shift, 0);
            check_runs<T>(f, support::random_runs(3, 90, longest, 16), shift, shift);
        }
        check_runs<T>(f, support::random_runs(4, 50'000, 20), shift, 0); // many thread blocks of small runs
        check_runs<T>(f, support::random_runs(5, 1, 2'000'000), shift, 0);
    }
    check_runs<T>(f, {}, 0, 0);
}

void check_all(const ragged::GroupSpec& group) {
    Fixture f(group);
    check_in_place<float, state::Resident>(f);
    check_in_place<ragged::bf16, state::Sharded>(f);
    check_in_place<ragged::f16, state::Resident>(f);
    check_in_place<double, state::Resident>(f);
    check_cast<float, ragged::bf16>(f);
    check_cast<ragged::bf16, float>(f);
    check_cast<float, ragged::f16>(f);
    check_cast<float, ragged::f8e4m3>(f);
    check_cast<ragged::f8e5m2, float>(f);
    check_cast<double, ragged::bf16>(f);
    check_update<float, float>(f);
    check_update<float, ragged::bf16>(f);
    check_update<ragged::f8e4m3, float>(f);
    check_reductions<float>(f);
    check_reductions<ragged::bf16>(f);
    check_reductions<double>(f);
    check_reductions<ragged::f8e4m3>(f);
    check_exact_sum<float>(f);
    check_exact_sum<ragged::bf16>(f);
    check_exact_sum<ragged::f16>(f);
    check_exact_sum<ragged::f8e4m3>(f);
    check_blocks<float, ragged::f8e4m3>(f);
    check_blocks<ragged::bf16, std::int8_t>(f);
    check_blocks<ragged::bf16, ragged::f8e5m2>(f);
}

} // namespace

TEST_CASE("small groups: every operation has the bits of the host") {
    for (std::uint32_t seed = 0; seed < 8; ++seed) {
        CAPTURE(seed);
        check_all(support::random_group(seed));
    }
}

TEST_CASE("large groups: every operation has the bits of the host") {
    check_all(large_group());
}

TEST_CASE("optimizers have the bits of the host") {
    for (std::uint32_t seed = 0; seed < 8; ++seed) {
        CAPTURE(seed);
        check_optimizers(support::random_group(seed));
    }
    check_optimizers(large_group());
}

TEST_CASE("pointers that are not aligned to a word give the same values") {
    Fixture f(large_group());
    constexpr std::int64_t count = 100'003;
    ragged::Memory a, b;
    auto* const x = f.array<float>(a, count + 8);
    auto* const y = f.array<ragged::bf16>(b, count + 8);
    std::vector<float> host(static_cast<std::size_t>(count + 8));
    for (std::size_t i = 0; i < host.size(); ++i)
        host[i] = static_cast<float>(i % 251) - 100.0f;
    ragged::check(cudaMemcpyAsync(x, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice,
                                  f.device.stream->native()), // behind the zeros of the allocation
                  "upload");
    for (int shift_in : {0, 1, 4})
        for (int shift_out : {0, 3, 8}) {
            f.executor.zero(y, static_cast<std::size_t>(count + 8) * sizeof(ragged::bf16));
            f.executor.map(ragged::op::Cast<ragged::bf16>{},
                           ragged::Values<ragged::bf16>{y + shift_out, count - 8},
                           static_cast<const float*>(x) + shift_in);
            const auto found = download(f.device.stream, y, count + 8);
            std::int64_t wrong = 0;
            for (std::int64_t i = 0; i < count + 8; ++i) {
                const bool inside = i >= shift_out && i < shift_out + count - 8;
                const float expected =
                    inside ? host[static_cast<std::size_t>(i - shift_out + shift_in)] : 0.0f;
                wrong += float(found[static_cast<std::size_t>(i)]) != expected;
            }
            CHECK(wrong == 0);
        }
}

TEST_CASE("exact sums of values that are not aligned to a word, and of none") {
    Fixture f({"g", {{"w", {300}}}});
    constexpr std::int64_t count = 1'000'003;
    ragged::Memory a, b;
    auto* const x = f.array<float>(a, count);
    auto* const digits = f.array<double>(b, ragged::exact_sum::num_digits); // zeros
    std::vector<float> host(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < host.size(); ++i)
        host[i] = std::ldexp(static_cast<float>(i % 251) - 100.0f, static_cast<int>(i % 200) - 100);
    ragged::check(cudaMemcpyAsync(x, host.data(), host.size() * sizeof(float), cudaMemcpyHostToDevice,
                                  f.device.stream->native()),
                  "upload");
    std::vector<double> expected(ragged::exact_sum::num_digits), found(expected.size());
    for (const std::int64_t shift :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{3}, std::int64_t{4}, count}) {
        const auto values_of = [&](const float* from) {
            return [=](std::int64_t) { return ragged::Values<const float>{from + shift, count - shift}; };
        };
        ragged::HostExecutor{}.exact_sum_of_squares(1, values_of(host.data()), expected.data());
        f.executor.exact_sum_of_squares(1, values_of(x), digits);
        f.executor.fetch(found.data(), digits, found.size() * sizeof(double));
        CHECK(found == expected);
    }
}

TEST_CASE("runs are copied as if one element at a time") {
    Fixture f({"g", {{"w", {300}}}});
    check_runs<float>(f);
    check_runs<double>(f);
    check_runs<ragged::bf16>(f);
    check_runs<ragged::f8e4m3>(f);
    check_runs<std::int8_t>(f);
}

TEST_CASE("a step captured into a graph replays what the host computes") {
    Fixture f(large_group());
    auto master = f.pair<float>(1);
    auto weights = f.pair<ragged::bf16, state::Sharded>(2);
    auto gradients = f.pair<ragged::bf16>(3);
    ragged::Memory storage;
    double* const norm = f.array<double>(storage, 1 + ragged::exact_sum::num_digits);
    const std::vector<ragged::CopyRun> runs{{0, 5, 100}, {300, 200, 77}};
    const ragged::CudaRunTable runs_there = f.executor.run_table(runs, f.device.memory);
    const ragged::RunTable runs_here(runs);
    const auto step = [&](auto& m, auto& w, auto& g, double* sum, const auto& table, const auto& on) {
        on.copy_runs(table, g.values(0).data(), w.values(0).data());
        ragged::sum_of_squares(g, sum, on);
        ragged::exact_sum_of_squares(g, sum + 1, on);
        ragged::scale(g, 0.5, on);
        ragged::axpy(-0.1, g, m, on);
        ragged::cast(m, w, 1.0, on);
    };
    const auto on_device = [&] {
        step(master.device, weights.device, gradients.device, norm, runs_there, f.executor);
    };
    std::vector<double> sums(1 + ragged::exact_sum::num_digits);
    const auto on_host = [&] {
        step(master.host, weights.host, gradients.host, sums.data(), runs_here, ragged::HostExecutor{});
    };
    on_device(); // kernels are loaded by their first launch, which may not happen in a capture
    on_host();
    const cudaStream_t stream = f.device.stream->native();
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;
    ragged::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), "begin capture");
    on_device();
    ragged::check(cudaStreamEndCapture(stream, &graph), "end capture");
    CHECK(master.same()); // captured, not run
    ragged::check(cudaGraphInstantiate(&replay, graph, 0), "instantiate");
    for (int i = 0; i < 3; ++i) {
        ragged::check(cudaGraphLaunch(replay, stream), "replay");
        on_host();
    }
    CHECK(master.same());
    CHECK(weights.same());
    CHECK(gradients.same());
    CHECK(download(f.device.stream, norm, sums.size()) == sums);
    ragged::check(cudaGraphExecDestroy(replay), "destroy");
    ragged::check(cudaGraphDestroy(graph), "destroy");
}

TEST_CASE("what is in another space is refused") {
    Fixture f({"g", {{"w", {300}}}});
    auto x = f.pair<float>(1);
    const ragged::CudaPieceTable table(f.plan, 1, f.device.memory, f.device.stream);
    ragged::HostResource host;
    CHECK(message_of([&] { ragged::scale(x.host, 2.0, f.executor); }) ==
          "group 'g': the buffer is in host memory, the executor works in memory of device 0");
    CHECK(message_of([&] { ragged::scale(x.device, 2.0); }) ==
          "group 'g': the buffer is in memory of device 0, the executor works in host memory");
    CHECK(message_of([&] { ragged::add(x.host, x.device, f.executor); }) ==
          "group 'g': the buffer is in host memory, the executor works in memory of device 0");
    CHECK(message_of([&] { ragged::fill(table, x.host, 1.0f, f.executor); }) ==
          "group 'g': the buffer is in host memory, the executor works in memory of device 0");
    CHECK(message_of([&] { ragged::CudaPieceTable(f.plan, 1, host, f.device.stream); }) ==
          "group 'g': a piece table for memory of device 0 is given host memory");
    CHECK(message_of([&] { ragged::CudaExecutor(f.device.stream, host); }) ==
          "an executor in memory of device 0 is given host memory");
    CHECK(message_of([&] { f.executor.run_table({}, host); }) ==
          "a run table for memory of device 0 is given host memory");
    CHECK(x.same());
}
