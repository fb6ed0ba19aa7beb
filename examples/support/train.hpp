// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A training run on one rank of a mesh: plans, buffers, steps, and what is to be said about them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional> // std::less
#include <string>
#include <vector>

#include <ragged/comm/collectives.hpp>
#include <ragged/comm/mesh.hpp>
#include <ragged/group/flat.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/step/sharded_step.hpp>
#include <ragged/view/shard_view.hpp>

#include "gpt.hpp"
#include "product.hpp"
#include "train_optimizer.hpp"
#include "train_report.hpp"

namespace support {

using TrainGrid = ragged::Topology<ragged::Axis<"replica">, ragged::Axis<"shard">>;

/// Runs a model, and counts the bytes that it is handed anywhere but in one array: what was copied there.
template <class Model>
class InPlace {
  public:
    InPlace(Model& model, const void* array, std::int64_t bytes)
        : model_(model)
        , begin_(static_cast<const std::byte*>(array))
        , end_(begin_ + bytes) {}

    template <class Gathered>
    void forward(std::int64_t group, std::int64_t round, const Gathered& weights) {
        count(weights);
        model_.forward(group, round, weights);
    }
    template <class Gathered, class Partial>
    void backward(std::int64_t group, std::int64_t round, const Gathered& weights, Partial& gradients) {
        count(weights);
        count(gradients);
        model_.backward(group, round, weights, gradients);
    }

    std::int64_t bytes_elsewhere() const { return bytes_elsewhere_; }

  private:
    template <class Buffer>
    void count(const Buffer& buffer) {
        for (std::int64_t segment = 0; segment < buffer.num_segments(); ++segment) {
            const auto values = std::as_bytes(buffer.values(segment));
            const std::less<> before;
            if (before(values.data(), begin_) || before(end_, values.data() + values.size()))
                bytes_elsewhere_ += static_cast<std::int64_t>(values.size());
        }
    }

    Model& model_;
    const std::byte *begin_, *end_;
    std::int64_t bytes_elsewhere_ = 0;
};

/// Bytes that this rank has read along the axes of the mesh; 0 where the communicator does not count them.
template <class Mesh>
std::int64_t received_bytes(Mesh& mesh) {
    std::int64_t bytes = 0;
    if constexpr (requires { mesh.world().received_bytes(); })
        for (std::size_t axis = 0; axis < TrainGrid::num_axes; ++axis)
            bytes += mesh.along(axis).received_bytes();
    return bytes;
}

/// What received_bytes() grows by in a step that copies nothing: gathers of other ranks' regions, sums of
/// this rank's regions over all ranks, and the norm.
template <class Mesh>
std::int64_t needed_bytes(const Mesh& mesh, const ragged::ModelPlan& model, const ragged::Schedule& schedule,
                          std::int64_t weight_bytes) {
    const auto all_reduced = [](std::int64_t count, std::int64_t rank, std::int64_t ranks) {
        const auto start = [&](std::int64_t of) { return count / ranks * of + std::min(of, count % ranks); };
        const std::int64_t part = start(rank + 1) - start(rank);
        return (ranks - 1) * part + (count - part);
    };
    const TrainGrid& grid = mesh.place().topology;
    const std::int64_t shards = grid.template size<"shard">(), replicas = grid.template size<"replica">();
    std::int64_t bytes =
        8 * all_reduced(ragged::exact_sum::num_digits, mesh.place().template coordinate<"shard">(), shards);
    for (const ragged::Action& action : schedule.actions) {
        if (action.group < 0)
            continue;
        const ragged::Plan& plan = model.groups[static_cast<std::size_t>(action.group)];
        if (action.what == ragged::Action::What::gather)
            bytes += (plan.padded_elements() - plan.region_elems()) * weight_bytes;
        if (action.what != ragged::Action::What::reduce)
            continue;
        bytes += 4 * (shards - 1) * plan.region_elems();
        for (const auto& segment : plan.segments)
            bytes += 4 * all_reduced(segment.region_elems(0), mesh.place().template coordinate<"replica">(),
                                     replicas);
    }
    return bytes;
}

/// One run. Collective over the mesh.
/// @tparam T  what weights are gathered as
template <class T, class Communicator, class Memory>
class Training {
    using Mesh = ragged::Mesh<TrainGrid, Communicator>;

