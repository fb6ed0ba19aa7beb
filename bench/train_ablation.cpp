// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a training step loses without each of its two ideas, after Table 2 of the veScale-FSDP paper (arXiv
// 2602.22437): a small GPT with bf16 weights and 8-bit Adam on ranks that are threads, one micro-batch each.
//
// Without zero copy every tensor is an array of its own, as in FSDP2: shards are copied into the buffer of a
// gather and tensors out of it, and gradients into the buffer of a reduction. Without a planner the tensors
// of a group lie one behind the other and equal shards cut blocks, as in FSDP1 and ZeRO: for an update
// gradients are redistributed to where blocks are whole, and masters back.
//
// All take turns in one run and must end with the same masters, bit for bit. Prints Markdown tables: medians
// of what a step takes on average of its ranks; CPU time tells more where others use the machine too.
//
//     train_ablation [RANKS]...     by default 2 and 4
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib> // std::atoi
#include <cstring> // std::memcpy, std::memcmp
#include <ctime>   // std::clock
#include <deque>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility> // std::exchange, std::declval
#include <vector>

#include <ragged/comm/local_communicator.hpp>
#include <ragged/optim/adam8bit.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/policy/comparison.hpp>
#include <ragged/redistribute/buffers.hpp>
#include <ragged/step/sharded_step.hpp>
#include <ragged/view/shard_view.hpp>

#include "../examples/support/gpt.hpp"
#include "../examples/support/product.hpp"
#include "support/median.hpp"

namespace {

using Grid = ragged::Topology<ragged::Axis<"shard">>;
using Mesh = ragged::Mesh<Grid, ragged::LocalCommunicator>;
using Step = ragged::ShardedStep<ragged::bf16, Grid, ragged::LocalCommunicator>;
using Model = support::Gpt<support::Product>;
using Parameters = ragged::Parameters<ragged::bf16, Grid>;
using Gathered = ragged::DBuffer<ragged::bf16, Grid, ragged::state::Gathered>;
using Partial = ragged::DBuffer<float, Grid, ragged::state::Partial>;

constexpr int rounds = 51;
constexpr std::int64_t sequences = 4; // of a micro-batch
constexpr std::uint64_t seed = 1;
constexpr support::GptShape shape;
ragged::HostResource memory;

double now() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Bytes that this rank has read from others.
std::int64_t received_bytes(Mesh& mesh) {
    return mesh.world().received_bytes() + mesh.along(0).received_bytes();
}

/// For what a step of ours does not do; in all.
struct Spent {
    double seconds = 0;
    std::int64_t copied_bytes = 0;
};

/// Hands a model an array per tensor. Sums take no further copy: any step adds them to its own.
class CopyingModel {
  public:
    CopyingModel(Model& model, const ragged::ModelPlan& plans, const Mesh& mesh)
        : model_(model) {
        for (const ragged::Plan& plan : plans.groups)
            shards_.resize(std::max(shards_.size(), static_cast<std::size_t>(plan.padded_elements())));
        slot_ = ragged::Memory(memory, shards_.size() * sizeof(ragged::bf16));
        for (const ragged::Plan& plan : plans.groups) {
            weights_.push_back(
                ragged::DBuffer<ragged::bf16, Grid>(
                    plan, mesh, ragged::Memory::adopt(slot_.data(), slot_.bytes(), slot_.space()))
                    .into<ragged::state::Gathered>());
            gradients_.emplace_back(plan, mesh, memory);
        }
    }

    /// Not to be measured: this model adds to its gradients, FSDP2's writes them.
    void begin_step() {
        current_ = -1;
        for (Partial& gradients : gradients_)
            ragged::zero(gradients);
    }
    void forward(std::int64_t group, std::int64_t round, const Gathered& weights) {
        model_.forward(group, round, copied(group, weights));
    }
    void backward(std::int64_t group, std::int64_t round, const Gathered& weights, Partial& gradients) {
        const Gathered& own = copied(group, weights);
        Partial& contributions = gradients_[static_cast<std::size_t>(group)];
        model_.backward(group, round, own, contributions);
        const double start = now();
        for (std::size_t tensor = 0; tensor < gradients.plan().tensors.size(); ++tensor)
            copy(ragged::view(contributions, tensor).flat(), ragged::view(gradients, tensor).data());
        spent_.seconds += now() - start;
    }
    const Spent& spent() const { return spent_; }

