// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Muon over ragged shards. The momentum is sharded as the masters are. A matrix is then collected on one
// rank, its owner, which orthogonalises it, and the result comes back to where the gradient lay: nobody
// gathers a matrix but its owner, and all ranks share the work, replicas too. What is no matrix, embeddings
// and heads are updated by AdamW.
//
//     ragged::Muon optimizer(model, mesh, memory, {.learning_rate = 1e-3});
//     std::cout << ragged::to_string(optimizer.routing());
//     ragged::Muon quicker(model, mesh, memory, {}, ragged::BlasGemm{});
//     optimizer.update(parameters, 1.0 / tokens);
#pragma once

#include <algorithm> // std::max
#include <cmath>     // std::sqrt
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <ragged/comm/held_memory.hpp>
#include <ragged/comm/mesh.hpp>
#include <ragged/optim/decayed_step.hpp>
#include <ragged/optim/gemm.hpp>
#include <ragged/optim/muon_layout.hpp>
#include <ragged/optim/optimizer.hpp>
#include <ragged/optim/option_check.hpp>
#include <ragged/optim/subset_adamw.hpp>
#include <ragged/redistribute/engine_order.hpp>
#include <ragged/redistribute/redistribution.hpp>

namespace ragged {

/// An update of a matrix is the orthogonalised momentum times 0.2 sqrt(max(rows, columns)), so that its root
/// mean square is about AdamW's, and one learning rate serves both.
/// Source: J. Liu et al., Muon is Scalable for LLM Training, 2025
struct MuonOptions {
    double learning_rate = 1e-3;
    double momentum = 0.95; // in [0, 1)
    bool nesterov = true;
    double weight_decay = 0.1; // each step takes learning_rate * weight_decay * master off the master
    AdamWOptions adamw{};      // of what is no matrix

    bool operator==(const MuonOptions&) const = default;
};

namespace op {

/// The momentum of a gradient, and in its place what is orthogonalised.
struct MuonMomentum {
    float scale, momentum;
    bool nesterov;

    RAGGED_HOST_DEVICE void operator()(float& state, float& gradient) const {
        const float scaled = gradient * scale;
        state = fused_multiply_add(momentum, state, scaled);
        gradient = nesterov ? fused_multiply_add(momentum, state, scaled) : state;
    }
};

} // namespace op

namespace detail {

/// @throws BufferError  an option out of its range
inline void check_options(const MuonOptions& options, double scale) {
    check_options(options.adamw, scale);
    const OptionCheck check{"Muon"};
    check.rates(options.learning_rate, options.weight_decay);
    check.below_one("momentum", options.momentum);
}

} // namespace detail

/// See optimizer; update() is collective over the mesh. Masters and momentum have the same bits for any
/// number of ranks where the product has: PlainGemm always.
/// @tparam G  the product that owners orthogonalise with
template <class Topology, class Communicator, class PlanType = Plan, gemm G = PlainGemm,
          group_executor E = HostExecutor>
class Muon {
    using Layout = detail::MuonLayout<Topology, PlanType>;
    using Adam = SubsetAdamW<Topology, PlanType, E>;
    using Move = Redistribution<float, detail::exchange_only, CountsAtRunTime, Communicator, E>;

  public:
    using Momentum = DBuffer<float, Topology, state::Resident, UnequalPlan>;

    MuonOptions options; // may be changed between steps

