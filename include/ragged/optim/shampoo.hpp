// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Shampoo on the blocks that plans keep whole: each block has statistics of its rows and of its columns, and
// its gradient is multiplied with their inverse fourth roots. A block lies on one rank, so nothing is
// exchanged. What has no small matrices for blocks, embeddings and heads are updated by AdamW.
//
//     ragged::Shampoo optimizer(model, mesh.place(), memory, {.learning_rate = 1e-3}); // tile({32, 32})
//     optimizer.update(parameters, 1.0 / tokens);
#pragma once

#include <algorithm> // std::copy_n, std::max
#include <cmath>     // std::sqrt, std::pow
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <ragged/optim/decayed_step.hpp>
#include <ragged/optim/gemm.hpp>
#include <ragged/optim/inverse_root.hpp>
#include <ragged/optim/matrix_blocks.hpp>
#include <ragged/optim/optimizer.hpp>
#include <ragged/optim/option_check.hpp>
#include <ragged/optim/routing.hpp>
#include <ragged/optim/subset_adamw.hpp>
#include <ragged/plan/model_plan.hpp>

namespace ragged {

/// Which tensors Shampoo takes: matrices by MatrixRule whose blocks are matrices of up to `max_side` rows and
/// columns. The time of a root grows with the third power of a side, the memory with the second.
struct ShampooRule {
    std::int64_t max_side = 128;

    bool operator()(std::string_view group, const PlacedTensor& tensor) const {
        const auto sides = block_sides(tensor.spec);
        return MatrixRule{}(group, tensor) && sides && sides->largest() <= max_side;
    }
};

struct ShampooOptions {
    double learning_rate = 1e-3;
    double momentum = 0.9;           // in [0, 1)
    double beta2 = 0.99;             // of the statistics, in [0, 1)
    double epsilon = 1e-5;           // see InverseFourthRoot, in [1e-6, 1)
    double weight_decay = 0.1;       // each step takes learning_rate * weight_decay * master off the master
    std::int64_t root_interval = 10; // steps from one computation of the roots to the next
    AdamWOptions adamw{};            // of the other tensors

    bool operator==(const ShampooOptions&) const = default;
};

namespace detail {

/// @throws BufferError  an option out of its range
inline void check_options(const ShampooOptions& options, double scale) {
    check_options(options.adamw, scale);
    const OptionCheck check{"Shampoo"};
    check.rates(options.learning_rate, options.weight_decay);
    check.below_one("momentum", options.momentum);
    check.below_one("beta2", options.beta2);
    check.require(options.epsilon >= 1e-6 && options.epsilon < 1, "epsilon", options.epsilon, "in [1e-6, 1)");
    check.require(options.root_interval >= 1, "root_interval", options.root_interval, "at least 1");
}

} // namespace detail

/// Of each block G of the gradient: L <- beta2 L + (1 - beta2) G G^T, R <- beta2 R + (1 - beta2) G^T G, and
/// the direction is L^(-1/4) G R^(-1/4), made so long that its root mean square is 0.2, which is about
/// AdamW's; one learning rate serves both. The momentum is the average of directions, with its bias corrected
/// as Adam does. A root that does not converge stays as it was.
///
/// See optimizer. Local and on the host: no rank waits for another, and a block has the same bits for any
/// number of ranks where the product has.
/// Source: V. Gupta et al., Shampoo: Preconditioned Stochastic Tensor Optimization, 2018; blocks, and roots
/// every few steps: R. Anil et al., Scalable Second Order Optimization for Deep Learning, 2020
template <class Topology, class PlanType = Plan, gemm G = PlainGemm, group_executor E = HostExecutor>
class Shampoo {
    static_assert(std::is_same_v<E, HostExecutor>,
                  "ragged: Shampoo works on blocks in host memory; on a device train with Muon or AdamW");
    using Adam = SubsetAdamW<Topology, PlanType, E>;