  private:
    /// The tensors of a group that was gathered. A step casts masters right into the buffer of the gather, so
    /// shards are copied behind it, and out instead of in: as many bytes.
    const Gathered& copied(std::int64_t group, const Gathered& weights) {
        const Gathered& own = weights_[static_cast<std::size_t>(group)];
        if (std::exchange(current_, group) == group)
            return own; // forward and backward in a row
        const double start = now();
        ragged::bf16* shards = shards_.data();
        for (std::size_t tensor = 0; tensor < own.plan().tensors.size(); ++tensor) {
            const auto piece = ragged::shard(weights, tensor);
            copy(piece.flat(), shards);
            shards += piece.elements();
            const auto& placed = own.plan().tensors[tensor];
            copy(ragged::view(weights, tensor).flat(), own.segment_data(placed.segment) + placed.offset);
        }
        spent_.seconds += now() - start;
        return own;
    }
    template <class T>
    void copy(std::span<T> from, std::remove_const_t<T>* to) {
        if (!from.empty())
            std::memcpy(to, from.data(), from.size_bytes());
        spent_.copied_bytes += static_cast<std::int64_t>(from.size_bytes());
    }

    Model& model_;
    ragged::Memory slot_; // of the weights in use
    std::vector<Gathered> weights_;
    std::vector<Partial> gradients_;
    std::vector<ragged::bf16> shards_;
    std::int64_t current_ = -1;
    Spent spent_;
};

/// 8-bit Adam for a step whose plan cuts blocks: it works over another plan, which does not.
class ExchangingAdam {
    using Layout = ragged::PlanLayout<ragged::Plan, Grid>;
    using Move = decltype(ragged::make_redistribution<float>(std::declval<Layout>(), std::declval<Layout>(),
                                                             std::declval<Mesh&>(), memory));
    struct Group {
        Parameters::Master master;
        Parameters::Gradient gradient;
        Move there, back; // of gradients, of masters
    };

  public:
    ExchangingAdam(const ragged::ModelPlan& cut, const ragged::ModelPlan& whole, Mesh& mesh)
        : mesh_(mesh)
        , adam_(whole, mesh, memory) {
        for (std::size_t group = 0; group < whole.groups.size(); ++group) {
            const Layout from(cut.groups[group], mesh.place().topology);
            const Layout to(whole.groups[group], mesh.place().topology);
            groups_.push_back({Parameters::Master(whole.groups[group], mesh, memory),
                               Parameters::Gradient(whole.groups[group], mesh, memory),
                               ragged::make_redistribution<float>(from, to, mesh, memory),
                               ragged::make_redistribution<float>(to, from, mesh, memory)});
            parameters_.push_back({&groups_.back().gradient, &groups_.back().master});
        }
    }

    Parameters::Master& master(std::size_t group) { return groups_[group].master; }

    void update(std::span<const Parameters> parameters, double scale) {
        const std::span<const Parameters> own(parameters_);
        move(&Group::there, &Parameters::gradient, parameters, own);
        adam_.update(own, scale);
        move(&Group::back, &Parameters::master, own, parameters);
    }
    std::int64_t state_bytes() const { return adam_.state_bytes(); }
    std::int64_t memory_bytes() const { return adam_.memory_bytes(); }
    const Spent& spent() const { return spent_; }

  private:
    /// All groups at once: what is not received is copied.
    template <class Buffer>
    void move(Move Group::*how, Buffer* Parameters::*what, std::span<const Parameters> from,
              std::span<const Parameters> to) {
        const double start = now();
        const std::int64_t received = received_bytes(mesh_);
        std::vector<Move::Handle> moving;
        for (std::size_t group = 0; group < groups_.size(); ++group) {
            const Buffer& destination = *(to[group].*what);
            moving.push_back((groups_[group].*how)
                                 .start((from[group].*what)->segment_data(0), destination.segment_data(0)));
            spent_.copied_bytes += static_cast<std::int64_t>(destination.bytes());
        }
        for (Move::Handle& each : moving)
            each.wait();
        spent_.copied_bytes -= received_bytes(mesh_) - received;
        spent_.seconds += now() - start;
    }

