// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The optimizer that the command line names, as one type: a step is compiled once for all of them.
#pragma once

#include <algorithm> // std::min
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

#include <ragged/comm/mesh.hpp>
#include <ragged/group/piece_table.hpp>
#include <ragged/optim/adam8bit.hpp>
#include <ragged/optim/adamw.hpp>
#include <ragged/optim/muon.hpp>
#include <ragged/optim/shampoo.hpp>
#include <ragged/plan/model_plan.hpp>

#include "product.hpp"

namespace support {

template <class Topology, class Communicator>
class TrainOptimizer {
    using Mesh = ragged::Mesh<Topology, Communicator>;
    using AdamW = ragged::AdamW<Topology>;
    using Adam8bit = ragged::Adam8bit<Topology>;
    using Muon = ragged::Muon<Topology, Communicator, ragged::Plan, Product>;
    using Shampoo = ragged::Shampoo<Topology, ragged::Plan, Product>;
    using Any = std::variant<AdamW, Adam8bit, Muon, Shampoo>;

  public:
    /// Collective. @param name  adamw, adam8bit, muon or shampoo
    template <class Memory>
    TrainOptimizer(std::string_view name, const ragged::ModelPlan& model, Mesh& mesh, Memory& memory)
        : planned_bytes_(planned(name, model, mesh.place()))
        , chosen_(make(name, model, mesh, memory)) {}

    /// The learning rate rises over the first steps and falls over all of them. Of 2e-3, 3e-3, 4e-3, 6e-3 and
    /// 9e-3, AdamW learns best at 4e-3 to 6e-3, and Muon at three times that.
    void set_progress(std::int64_t step, std::int64_t steps) {
        const auto share = [](std::int64_t part, std::int64_t whole) {
            return static_cast<double>(part) / static_cast<double>(whole);
        };
        const std::int64_t rising = std::min<std::int64_t>(steps / 10 + 1, 20);
        const double rate = 4e-3 * std::min(share(step + 1, rising), 1.0) * (1 - 0.9 * share(step, steps));
        std::visit(
            [rate](auto& optimizer) {
                optimizer.options.learning_rate = rate;
                if constexpr (requires { optimizer.options.adamw; }) { // of matrices, and of the rest
                    optimizer.options.learning_rate = 3 * rate;
                    optimizer.options.adamw.learning_rate = rate;
                }
            },
            chosen_);
    }

    template <class T>
    void update(std::span<const ragged::Parameters<T, Topology>> parameters, double scale) {
        std::visit([&](auto& optimizer) { optimizer.update(parameters, scale); }, chosen_);
    }
    std::int64_t state_bytes() const {
        return std::visit([](const auto& optimizer) { return optimizer.state_bytes(); }, chosen_);
    }
    std::int64_t memory_bytes() const {
        return std::visit([](const auto& optimizer) { return optimizer.memory_bytes(); }, chosen_);
    }
    /// What memory_bytes() was going to be, from the plans alone.
    std::int64_t planned_bytes() const { return planned_bytes_; }
    /// Which tensor goes where, as a table; empty where all go one way.
    std::string routing() const {
        return std::visit(
            [](const auto& optimizer) {
                if constexpr (requires { optimizer.routing(); })
                    return ragged::to_string(optimizer.routing());
                else
                    return std::string();
            },
            chosen_);
    }

  private:
    static constexpr ragged::AdamWOptions adamw{.beta2 = 0.95, .weight_decay = 0.1};

    template <class Memory>
    static Any make(std::string_view name, const ragged::ModelPlan& model, Mesh& mesh, Memory& memory) {
        if (name == "adam8bit")
            return Any(std::in_place_type<Adam8bit>, model, mesh.place(), memory, adamw);
        if (name == "muon")
            return Any(std::in_place_type<Muon>, model, mesh, memory, ragged::MuonOptions{.adamw = adamw},
                       Product{});
        if (name == "shampoo")
            return Any(std::in_place_type<Shampoo>, model, mesh.place(), memory,
                       ragged::ShampooOptions{.adamw = adamw}, Product{});
        return Any(std::in_place_type<AdamW>, model, mesh.place(), memory, adamw);
    }
    static std::int64_t planned(std::string_view name, const ragged::ModelPlan& model,
                                const ragged::Place<Topology>& place) {
        if (name == "muon")
            return Muon::planned_bytes(model, place);
        if (name == "shampoo")
            return Shampoo::planned_bytes(model, place);
        constexpr ragged::DType full[] = {ragged::DType::f32, ragged::DType::f32};
        constexpr ragged::DType codes[] = {ragged::DType::i8, ragged::DType::u8};
        std::int64_t bytes = 0;
        for (const ragged::Plan& plan : model.groups)
            if (name == "adam8bit") // and two scales per block
                bytes += plan.peak_bytes(codes, {}) +
                         8 * ragged::PieceTable(plan, place.template coordinate<"shard">()).num_blocks();
            else
                bytes += plan.peak_bytes(full, {});
        return bytes;
    }

    std::int64_t planned_bytes_;
    Any chosen_;
};

} // namespace support
