// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Gather and reduce over MPI processes, beside MPI's own call on the same bytes, the copy path of per-tensor
// row shards (copy in, one collective, copy out, as FSDP2 does), and one collective per parameter (as ZeRO-3
// does). All take turns in one run; times are medians, rank 0's between barriers. Prints a Markdown table.
//
//     mpirun -n 4 mpi_bench [MiB | MODEL]...     by default 64, 256, a layer of gpt-oss-20b and one of
//     llama-3-8b
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h> // sysconf

#include <ragged/mpi.hpp>

#include "../support/median.hpp"

namespace {

using Grid = ragged::Topology<ragged::Axis<"shard">>;
using Mesh = ragged::Mesh<Grid, ragged::MpiCommunicator>;
namespace state = ragged::state;
using ragged::bf16;

constexpr int repeats = 11;

struct Contender {
    std::string name;
    std::function<void()> run;
    std::vector<double> seconds{};
};

/// Gives the core away while it waits: with more ranks than cores, one that is done must not hold up the
/// others.
void barrier() {
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int done = 0; done == 0;) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        std::this_thread::yield();
    }
}

/// Contenders run in turns; the first is what the others are compared with.
void measure(const std::string& what, double mebibytes, std::vector<Contender> contenders, int rank) {
    for (int repeat = -1; repeat < repeats; ++repeat) // the first round warms up
        for (Contender& contender : contenders) {
            barrier();
            const double start = MPI_Wtime();
            contender.run();
            barrier();
            if (repeat >= 0)
                contender.seconds.push_back(MPI_Wtime() - start);
        }
    const double base = bench::median(contenders.front().seconds);
    for (const Contender& contender : contenders)
        if (const double seconds = bench::median(contender.seconds); rank == 0)
            std::printf("| %s | %.0f | %s | %.1f | %.2f | %.2f |\n", what.c_str(), mebibytes,
                        contender.name.c_str(), seconds * 1e3, mebibytes / 1024 / seconds, seconds / base);
    std::fflush(stdout);
}

/// Everything that moves one group of tensors.
template <class T>
class Setup {
  public:
    Setup(ragged::GroupSpec group, ragged::MpiCommunicator& windowed, ragged::MpiCommunicator& plain)
        : size_(windowed.size())
        , rank_(windowed.rank())
        , plan_(ragged::make_plan(with_dtype(std::move(group)), size_))
        , mesh_(Grid(size_), windowed)
        , messages_(Grid(size_), plain)
        , shared_(windowed) {}

    double mebibytes() const { return static_cast<double>(plan_.padded_elements()) * sizeof(T) / (1 << 20); }
    std::int64_t shard() const { return plan_.segments.front().shard_elems; }

    void gather(const std::string& what) {
        using Buffer = ragged::DBuffer<T, Grid>;
        Buffer buffer(plan_, mesh_, shared_);
        touch(buffer.segment_data(0), plan_.padded_elements());
        std::vector<T> out(static_cast<std::size_t>(copied_elems())), parameter(longest_parameter());
        touch(out.data(), std::ssize(out));
        const auto through = [&](Mesh& mesh) {
            return [&] { buffer = release(ragged::gather(std::move(buffer), mesh).wait()); };
        };
        T* const base = buffer.segment_data(0);
        const auto raw = [=, count = shard()] { all_gather(base, count); };
        std::vector<Contender> contenders{{"MPI_Allgather", raw},
                                          {"ragged, shared window", through(mesh_)},
                                          {"ragged, MPI calls", through(messages_)},
                                          {"copy path",
                                           [&] {
                                               copy_in(base + rank_ * row_shards(), out.data());
                                               all_gather(base, row_shards());
                                               copy_out(base, out.data());
                                           }},
                                          {"per parameter", [&] {
                                               for (const auto& tensor : plan_.tensors)
                                                   all_gather(parameter.data(), flat_shard(tensor));
                                           }}};
        measure("gather " + what, mebibytes(), std::move(contenders), rank_);
    }

