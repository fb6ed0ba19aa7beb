// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// One training step over sharded groups: weights are gathered group by group ahead of their use and released
// behind it, gradients are reduced as each group ends, and the optimizer updates this rank's regions. Comes
// in: plans, a model's forward and backward, an optimizer. Stays: this rank's masters.
//
//     auto step = ragged::make_step<ragged::bf16>(plans, mesh, memory, {.schedule = {.rounds = 2}});
//     ragged::fill(table, step.master(0), 1.0f);                       // initial values
//     const auto result = step.run(model, optimizer);                  // as often as there are steps
#pragma once

#include <chrono>
#include <cmath> // std::sqrt, std::isfinite
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/buffer/dbuffer.hpp>
#include <ragged/comm/agree.hpp>
#include <ragged/comm/collectives.hpp>
#include <ragged/comm/held_memory.hpp>
#include <ragged/comm/mesh.hpp>
#include <ragged/group/exact_sum.hpp>
#include <ragged/group/flat.hpp>
#include <ragged/group/host_executor.hpp>
#include <ragged/optim/optimizer.hpp>
#include <ragged/plan/model_plan.hpp>
#include <ragged/redistribute/engine_order.hpp>
#include <ragged/step/schedule.hpp>
#include <ragged/step/step_memory.hpp>
#include <ragged/step/step_model.hpp>
#include <ragged/step/step_options.hpp>
#include <ragged/step/trace.hpp>

namespace ragged {

/// The buffers and the schedule of a training step on one rank. Make one with make_step. The model plan, the
/// mesh, the memory resource and the executor outlive it.
/// @tparam T  what weights are gathered and computed in; masters, gradients and sums are fp32
template <element T, class Topology, communicator Communicator, class PlanType = Plan,
          group_executor E = HostExecutor>
class ShardedStep {
    static_assert(floating_element<T>, "ragged: weights are of an element type with a fraction");
    static_assert(
        detail::can_be_ordered<Communicator, E>,
        "ragged: the executor works on a stream, so this step needs a communicator whose operations "
        "a stream can wait for");
    static_assert(has_all_reduce<Communicator, double>,
                  "ragged: the norm of the gradients needs a communicator with all_reduce");

    using Weights = DBuffer<T, Topology, state::Sharded, PlanType>;
    using Gathered = DBuffer<T, Topology, state::Gathered, PlanType>;
    using Partial = DBuffer<float, Topology, state::Partial, PlanType>;
    using MeshType = Mesh<Topology, Communicator>;
    using Gathering = decltype(gather(std::declval<Weights>(), std::declval<MeshType&>()));
    using Reducing = decltype(reduce(std::declval<Partial>(), std::declval<MeshType&>()));

  public:
    using Master = DBuffer<float, Topology, state::Resident, PlanType>;
    using Gradient = DBuffer<float, Topology, state::Accumulated, PlanType>;

    /// Collective and blocking: ranks compare plans and options. Takes memory().bytes() from the resource at
    /// once, and nothing later. @throws PlanError, BufferError  as DBuffer, or an option out of its range;
    /// CommError  ranks differ
    template <memory_resource R>
    ShardedStep(const BasicModelPlan<PlanType>& model, MeshType& mesh, R& resource,
                const StepOptions& options, const E& executor)
        : model_(model)
        , mesh_(mesh)
        , executor_(executor)
        , options_(detail::checked_options(options, model.name))
        , schedule_(make_schedule(static_cast<std::int64_t>(model.groups.size()), options.schedule))
        , memory_(
              plan_step_memory(model, schedule_, dtype_of<T>, mesh.place().template coordinate<"shard">()))
        , weight_slots_(static_cast<std::size_t>(schedule_.weight_slots))
        , gradient_slots_(static_cast<std::size_t>(schedule_.gradient_slots))
        , trace_(mesh.world().rank(), options.trace_events) {
        agree();
        arena_ = std::make_shared<Memory>(resource, static_cast<std::size_t>(memory_.bytes()));
        const auto num_groups = static_cast<std::size_t>(schedule_.num_groups);
        for (std::size_t group = 0; group < num_groups; ++group)
            masters_.emplace_back(plan(group), mesh_.place(), part(group));
        for (std::size_t group = 0; group < num_groups; ++group)
            gradients_.emplace_back(plan(group), mesh_.place(), part(num_groups + group));
        kept_.resize(num_groups);
        accumulated_.resize(num_groups, false);
    }
    ShardedStep(const ShardedStep&) = delete;
    ShardedStep& operator=(const ShardedStep&) = delete;