    /// Zero momentum and moments; everything that a step takes is taken here. Collective and blocking: ranks
    /// compare their layouts. The model, the mesh, the resource, the product and the executor outlive the
    /// optimizer.
    /// @param memory    in the space of the executor, the product and the communicator
    /// @param product   on a device on the stream of the executor
    /// @param rule      which tensors are matrices, see MatrixRule
    /// @throws PlanError    the rule takes what is no matrix; a law is broken
    /// @throws BufferError  an option out of its range; spaces or streams that differ
    /// @throws CommError    ranks have different plans
    template <memory_resource R, class Rule = MatrixRule>
    Muon(const BasicModelPlan<PlanType>& model, Mesh<Topology, Communicator>& mesh, R& memory,
         const MuonOptions& of = {}, const G& product = detail::plain_gemm, const Rule& rule = {},
         const E& executor = detail::host_executor)
        : Muon(model, mesh, memory, of, product, rule, executor, executor) {}
    /// @param mover   packs and unpacks what travels. On a device one on the communicator's stream: matrices
    /// then travel while others are at work
    /// @param memory  ready for work on the streams of both, as that of a pool on one of them is not
    template <memory_resource R, class Rule>
    Muon(const BasicModelPlan<PlanType>& model, Mesh<Topology, Communicator>& mesh, R& memory,
         const MuonOptions& of, const G& product, const Rule& rule, const E& executor, const E& mover)
        : options(of)
        , world_(&mesh.world())
        , product_(product)
        , executor_(executor)
        , mover_(mover)
        , adam_(mesh.place(), executor) {
        detail::check_options(options, 1.0);
        require_spaces(memory.space());
        const Place<Topology>& place = mesh.place();
        const Layout layout(model, place.topology, rule);
        routing_ = layout.routing();
        for (const PlanType& plan : model.groups) {
            model_.push_back({&plan, place.template coordinate<"shard">()});
            groups_.emplace_back(plan, detail::taken_by(rule, plan), place, memory);
            adam_.add_group(plan, detail::taken_by(rule, plan, false), memory);
        }
        const auto space = detail::MuonSpace::of<E>(layout, place.rank, place.topology.num_ranks());
        space_ = std::make_shared<Memory>(memory, static_cast<std::size_t>(space.bytes));
        table_bytes_ = space.tables;
        work_ = at(space.work);
        const auto staging = [&](std::int64_t offset, std::int64_t bytes) {
            return Memory::adopt(at(offset), static_cast<std::size_t>(bytes), memory.space());
        };
        for (const auto& group : layout.groups()) {
            void* const array = at(space.arrays[travelling_.size() % detail::MuonSpace::num_arrays]);
            travelling_.push_back(
                {group.index,
                 static_cast<float*>(array),
                 {},
                 make_redistribution<float>(group.regions, group.on_owners, *world_, memory, mover_,
                                            staging(space.collecting, space.collecting_bytes)),
                 make_redistribution<float>(group.on_owners, group.regions, *world_, memory, mover_,
                                            staging(space.returning, space.returning_bytes))});
            group.for_each_owned(place.rank,
                                 [&](std::int64_t offset, std::int64_t rows, std::int64_t columns) {
                                     travelling_.back().owned.push_back({offset, rows, columns});
                                 });
        }
    }
    template <memory_resource R, class... More>
    Muon(const BasicModelPlan<PlanType>&&, Mesh<Topology, Communicator>&, R&, const More&...) = delete;

    /// What the constructor with these arguments takes from the resource. Local; takes nothing.
    /// @throws PlanError  as the constructor
    template <class Rule = MatrixRule>
    static std::int64_t planned_bytes(const BasicModelPlan<PlanType>& model, const Place<Topology>& place,
                                      const Rule& rule = {}) {
        const auto space = detail::MuonSpace::of<E>(Layout(model, place.topology, rule), place.rank,
                                                    place.topology.num_ranks());
        std::int64_t bytes = space.bytes + space.tables;
        const std::int64_t rank = place.template coordinate<"shard">();
        for (const PlanType& plan : model.groups)
            bytes += subset(plan, detail::taken_by(rule, plan)).region_elems(rank) *
                         static_cast<std::int64_t>(sizeof(float)) +
                     Adam::planned_bytes(plan, detail::taken_by(rule, plan, false), rank);
        return bytes;
    }

    /// One step: master, momentum, moments and weights, if there are some, from gradient * scale. Collective;
    /// the gradient is spent. Matrices of a group are collected while those of the group before are at work.
    /// @throws BufferError  an option out of its range; another number of groups, plans or ranks than the
    ///         optimizer's; a buffer out of the executor's space. Nothing is changed then. CommError
    template <class T>
    void update(std::span<const Parameters<T, Topology, PlanType>> parameters, double scale) {
        detail::check_options(options, scale);
        detail::require_parameters(
            parameters, model_.size(), [&](std::size_t group) { return model_[group]; }, executor_, "Muon");
        ++steps_;
        try {
            step(parameters, scale);
        } catch (...) {
            if (detail::holds_memory(*world_))
                detail::keep(space_);
            throw;
        }
    }

    /// Every tensor of the model in its order, by "muon" or "adamw", and who owns the matrices.
    const std::vector<RoutedTensor>& routing() const noexcept { return routing_; }

    /// Of group `group` of the model, over the subsets of its plan. For checkpoints, with steps().
    Momentum& momentum(std::size_t group) { return groups_.at(group).momentum; }
    Adam& adamw() noexcept { return adam_; }
    /// Steps that were taken; the corrections of AdamW's moments go by them.
    std::int64_t steps() const noexcept { return steps_; }
    /// To go on from a state that was kept.
    void set_steps(std::int64_t steps) noexcept { steps_ = steps; }

    std::int64_t state_bytes() const noexcept {
        std::int64_t bytes = adam_.state_bytes();
        for (const Group& group : groups_)
            bytes += static_cast<std::int64_t>(group.momentum.bytes());
        return bytes;
    }
    std::int64_t memory_bytes() const noexcept {
        return state_bytes() + static_cast<std::int64_t>(space_->bytes()) + table_bytes_;
    }