    void reduce(const std::string& what) {
        using Buffer = ragged::DBuffer<T, Grid, state::Partial>;
        Buffer buffer(plan_, mesh_, shared_);
        touch(buffer.segment_data(0), plan_.padded_elements());
        std::vector<T> gradients(static_cast<std::size_t>(copied_elems())), parameter(longest_parameter());
        touch(gradients.data(), std::ssize(gradients));
        const auto through = [&](Mesh& mesh) {
            return [&] {
                auto reduced = ragged::reduce(std::move(buffer), mesh).wait();
                buffer = std::move(reduced).template into<state::Partial>();
            };
        };
        T* const base = buffer.segment_data(0);
        std::vector<Contender> contenders{
            {"MPI_Reduce_scatter_block", [=, count = shard()] { reduce_scatter(base, count); }},
            {"ragged, shared window", through(mesh_)},
            {"ragged, MPI calls", through(messages_)},
            {"copy path",
             [&] {
                 copy_back(base, gradients.data());
                 reduce_scatter(base, row_shards());
             }},
            {"per parameter", [&] {
                 for (const auto& tensor : plan_.tensors)
                     reduce_scatter(parameter.data(), flat_shard(tensor));
             }}};
        measure("reduce " + what, mebibytes(), std::move(contenders), rank_);
    }

  private:
    static ragged::GroupSpec with_dtype(ragged::GroupSpec group) {
        for (ragged::TensorSpec& tensor : group.tensors)
            tensor.dtype = ragged::dtype_of<T>;
        return group;
    }
    static void touch(T* data, std::int64_t count) { std::fill(data, data + count, T(1.0f)); }

    static void all_gather(T* base, std::int64_t count) {
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, base,
                      static_cast<int>(count * std::int64_t{sizeof(T)}), MPI_BYTE, MPI_COMM_WORLD);
    }
    static void reduce_scatter(T* base, std::int64_t count) {
        const auto sum = ragged::detail::mpi::reducer_of<T>(ragged::Reduction::sum);
        MPI_Reduce_scatter_block(MPI_IN_PLACE, base, static_cast<int>(count), sum.type, sum.operation,
                                 MPI_COMM_WORLD);
    }

    // Row shards: of each tensor, every rank holds ceil(dim 0 / ranks) rows.
    std::int64_t row_shard(const ragged::PlacedTensor& tensor) const {
        const std::int64_t rows = tensor.spec.shape[0];
        return (rows + size_ - 1) / size_ * (tensor.spec.shape.elements() / rows);
    }
    std::int64_t row_shards() const {
        std::int64_t sum = 0;
        for (const auto& tensor : plan_.tensors)
            sum += row_shard(tensor);
        return sum;
    }
    std::int64_t copied_elems() const { return row_shards() * size_; }
    // Flat shards: one rank's part of one parameter.
    std::int64_t flat_shard(const ragged::PlacedTensor& tensor) const {
        return (tensor.spec.shape.elements() + size_ - 1) / size_;
    }
    std::size_t longest_parameter() const {
        std::int64_t longest = 0;
        for (const auto& tensor : plan_.tensors)
            longest = std::max(longest, flat_shard(tensor) * size_);
        return static_cast<std::size_t>(longest);
    }

    /// This rank's shards side by side.
    void copy_in(T* slot, const T* shards) const { std::copy(shards, shards + row_shards(), slot); }
    /// From rank-major to tensor-major.
    void copy_out(const T* gathered, T* tensors) const {
        for_each_part([&](std::int64_t in_buffer, std::int64_t in_tensors, std::int64_t length) {
            std::copy(gathered + in_buffer, gathered + in_buffer + length, tensors + in_tensors);
        });
    }
    /// From tensor-major to rank-major.
    void copy_back(T* scattered, const T* tensors) const {
        for_each_part([&](std::int64_t in_buffer, std::int64_t in_tensors, std::int64_t length) {
            std::copy(tensors + in_tensors, tensors + in_tensors + length, scattered + in_buffer);
        });
    }
    template <class Part>
    void for_each_part(const Part& part) const {
        std::int64_t before = 0, in_tensors = 0;
        for (const auto& tensor : plan_.tensors) {
            const std::int64_t length = row_shard(tensor);
            for (int rank = 0; rank < size_; ++rank, in_tensors += length)
                part(rank * row_shards() + before, in_tensors, length);
            before += length;
        }
    }

    int size_, rank_;
    ragged::Plan plan_;
    Mesh mesh_, messages_;
    ragged::MpiSharedResource shared_;
};