    Mesh& mesh_;
    ragged::Adam8bit<Grid> adam_;
    std::deque<Group> groups_; // pointers to its members stay
    std::vector<Parameters> parameters_;
    Spent spent_;
};

/// What a step took of a rank.
enum Column { all, cpu, gather, compute, copies, reduce, exchange, update, copied, received, num_columns };
using Sample = std::array<double, num_columns>; // seconds, at the end bytes

/// How the ways to train differ.
struct Way {
    const char* name;
    bool zero_copy, planned;
};
constexpr Way ways[] = {{"both", true, true},
                        {"without zero copy", false, true},
                        {"without the planner", true, false},
                        {"neither", false, false}};

struct Plans {
    ragged::ModelPlan whole, cut;
    std::int64_t blocks_cut = 0;

    explicit Plans(int ranks) {
        ragged::ModelSpec spec = support::gpt_spec(shape);
        const ragged::PlanOptions options{.planes = {ragged::DType::f32, ragged::DType::u8}};
        whole = ragged::make_plan(spec, ranks, ragged::policy::Exact{.order = ragged::policy::Order::search},
                                  options);
        for (const ragged::Plan& plan :
             ragged::make_plan(spec, ranks, ragged::policy::Concatenate{}, options).groups)
            blocks_cut += plan.violations.blocks_cut;
        for (ragged::GroupSpec& group : spec.groups)
            for (ragged::TensorSpec& tensor : group.tensors)
                tensor.block = ragged::elements(1); // which that policy does not cut
        cut = ragged::make_plan(spec, ranks, ragged::policy::Concatenate{}, options);
    }
};

/// One way to train, on one rank.
class Training {
  public:
    Training(const Way& way, const Plans& plans, const support::TextWindows& text, Mesh& mesh)
        : mesh_(mesh)
        , plan_(way.planned ? plans.whole : plans.cut)
        , step_(ragged::make_step<ragged::bf16>(plan_, mesh, memory, {.max_norm = 1}))
        , model_(shape, {mesh.world().rank(), mesh.world().size(), mesh.world().size(), sequences}, text) {
        if (!way.zero_copy)
            copying_.emplace(model_, plan_, mesh);
        if (way.planned)
            adam_.emplace(plans.whole, mesh, memory);
        else
            exchanging_.emplace(plans.cut, plans.whole, mesh);
        for (std::size_t group = 0; group < plan_.groups.size(); ++group) {
            fill(step_.master(static_cast<std::int64_t>(group)));
            if (exchanging_)
                fill(exchanging_->master(group));
        }
    }

    /// What a step took, on average of the ranks. Collective.
    Sample step(std::int64_t number) {
        ragged::LocalCommunicator& world = mesh_.world();
        model_.begin_step(number);
        if (copying_)
            copying_->begin_step();
        world.barrier().wait();
        Sample sample = spent();
        const auto run = [&](auto& model, auto& optimizer) { step_.run(model, optimizer); };
        const auto run_model = [&](auto& model) {
            exchanging_ ? run(model, *exchanging_) : run(model, *adam_);
        };
        copying_ ? run_model(*copying_) : run_model(model_);
        world.barrier().wait();
        const Sample end = spent();
        for (std::size_t i = 0; i < sample.size(); ++i)
            sample[i] = (end[i] - sample[i]) / world.size();
        world.all_reduce(sample.data(), num_columns).wait();
        return sample;
    }

    /// Of all ranks, in the order of the model. Collective.
    std::vector<float> masters() const {
        std::vector<float> values;
        for (std::size_t group = 0; group < plan_.groups.size(); ++group) {
            ragged::DBuffer<float, Grid> buffer(plan_.groups[group], mesh_, memory);
            ragged::cast(step_.master(static_cast<std::int64_t>(group)), buffer);
            const auto gathered = ragged::gather(std::move(buffer), mesh_).wait();
            for (const ragged::PlacedTensor& tensor : plan_.groups[group].tensors) {
                const auto flat = ragged::view(gathered, tensor.spec.name).flat();
                values.insert(values.end(), flat.begin(), flat.end());
            }
        }
        return values;
    }

  private:
    static void fill(Step::Master& master) {
        for (const ragged::PlacedTensor& tensor : master.plan().tensors) {
            const support::InitialValues values(seed, shape, master.plan().name, tensor.spec.name);
            const auto piece = ragged::shard(master, tensor.spec.name);
            for (std::int64_t i = 0; i < piece.elements(); ++i)
                piece[i] = values(piece.first() + i);
        }
    }

