// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Models and anti-models of the concepts, and the templates instantiated as a framework does.
#include <ragged/ragged.hpp>

namespace {

using ragged::LocalCommunicator;
using Line = ragged::Topology<ragged::Axis<"shard">>;

// A communicator that can gather and nothing else: each capability stands alone.
struct GatherOnly {
    struct Completion {
        void wait() {}
    };
    int rank() const { return 0; }
    int size() const { return 1; }
    static ragged::MemorySpace space() { return {}; }
    template <class T>
    Completion all_gather(T*, std::int64_t) {
        return {};
    }
};
static_assert(ragged::communicator<GatherOnly>);
static_assert(ragged::has_all_gather<GatherOnly, float>);
static_assert(!ragged::has_reduce_scatter<GatherOnly, float>);
static_assert(!ragged::has_all_gather_v<GatherOnly, float>);
static_assert(!ragged::has_reduce_scatter_v<GatherOnly, float>);
static_assert(!ragged::has_all_reduce<GatherOnly, float>);
static_assert(!ragged::has_broadcast<GatherOnly, float>);
static_assert(!ragged::has_send_receive<GatherOnly, float>);
static_assert(!ragged::has_all_to_all_v<GatherOnly, float>);
static_assert(!ragged::has_barrier<GatherOnly>);
static_assert(!ragged::has_split<GatherOnly>);
static_assert(!ragged::has_grouping<GatherOnly>);
static_assert(!ragged::has_all_gather_host<GatherOnly>);
static_assert(!ragged::has_stream_wait<GatherOnly, int>);
static_assert(!ragged::has_held_memory<GatherOnly>);
static_assert(!ragged::has_done<GatherOnly> && ragged::has_done<LocalCommunicator>);

struct NoRank {
    struct Completion {
        void wait() {}
    };
    int size() const { return 1; }
    static ragged::MemorySpace space() { return {}; }
};
static_assert(!ragged::communicator<NoRank>);

struct NoSpace {
    struct Completion {
        void wait() {}
    };
    int rank() const { return 0; }
    int size() const { return 1; }
};
static_assert(!ragged::communicator<NoSpace>);

struct NoWait {
    struct Completion {};
    int rank() const { return 0; }
    int size() const { return 1; }
    static ragged::MemorySpace space() { return {}; }
};
static_assert(!ragged::communicator<NoWait>);

struct VoidGather : GatherOnly {
    template <class T>
    void all_gather(T*, std::int64_t) {}
};
static_assert(!ragged::has_all_gather<VoidGather, float>);

struct HeldInCompletionOnly : GatherOnly {
    struct Completion : GatherOnly::Completion {
        bool holds_memory() const { return false; }
    };
};
static_assert(ragged::communicator<HeldInCompletionOnly> && !ragged::has_held_memory<HeldInCompletionOnly>);

using Counts = std::span<const std::int64_t>;
struct GatherV : GatherOnly {
    template <class T>
    Completion all_gather_v(T*, Counts) {
        return {};
    }
};
struct ScatterV : GatherOnly {
    template <class T>
    Completion reduce_scatter_v(T*, Counts, ragged::Reduction = {}) {
        return {};
    }
};
struct SumsOnly : GatherOnly {
    template <class T>
    Completion reduce_scatter(T*, std::int64_t) {
        return {};
    }
    template <class T>
    Completion reduce_scatter_v(T*, Counts) {
        return {};
    }
    template <class T>
    Completion all_reduce(T*, std::int64_t) {
        return {};
    }
};
struct NoDefaultReduction : GatherOnly {
    template <class T>
    Completion reduce_scatter(T*, std::int64_t, ragged::Reduction) {
        return {};
    }
    template <class T>
    Completion reduce_scatter_v(T*, Counts, ragged::Reduction) {
        return {};
    }
    template <class T>
    Completion all_reduce(T*, std::int64_t, ragged::Reduction) {
        return {};
    }
};
struct VoidV : GatherOnly {
    template <class T>
    void all_gather_v(T*, Counts) {}
    template <class T>
    void reduce_scatter_v(T*, Counts, ragged::Reduction = {}) {}
};
struct OneCountV : GatherOnly { // for all ranks, where one per rank is asked for
    template <class T>
    Completion all_gather_v(T*, std::int64_t) {
        return {};
    }
    template <class T>
    Completion reduce_scatter_v(T*, std::int64_t, ragged::Reduction = {}) {
        return {};
    }
};
static_assert(ragged::has_all_gather_v<GatherV, float> && !ragged::has_reduce_scatter_v<GatherV, float>);
static_assert(ragged::has_reduce_scatter_v<ScatterV, float> && !ragged::has_all_gather_v<ScatterV, float>);
static_assert(!ragged::has_all_gather_v<VoidV, float> && !ragged::has_reduce_scatter_v<VoidV, float>);
static_assert(!ragged::has_all_gather_v<OneCountV, float> && !ragged::has_reduce_scatter_v<OneCountV, float>);
template <class C>
constexpr bool reduces_anything = ragged::has_reduce_scatter<C, float> ||
                                  ragged::has_reduce_scatter_v<C, float> || ragged::has_all_reduce<C, float>;
static_assert(!reduces_anything<SumsOnly> && !reduces_anything<NoDefaultReduction>);

// Element types.
static_assert(ragged::element<ragged::bf16> && !ragged::element<std::int64_t>);
static_assert(ragged::floating_element<ragged::f8e4m3> && !ragged::floating_element<std::int8_t>);

// Policies.
struct NoName {
    ragged::Arrangement operator()(const ragged::PlanInput&) const { return {}; }
};
struct WrongResult {
    [[maybe_unused]] static constexpr std::string_view name = "wrong";
    int operator()(const ragged::PlanInput&) const { return 0; }
};
static_assert(ragged::planner_policy<ragged::policy::Exact>);
static_assert(!ragged::planner_policy<NoName>);
static_assert(!ragged::planner_policy<WrongResult>);

struct ExecutorWithoutSpace : ragged::HostExecutor {
    void space() const;
};
struct ExecutorWithoutTable : ragged::HostExecutor {
  private:
    using table_type = ragged::PieceTable;
};
struct ExecutorWithoutUpdate : ragged::HostExecutor {
    void update(int) const;
};
struct ExecutorWithoutReduction : ragged::HostExecutor {
    void reduce(int) const;
};
struct ExecutorWithoutBlockUpdate : ragged::HostExecutor {
    void update_blocks() const;
};
struct ExecutorWithoutPieceTable : ragged::HostExecutor {
    void piece_table() const;
};
struct ExecutorWithoutExactSum : ragged::HostExecutor {
    void exact_sum_of_squares(int) const;
};
struct ExecutorWithoutFetch : ragged::HostExecutor {
    void fetch() const;
};
struct ExecutorWithoutRunTableType : ragged::HostExecutor {
  private:
    using run_table_type = ragged::RunTable;
};
struct ExecutorWithoutRunTable : ragged::HostExecutor {
    void run_table() const;
};
struct ExecutorWithOtherRunTable : ragged::HostExecutor {
    struct run_table_type : ragged::RunTable {}; // not what run_table makes
};
struct ExecutorWithoutRunCopy : ragged::HostExecutor {
    void copy_runs() const;
};
static_assert(ragged::group_executor<ragged::HostExecutor>);
static_assert(!ragged::group_executor<ExecutorWithoutSpace>);
static_assert(!ragged::group_executor<ExecutorWithoutTable>);
static_assert(!ragged::group_executor<ExecutorWithoutUpdate>);
static_assert(!ragged::group_executor<ExecutorWithoutReduction>);
static_assert(!ragged::group_executor<ExecutorWithoutBlockUpdate>);
static_assert(!ragged::group_executor<ExecutorWithoutPieceTable>);
static_assert(!ragged::group_executor<ExecutorWithoutExactSum>);
static_assert(!ragged::group_executor<ExecutorWithoutFetch>);
static_assert(!ragged::group_executor<ExecutorWithoutRunTableType>);
static_assert(!ragged::group_executor<ExecutorWithoutRunTable>);
static_assert(!ragged::group_executor<ExecutorWithOtherRunTable>);
static_assert(!ragged::group_executor<ExecutorWithoutRunCopy>);

// Products of matrices.
struct Product {
    static ragged::MemorySpace space() { return {}; }
    void operator()(ragged::Transpose, ragged::Transpose, std::int64_t, std::int64_t, std::int64_t, float,
                    const float*, std::int64_t, const float*, std::int64_t, float, float*,
                    std::int64_t) const {}
};
struct ProductWithoutSpace {
    void operator()(ragged::Transpose, ragged::Transpose, std::int64_t, std::int64_t, std::int64_t, float,
                    const float*, std::int64_t, const float*, std::int64_t, float, float*,
                    std::int64_t) const {}
};
struct ProductThatChanges : ProductWithoutSpace {
    static ragged::MemorySpace space() { return {}; }
    void operator()(ragged::Transpose, ragged::Transpose, std::int64_t, std::int64_t, std::int64_t, float,
                    const float*, std::int64_t, const float*, std::int64_t, float, float*, std::int64_t) {}
};
struct ProductOfDoubles : ProductWithoutSpace {
    static ragged::MemorySpace space() { return {}; }
    void operator()(ragged::Transpose, ragged::Transpose, std::int64_t, std::int64_t, std::int64_t, float,
                    const double*, std::int64_t, const double*, std::int64_t, float, double*,
                    std::int64_t) const {}
};
static_assert(ragged::gemm<ragged::PlainGemm> && ragged::gemm<Product>);
static_assert(!ragged::gemm<ProductWithoutSpace>);
static_assert(!ragged::gemm<ProductThatChanges>);
static_assert(!ragged::gemm<ProductOfDoubles>);

// Optimizers.
struct Optimizer {
    template <class T, class Topology>
    void update(std::span<const ragged::Parameters<T, Topology>>, double) {}
    std::int64_t state_bytes() const { return 0; }
    std::int64_t memory_bytes() const { return 0; }
};
struct OptimizerWithoutUpdate {
    std::int64_t state_bytes() const { return 0; }
    std::int64_t memory_bytes() const { return 0; }
};
struct OptimizerWithoutScale : OptimizerWithoutUpdate {
    template <class T, class Topology>
    void update(std::span<const ragged::Parameters<T, Topology>>) {}
};
struct OptimizerOfFloats : OptimizerWithoutUpdate {
    void update(std::span<const ragged::Parameters<float, Line>>, double) {}
};
struct OptimizerWithoutStateBytes : Optimizer {
    void state_bytes() const {}
};
struct OptimizerWithoutMemoryBytes : Optimizer {
    void memory_bytes() const {}
};
struct OptimizerThatCountsLate : Optimizer {
    std::int64_t state_bytes() { return 0; } // not of a constant
};
static_assert(ragged::optimizer<Optimizer, ragged::bf16, Line>);
static_assert(ragged::optimizer<ragged::AdamW<Line>, ragged::bf16, Line>);
static_assert(ragged::optimizer<ragged::Adam8bit<Line>, ragged::bf16, Line>);
static_assert(ragged::optimizer<ragged::Muon<Line, LocalCommunicator>, ragged::bf16, Line>);
static_assert(ragged::optimizer<ragged::Shampoo<Line>, ragged::bf16, Line>);
static_assert(!ragged::optimizer<OptimizerWithoutUpdate, float, Line>);
static_assert(!ragged::optimizer<OptimizerWithoutScale, float, Line>);
static_assert(ragged::optimizer<OptimizerOfFloats, float, Line>);
static_assert(!ragged::optimizer<OptimizerOfFloats, ragged::bf16, Line>);
static_assert(!ragged::optimizer<OptimizerWithoutStateBytes, float, Line>);
static_assert(!ragged::optimizer<OptimizerWithoutMemoryBytes, float, Line>);
static_assert(!ragged::optimizer<OptimizerThatCountsLate, float, Line>);
static_assert(!ragged::optimizer<ragged::AdamW<Line>, float, ragged::Topology<ragged::Axis<"shard", 2>>>);
static_assert(!ragged::optimizer<ragged::AdamW<Line>, float, Line, ragged::UnequalPlan>);

// Models that a step runs.
struct ModelWithoutBackward {
    template <class Weights>
    void forward(std::int64_t, std::int64_t, const Weights&) {}
};
struct ModelWithoutForward {
    template <class Weights, class Gradients>
    void backward(std::int64_t, std::int64_t, const Weights&, Gradients&) {}
};
struct Model : ModelWithoutBackward, ModelWithoutForward {};
struct ModelThatWrites : ModelWithoutForward {
    template <class Weights>
    requires(!std::is_const_v<Weights>) void forward(std::int64_t, std::int64_t, Weights&) {}
};
struct ModelWithoutRounds {
    template <class Weights>
    void forward(std::int64_t, const Weights&) {}
    template <class Weights, class Gradients>
    void backward(std::int64_t, const Weights&, Gradients&) {}
};
static_assert(ragged::step_model<Model, ragged::bf16, Line>);
static_assert(!ragged::step_model<ModelWithoutBackward, ragged::bf16, Line>);
static_assert(!ragged::step_model<ModelWithoutForward, ragged::bf16, Line>);
static_assert(!ragged::step_model<ModelThatWrites, ragged::bf16, Line>);
static_assert(!ragged::step_model<ModelWithoutRounds, ragged::bf16, Line>);

// A run is plain numbers in constant expressions too.
static_assert(ragged::CopyRun{1, 2, 3} == ragged::CopyRun{.from = 1, .to = 2, .elements = 3});
static_assert(ragged::CopyRun{1, 2, 3} != ragged::CopyRun{2, 1, 3});

// What kernels take by value.
static_assert(std::is_trivially_copyable_v<ragged::Regions<const float>>);
static_assert(std::is_trivially_copyable_v<ragged::body::DevicePiece>);
static_assert(std::is_trivially_copyable_v<ragged::body::DeviceRun>);
static_assert(std::is_trivially_copyable_v<ragged::body::QuantizeBlocks<ragged::bf16, ragged::f8e4m3>>);
static_assert(std::is_trivially_copyable_v<ragged::TensorView<const ragged::bf16>>);
static_assert(std::is_trivially_copyable_v<ragged::ShardView<float>>);
static_assert(std::is_trivially_copyable_v<ragged::PieceEntry>);
static_assert(std::is_trivially_copyable_v<ragged::Shape>);
static_assert(sizeof(ragged::bf16) == 2 && std::is_trivially_copyable_v<ragged::bf16>);

} // namespace

using Fixed = ragged::Topology<ragged::Axis<"replica", 2>, ragged::Axis<"shard", 64>>;
static_assert(std::is_empty_v<Fixed>);

template class ragged::DBuffer<float, Line, ragged::state::Resident>;
template class ragged::DBuffer<ragged::bf16, Line, ragged::state::Sharded>;
template class ragged::DBuffer<ragged::bf16, Line, ragged::state::Gathered>;
template class ragged::DBuffer<float, Fixed, ragged::state::Partial>;
template class ragged::DBuffer<float, Fixed, ragged::state::Reduced>;
template class ragged::Mesh<Line, LocalCommunicator>;
template class ragged::Mesh<Fixed, LocalCommunicator>;
template class ragged::TensorView<const float>;
template class ragged::TensorView<float, ragged::StaticShape<4, 8>>;
template class ragged::ShardView<const ragged::bf16>;
template class ragged::CountingResource<ragged::HostResource>;
template class ragged::AdamW<Line>;
template class ragged::Adam8bit<Line>;
template class ragged::Muon<Line, LocalCommunicator>;
template class ragged::Shampoo<Line>;
template class ragged::ShardedStep<ragged::bf16, Line, LocalCommunicator>;
