// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Group operations over one rank's region of a gpt-oss-20b-sized layer, each against memcpy (or a plain read
// loop) of the same bytes, and against the same operation called tensor by tensor.
#include <cstring>
#include <span>
#include <vector>

#include <ragged/ragged.hpp>

#include "support/paired.hpp"

namespace {

using Grid = ragged::Topology<ragged::Axis<"shard">>;
using Resident = ragged::state::Resident;

constexpr std::int64_t num_ranks = 4;
volatile double one = 1.0; // the compiler must not know the factor

/// About 64 M elements over 4 ranks, with many small tensors as real layers have.
ragged::GroupSpec layer() {
    ragged::GroupSpec group{"layer", {}};
    for (int expert = 0; expert < 16; ++expert)
        for (const char* part : {"up", "down"}) {
            const std::string name = "expert." + std::to_string(expert) + "." + part;
            group.tensors.push_back({name, {1024, 2048}, ragged::tile({32, 32}), ragged::DType::bf16});
            group.tensors.push_back({name + ".bias", {2048}, ragged::elements(256), ragged::DType::bf16});
        }
    return group;
}

struct Setup {
    ragged::Plan plan = ragged::make_plan(layer(), num_ranks, {}, {.planes = {ragged::DType::i8}});
    ragged::Place<Grid> place{Grid(num_ranks), 1};
    ragged::HostResource memory;
    ragged::PieceTable table{plan, 1};

    template <class T>
    ragged::DBuffer<T, Grid, Resident> buffer() {
        ragged::DBuffer<T, Grid, Resident> result(plan, place, memory);
        ragged::fill(table, result, T(0.5f));
        return result;
    }
    std::int64_t elements() const { return plan.region_elems(); }
};

/// A baseline over as many arrays of as wide words as the operation has: to[i] = to[i] ^ from[i], narrowed.
template <class To, class From, bool ReadsTo>
class Move {
  public:
    explicit Move(std::int64_t count)
        : from_(static_cast<std::size_t>(count), 1)
        , to_(from_.size(), 2) {}
    void operator()() {
        const From* from = from_.data();
        To* to = to_.data();
        for (std::size_t i = 0; i < from_.size(); ++i)
            to[i] = static_cast<To>(ReadsTo ? to[i] ^ from[i] : from[i] >> 1);
        benchmark::DoNotOptimize(to_.data());
    }

  private:
    std::vector<From> from_;
    std::vector<To> to_;
};

/// The baseline in place: x[i] = x[i] ^ 1.
class Flip {
  public:
    explicit Flip(std::int64_t count)
        : words_(static_cast<std::size_t>(count), 1) {}
    void operator()() {
        for (std::uint32_t& word : words_)
            word ^= 1u;
        benchmark::DoNotOptimize(words_.data());
    }

  private:
    std::vector<std::uint32_t> words_;
};

/// The baseline for an operation that only reads: a sum of words.
class Read {
  public:
    explicit Read(std::int64_t bytes)
        : words_(static_cast<std::size_t>(bytes / 4), 1) {}
    void operator()() {
        std::uint32_t sum = 0;
        for (std::uint32_t word : words_)
            sum += word;
        benchmark::DoNotOptimize(sum);
    }

  private:
    std::vector<std::uint32_t> words_;
};

/// The baseline of an optimizer: three arrays of words are read and written, one is read.
class UpdateWords {
  public:
    explicit UpdateWords(std::int64_t count)
        : arrays_(4, std::vector<std::uint32_t>(static_cast<std::size_t>(count), 1)) {}
    void operator()() {
        std::uint32_t* __restrict a = arrays_[0].data();
        std::uint32_t* __restrict b = arrays_[1].data();
        std::uint32_t* __restrict c = arrays_[2].data();
        const std::uint32_t* __restrict d = arrays_[3].data();
        for (std::size_t i = 0; i < arrays_[0].size(); ++i) {
            a[i] ^= d[i];
            b[i] ^= d[i];
            c[i] ^= d[i];
        }
        benchmark::DoNotOptimize(a);
    }

