// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a gather and a reduction cost the host beyond NCCL's own call, on one rank, where NCCL moves nothing.
// Prints a Markdown table: medians of 11 rounds of 1000 calls.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>
#include <vector>

#include <ragged/nccl.hpp>
#include <ragged/plan/make_plan.hpp>

namespace {

using Line = ragged::Topology<ragged::Axis<"shard">>;
namespace state = ragged::state;

constexpr int rounds = 11, calls = 1000;

template <class Body>
double microseconds(const ragged::CudaStream& stream, const Body& body) {
    std::vector<double> times;
    for (int round = -1; round < rounds; ++round) {
        stream.synchronise();
        const auto start = std::chrono::steady_clock::now();
        for (int call = 0; call < calls; ++call)
            body();
        const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - start;
        if (round >= 0)
            times.push_back(elapsed.count() / calls);
    }
    std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
    return times[rounds / 2];
}

void raw(ncclResult_t status) {
    if (status != ncclSuccess && status != ncclInProgress)
        throw std::runtime_error(ncclGetErrorString(status));
}

} // namespace

int main() {
    int devices = 0;
    if (const cudaError_t error = cudaGetDeviceCount(&devices); error != cudaSuccess || devices == 0) {
        std::printf("skipped: no CUDA device (%s)\n", cudaGetErrorString(error));
        return 0;
    }
    try {
        const ragged::OwnedCudaStream stream(0), compute(0);
        ragged::Mesh mesh(Line(1),
                          ragged::NcclCommunicator(ragged::NcclCommunicator::make_id(), 0, 1, stream));
        ragged::NcclCommunicator& world = mesh.world();
        ragged::NcclResource memory(stream);
        const ragged::Plan plan =
            ragged::make_plan(ragged::GroupSpec{"layer", {{"w", {4096, 4096}, ragged::rows(1)}}}, 1);
        ragged::DBuffer<float, Line> weights(plan, mesh, memory);
        ragged::DBuffer<float, Line, state::Partial> gradients(plan, mesh, memory);
        float* const data = weights.segment_data(0);
        const std::int64_t count = plan.segments[0].shard_elems;
        const auto elements = static_cast<std::size_t>(count);

        std::printf("| call, 1 rank, 64 MiB | us per call | beyond NCCL's, us |\n|---|---|---|\n");
        const auto row = [](const char* name, double time, double base) {
            std::printf("| %s | %.2f | %.2f |\n", name, time, time - base);
        };
        const double gather = microseconds(stream, [&] {
            raw(ncclAllGather(data, data, elements, ncclFloat32, world.native(), stream->native()));
        });
        row("ncclAllGather", gather, gather);
        row("all_gather, wait(stream)",
            microseconds(stream, [&] { world.all_gather(data, count).wait(compute); }), gather);
        row("gather of a DBuffer, wait(stream), release",
            microseconds(stream,
                         [&] { weights = release(ragged::gather(std::move(weights), mesh).wait(compute)); }),
            gather);
        const double reduce = microseconds(stream, [&] {
            raw(ncclReduceScatter(data, data, elements, ncclFloat32, ncclSum, world.native(),
                                  stream->native()));
        });
        row("ncclReduceScatter", reduce, reduce);
        row("reduce_scatter, wait(stream)",
            microseconds(stream, [&] { world.reduce_scatter(data, count).wait(compute); }), reduce);
        row("reduce of a DBuffer, wait(stream)",
            microseconds(stream,
                         [&] {
                             auto reduced = ragged::reduce(std::move(gradients), mesh).wait(compute);
                             gradients = std::move(reduced).into<state::Partial>();
                         }),
            reduce);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "nccl_bench: %s\n", error.what());
        return 1;
    }
}
