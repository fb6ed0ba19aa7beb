// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The main job in one program: plan gpt-oss-120b for 1,024 devices and explain the plan, then shard GPT-2
// 124M over four in-process ranks, gather and reduce it group by group, and check every value. Exit status 0
// when all checks hold.
#include <unistd.h> // isatty

#include <chrono>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <mutex>

#include <ragged/ragged.hpp>
#include <ragged/report/plan_table.hpp>

namespace {

using Grid = ragged::Topology<ragged::Axis<"shard">>;
namespace state = ragged::state;

constexpr int num_ranks = 4;

/// A pseudo-random value in [-1, 1) for an element of a tensor: the original that views are checked against.
float value_of(std::uint64_t seed, std::size_t group, std::size_t tensor, std::int64_t element) {
    std::uint64_t x = seed * 0x9e3779b97f4a7c15u + group * 0xc2b2ae3d27d4eb4fu +
                      tensor * 0x165667b19e3779f9u + static_cast<std::uint64_t>(element);
    x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    return static_cast<float>(static_cast<std::int32_t>(x)) * 0x1p-31f;
}
constexpr std::uint64_t weight_seed = 100; // gradients use the rank

/// What one rank did and saw.
struct Result {
    double seconds[6] = {};
    std::int64_t moved_bytes = 0, collective_bytes = 0, wrong = 0, checked = 0, moved_views = 0;
    std::size_t peak_bytes = 0, planned_bytes = 0;
};
constexpr const char* phases[6] = {"fill with values", "cast to bf16", "gather",
                                   "check views",      "reduce",       "check sums"};

/// Adds the time it lived.
class Stopwatch {
  public:
    explicit Stopwatch(double& seconds)
        : seconds_(seconds) {}
    ~Stopwatch() {
        seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    }

  private:
    double& seconds_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

class Progress {
  public:
    void show(std::size_t done, std::size_t all, const std::string& what) const {
        if (!terminal_)
            return;
        std::cerr << "\r\033[K  [" << done << "/" << all << "] " << what << std::flush;
        if (done == all)
            std::cerr << "\r\033[K" << std::flush;
    }

  private:
    bool terminal_ = isatty(STDERR_FILENO) != 0;
};

Result run_rank(ragged::LocalCommunicator world, const ragged::ModelPlan& model) {
    Result result;
    const auto timed = [&result](int phase, auto body) {
        const Stopwatch watch(result.seconds[phase]);
        return body();
    };
    const Progress progress;
    ragged::Mesh mesh(Grid(num_ranks), world);
    ragged::CountingResource<> memory;
    const std::size_t num_groups = model.groups.size();

    // fp32 masters of every group stay; gather and gradient buffers come and go, one group at a time.
    const ragged::DType f32[] = {ragged::DType::f32}, bf16[] = {ragged::DType::bf16};
    std::vector<ragged::DBuffer<float, Grid, state::Resident>> masters;
    std::int64_t masters_bytes = 0, largest_group_bytes = 0;
    timed(0, [&] {
        for (std::size_t g = 0; g < num_groups; ++g) {
            const ragged::Plan& plan = model.groups[g];
            auto& master = masters.emplace_back(plan, mesh, memory);
            for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
                const auto piece = ragged::shard(master, t);
                for (std::int64_t i = 0; i < piece.elements(); ++i)
                    piece[i] = value_of(weight_seed, g, t, piece.first() + i);
            }
            masters_bytes += plan.peak_bytes(f32, {});
            largest_group_bytes =
                std::max({largest_group_bytes, plan.peak_bytes({}, bf16), plan.peak_bytes({}, f32)});
        }
    });
    result.planned_bytes = static_cast<std::size_t>(masters_bytes + largest_group_bytes);

    for (std::size_t g = 0; g < num_groups; ++g) {
        const ragged::Plan& plan = model.groups[g];
        if (world.rank() == 0)
            progress.show(g, 2 * num_groups, "gather " + plan.name);
        ragged::DBuffer<ragged::bf16, Grid> weights(plan, mesh, memory);
        timed(1, [&] { ragged::cast(masters[g], weights); });
        const ragged::bf16* base = weights.segment_data(0);
        const auto gathered = timed(2, [&] { return ragged::gather(std::move(weights), mesh).wait(); });
        timed(3, [&] {
            for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
                const auto view = ragged::view(gathered, t);
                result.moved_views += view.data() != base + plan.tensors[t].offset ? 1 : 0;
                for (std::int64_t i = 0; i < view.elements(); ++i)
                    result.wrong +=
                        view.data()[i].bits != ragged::bf16(value_of(weight_seed, g, t, i)).bits ? 1 : 0;
                result.checked += view.elements();
            }
        });
        result.collective_bytes += (num_ranks - 1) * plan.region_elems() * 2;
    }