  public:
    /// @param memory  where communicated buffers are best; the optimizer's state lies in host memory
    Training(const TrainOptions& options, const TextWindows& text, Mesh& mesh, Memory memory)
        : options_(options)
        , mesh_(mesh)
        , memory_(std::move(memory))
        , plan_(ragged::make_plan(gpt_spec(shape_), mesh.place().topology.template size<"shard">(),
                                  ragged::policy::Exact{.order = ragged::policy::Order::search},
                                  {.planes = {ragged::DType::f32, ragged::DType::u8}}))
        , step_(ragged::make_step<T>(
              plan_, mesh, memory_,
              {.schedule = {.rounds = options.rounds()},
               .max_norm = 1,
               .trace_events =
                   options.trace ? num_trace_events(plan_.groups.size(), {.rounds = options.rounds()}) : 0}))
        , optimizer_(options.optimizer, plan_, mesh, optimizer_memory_)
        , model_(shape_, {mesh.place().rank, options.ranks, options.micro_batches, options.sequences}, text)
        , losses_(static_cast<std::size_t>(options.micro_batches)) {
        for (std::size_t group = 0; group < plan_.groups.size(); ++group) {
            auto& master = step_.master(static_cast<std::int64_t>(group));
            for (const auto& tensor : plan_.groups[group].tensors) {
                const InitialValues values(options.seed, shape_, plan_.groups[group].name, tensor.spec.name);
                const auto piece = ragged::shard(master, tensor.spec.name);
                for (std::int64_t i = 0; i < piece.elements(); ++i)
                    piece[i] = values(piece.first() + i);
            }
        }
    }

    /// @param progress  called with the number of steps done and the loss
    template <class Progress>
    TrainReport run(const Progress& progress) {
        TrainReport report;
        InPlace model(model_, step_.master(0).segment_data(0), step_.memory().bytes());
        std::int64_t first_allocations = 0, first_copied = 0;
        const auto start = std::chrono::steady_clock::now();
        for (std::int64_t step = 0; step < options_.steps; ++step) {
            const std::int64_t received = received_bytes(mesh_);
            optimizer_.set_progress(step, options_.steps);
            model_.begin_step(step, static_cast<float>(step_.loss_scale()));
            step_.run(model, optimizer_);
            copied_ += received_bytes(mesh_) - received -
                       (received_bytes_count ? needed_bytes(mesh_, plan_, step_.schedule(), sizeof(T)) : 0);
            report.losses.push_back(mean_loss());
            progress(step + 1, report.losses.back());
            if (step == 0)
                first_allocations = allocations(), first_copied = copied_ + model.bytes_elsewhere();
        }
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

        const std::int64_t tokens =
            options_.steps * options_.micro_batches * options_.sequences * shape_.context;
        report.tokens_per_second = static_cast<double>(tokens) / seconds;
        report.parameters = plan_.elements();
        report.padding_ratio = plan_.padding_ratio();
        const std::int64_t planned = step_.memory().bytes() + optimizer_.planned_bytes();
        const auto taken = static_cast<std::int64_t>(memory_.peak_bytes() + optimizer_memory_.peak_bytes());
        report.planned_peak_bytes = largest(planned);
        // A rank that took another amount than planned shows, whichever it is.
        const std::int64_t above = largest(taken - planned), below = largest(planned - taken);
        report.peak_bytes = report.planned_peak_bytes + (above > 0 ? above : -below);
        report.state_bytes = largest(optimizer_.state_bytes());
        report.steady_allocations = largest(allocations() - first_allocations);
        report.steady_copied_bytes = largest(copied_ + model.bytes_elsewhere() - first_copied);
        const ragged::StepSeconds& spent = step_.seconds();
        report.gather_seconds = spent.gather;
        report.compute_seconds = spent.compute;
        report.reduce_seconds = spent.reduce;
        report.optimizer_seconds = spent.optimizer;
        report.digest = digest();
        report.routing = optimizer_.routing();
        return report;
    }

