// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A framework with arrays and an allocator of its own (support/framework.hpp) trains a layer that it knows at
// compile time. Masters lie in its array, all else in its cache; where DLPack's header is found, tensors come
// in and go out by it too. Nothing is copied: the program ends with 1 where that does not hold, or a value is
// wrong.
#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>

#include <ragged/ragged.hpp>

#include "support/framework.hpp"

constexpr auto layer =
    ragged::Group{ragged::Tensor{"wq", {768, 256}, ragged::tile({32, 32})},
                  ragged::Tensor{"w1", {496, 256}, ragged::rows(16)}, ragged::Tensor{"norm", {256}}};
using Mesh = ragged::Topology<ragged::Axis<"shard", 4>>;
constexpr auto layout = ragged::plan<layer>(Mesh{}.size<"shard">());
static_assert(layout.padding_ratio() < 0.02, "four devices share this layer well");
constexpr auto wq = layout.tensor<"wq">();

namespace state = ragged::state;
using Master = ragged::DBuffer<float, Mesh, state::Resident>;
using Weights = ragged::DBuffer<ragged::bf16, Mesh>;
using Gradients = ragged::DBuffer<float, Mesh, state::Partial>;
template class ragged::DBuffer<ragged::bf16, Mesh>; // all of it, in one unit of the framework

void require(bool holds, const char* what) {
    if (!holds)
        throw std::runtime_error(what);
}

template <class LiveMesh>
void train_step(Master& master, LiveMesh& mesh, framework::Cache& cache) {
    Weights weights(master.plan(), mesh, cache);
    const ragged::bf16* const sent_from = weights.segment_data(wq.segment);
    ragged::cast(master, weights);
    const auto gathered = ragged::gather(std::move(weights), mesh).wait();
    const auto weight = ragged::view(gathered, wq); // [768, 256]: the compiler knows
    require(weight.data() == sent_from + wq.offset, "weights are gathered where they were cast");

    auto gradients = std::make_shared<Gradients>(master.plan(), mesh, cache);
    const auto gradient = ragged::view(*gradients, wq);
#if __has_include(<dlpack/dlpack.h>)
    {
        const framework::Array seen = framework::consume(ragged::to_dlpack(gradients, "wq").release());
        require(seen.data.get() == gradient.data() && seen.size == gradient.elements(),
                "another library sees the gradient where it is");
    }
#endif
    std::transform(weight.flat().begin(), weight.flat().end(), gradient.flat().begin(),
                   [](ragged::bf16 w) { return static_cast<float>(w); }); // the gradient of w^2 / 2
    const auto reduced = ragged::reduce(std::move(*gradients), mesh).wait();
    ragged::axpy(-0.5 / 4, reduced, master); // halves wq: four ranks, a rate of 0.5
}

void train(const ragged::Plan& plan, ragged::LocalCommunicator world) {
    ragged::Mesh mesh(Mesh{}, world);
    framework::Cache cache;
    const framework::Array parameters = framework::zeros(plan.region_elems(world.rank()));
    {
        Master master(plan, mesh, framework::lend(parameters));
        require(master.segment_data(0) == parameters.data.get(), "the masters lie in the array");
        ragged::fill(ragged::PieceTable(plan, master.shard_rank()), master, 1.0f);
        for (int step = 0; step < 3; ++step)
            train_step(master, mesh, cache);
    }
    require(parameters.data.use_count() == 1, "the buffer gave back its share of the array");
    require(cache.allocations() == 2, "all steps take their memory from what the first one took");
#if __has_include(<dlpack/dlpack.h>)
    const Master master(plan, mesh, ragged::from_dlpack<float>(framework::produce(parameters)));
#else
    const Master master(plan, mesh, framework::lend(parameters));
#endif
    const auto all = [&](std::string_view tensor, float value) {
        const auto piece = ragged::shard(master, tensor).flat();
        return std::count(piece.begin(), piece.end(), value) == std::ssize(piece);
    };
    require(all("wq", 0.125f), "three steps leave an eighth of wq");
    require(all("w1", 1.0f) && all("norm", 1.0f), "and the rest as it was");
    if (world.rank() == 0)
        std::cout << "three steps on " << plan.num_devices << " ranks, no copy, " << cache.allocations()
                  << " allocations a rank, padding " << 100 * layout.padding_ratio() << " %\n";
}

int main() {
    const ragged::Plan plan = layout.plan("layer");
    try {
        ragged::run_ranks(4, [&](ragged::LocalCommunicator world) { train(plan, world); });
    } catch (const std::exception& error) {
        std::cerr << "it does not hold that " << error.what() << '\n';
        return 1;
    }
}