  public:
    using Momentum = DBuffer<float, Topology, state::Resident, UnequalPlan>;

    ShampooOptions options; // may be changed between steps

    /// Zero statistics, momentum and moments. Local. The model, the resource and the product outlive the
    /// optimizer.
    /// @param memory  of the host
    /// @param rule    which tensors it takes: a function object of (group name, PlacedTensor)
    /// @throws PlanError  the rule takes a tensor whose blocks are no matrices; BufferError  an option out of
    /// its range, memory or a product of another space
    template <memory_resource R, class Rule = ShampooRule>
    Shampoo(const BasicModelPlan<PlanType>& model, const Place<Topology>& place, R& memory,
            const ShampooOptions& of = {}, const G& product = detail::plain_gemm, const Rule& rule = {},
            const E& executor = detail::host_executor)
        : options(of)
        , product_(product)
        , adam_(place, executor) {
        detail::check_options(options, 1.0);
        for (const MemorySpace space : {memory.space(), product.space()})
            if (space != executor.space())
                throw BufferError(concat("Shampoo works in ", to_string(executor.space()), ", it is given ",
                                         to_string(space)));
        const std::int64_t rank = place.template coordinate<"shard">();
        Sides largest;
        for (const PlanType& plan : model.groups) {
            model_.push_back({&plan, rank});
            for (const PlacedTensor& tensor : plan.tensors)
                routing_.push_back({plan.name, tensor.full_name(), tensor.spec.shape,
                                    rule(plan.name, tensor) ? "shampoo" : "adamw", -1});
            groups_.emplace_back(plan, detail::taken_by(rule, plan), place, memory);
            largest.add(groups_.back().sides);
            adam_.add_group(plan, detail::taken_by(rule, plan, false), memory);
        }
        work_ = Memory(memory, static_cast<std::size_t>(largest.work_bytes()));
        float* next = static_cast<float*>(work_.data());
        for (float** part : {&gradient_, &half_, &direction_}) {
            *part = next;
            next += largest.elements;
        }
        root_ = next;
        root_work_ = next + largest.side * largest.side;
    }
    template <memory_resource R, class... More>
    Shampoo(const BasicModelPlan<PlanType>&&, const Place<Topology>&, R&, const More&...) = delete;

    /// What the constructor with these arguments takes from the resource. Local; takes nothing.
    template <class Rule = ShampooRule>
    static std::int64_t planned_bytes(const BasicModelPlan<PlanType>& model, const Place<Topology>& place,
                                      const Rule& rule = {}) {
        const std::int64_t rank = place.template coordinate<"shard">();
        std::int64_t bytes = 0;
        Sides largest;
        for (const PlanType& plan : model.groups) {
            const BlocksOf blocks(plan, detail::taken_by(rule, plan), rank);
            largest.add(blocks.sides);
            bytes += blocks.plan.region_elems(rank) * float_bytes + blocks.statistics_elems * float_bytes +
                     Adam::planned_bytes(plan, detail::taken_by(rule, plan, false), rank);
        }
        return bytes + largest.work_bytes();
    }

