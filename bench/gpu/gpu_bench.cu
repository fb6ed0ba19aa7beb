// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Group operations of one rank of eight over a layer of gpt-oss-120b, against a device-to-device copy in the
// same process, as a Markdown table. Medians of 11, by events.
//     gpu_bench MODEL.tsv > table.md
#include <algorithm>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cub/device/device_memcpy.cuh>

#include <ragged/cuda.cuh>

namespace {

using Line = ragged::Topology<ragged::Axis<"shard">>;
template <class T>
using Buffer = ragged::DBuffer<T, Line, ragged::state::Resident>;
using ragged::bf16;
using ragged::check;
using ragged::f8e4m3;

constexpr std::int64_t num_ranks = 8;
constexpr int repeats = 11;

/// Median milliseconds of `body` on the stream, once warm.
double milliseconds(const ragged::CudaStream& stream, const std::function<void()>& body) {
    cudaEvent_t start = nullptr, stop = nullptr;
    check(cudaEventCreate(&start), "creating an event");
    check(cudaEventCreate(&stop), "creating an event");
    std::vector<double> times;
    for (int repeat = -2; repeat < repeats; ++repeat) {
        check(cudaEventRecord(start, stream.native()), "start");
        body();
        check(cudaEventRecord(stop, stream.native()), "stop");
        check(cudaEventSynchronize(stop), "waiting");
        float time = 0;
        check(cudaEventElapsedTime(&time, start, stop), "reading a time");
        if (repeat >= 0)
            times.push_back(static_cast<double>(time));
    }
    check(cudaEventDestroy(start), "destroying an event");
    check(cudaEventDestroy(stop), "destroying an event");
    std::nth_element(times.begin(), times.begin() + repeats / 2, times.end());
    return times[repeats / 2];
}

/// What `body` enqueues, as a graph.
struct Graph {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t replay = nullptr;

    Graph(const ragged::CudaStream& stream, const std::function<void()>& body) {
        body(); // loads the kernels
        stream.synchronise();
        check(cudaStreamBeginCapture(stream.native(), cudaStreamCaptureModeGlobal), "begin capture");
        body();
        check(cudaStreamEndCapture(stream.native(), &graph), "end capture");
        check(cudaGraphInstantiate(&replay, graph, 0), "instantiate");
    }
    Graph(const Graph&) = delete;
    ~Graph() {
        static_cast<void>(cudaGraphExecDestroy(replay));
        static_cast<void>(cudaGraphDestroy(graph));
    }
    std::size_t launches() const {
        std::size_t count = 0;
        check(cudaGraphGetNodes(graph, nullptr, &count), "counting nodes");
        return count;
    }
};

struct Bench {
    ragged::OwnedCudaStream stream{0};
    ragged::CudaPoolResource memory{stream};
    ragged::CudaExecutor executor{stream, memory};
    double copy_rate = 0; // bytes read and written per millisecond