  private:
    /// The momentum of the matrices of a group.
    struct Group : detail::PlanSubset {
        template <class Wanted, class R>
        Group(const PlanType& of, const Wanted& wanted, const Place<Topology>& place, R& memory)
            : PlanSubset(of, wanted, place.template coordinate<"shard">())
            , momentum(plan, place, memory) {}

        Momentum momentum;
    };
    struct Owned {
        std::int64_t offset, rows, columns;
    };
    /// The matrices of a group on their way to their owners and back.
    struct Travelling {
        std::size_t group;
        float* array; // of this rank as an owner
        std::vector<Owned> owned;
        Move collect, give_back;
    };

    template <class T>
    void step(std::span<const Parameters<T, Topology, PlanType>> parameters, double scale) {
        const auto adam = op::AdamW::of(options.adamw, steps_, scale);
        std::optional<typename Move::Handle> collecting, returning;
        const auto collect = [&](const Travelling& matrices) {
            add_to_momentum(matrices.group, parameters[matrices.group], scale);
            detail::order_behind(mover_, executor_);
            static_cast<void>(collecting.emplace(matrices.collect.start(
                parameters[matrices.group].gradient->segment_data(0), matrices.array)));
        };
        const auto arrive = [&](const Travelling& matrices) {
            detail::wait_behind<Communicator>(*returning, executor_);
            returning.reset();
            apply(matrices.group, parameters[matrices.group]);
        };
        if (!travelling_.empty())
            collect(travelling_.front());
        for (std::size_t group = 0; group < groups_.size(); ++group)
            adam_.update(adam, group, parameters[group]);
        for (std::size_t i = 0; i < travelling_.size(); ++i) {
            const Travelling& matrices = travelling_[i];
            detail::wait_behind<Communicator>(*collecting, executor_);
            if (i + 1 < travelling_.size())
                collect(travelling_[i + 1]);
            for (const Owned& matrix : matrices.owned)
                NewtonSchulz::run(matrices.array + matrix.offset, matrix.rows, matrix.columns, work_,
                                  product_, executor_);
            if (returning)
                arrive(travelling_[i - 1]);
            detail::order_behind(mover_, executor_);
            static_cast<void>(returning.emplace(matrices.give_back.start(
                matrices.array, parameters[matrices.group].gradient->segment_data(0))));
        }
        if (returning)
            arrive(travelling_.back());
    }

    template <class T>
    void add_to_momentum(std::size_t index, const Parameters<T, Topology, PlanType>& of, double scale) {
        const op::MuonMomentum step{static_cast<float>(scale), static_cast<float>(options.momentum),
                                    options.nesterov};
        for (const SubsetPiece& piece : groups_[index].pieces)
            executor_.update(step, piece.elements, detail::at_state(groups_[index].momentum, piece),
                             detail::at_piece(*of.gradient, piece));
    }

    template <class T>
    void apply(std::size_t index, const Parameters<T, Topology, PlanType>& of) {
        const Group& group = groups_[index];
        for (const SubsetPiece& piece : group.pieces) {
            const Shape& shape = group.plan.tensors[static_cast<std::size_t>(piece.tensor)].spec.shape;
            const auto side = static_cast<double>(std::max(shape[shape.rank() - 2], shape[shape.rank() - 1]));
            const op::DecayedStep step{static_cast<float>(options.learning_rate * options.weight_decay),
                                       static_cast<float>(options.learning_rate * 0.2 * std::sqrt(side))};
            detail::update_piece(step, piece, of, executor_,
                                 static_cast<const float*>(detail::at_piece(*of.gradient, piece)));
        }
    }

    void* at(std::int64_t offset) const { return static_cast<std::byte*>(space_->data()) + offset; }

    void require_spaces(MemorySpace memory) const {
        const auto require = [&](MemorySpace found, std::string_view what) {
            if (found != memory)
                throw BufferError(concat("Muon: its memory is in ", to_string(memory), ", ", what,
                                         " works in ", to_string(found)));
        };
        require(executor_.space(), "the executor");
        require(mover_.space(), "the mover");
        require(product_.space(), "the product");
        require(world_->space(), "the communicator");
        if constexpr (requires { product_.stream() == executor_.stream(); })
            if (!(product_.stream() == executor_.stream()))
                throw BufferError("Muon: the product and the executor are on two streams; give both one");
    }

    Communicator* world_;
    detail::Kept<G> product_;
    detail::Kept<E> executor_, mover_;
    std::vector<RoutedTensor> routing_;
    std::vector<detail::OfPlan<PlanType>> model_;
    std::deque<Group> groups_; // of the model
    Adam adam_;
    std::shared_ptr<Memory> space_; // arrays of owners, workspace, staging memory
    void* work_ = nullptr;
    std::vector<Travelling> travelling_; // groups that have matrices
    std::int64_t table_bytes_ = 0;       // of the redistributions
    std::int64_t steps_ = 0;
};

} // namespace ragged