    const Schedule& schedule() const { return schedule_; }
    const StepMemory& memory() const { return memory_; }
    const StepSeconds& seconds() const { return seconds_; }
    const Trace& trace() const { return trace_; }
    /// What the model multiplies its loss by in the next run.
    double loss_scale() const { return options_.loss_scale.scale; }

    const Master& master(std::int64_t group) const { return masters_[checked(group)]; }
    /// To write to between steps: weights are cast anew then. Ask again after each run; what is written by
    /// way of an older reference may not reach the weights.
    Master& master(std::int64_t group) {
        kept_[checked(group)].reset();
        return masters_[checked(group)];
    }
    /// The sums of the last run, times its loss scale; the optimizer may have used them as scratch memory.
    const Gradient& gradient(std::int64_t group) const { return gradients_[checked(group)]; }

    /// One step: the schedule, line by line. Collective: all ranks of the mesh. On the host it blocks until
    /// the update is done; on a device until the norm is known, and enqueues the update.
    /// @param optimizer  updates all masters, unless a gradient is infinite or NaN on some rank
    /// @throws CommError  a collective failed; and what the model and the optimizer throw. The step is of no
    /// use then: each further run throws
    template <class Model, class Optimizer>
    StepResult run(Model& model, Optimizer& optimizer) {
        static_assert(step_model<Model, T, Topology, PlanType>,
                      "ragged: a step runs a model with forward(group, round, weights) and backward(group, "
                      "round, weights, gradients), see step_model");
        static_assert(ragged::optimizer<Optimizer, T, Topology, PlanType>,
                      "ragged: a step takes an optimizer with update(parameters, scale), see optimizer");
        if (failed_)
            throw BufferError(concat("model '", model_.name, "': a step failed before, make a new one"));
        failed_ = true; // until the end is reached
        try {
            for (const Action& action : schedule_.actions)
                perform(action, model, optimizer);
        } catch (...) {
            abandon();
            throw;
        }
        failed_ = false;
        accumulated_.assign(accumulated_.size(), false);
        return result_;
    }

  private:
    struct WeightSlot {
        std::optional<Gathering> gathering;
        std::optional<Gathered> gathered;
        double started = 0;
    };
    struct GradientSlot {
        std::optional<Partial> partial;
        std::optional<Reducing> reducing;
        double started = 0;
    };

    const PlanType& plan(std::size_t group) const { return model_.groups[group]; }
    std::size_t checked(std::int64_t group) const {
        if (group < 0 || group >= schedule_.num_groups)
            throw BufferError(
                concat("model '", model_.name, "' has no group ", group, ", it has ", schedule_.num_groups));
        return static_cast<std::size_t>(group);
    }

    /// A part of the allocation, for a buffer to lie over.
    Memory part(std::size_t index) const {
        const StepBuffer& buffer = memory_.buffers[index];
        return Memory::adopt(static_cast<std::byte*>(arena_->data()) + buffer.offset,
                             static_cast<std::size_t>(buffer.bytes), arena_->space());
    }
    Memory weight_memory(std::int64_t slot) const {
        return part(2 * masters_.size() + static_cast<std::size_t>(slot));
    }
    Memory gradient_memory(std::int64_t slot) const { return weight_memory(schedule_.weight_slots + slot); }

    void agree() const {
        std::vector<std::string> lines = detail::describe(options_);
        lines.push_back(concat("weights in ", ragged::name(dtype_of<T>)));
        detail::Hash hash;
        hash.add(static_cast<std::int64_t>(fingerprint(model_)));
        for (const std::string& line : lines)
            hash.add(line);
        detail::agree_on(mesh_.world(), hash.value(), "training steps", [&] {
            for (const PlanType& each : model_.groups)
                for (std::string& line : describe(each))
                    lines.push_back(std::move(line));
            return lines;
        });
    }