    void measure_copy(std::size_t bytes) {
        ragged::Memory from(memory, bytes), to(memory, bytes);
        const double time = milliseconds(stream, [&] { executor.copy(to.data(), from.data(), bytes); });
        copy_rate = 2.0 * static_cast<double>(bytes) / time;
        std::printf("Copy of %.2f GB, device to device: %.0f GB/s read and written.\n\n",
                    static_cast<double>(bytes) * 1e-9, copy_rate * 1e-6);
    }
    void row(const char* name, std::int64_t bytes, const std::function<void()>& body) {
        const std::size_t launches = Graph(stream, body).launches();
        const double time = milliseconds(stream, body);
        const double rate = static_cast<double>(bytes) / time;
        std::printf("| %s | %zu | %.3f | %.0f | %.2f |\n", name, launches, time, rate * 1e-6,
                    rate / copy_rate);
        std::fflush(stdout);
    }
};

void head(const char* title) {
    std::printf("\n## %s\n\n| operation | launches | ms | GB/s | of copy |\n|---|---|---|---|---|\n", title);
}

/// The layer with quantization blocks on every matrix: runs of 128 along rows, or tiles of 32 x 32.
ragged::GroupSpec with_blocks(ragged::GroupSpec group, std::int64_t high, std::int64_t wide) {
    for (ragged::TensorSpec& tensor : group.tensors) {
        const int rank = tensor.shape.rank();
        ragged::Shape block;
        for (int dim = 0; dim < rank; ++dim)
            block.push_back(std::min(dim == rank - 1 ? wide : dim == rank - 2 ? high : 1, tensor.shape[dim]));
        tensor.block = rank >= 2 ? ragged::tile(block) : ragged::elements(128);
    }
    return group;
}

void flat(Bench& bench, const ragged::Plan& plan) {
    const ragged::Place<Line> place(Line(num_ranks), 1);
    const auto& on = bench.executor;
    const std::int64_t n = plan.region_elems();
    Buffer<float> x(plan, place, bench.memory), y(plan, place, bench.memory);
    Buffer<bf16> u(plan, place, bench.memory), v(plan, place, bench.memory);
    Buffer<f8e4m3> q(plan, place, bench.memory);
    ragged::Memory storage(bench.memory, (2 + ragged::exact_sum::num_digits) * sizeof(double));
    double* const sum = static_cast<double*>(storage.data());
    bool* const finite = static_cast<bool*>(static_cast<void*>(sum + 1));
    double* const digits = sum + 2;
    std::printf("\n%lld elements per rank, %zu tensors, padding %.3f %%\n", static_cast<long long>(n),
                plan.tensors.size(), 100 * plan.padding_ratio());
    bench.measure_copy(static_cast<std::size_t>(n) * sizeof(float));
    head("Flat");
    bench.row("zero fp32", n * 4, [&] { ragged::zero(x, on); });
    bench.row("copy fp32", n * 8, [&] { ragged::copy(x, y, on); });
    bench.row("scale fp32", n * 8, [&] { ragged::scale(x, 1.01, on); });
    bench.row("scale bf16", n * 4, [&] { ragged::scale(u, 1.01, on); });
    bench.row("add fp32", n * 12, [&] { ragged::add(x, y, on); });
    bench.row("add bf16", n * 6, [&] { ragged::add(u, v, on); });
    bench.row("axpy fp32 += fp32", n * 12, [&] { ragged::axpy(0.1, x, y, on); });
    bench.row("axpy fp32 += bf16", n * 10, [&] { ragged::axpy(0.1, u, y, on); });
    bench.row("cast fp32 to bf16", n * 6, [&] { ragged::cast(x, u, 1.0, on); });
    bench.row("cast bf16 to fp32", n * 6, [&] { ragged::cast(u, x, 1.0, on); });
    bench.row("cast fp32 to e4m3", n * 5, [&] { ragged::cast(x, q, 1.0, on); });
    bench.row("sum of squares fp32", n * 4, [&] { ragged::sum_of_squares(x, sum, on); });
    bench.row("sum of squares bf16", n * 2, [&] { ragged::sum_of_squares(u, sum, on); });
    bench.row("exact sum of squares fp32", n * 4, [&] { ragged::exact_sum_of_squares(x, digits, on); });
    bench.row("exact sum of squares bf16", n * 2, [&] { ragged::exact_sum_of_squares(u, digits, on); });
    bench.row("all finite bf16", n * 2, [&] { ragged::all_finite(u, finite, on); });
}

void blocks(Bench& bench, const ragged::Plan& plan, const char* title) {
    const ragged::Place<Line> place(Line(num_ranks), 1);
    const auto& on = bench.executor;
    const ragged::CudaPieceTable table(plan, 1, bench.memory, bench.stream);
    const std::int64_t n = plan.region_elems(), scale_bytes = table.num_blocks() * 4;
    Buffer<float> x(plan, place, bench.memory);
    Buffer<bf16> u(plan, place, bench.memory);
    Buffer<f8e4m3> q(plan, place, bench.memory);
    Buffer<std::int8_t> i(plan, place, bench.memory);
    const auto tensors = static_cast<std::size_t>(table.num_tensors());
    ragged::Memory scale_storage(bench.memory, static_cast<std::size_t>(scale_bytes));
    ragged::Memory sum_storage(bench.memory, tensors * sizeof(double));
    const std::span<float> scales(static_cast<float*>(scale_storage.data()),
                                  static_cast<std::size_t>(table.num_blocks()));
    const std::span<double> sums(static_cast<double*>(sum_storage.data()), tensors);
    ragged::fill(table, x, 0.5f, on);
    ragged::fill(table, u, bf16(0.5f), on);
    head(title);
    bench.row("absmax fp32", n * 4 + scale_bytes, [&] { ragged::absmax_per_block(table, x, scales, on); });
    bench.row("absmax bf16", n * 2 + scale_bytes, [&] { ragged::absmax_per_block(table, u, scales, on); });
    bench.row("quantize bf16 to e4m3", n * 3 + scale_bytes,
              [&] { ragged::quantize_per_block(table, u, q, scales, on); });
    bench.row("quantize fp32 to int8", n * 5 + scale_bytes,
              [&] { ragged::quantize_per_block(table, x, i, scales, on); });
    bench.row("dequantize e4m3 to bf16", n * 3 + scale_bytes,
              [&] { ragged::dequantize_per_block(table, q, std::span<const float>(scales), u, on); });
    bench.row("sum of squares per tensor, bf16", n * 2,
              [&] { ragged::reduce_per_tensor(ragged::op::SumOfSquares{}, table, u, sums, on); });
}

void graphs(Bench& bench, const ragged::Plan& plan, const char* name) {
    const ragged::Place<Line> place(Line(num_ranks), 1);
    Buffer<float> master(plan, place, bench.memory);
    Buffer<bf16> weights(plan, place, bench.memory), gradients(plan, place, bench.memory);
    ragged::Memory storage(bench.memory, 8);
    const std::function<void()> step = [&] {
        ragged::sum_of_squares(gradients, static_cast<double*>(storage.data()), bench.executor);
        ragged::scale(gradients, 0.5, bench.executor);
        ragged::axpy(-0.1, gradients, master, bench.executor);
        ragged::cast(master, weights, 1.0, bench.executor);
    };
    const Graph graph(bench.stream, step);
    const double eager = milliseconds(bench.stream, step);
    const double replay = milliseconds(
        bench.stream, [&] { check(cudaGraphLaunch(graph.replay, bench.stream->native()), "replay"); });
    std::printf("| %s | %lld | %zu | %.4f | %.4f |\n", name, static_cast<long long>(plan.region_elems()),
                graph.launches(), eager, replay);
}

/// Runs as CUB copies them, prepared once.
class BatchedCopy {
  public:
    BatchedCopy(Bench& bench, const std::vector<ragged::CopyRun>& runs, bf16* to, const bf16* from)
        : bench_(bench)
        , count_(runs.size())
        , from_(upload<const void*>(runs, [=](const auto& run) { return from + run.from; }))
        , to_(upload<void*>(runs, [=](const auto& run) { return to + run.to; }))
        , bytes_(upload<std::size_t>(
              runs, [](const auto& run) { return static_cast<std::size_t>(run.elements) * sizeof(bf16); })) {
        std::size_t needed = 0;
        run(nullptr, needed);
        scratch_ = ragged::Memory(bench.memory, needed);
    }
    void operator()() {
        std::size_t bytes = scratch_.bytes();
        run(scratch_.data(), bytes);
    }