    /// One step: master, statistics, momentum, moments and weights, if there are some, from gradient * scale.
    /// The gradient is kept. Done when it returns.
    /// @throws BufferError  an option out of its range; another number of groups, plans or ranks than the
    ///         optimizer's; a buffer that is not in host memory. Nothing is changed then
    template <class T>
    void update(std::span<const Parameters<T, Topology, PlanType>> parameters, double scale) {
        detail::check_options(options, scale);
        detail::require_parameters(
            parameters, model_.size(), [&](std::size_t group) { return model_[group]; }, executor_,
            "Shampoo");
        const bool new_roots = steps_ % options.root_interval == 0;
        const auto adam = op::AdamW::of(options.adamw, ++steps_, scale);
        const double correction = 1 - std::pow(options.momentum, static_cast<double>(steps_));
        const op::DecayedStep step{static_cast<float>(options.learning_rate * options.weight_decay),
                                   static_cast<float>(options.learning_rate / correction)};
        for (std::size_t index = 0; index < groups_.size(); ++index) {
            const Parameters<T, Topology, PlanType>& of = parameters[index];
            Group& group = groups_[index];
            for (const OwnedBlock& block : group.blocks)
                add_block(detail::at_piece(*of.gradient, group.pieces[block.piece]) + block.at.first,
                          detail::at_state(group.momentum, group.pieces[block.piece]) + block.at.first, block,
                          static_cast<float*>(group.statistics.data()) + block.statistics,
                          static_cast<float>(scale), new_roots);
            for (const SubsetPiece& piece : group.pieces)
                detail::update_piece(step, piece, of, executor_,
                                     static_cast<const float*>(detail::at_state(group.momentum, piece)));
            adam_.update(adam, index, of);
        }
    }

    /// Every tensor of the model in its order, by "shampoo" or "adamw".
    const std::vector<RoutedTensor>& routing() const noexcept { return routing_; }

    /// Of group `group` of the model, over the subsets of its plan. For checkpoints, with steps().
    Momentum& momentum(std::size_t group) { return groups_.at(group).momentum; }
    Adam& adamw() noexcept { return adam_; }
    /// L, R and their inverse roots, one behind the other for each block of [rows, columns]: rows^2,
    /// columns^2, rows^2, columns^2 elements. Blocks of this rank's pieces in their order; those of rank
    /// after rank are the tensors'.
    std::span<float> statistics(std::size_t group) {
        const Memory& memory = groups_.at(group).statistics;
        return {static_cast<float*>(memory.data()), memory.bytes() / sizeof(float)};
    }
    /// Steps that were taken; roots and the corrections of averages go by them.
    std::int64_t steps() const noexcept { return steps_; }
    /// To go on from a state that was kept.
    void set_steps(std::int64_t steps) noexcept { steps_ = steps; }

    std::int64_t state_bytes() const noexcept {
        std::int64_t bytes = adam_.state_bytes();
        for (const Group& group : groups_)
            bytes += static_cast<std::int64_t>(group.momentum.bytes() + group.statistics.bytes());
        return bytes;
    }
    std::int64_t memory_bytes() const noexcept {
        return state_bytes() + static_cast<std::int64_t>(work_.bytes());
    }

  private:
    static constexpr std::int64_t float_bytes = sizeof(float);

    /// The largest block in each measure.
    struct Sides {
        std::int64_t side = 0, elements = 0;

        void add(const Sides& other) {
            side = std::max(side, other.side);
            elements = std::max(elements, other.elements);
        }
        /// Of the gradient, a product with one root and with both, a root and what it is computed in.
        std::int64_t work_bytes() const {
            return float_bytes * (3 * elements + side * side + InverseFourthRoot::work_elems(side));
        }
    };
    struct OwnedBlock {
        std::size_t piece;
        MatrixBlock at;          // in the piece
        std::int64_t row;        // elements from a row to the next
        std::int64_t statistics; // elements from the start of those of the group
    };
    /// This rank's blocks of the tensors that are taken.
    struct BlocksOf : detail::PlanSubset {
        template <class Wanted>
        BlocksOf(const PlanType& of, const Wanted& wanted, std::int64_t rank)
            : PlanSubset(of, wanted, rank) {
            for (const PlacedTensor& tensor : plan.tensors)
                if (tensor.elements() > 0 && !block_sides(tensor.spec))
                    throw PlanError(concat("group '", of.name, "': tensor '", tensor.full_name(),
                                           "' in blocks of ", to_string(tensor.spec.block),
                                           " has no matrices for blocks"));
            for (std::size_t piece = 0; piece < pieces.size(); ++piece) {
                const TensorSpec& spec = plan.tensors[static_cast<std::size_t>(pieces[piece].tensor)].spec;
                for_each_matrix_block(
                    spec, pieces[piece].first, pieces[piece].elements, [&](MatrixBlock block) {
                        block.first -= pieces[piece].first;
                        blocks.push_back({piece, block, spec.shape[spec.shape.rank() - 1], statistics_elems});
                        statistics_elems += 2 * (block.rows * block.rows + block.columns * block.columns);
                        sides.add({std::max(block.rows, block.columns), block.rows * block.columns});
                    });
            }
        }

