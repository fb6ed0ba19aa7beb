// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The real NCCL on one rank: that every call reaches it as it should, and what it makes of our memory. What
// happens between ranks is tested over threads.
#include <doctest/doctest.h>

#include <ragged/comm/collectives.hpp>
#include <ragged/plan/make_plan.hpp>

#include <ragged/nccl.hpp>

#include "conformance/communicator_suite.hpp"
#include "gpu/device_arrays.hpp"

using namespace std::chrono_literals;
using ragged::NcclCommunicator;
using support::contains;
using support::DeviceArrays;
using support::message_of;
using Stream = ragged::OwnedCudaStream;

namespace {

const DeviceArrays arrays;

void expect_cuda(cudaError_t status) {
    ragged::check(status, "the test");
}

NcclCommunicator world_of_one(const Stream& stream, const ragged::NcclOptions& options = {.timeout = 60s}) {
    return {NcclCommunicator::make_id(), 0, 1, stream, options};
}

ragged::Plan plan_of_two_tensors() {
    return ragged::make_plan(ragged::GroupSpec{"layer", {{"a", {64, 100}}, {"b", {33}}}}, 1,
                             ragged::policy::Exact{}, {.planes = {ragged::DType::f32}});
}

} // namespace

TEST_CASE("the conformance suite") {
    const Stream stream(0);
    NcclCommunicator world = world_of_one(stream, {.timeout = 60s, .check_pointers = true});
    CHECK(world.space() == ragged::MemorySpace::of_device(0));
    if (world.can_sum(ragged::DType::f8e4m3))
        CHECK_NOTHROW(conformance::everything(world, arrays));
    else
        CHECK_NOTHROW(conformance::every_collective<float>(world, arrays));
}

TEST_CASE("control messages from host memory") {
    const Stream stream(0);
    NcclCommunicator world = world_of_one(stream);
    std::vector<std::uint8_t> bytes(200'000, 7);
    world.all_gather_host(bytes.data(), 200'000);
    CHECK(bytes == std::vector<std::uint8_t>(200'000, 7));
    CHECK_NOTHROW(world.barrier().wait());
}

TEST_CASE("memory of NCCL is zeroed, page aligned, and can be registered") {
    const Stream stream(0);
    NcclCommunicator world = world_of_one(stream);
    ragged::NcclResource resource(stream);
    const ragged::Memory arena(resource, 1 << 20);
    CHECK(reinterpret_cast<std::uintptr_t>(arena.data()) % ragged::buffer_alignment == 0);
    std::vector<std::uint8_t> host(1 << 20, 1);
    expect_cuda(cudaMemcpy(host.data(), arena.data(), host.size(), cudaMemcpyDeviceToHost));
    CHECK(host == std::vector<std::uint8_t>(1 << 20));
    const auto registered = ragged::register_memory(world, arena.data(), arena.bytes());
    MESSAGE("memory of ncclMemAlloc: ", std::string(name(registered.kind())));
    CHECK_NOTHROW(world.all_reduce(static_cast<float*>(arena.data()), 1 << 18).wait());

    const auto plain = arrays.of(std::vector<float>(1 << 18));
    const auto other = ragged::register_memory(world, plain.data(), 1 << 20);
    MESSAGE("memory of cudaMalloc: ", std::string(name(other.kind())));
    CHECK(other.kind() != ragged::NcclRegistered::window);
    CHECK_NOTHROW(world.all_reduce(plain.data(), 1 << 18).wait());
}

TEST_CASE("a buffer is gathered and reduced where it is, and handed to another stream") {
    const Stream stream(0), compute(0);
    ragged::Mesh mesh(ragged::Topology<ragged::Axis<"shard">>(1), world_of_one(stream));
    using Line = ragged::Topology<ragged::Axis<"shard">>;
    const ragged::Plan plan = plan_of_two_tensors();
    ragged::NcclResource resource(stream);
    ragged::DBuffer<float, Line> weights(plan, mesh, resource);
    ragged::DBuffer<float, Line, ragged::state::Partial> gradients(plan, mesh, resource);
    const float* const base = weights.segment_data(0);
    const auto gathered = ragged::gather(std::move(weights), mesh).wait(compute);
    CHECK(gathered.segment_data(0) == base);
    CHECK_NOTHROW(static_cast<void>(ragged::reduce(std::move(gradients), mesh).wait()));
    expect_cuda(cudaStreamSynchronize(compute->native()));
}

TEST_CASE("a step of gather, operate and reduce is captured and replayed") {
    const Stream stream(0), compute(0);
    NcclCommunicator world = world_of_one(stream);
    const std::vector<float> ones(1000, 1.0f);
    const auto x = arrays.of(ones), y = arrays.of(std::vector<float>(1000));
    world.all_gather(x.data(), 1000).wait(); // connections and marks exist
    world.barrier().wait();

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t step = nullptr;
    expect_cuda(cudaStreamBeginCapture(stream->native(), cudaStreamCaptureModeRelaxed));
    world.group([&] { static_cast<void>(world.all_gather(x.data(), 1000)); });
    world.all_gather(x.data(), 1000).wait(compute); // joins the capture
    expect_cuda(cudaMemcpyAsync(y.data(), x.data(), 4000, cudaMemcpyDeviceToDevice, compute->native()));
    cudaEvent_t done = nullptr;
    expect_cuda(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
    expect_cuda(cudaEventRecord(done, compute->native()));
    expect_cuda(cudaStreamWaitEvent(stream->native(), done, 0));
    static_cast<void>(world.reduce_scatter(y.data(), 1000));
    expect_cuda(cudaStreamEndCapture(stream->native(), &graph));
    expect_cuda(cudaGraphInstantiate(&step, graph, 0));
    CHECK(y.values() == std::vector<float>(1000, 0.0f));
    for (int i = 0; i < 3; ++i)
        expect_cuda(cudaGraphLaunch(step, stream->native()));
    CHECK_NOTHROW(world.barrier().wait()); // the communicator goes on beside the graph
    CHECK(y.values() == ones);
    expect_cuda(cudaGraphExecDestroy(step));
    expect_cuda(cudaGraphDestroy(graph));
    expect_cuda(cudaEventDestroy(done));
}

TEST_CASE("host memory is refused where pointers are checked, and the communicator is of no use then") {
    const Stream stream(0);
    NcclCommunicator world = world_of_one(stream, {.timeout = 60s, .check_pointers = true});
    std::vector<float> host(8);
    CHECK(contains(message_of([&] { world.all_reduce(host.data(), 8).wait(); }),
                   "the pointer is to host memory, the communicator works in memory of device 0"));
    CHECK(contains(message_of([&] { world.barrier().wait(); }), "of no use any more"));
}

TEST_CASE("a rank that never comes is an error within the time-out") {
    const Stream stream(0);
    const auto start = std::chrono::steady_clock::now();
    CHECK_THROWS_AS((NcclCommunicator{NcclCommunicator::make_id(), 0, 2, stream, {.timeout = 2s}}),
                    ragged::NcclError);
    CHECK(std::chrono::steady_clock::now() - start < 60s);
}