  private:
    template <class T, class Get>
    ragged::Memory upload(const std::vector<ragged::CopyRun>& runs, const Get& get) {
        std::vector<T> values;
        for (const ragged::CopyRun& run : runs)
            values.push_back(get(run));
        ragged::Memory there(bench_.memory, values.size() * sizeof(T));
        check(cudaMemcpyAsync(there.data(), values.data(), there.bytes(), cudaMemcpyHostToDevice,
                              bench_.stream->native()),
              "upload");
        bench_.stream->synchronise();
        return there;
    }
    void run(void* scratch, std::size_t& bytes) {
        check(cub::DeviceMemcpy::Batched(scratch, bytes, static_cast<const void**>(from_.data()),
                                         static_cast<void**>(to_.data()),
                                         static_cast<std::size_t*>(bytes_.data()),
                                         static_cast<std::int64_t>(count_), bench_.stream->native()),
              "batched copy");
    }

    Bench& bench_;
    std::size_t count_;
    ragged::Memory from_, to_, bytes_, scratch_;
};

/// The same copy by cub::DeviceMemcpy::Batched and by a run table.
void copy_rows(Bench& bench, const std::string& what, const std::vector<ragged::CopyRun>& runs,
               const ragged::Memory& to_memory, const ragged::Memory& from_memory) {
    auto* const to = static_cast<bf16*>(to_memory.data());
    const auto* const from = static_cast<const bf16*>(from_memory.data());
    BatchedCopy batched(bench, runs, to, from);
    const ragged::CudaRunTable table = bench.executor.run_table(runs, bench.memory);
    const auto moved = 2 * table.elements() * static_cast<std::int64_t>(sizeof(bf16));
    bench.row((what + ", CUB").c_str(), moved, [&] { batched(); });
    bench.row((what + ", run table").c_str(), moved, [&] { bench.executor.copy_runs(table, to, from); });
}

/// What FSDP2 moves around a gather of the layer: its shards, even cuts of dimension 0, lie rank by rank in
/// the gathered buffer, and each tensor is put together from them. Then columns of a matrix, cut out.
void copies(Bench& bench, const ragged::GroupSpec& layer) {
    std::vector<std::int64_t> shards; // elements of each tensor on each rank
    std::int64_t rank_elems = 0;
    for (const ragged::TensorSpec& tensor : layer.tensors) {
        const std::int64_t row = tensor.shape.elements() / tensor.shape[0];
        shards.push_back(ragged::ceil_div(tensor.shape[0], num_ranks) * row);
        rank_elems += shards.back();
    }
    const auto rank_bytes = rank_elems * static_cast<std::int64_t>(sizeof(bf16));
    ragged::Memory gathered(bench.memory, static_cast<std::size_t>(rank_bytes * num_ranks)),
        parameters(bench.memory, static_cast<std::size_t>(rank_bytes * num_ranks));
    std::vector<ragged::CopyRun> in, out;
    std::int64_t before = 0;
    for (const std::int64_t elements : shards) {
        in.push_back({before * num_ranks, before, elements});
        for (std::int64_t rank = 0; rank < num_ranks; ++rank)
            out.push_back({rank * rank_elems + before, before * num_ranks + rank * elements, elements});
        before += elements;
    }
    std::printf("\nAround a gather of %.2f GB on %lld ranks; ragged copies nothing: 0 launches, 0 ms.\n",
                static_cast<double>(rank_bytes * num_ranks) * 1e-9, static_cast<long long>(num_ranks));
    head("Copies of FSDP2 around one gather");
    copy_rows(bench, "copy in", in, gathered, parameters);
    copy_rows(bench, "copy out", out, parameters, gathered);

    head("Columns of a matrix of 2880 columns");
    constexpr std::int64_t columns = 2880;
    for (const std::int64_t taken : {columns / 2, columns / num_ranks, std::int64_t{45}})
        for (const std::int64_t rows : {1024, 65536}) {
            std::vector<ragged::CopyRun> runs;
            for (std::int64_t row = 0; row < std::min(rows, rank_elems * num_ranks / columns); ++row)
                runs.push_back({row * columns, row * taken, taken});
            copy_rows(bench, ragged::concat(taken, " of each of ", runs.size(), " rows"), runs, gathered,
                      parameters);
        }
}

int run(const char* path) {
    const ragged::ModelSpec model = ragged::read_inventory(std::filesystem::path(path));
    const auto layer = std::find_if(model.groups.begin(), model.groups.end(), [](const auto& group) {
        return group.name.find("layer") != std::string::npos;
    });
    if (layer == model.groups.end()) {
        std::fprintf(stderr, "%s has no group with 'layer' in its name\n", path);
        return 2;
    }
    const ragged::PlanOptions options{.planes = {ragged::DType::f32, ragged::DType::i8}};
    const auto plan_of = [&](const ragged::GroupSpec& group) {
        return ragged::make_plan(group, num_ranks, ragged::policy::Exact{.max_segments = 2}, options);
    };
    cudaDeviceProp device{};
    check(cudaGetDeviceProperties(&device, 0), "asking for the device");
    std::printf("# %s\n\nLayer '%s' of %s, %d processors.\n", device.name, layer->name.c_str(),
                model.name.c_str(), device.multiProcessorCount);
    Bench bench;
    const ragged::Plan runs = plan_of(with_blocks(*layer, 1, 128)),
                       tiles = plan_of(with_blocks(*layer, 32, 32));
    const ragged::Plan small = plan_of({"small", {{"w", {1024, 1024}}, {"b", {1024}}}});
    flat(bench, runs);
    blocks(bench, runs, "Blocks of 1 x 128");
    blocks(bench, tiles, "Blocks of 32 x 32");
    std::printf("\n## A step (norm, scale, axpy, cast), eager and as a graph\n\n"
                "| group | elements | launches | eager ms | replay ms |\n|---|---|---|---|---|\n");
    graphs(bench, small, "small");
    graphs(bench, runs, "layer");
    copies(bench, *layer);
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
        std::printf("skipped: no CUDA device (%s)\n",
                    status == cudaSuccess ? "none is visible" : cudaGetErrorString(status));
        return 0;
    }
    if (argc != 2) {
        std::fprintf(stderr, "usage: gpu_bench MODEL.tsv\n");
        return 2;
    }
    try {
        return run(argv[1]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "gpu_bench: %s\n", error.what());
        return 1;
    }
}
