// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Muon on one device with products by cuBLAS, on one stream and on two, beside Muon on the host.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include <ragged/cublas.hpp>
#include <ragged/cuda.cuh>
#include <ragged/nccl.hpp>

#include "gpu/device.hpp"
#include "support/gemm_suite.hpp"

using namespace std::chrono_literals;
using ragged::NcclCommunicator;
using support::Line;
namespace state = ragged::state;

namespace {

using Parameters = ragged::Parameters<ragged::bf16, Line>;

ragged::ModelPlan small_model() {
    const ragged::TensorSpec wq{"wq", {48, 32}, ragged::tile({16, 16})}, norm{"norm", {100}},
        experts{"experts", {3, 20, 40}, ragged::rows(4), ragged::DType::bf16, 0, true};
    const ragged::GroupSpec groups[] = {{"layers.0", {wq, norm}},
                                        {"layers.1", {experts, wq}},
                                        {"layers.2", {norm}},
                                        {"layers.3", {wq, experts}},
                                        {"head", {norm, {"lm_head", {64, 32}}}}};
    ragged::ModelPlan model{"m", {}};
    for (const ragged::GroupSpec& group : groups)
        model.groups.push_back(ragged::make_plan(group, 1, {}, {.planes = {ragged::DType::bf16}}));
    return model;
}

/// One rank's buffers of the model.
template <class R>
struct Model {
    std::vector<Parameters::Gradient> gradients;
    std::vector<Parameters::Master> masters;
    std::vector<Parameters::Weights> weights;
    std::vector<Parameters> parameters;

    Model(const ragged::ModelPlan& model, const ragged::Place<Line>& place, R& memory) {
        for (const ragged::Plan& plan : model.groups) {
            gradients.emplace_back(plan, place, memory);
            masters.emplace_back(plan, place, memory);
            weights.emplace_back(plan, place, memory);
        }
        for (std::size_t group = 0; group < masters.size(); ++group)
            parameters.push_back({&gradients[group], &masters[group], &weights[group]});
    }
};

template <class Buffer>
void write(const Buffer& buffer, std::uint32_t seed) {
    const auto values =
        support::known_matrix(static_cast<std::int64_t>(buffer.bytes() / sizeof(float)), seed);
    ragged::check(cudaMemcpy(buffer.segment_data(0), values.data(), buffer.bytes(), cudaMemcpyDefault),
                  "writing");
}

void compare(const ragged::CudaStream& compute, const ragged::CudaStream& communication) {
    const ragged::ModelPlan model = small_model();
    ragged::run_ranks(1, [&](ragged::LocalCommunicator alone) {
        NcclCommunicator world(NcclCommunicator::make_id(), 0, 1, communication, {.timeout = 60s});
        ragged::Mesh host_mesh(Line(1), alone);
        ragged::Mesh mesh(Line(1), world);
        ragged::HostResource host_memory;
        ragged::NcclResource memory(compute);
        const ragged::CudaExecutor executor(compute, memory), mover(communication, memory);
        const ragged::CublasGemm product(compute);
        ragged::Muon on_host(model, host_mesh, host_memory, {.learning_rate = 0.05});
        ragged::Muon on_device(model, mesh, memory, ragged::MuonOptions{.learning_rate = 0.05}, product,
                               ragged::MatrixRule{}, executor, mover);
        Model host(model, host_mesh, host_memory);
        Model device(model, mesh, memory);
        for (std::size_t group = 0; group < model.groups.size(); ++group)
            write(host.masters[group], 0), write(device.masters[group], 0);
        for (std::uint32_t step = 1; step <= 3; ++step) {
            for (std::size_t group = 0; group < model.groups.size(); ++group)
                write(host.gradients[group], step), write(device.gradients[group], step);
            on_host.update(std::span<const Parameters>(host.parameters), 0.5);
            on_device.update(std::span<const Parameters>(device.parameters), 0.5);
            compute.synchronise();
        }
        for (std::size_t group = 0; group < model.groups.size(); ++group) {
            const auto found = support::download(compute, device.masters[group].segment_data(0),
                                                 device.masters[group].bytes() / sizeof(float));
            double error = 0, size = 0;
            for (std::size_t i = 0; i < found.size(); ++i) {
                const auto wanted = static_cast<double>(host.masters[group].segment_data(0)[i]);
                error += std::pow(static_cast<double>(found[i]) - wanted, 2);
                size += wanted * wanted;
            }
            CHECK(std::sqrt(error) <= 1e-5 * std::sqrt(size));
        }
    });
}

} // namespace

TEST_CASE("a product by cuBLAS is ours but for the rounding, for all sizes, transposes and factors") {
    const ragged::OwnedCudaStream stream(0);
    ragged::CudaPoolResource memory(stream);
    /// Takes host arrays to the device and back.
    struct ByDevice {
        ragged::CublasGemm product;
        ragged::CudaPoolResource* memory;

        static ragged::MemorySpace space() { return ragged::host_space; }
        void operator()(ragged::Transpose a, ragged::Transpose b, std::int64_t m, std::int64_t n,
                        std::int64_t k, float alpha, const float* A, std::int64_t lda, const float* B,
                        std::int64_t ldb, float beta, float* C, std::int64_t ldc) const {
            const auto bytes = [](std::int64_t rows, std::int64_t row) {
                return static_cast<std::size_t>(rows * row) * sizeof(float);
            };
            const auto native = product.stream().native();
            const auto copy = [&](const ragged::Memory& to, const float* from) {
                if (to.bytes() > 0)
                    ragged::check(
                        cudaMemcpyAsync(to.data(), from, to.bytes(), cudaMemcpyHostToDevice, native),
                        "upload");
            };
            const ragged::Memory on_a(*memory, bytes(a == ragged::Transpose::no ? m : k, lda)),
                on_b(*memory, bytes(b == ragged::Transpose::no ? k : n, ldb)), on_c(*memory, bytes(m, ldc));
            copy(on_a, A), copy(on_b, B), copy(on_c, C);
            product(a, b, m, n, k, alpha, static_cast<float*>(on_a.data()), lda,
                    static_cast<float*>(on_b.data()), ldb, beta, static_cast<float*>(on_c.data()), ldc);
            const auto found = support::download(product.stream(), static_cast<float*>(on_c.data()),
                                                 on_c.bytes() / sizeof(float));
            std::copy(found.begin(), found.end(), C);
        }
    };
    CHECK_NOTHROW(support::check_all_products(ByDevice{ragged::CublasGemm(stream), &memory}, 1e-6));
}

TEST_CASE("three steps of Muon are the host's but for the rounding of products") {
    const ragged::OwnedCudaStream compute(0), communication(0);
    CHECK_NOTHROW(compare(compute, communication));
    CHECK_NOTHROW(compare(compute, compute));
}
