// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A framework with device arrays, kernels and a stream of its own updates its share of a layer there: the
// library's operations go on the same stream, between the framework's kernels, and nobody waits before the
// framework does. It ends with 1 where a value is wrong.
#include <cstdio>
#include <memory>
#include <vector>

#include <ragged/cuda.cuh>

namespace framework {

struct Stream {
    cudaStream_t native = nullptr;

    Stream() {
        ragged::check(cudaStreamCreateWithFlags(&native, cudaStreamNonBlocking), "creating a stream");
    }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;
    ~Stream() { static_cast<void>(cudaStreamDestroy(native)); }
};

/// Arrays share memory of device 0; the last one frees it.
struct Array {
    std::shared_ptr<float> data;
    std::size_t bytes;

    explicit Array(std::int64_t size)
        : bytes(static_cast<std::size_t>(size) * sizeof(float)) {
        float* memory = nullptr;
        ragged::check(cudaMalloc(&memory, bytes), "allocating an array");
        data = {memory, [](float* end) { static_cast<void>(cudaFree(end)); }};
    }
    /// One more array, for as long as a buffer lies there.
    ragged::Memory lend() const {
        return ragged::Memory::adopt(
            data.get(), bytes, ragged::MemorySpace::of_device(0), new Array(*this),
            [](void* owner, void*, std::size_t) noexcept { delete static_cast<Array*>(owner); });
    }
};

/// Blocks the host until all work on the stream is done.
template <class T>
std::vector<T> read(const Stream& stream, const T* from, std::size_t count) {
    std::vector<T> values(count);
    ragged::check(
        cudaMemcpyAsync(values.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost, stream.native),
        "reading an array");
    ragged::check(cudaStreamSynchronize(stream.native), "waiting for a stream");
    return values;
}

/// 0, 1, 2, 3, 0, ... along the tensor, wherever this rank's piece starts.
__global__ void backward(ragged::ShardView<float> gradient) {
    const std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
    if (i < gradient.elements())
        gradient[i] = static_cast<float>((gradient.first() + i) % 4);
}

} // namespace framework

constexpr auto layer =
    ragged::Group{ragged::Tensor{"w1", {496, 256}, ragged::rows(16)}, ragged::Tensor{"norm", {256}}};
using Mesh = ragged::Topology<ragged::Axis<"shard", 4>>;
constexpr auto layout = ragged::plan<layer>(Mesh{}.size<"shard">());
using Resident = ragged::DBuffer<float, Mesh, ragged::state::Resident>;

bool update() {
    const ragged::Plan plan = layout.plan("layer");
    const ragged::Place place(Mesh{}, 1); // of 4 ranks; collectives come from a communicator
    const framework::Stream stream;
    const framework::Array parameters(plan.region_elems(1)), grads(plan.region_elems(1));

    ragged::CudaPoolResource memory{ragged::CudaStream(stream.native)};
    const ragged::CudaExecutor executor(memory.stream(), memory);
    const ragged::CudaPieceTable table(plan, 1, memory, memory.stream());
    Resident master(plan, place, parameters.lend()), gradients(plan, place, grads.lend());
    ragged::DBuffer<ragged::bf16, Mesh> weights(plan, place, memory);
    const ragged::Memory norm(memory, sizeof(double));

    ragged::zero(master, executor); // arrays of the framework hold anything; padding must be zero
    ragged::zero(gradients, executor);
    ragged::fill(table, master, 1.0f, executor);
    const auto gradient = ragged::shard(gradients, "w1");
    framework::backward<<<static_cast<unsigned>(ragged::ceil_div(gradient.elements(), 256)), 256, 0,
                          stream.native>>>(gradient);
    ragged::check_launch("backward");
    ragged::axpy(-0.5, gradients, master, executor);
    ragged::cast(master, weights, 1.0, executor);
    ragged::sum_of_squares(gradients, static_cast<double*>(norm.data()), executor);

    const auto piece = ragged::shard(weights, "w1");
    const auto values = framework::read(stream, piece.data(), static_cast<std::size_t>(piece.elements()));
    double squares = 0;
    bool right = piece.elements() > 0 && master.segment_data(0) == parameters.data.get();
    for (std::int64_t i = 0; i < piece.elements(); ++i) {
        const auto expected = static_cast<float>((piece.first() + i) % 4);
        squares += double{expected} * double{expected};
        right = right && static_cast<float>(values[static_cast<std::size_t>(i)]) == 1.0f - 0.5f * expected;
    }
    const double found = framework::read(stream, static_cast<const double*>(norm.data()), 1).front();
    right = right && found == squares;
    std::printf("%s: %lld weights on the framework's stream, sum of squares %.0f, wanted %.0f\n",
                right ? "right" : "wrong", static_cast<long long>(piece.elements()), found, squares);
    return right;
}

int main() {
    int devices = 0; // left as it is when the call fails
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status == cudaSuccess && devices > 0)
        return update() ? 0 : 1;
    std::printf("skipped: no CUDA device (%s)\n",
                status == cudaSuccess ? "none is visible" : cudaGetErrorString(status));
}