        std::vector<OwnedBlock> blocks;
        std::int64_t statistics_elems = 0;
        Sides sides;
    };
    struct Group : BlocksOf {
        template <class Wanted, class R>
        Group(const PlanType& of, const Wanted& wanted, const Place<Topology>& place, R& memory)
            : BlocksOf(of, wanted, place.template coordinate<"shard">())
            , momentum(this->plan, place, memory)
            , statistics(memory, static_cast<std::size_t>(BlocksOf::statistics_elems * float_bytes)) {}

        Momentum momentum;
        Memory statistics;
    };

    /// @param gradient, momentum  of the block's first element, in arrays whose rows lie alike
    void add_block(const float* gradient, float* momentum, const OwnedBlock& block, float* statistics,
                   float scale, bool new_roots) {
        const auto [first, rows, columns] = block.at;
        const Transpose no = Transpose::no, yes = Transpose::yes;
        float* const left = statistics;
        float* const right = left + rows * rows;
        float* const left_root = right + columns * columns;
        float* const right_root = left_root + rows * rows;
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j)
                gradient_[i * columns + j] = gradient[i * block.row + j] * scale;
        const auto beta2 = static_cast<float>(options.beta2), rest2 = static_cast<float>(1 - options.beta2);
        product_(no, yes, rows, rows, columns, rest2, gradient_, columns, gradient_, columns, beta2, left,
                 rows);
        product_(yes, no, columns, columns, rows, rest2, gradient_, columns, gradient_, columns, beta2, right,
                 columns);
        if (new_roots) {
            renew(left_root, left, rows);
            renew(right_root, right, columns);
        }
        product_(no, no, rows, columns, rows, 1.0f, left_root, rows, gradient_, columns, 0.0f, half_,
                 columns);
        product_(no, no, rows, columns, columns, 1.0f, half_, columns, right_root, columns, 0.0f, direction_,
                 columns);
        double squares = 0;
        for (std::int64_t i = 0; i < rows * columns; ++i)
            squares = op::SumOfSquares::add(squares, direction_[i]);
        const double factor =
            squares > 0 ? 0.2 * std::sqrt(static_cast<double>(rows * columns) / squares) : 0.0;
        const auto kept = static_cast<float>(options.momentum),
                   rest = static_cast<float>(1 - options.momentum);
        for (std::int64_t i = 0; i < rows; ++i)
            for (std::int64_t j = 0; j < columns; ++j) {
                float& average = momentum[i * block.row + j];
                const auto x = static_cast<float>(static_cast<double>(direction_[i * columns + j]) * factor);
                average = fused_multiply_add(kept, average, rest * x);
            }
    }

    void renew(float* root, const float* matrix, std::int64_t side) {
        if (InverseFourthRoot::run(root_, matrix, side, options.epsilon, root_work_, product_))
            std::copy_n(root_, side * side, root);
    }

    detail::Kept<G> product_;
    E executor_{};
    std::vector<RoutedTensor> routing_;
    std::vector<detail::OfPlan<PlanType>> model_;
    std::deque<Group> groups_; // of the model
    Adam adam_;
    Memory work_;
    float *gradient_ = nullptr, *half_ = nullptr, *direction_ = nullptr, *root_ = nullptr,
          *root_work_ = nullptr;
    std::int64_t steps_ = 0;
};

} // namespace ragged