    for (std::size_t g = 0; g < num_groups; ++g) {
        const ragged::Plan& plan = model.groups[g];
        if (world.rank() == 0)
            progress.show(num_groups + g, 2 * num_groups, "reduce " + plan.name);
        ragged::DBuffer<float, Grid, state::Partial> gradients(plan, mesh, memory);
        const auto gradient = [g](int rank, std::size_t t, std::int64_t i) {
            return value_of(static_cast<std::uint64_t>(rank), g, t, i);
        };
        timed(0, [&] {
            for (std::size_t t = 0; t < plan.tensors.size(); ++t)
                for (std::int64_t i = 0; i < plan.tensors[t].elements(); ++i)
                    ragged::view(gradients, t).data()[i] = gradient(world.rank(), t, i);
        });
        const auto reduced = timed(4, [&] { return ragged::reduce(std::move(gradients), mesh).wait(); });
        timed(5, [&] {
            for (std::size_t t = 0; t < plan.tensors.size(); ++t) {
                const auto piece = ragged::shard(reduced, t);
                for (std::int64_t i = 0; i < piece.elements(); ++i) {
                    float sum = gradient(0, t, piece.first() + i);
                    for (int rank = 1; rank < num_ranks; ++rank)
                        sum += gradient(rank, t, piece.first() + i);
                    result.wrong += piece[i] != sum ? 1 : 0;
                }
                result.checked += piece.elements();
            }
        });
        result.collective_bytes += (num_ranks - 1) * plan.region_elems() * 4;
    }
    if (world.rank() == 0)
        progress.show(1, 1, "");
    result.moved_bytes = mesh.along<"shard">().received_bytes();
    result.peak_bytes = memory.peak_bytes();
    return result;
}

} // namespace

int main() try {
    const std::filesystem::path models = RAGGED_MODELS_DIR;

    std::cout << "== 1. plan gpt-oss-120b for 1,024 devices, keeping rows whole\n\n";
    auto spec = ragged::read_inventory(models / "gpt-oss-120b.tsv");
    for (ragged::GroupSpec& group : spec.groups)
        for (ragged::TensorSpec& tensor : group.tensors)
            if (tensor.shape.rank() > 1)
                tensor.block = ragged::rows(1);
    const ragged::ModelPlan big = ragged::make_plan(spec, 1024);
    ragged::write_table(std::cout, big);
    std::cout << '\n';
    ragged::write_explanation(std::cout, big, ragged::advise(spec, 1024));

    std::cout << "\n== 2. shard GPT-2 124M over " << num_ranks << " ranks, gather, check, reduce, check\n\n";
    auto gpt2 = ragged::read_inventory(models / "gpt2.tsv");
    for (ragged::GroupSpec& group : gpt2.groups)
        for (ragged::TensorSpec& tensor : group.tensors)
            if (tensor.shape.rank() > 1)
                tensor.block = ragged::rows(16);
    const auto start = std::chrono::steady_clock::now();
    const ragged::ModelPlan model = ragged::make_plan(gpt2, num_ranks, {}, {.planes = {ragged::DType::f32}});
    const double plan_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    Result all;
    bool memory_as_planned = true;
    std::mutex mutex;
    ragged::run_ranks(num_ranks, [&](ragged::LocalCommunicator world) {
        const Result own = run_rank(world, model);
        const std::lock_guard lock(mutex);
        for (int phase = 0; phase < 6; ++phase)
            all.seconds[phase] = std::max(all.seconds[phase], own.seconds[phase]);
        all.moved_bytes += own.moved_bytes;
        all.collective_bytes += own.collective_bytes;
        all.wrong += own.wrong;
        all.checked += own.checked;
        all.moved_views += own.moved_views;
        all.peak_bytes = std::max(all.peak_bytes, own.peak_bytes);
        all.planned_bytes = std::max(all.planned_bytes, own.planned_bytes);
        memory_as_planned = memory_as_planned && own.peak_bytes == own.planned_bytes;
    });

    const auto mib = [](auto bytes) { return static_cast<double>(bytes) / (1024.0 * 1024.0); };
    const std::int64_t copied = all.moved_bytes - all.collective_bytes;
    const bool good = all.wrong == 0 && all.moved_views == 0 && copied == 0 && memory_as_planned;
    std::cout << std::fixed << std::setprecision(3);
    std::cout << "  padding              " << model.padding_ratio() * 100 << " %\n"
              << "  elements checked     " << all.checked << ", wrong " << all.wrong << "\n"
              << std::setprecision(1) << "  bytes moved          " << mib(all.moved_bytes)
              << " MiB by all ranks, "
              << "as the collectives need\n"
              << "  bytes copied besides " << copied << " (views are pointers into the buffer, "
              << (all.moved_views == 0 ? "none moved" : "SOME MOVED") << ")\n"
              << "  peak memory per rank " << mib(all.peak_bytes) << " MiB, planned "
              << mib(all.planned_bytes) << " MiB\n"
              << std::setprecision(3) << "  plan                 " << plan_seconds << " s\n";
    for (int phase = 0; phase < 6; ++phase)
        std::cout << "  " << std::left << std::setw(21) << phases[phase] << all.seconds[phase] << " s\n";
    std::cout << "\n" << (good ? "all checks hold" : "CHECKS FAILED") << "\n";
    return good ? 0 : 1;
} catch (const std::exception& error) {
    std::cerr << "demo: " << error.what() << "\n";
    return 1;
}