    template <class Model, class Optimizer>
    void perform(const Action& action, Model& model, Optimizer& optimizer) {
        using What = Action::What;
        switch (action.what) {
        case What::gather:
            return timed(action, seconds_.gather, [&] { start_gather(action); });
        case What::forward:
        case What::backward:
            finish_gather(action);
            return timed(action, seconds_.compute, [&] { compute(action, model); });
        case What::release:
            return release_weights(action);
        case What::clear:
            return timed(action, seconds_.reduce, [&] { clear(action); });
        case What::reduce:
            return timed(action, seconds_.reduce, [&] { start_reduce(action); });
        case What::accumulate:
            return timed(action, seconds_.reduce, [&] { accumulate(action); });
        case What::norm:
            return timed(action, seconds_.reduce, [&] { find_norm(); });
        default:
            return timed(action, seconds_.optimizer, [&] { update(optimizer); });
        }
    }

    static double now() {
        return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
    }
    template <class Body>
    void timed(const Action& action, double& seconds, const Body& body) {
        const double start = now();
        body();
        const double end = now();
        seconds += end - start;
        record(action, Trace::Lane::compute, start, end);
    }
    void record(const Action& action, Trace::Lane lane, double start, double end) {
        if (trace_.is_on())
            trace_.add(to_string(action, action.group < 0
                                             ? std::string_view()
                                             : model_.groups[static_cast<std::size_t>(action.group)].name),
                       lane, start, end);
    }

    void start_gather(const Action& action) {
        const auto group = static_cast<std::size_t>(action.group);
        std::optional<Weights>& kept = kept_[group];
        if (!kept) {
            kept.emplace(plan(group), mesh_.place(), weight_memory(action.weight_slot));
            kept->set_agreed(); // all plans were compared in the beginning
            cast(masters_[group], *kept, 1.0, executor_);
        }
        detail::order_behind(mesh_.world(), executor_);
        WeightSlot& slot = weight_slots_[static_cast<std::size_t>(action.weight_slot)];
        slot.started = now();
        static_cast<void>(slot.gathering.emplace(gather(std::move(*kept), mesh_))); // nvcc asks
        kept.reset();
    }
    void finish_gather(const Action& action) {
        WeightSlot& slot = weight_slots_[static_cast<std::size_t>(action.weight_slot)];
        if (!slot.gathering)
            return; // forward and backward in a row
        const double start = now();
        slot.gathered.emplace(detail::wait_behind<Communicator>(*slot.gathering, executor_));
        slot.gathering.reset();
        const double end = now();
        seconds_.gather += end - start;
        record({Action::What::gather, action.group, -1, action.weight_slot}, Trace::Lane::communication,
               slot.started, end);
    }
    template <class Model>
    void compute(const Action& action, Model& model) {
        const Gathered& weights = *weight_slots_[static_cast<std::size_t>(action.weight_slot)].gathered;
        if (action.what == Action::What::forward)
            model.forward(action.group, action.round, weights);
        else
            model.backward(action.group, action.round, weights,
                           *gradient_slots_[static_cast<std::size_t>(action.gradient_slot)].partial);
        move_on();
    }
    /// Some engines move what is in flight only when they are asked.
    void move_on() const {
        if constexpr (has_done<Communicator> && !detail::on_stream<Communicator, E>) {
            for (const WeightSlot& slot : weight_slots_)
                if (slot.gathering)
                    static_cast<void>(slot.gathering->done());
            for (const GradientSlot& slot : gradient_slots_)
                if (slot.reducing)
                    static_cast<void>(slot.reducing->done());
        }
    }
    void release_weights(const Action& action) {
        std::optional<Gathered>& gathered =
            weight_slots_[static_cast<std::size_t>(action.weight_slot)].gathered;
        if (!options_.schedule.reshard) // the slot stays this group's, and the optimizer writes to it
            kept_[static_cast<std::size_t>(action.group)].emplace(release(std::move(*gathered)));
        gathered.reset();
    }