  private:
    std::vector<std::vector<std::uint32_t>> arrays_;
};

void zero(benchmark::State& state) {
    Setup setup;
    auto x = setup.buffer<float>();
    std::vector<char> plain(x.bytes());
    bench::report(state,
                  bench::measure([&] { ragged::zero(x); },
                                 [&] {
                                     std::memset(plain.data(), 0, plain.size());
                                     benchmark::DoNotOptimize(plain.data());
                                 }),
                  setup.elements() * 4);
}

void copy(benchmark::State& state) {
    Setup setup;
    auto x = setup.buffer<float>(), y = setup.buffer<float>();
    const std::int64_t bytes = setup.elements() * 8;
    std::vector<char> from(x.bytes(), 1), to(x.bytes(), 2);
    bench::report(state,
                  bench::measure([&] { ragged::copy(x, y); },
                                 [&] {
                                     std::memcpy(to.data(), from.data(), from.size());
                                     benchmark::DoNotOptimize(to.data());
                                 }),
                  bytes);
}

void scale(benchmark::State& state) {
    Setup setup;
    auto x = setup.buffer<float>();
    const std::int64_t bytes = setup.elements() * 8;
    bench::report(state, bench::measure([&] { ragged::scale(x, one); }, Flip(setup.elements())), bytes);
}

template <class T>
void add(benchmark::State& state) {
    Setup setup;
    using Word = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>;
    auto x = setup.buffer<T>(), y = setup.buffer<T>();
    const std::int64_t bytes = setup.elements() * 3 * static_cast<std::int64_t>(sizeof(T));
    bench::report(state, bench::measure([&] { ragged::add(x, y); }, Move<Word, Word, true>(setup.elements())),
                  bytes);
}

void axpy(benchmark::State& state) {
    Setup setup;
    auto x = setup.buffer<float>(), y = setup.buffer<float>();
    const std::int64_t bytes = setup.elements() * 12;
    bench::report(state,
                  bench::measure([&] { ragged::axpy(one, x, y); },
                                 Move<std::uint32_t, std::uint32_t, true>(setup.elements())),
                  bytes);
}

void cast_to_bf16(benchmark::State& state) {
    Setup setup;
    auto x = setup.buffer<float>();
    auto y = setup.buffer<ragged::bf16>();
    const std::int64_t bytes = setup.elements() * 6;
    bench::report(state,
                  bench::measure([&] { ragged::cast(x, y); },
                                 Move<std::uint16_t, std::uint32_t, false>(setup.elements())),
                  bytes);
}

template <class T>
void all_finite(benchmark::State& state) {
    Setup setup;
    auto x = setup.buffer<T>();
    const std::int64_t bytes = setup.elements() * static_cast<std::int64_t>(sizeof(T));
    bench::report(
        state, bench::measure([&] { benchmark::DoNotOptimize(ragged::all_finite(x)); }, Read(bytes)), bytes);
}

template <class T>
void sum_of_squares(benchmark::State& state) {
    Setup setup;
    auto x = setup.buffer<T>();
    const std::int64_t bytes = setup.elements() * static_cast<std::int64_t>(sizeof(T));
    bench::report(state,
                  bench::measure([&] { benchmark::DoNotOptimize(ragged::sum_of_squares(x)); }, Read(bytes)),
                  bytes);
}

template <class T>
void exact_sum_of_squares(benchmark::State& state) {
    Setup setup;
    auto x = setup.buffer<T>();
    double digits[ragged::exact_sum::num_digits]{};
    const std::int64_t bytes = setup.elements() * static_cast<std::int64_t>(sizeof(T));
    bench::report(state,
                  bench::measure(
                      [&] {
                          ragged::exact_sum_of_squares(x, digits);
                          benchmark::DoNotOptimize(digits);
                      },
                      Read(bytes)),
                  bytes);
}

void absmax_per_tile(benchmark::State& state) {
    Setup setup;
    auto x = setup.buffer<float>();
    std::vector<float> largest(static_cast<std::size_t>(setup.table.num_blocks()));
    const std::int64_t bytes = setup.elements() * 4;
    bench::report(state,
                  bench::measure([&] { ragged::absmax_per_block(setup.table, x, largest); }, Read(bytes)),
                  bytes);
}

/// @param bytes  of state per element, read and written
template <class Optimizer>
void optimizer_step(benchmark::State& state, std::int64_t bytes) {
    Setup setup;
    const ragged::ModelPlan model{"layer", {setup.plan}};
    Optimizer optimizer(model, setup.place, setup.memory);
    auto master = setup.buffer<float>();
    ragged::DBuffer<float, Grid, ragged::state::Accumulated> gradient(model.groups[0], setup.place,
                                                                      setup.memory);
    ragged::fill(setup.table, gradient, 0.25f);
    const std::vector<ragged::Parameters<ragged::bf16, Grid>> parameters{{&gradient, &master}};
    bench::report(
        state,
        bench::measure([&] { optimizer.update(std::span(parameters), one); }, UpdateWords(setup.elements())),
        setup.elements() * (12 + 2 * bytes));
}
void adamw(benchmark::State& state) {
    optimizer_step<ragged::AdamW<Grid>>(state, 8);
}
/// Against the same baseline, which moves the bytes of AdamW.
void adam8bit(benchmark::State& state) {
    optimizer_step<ragged::Adam8bit<Grid>>(state, 2);
}

/// One flat pass against the same pass tensor by tensor.
void scale_against_per_tensor(benchmark::State& state) {
    Setup setup;
    auto x = setup.buffer<float>();
    const auto per_tensor = [&] {
        for (std::size_t tensor = 0; tensor < setup.plan.tensors.size(); ++tensor)
            ragged::HostExecutor{}.map(
                ragged::op::Cast<float>{one},
                ragged::Values<float>{ragged::shard(x, tensor).data(), ragged::shard(x, tensor).elements()},
                ragged::shard(x, tensor).data());
    };
    bench::report(state, bench::measure([&] { ragged::scale(x, one); }, per_tensor), setup.elements() * 8);
}

} // namespace

#define RAGGED_BENCH(...)                                                                                    \
    BENCHMARK(__VA_ARGS__)->Iterations(1)->UseManualTime()->Unit(benchmark::kMillisecond)

RAGGED_BENCH(zero);
RAGGED_BENCH(copy);
RAGGED_BENCH(scale);
RAGGED_BENCH(add<float>);
RAGGED_BENCH(add<ragged::bf16>);
RAGGED_BENCH(axpy);
RAGGED_BENCH(cast_to_bf16);
RAGGED_BENCH(all_finite<float>);
RAGGED_BENCH(all_finite<ragged::bf16>);
RAGGED_BENCH(sum_of_squares<float>);
RAGGED_BENCH(sum_of_squares<ragged::bf16>);
RAGGED_BENCH(exact_sum_of_squares<float>);
RAGGED_BENCH(exact_sum_of_squares<ragged::bf16>);
RAGGED_BENCH(absmax_per_tile);
RAGGED_BENCH(adamw);
RAGGED_BENCH(adam8bit);
RAGGED_BENCH(scale_against_per_tensor);