    /// Of each rank, as JSON, on all of them. Collective; allocates.
    std::vector<std::string> traces() {
        const std::string own = ragged::trace_json(step_.trace());
        const std::int64_t room = largest(std::ssize(own));
        std::vector<std::uint8_t> all(static_cast<std::size_t>(room * options_.ranks),
                                      ' '); // which JSON skips
        std::copy(own.begin(), own.end(), all.begin() + room * mesh_.place().rank);
        mesh_.world().all_gather(all.data(), room).wait();
        std::vector<std::string> result;
        for (std::int64_t rank = 0; rank < options_.ranks; ++rank)
            result.emplace_back(all.begin() + room * rank, all.begin() + room * (rank + 1));
        return result;
    }

  private:
    static constexpr bool received_bytes_count = requires(const Communicator& communicator) {
        communicator.received_bytes();
    };

    /// Room for what the first steps do.
    static std::int64_t num_trace_events(std::size_t groups, const ragged::ScheduleOptions& schedule) {
        constexpr std::int64_t steps = 10;
        // an action and what it sets in motion
        return 2 * steps *
               std::ssize(ragged::make_schedule(static_cast<std::int64_t>(groups), schedule).actions);
    }

    std::int64_t allocations() const {
        return static_cast<std::int64_t>(memory_.allocations() + optimizer_memory_.allocations());
    }

    /// Of all ranks. Sums are exact: each micro-batch has its loss on one rank, and 0 on the others.
    double mean_loss() {
        const auto own = model_.losses();
        std::copy(own.begin(), own.end(), losses_.begin());
        mesh_.world().all_reduce(losses_.data(), options_.micro_batches).wait();
        double sum = 0;
        for (const double loss : losses_)
            sum += loss;
        const double mean = sum / static_cast<double>(options_.micro_batches);
        if (!std::isfinite(mean))
            throw ragged::Error("the loss is not finite any more");
        return mean;
    }

    /// Of all ranks' numbers, which double holds exactly.
    std::int64_t largest(std::int64_t own) {
        auto value = static_cast<double>(own);
        mesh_.world().all_reduce(&value, 1, ragged::Reduction::max).wait();
        return static_cast<std::int64_t>(value);
    }

    /// Of the bits of all masters in the order of the model; it knows no ranks.
    std::string digest() {
        ragged::detail::Hash hash;
        for (std::size_t group = 0; group < plan_.groups.size(); ++group) {
            ragged::DBuffer<float, TrainGrid> buffer(plan_.groups[group], mesh_, memory_);
            ragged::cast(std::as_const(step_).master(static_cast<std::int64_t>(group)), buffer);
            const auto gathered = ragged::gather(std::move(buffer), mesh_).wait();
            for (const auto& tensor : plan_.groups[group].tensors)
                for (const float x : ragged::view(gathered, tensor.spec.name).flat())
                    hash.add(static_cast<std::int64_t>(ragged::bit_cast<std::uint32_t>(x)));
        }
        constexpr std::string_view digits = "0123456789abcdef";
        std::string text;
        for (int shift = 60; shift >= 0; shift -= 4)
            text += digits[static_cast<std::size_t>(hash.value() >> shift & 15)];
        return text;
    }

    const TrainOptions& options_;
    Mesh& mesh_;
    GptShape shape_;
    ragged::CountingResource<Memory> memory_;
    ragged::CountingResource<> optimizer_memory_;
    ragged::ModelPlan plan_;
    ragged::ShardedStep<T, TrainGrid, Communicator> step_;
    TrainOptimizer<TrainGrid, Communicator> optimizer_;
    Gpt<Product> model_;
    std::vector<double> losses_; // [micro_batches]
    std::int64_t copied_ = 0;
};

} // namespace support