ragged::GroupSpec layer_of(const std::string& model) {
    const auto path = std::filesystem::path(RAGGED_MODELS_DIR) / (model + ".tsv");
    for (const ragged::GroupSpec& group : ragged::read_inventory(path).groups)
        if (group.name == "layers.0")
            return group;
    throw std::runtime_error(model + " has no layers.0");
}

/// The layer with as many experts as leave `ranks` processes room for 2 copies of it, and as Open MPI's
/// reduce-scatter takes: it miscounts more than 2^31 bytes.
std::string fit(ragged::GroupSpec& layer, std::int64_t element_bytes, int ranks) {
    double available =
        static_cast<double>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    MPI_Bcast(&available, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    const auto bytes = [&] {
        std::int64_t elements = 0;
        for (const auto& tensor : layer.tensors)
            elements += tensor.shape.elements();
        return static_cast<double>(elements * element_bytes);
    };
    std::string note;
    while (bytes() >= 0x1p31 || 2.2 * ranks * bytes() > 0.8 * available) {
        std::int64_t experts = 0;
        for (auto& tensor : layer.tensors)
            if (tensor.shape.rank() == 3) {
                experts = tensor.shape[0] / 2;
                tensor.shape = {experts, tensor.shape[1], tensor.shape[2]};
            }
        if (experts < 1)
            throw std::runtime_error("not enough memory for a layer");
        note = ", " + std::to_string(experts) + " experts";
    }
    return note;
}

} // namespace

int main(int count, char** arguments) {
    ragged::MpiEnvironment mpi;
    try {
        ragged::MpiCommunicator windowed(MPI_COMM_WORLD), plain(MPI_COMM_WORLD, {.shared_memory = false});
        const int rank = windowed.rank(), size = windowed.size();
        char version[MPI_MAX_LIBRARY_VERSION_STRING];
        int length = 0;
        MPI_Get_library_version(version, &length);
        if (rank == 0)
            std::printf(
                "%d ranks, %.40s; medians of %d\n\n| what | MiB | how | ms | GiB/s | of MPI's call |\n"
                "|---|---|---|---|---|---|\n",
                size, std::string(version).substr(0, std::string(version).find_first_of(",\n")).c_str(),
                repeats);
        const auto run = [&]<class T>(T, const std::string& what, const ragged::GroupSpec& group,
                                      bool reduces) {
            Setup<T> setup(group, windowed, plain);
            reduces ? setup.reduce(what) : setup.gather(what);
        };
        std::vector<std::string> whats(arguments + 1, arguments + count);
        if (whats.empty())
            whats = {"64", "256", "gpt-oss-20b", "llama-3-8b"};
        for (const std::string& what : whats) {
            const std::int64_t mebibytes = std::atoll(what.c_str());
            if (mebibytes > 0) {
                const ragged::GroupSpec group{"g", {{"w", {mebibytes << 8, 1024}, ragged::rows(1)}}};
                run(float{}, "f32", group, false);
                run(float{}, "f32", group, true);
                continue;
            }
            ragged::GroupSpec layer = layer_of(what);
            std::string note = fit(layer, 2, size);
            run(bf16{}, what + " bf16" + note, layer, false);
            note = fit(layer, 4, size);
            run(float{}, what + " f32" + note, layer, true);
        }
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mpi_bench: %s\n", error.what());
        ragged::MpiEnvironment::abort(1);
    }
}