    void clear(const Action& action) {
        std::optional<Partial>& partial =
            gradient_slots_[static_cast<std::size_t>(action.gradient_slot)].partial;
        partial.emplace(plan(static_cast<std::size_t>(action.group)), mesh_.place(),
                        gradient_memory(action.gradient_slot));
        partial->set_agreed();
        zero(*partial, executor_);
    }
    void start_reduce(const Action& action) {
        GradientSlot& slot = gradient_slots_[static_cast<std::size_t>(action.gradient_slot)];
        detail::order_behind(mesh_.world(), executor_);
        slot.started = now();
        static_cast<void>(slot.reducing.emplace(reduce(std::move(*slot.partial), mesh_)));
        slot.partial.reset();
    }
    void accumulate(const Action& action) {
        const auto group = static_cast<std::size_t>(action.group);
        GradientSlot& slot = gradient_slots_[static_cast<std::size_t>(action.gradient_slot)];
        const auto reduced = detail::wait_behind<Communicator>(*slot.reducing, executor_);
        slot.reducing.reset();
        record({Action::What::reduce, action.group, action.round, -1, action.gradient_slot},
               Trace::Lane::communication, slot.started, now());
        if (accumulated_[group])
            add(reduced, gradients_[group], executor_);
        else
            cast(reduced, gradients_[group], 1.0, executor_); // spares clearing them
        accumulated_[group] = true;
    }

    void find_norm() {
        const Memory memory = part(memory_.buffers.size() - 1);
        auto* const digits = static_cast<double*>(memory.data());
        executor_.zero(digits, memory.bytes());
        for (const Gradient& gradient : gradients_)
            exact_sum_of_squares(gradient, digits, executor_);
        detail::order_behind(mesh_.world(), executor_);
        auto reduced = mesh_.template along<"shard">().all_reduce(digits, exact_sum::num_digits);
        detail::wait_behind<Communicator>(reduced, executor_);
        double sum[exact_sum::num_digits];
        executor_.fetch(sum, digits, memory.bytes());
        result_.gradient_norm = std::sqrt(exact_sum::rounded(sum)) / loss_scale();
    }
    template <class Optimizer>
    void update(Optimizer& optimizer) {
        result_.updated = std::isfinite(result_.gradient_norm);
        const double limit = options_.max_norm > 0 && result_.gradient_norm > options_.max_norm
                                 ? options_.max_norm / result_.gradient_norm
                                 : 1.0;
        if (result_.updated) {
            parameters_.clear();
            for (std::size_t group = 0; group < masters_.size(); ++group)
                parameters_.push_back(
                    {&gradients_[group], &masters_[group], kept_[group] ? &*kept_[group] : nullptr});
            optimizer.update(std::span<const Parameters<T, Topology, PlanType>>(parameters_),
                             limit / loss_scale());
        }
        options_.loss_scale.update(result_.updated);
    }

    /// Nothing is in flight any more, but where an engine holds on to its memory.
    void abandon() noexcept {
        for (WeightSlot& slot : weight_slots_)
            slot.gathering.reset();
        for (GradientSlot& slot : gradient_slots_)
            slot.reducing.reset();
        if (detail::holds_memory(mesh_.world()))
            detail::keep(arena_);
    }

    const BasicModelPlan<PlanType>& model_;
    MeshType& mesh_;
    const E& executor_;
    StepOptions options_;
    Schedule schedule_;
    StepMemory memory_;
    std::shared_ptr<Memory> arena_;
    std::vector<Master> masters_;
    std::vector<Gradient> gradients_;
    std::vector<std::optional<Weights>> kept_; // by group: weights that hold the masters' values
    std::vector<WeightSlot> weight_slots_;
    std::vector<GradientSlot> gradient_slots_;
    std::vector<bool> accumulated_; // by group: in this run
    std::vector<Parameters<T, Topology, PlanType>> parameters_;
    StepResult result_;
    StepSeconds seconds_;
    Trace trace_;
    bool failed_ = false;
};

/// Make the step of a model ready on this rank. Collective and blocking: ranks compare plans and options.
/// @param memory  gives everything at once: step.memory().bytes()
/// @throws what ShardedStep's constructor throws
template <element T, class PlanType, class Topology, class Communicator, memory_resource R,
          group_executor E = HostExecutor>
ShardedStep<T, Topology, Communicator, PlanType, E>
make_step(const BasicModelPlan<PlanType>& model, Mesh<Topology, Communicator>& mesh, R& memory,
          const StepOptions& options = {}, const E& executor = detail::host_executor) {
    return {model, mesh, memory, options, executor};
}
/// A step would outlive a temporary plan.
template <element T, class PlanType, class Topology, class Communicator, memory_resource R, class... More>
void make_step(const BasicModelPlan<PlanType>&& model, Mesh<Topology, Communicator>& mesh, R& memory,
               const More&... more) = delete;

} // namespace ragged