    /// Since the training was made.
    Sample spent() const {
        const ragged::StepSeconds& step = step_.seconds();
        const Spent copies = copying_ ? copying_->spent() : Spent{};
        const Spent exchange = exchanging_ ? exchanging_->spent() : Spent{};
        return {now(),
                static_cast<double>(std::clock()) / CLOCKS_PER_SEC / mesh_.world().size(),
                step.gather,
                step.compute - copies.seconds,
                copies.seconds,
                step.reduce,
                exchange.seconds,
                step.optimizer - exchange.seconds,
                static_cast<double>(copies.copied_bytes + exchange.copied_bytes),
                static_cast<double>(received_bytes(mesh_))};
    }

    Mesh& mesh_;
    const ragged::ModelPlan& plan_;
    Step step_;
    Model model_;
    std::optional<CopyingModel> copying_;
    std::optional<ragged::Adam8bit<Grid>> adam_;
    std::optional<ExchangingAdam> exchanging_;
};

void print(int ranks, const Plans& plans, const std::vector<Sample> (&samples)[std::size(ways)]) {
    std::printf("%d ranks, %lld parameters; without the planner %lld blocks are cut\n\n"
                "| way | ms | of both | CPU ms | of both | tokens/s | copied MiB | received MiB | padding %% "
                "| gather ms | compute | "
                "copies | reduce | exchange | update "
                "|\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
                ranks, static_cast<long long>(plans.whole.elements()),
                static_cast<long long>(plans.blocks_cut));
    for (std::size_t way = 0; way < std::size(ways); ++way) {
        const auto median = [&](Column column) {
            std::vector<double> values;
            for (const Sample& sample : samples[way])
                values.push_back(sample[column]);
            return bench::median(values);
        };
        const auto ratio = [&](Column column) { // within a round: its ways saw the same disturbances
            std::vector<double> values;
            for (std::size_t round = 0; round < samples[way].size(); ++round)
                values.push_back(samples[way][round][column] / samples[0][round][column]);
            return bench::median(values);
        };
        std::printf("| %s | %.2f | %.3f | %.2f | %.3f | %.0f | %.2f | %.2f | %.2f |", ways[way].name,
                    median(all) * 1e3, ratio(all), median(cpu) * 1e3, ratio(cpu),
                    static_cast<double>(ranks * sequences * shape.context) / median(all),
                    median(copied) / (1 << 20), median(received) / (1 << 20),
                    100 * (ways[way].planned ? plans.whole : plans.cut).padding_ratio());
        for (const Column part : {gather, compute, copies, reduce, exchange, update})
            std::printf(" %.2f |", median(part) * 1e3);
        std::printf("\n");
    }
    std::printf("\n");
    std::fflush(stdout);
}

/// @throws ragged::Error  two ways end with other masters
void measure(int ranks, const support::TextWindows& text) {
    const Plans plans(ranks);
    std::vector<Sample> samples[std::size(ways)];
    ragged::run_ranks(
        ranks,
        [&](ragged::LocalCommunicator world) {
            Mesh mesh(Grid(ranks), world);
            std::deque<Training> trainings;
            for (const Way& way : ways)
                trainings.emplace_back(way, plans, text, mesh);
            for (int round = -1; round < rounds; ++round) // the first one warms up
                for (std::size_t way = 0; way < std::size(ways); ++way)
                    if (const Sample sample = trainings[way].step(round + 1); round >= 0 && world.rank() == 0)
                        samples[way].push_back(sample);
            const std::vector<float> masters = trainings.front().masters();
            for (std::size_t way = 1; way < std::size(ways); ++way)
                if (const std::vector<float> others = trainings[way].masters();
                    std::memcmp(others.data(), masters.data(), masters.size() * sizeof(float)) != 0)
                    throw ragged::Error(
                        ragged::concat(ways[way].name, ": ends with other masters than with both"));
        },
        {.background = true});
    print(ranks, plans, samples);
}

} // namespace

int main(int count, char** arguments) {
    try {
        support::use_one_thread();
        constexpr const char* folders[] = {"bench", "examples", "include", "tests"};
        const support::TextWindows text(support::read_sources(RAGGED_SOURCE_DIR, folders), shape.context + 1,
                                        seed);
        std::printf("%sMedians of %d steps\n\n", std::string(support::product_left_out).c_str(), rounds);
        std::vector<int> worlds{2, 4};
        if (count > 1)
            worlds.clear();
        for (int i = 1; i < count; ++i)
            worlds.push_back(std::atoi(arguments[i]));
        for (const int ranks : worlds)
            measure(ranks, text);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "train_ablation: %s\n", error.what());
        return 1;
    }
}
