// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a redistribution takes is what was counted before, and staging memory can be given and shared.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <ragged/comm/local_communicator.hpp>
#include <ragged/plan/make_plan.hpp>
#include <ragged/plan/roots.hpp>
#include <ragged/plan/unequal_plan.hpp>
#include <ragged/redistribute/redistribution.hpp>
#include <ragged/redistribute/redistribution_bytes.hpp>

#include "support/expect.hpp"
#include "support/random_group.hpp"

using ragged::LocalCommunicator;
using support::expect;

namespace {

using Line = ragged::Topology<ragged::Axis<"shard">>;
using Ranks = ragged::Topology<ragged::Axis<"rank">>;

template <class From, class To>
std::int64_t check_pair(const From& from, const To& to, LocalCommunicator& world) {
    const auto counted = ragged::redistribution_bytes<float>(from, to, world.rank(), world.size());
    ragged::CountingResource<> memory;
    const auto move = ragged::make_redistribution<float>(from, to, world, memory);
    expect(counted.staging == move.staging_bytes() && counted.tables == 0, "staging bytes");
    expect(memory.live_bytes() == static_cast<std::size_t>(counted.all()), "bytes of the resource");
    return counted.staging;
}

} // namespace

TEST_CASE("bytes are those that are taken, to owners and between plans") {
    for (const int ranks : {1, 2, 3, 5})
        for (std::uint32_t seed = 0; seed < 12; ++seed) {
            CAPTURE(ranks);
            CAPTURE(seed);
            const ragged::GroupSpec group = support::random_group(seed);
            const auto plan = ragged::make_plan(group, ranks, {}, {.alignment_bytes = 16});
            const auto unequal = ragged::make_unequal_plan(group, ranks, {.alignment_bytes = 32});
            const ragged::PlanLayout a(plan, Line(ranks));
            const ragged::PlanLayout b(unequal, Line(ranks));
            const auto tasks = ragged::root_tasks(a);
            const auto owners =
                ragged::root_layout(tasks, ragged::choose_roots(tasks, ranks), Ranks(ranks), 8);
            CHECK_NOTHROW(ragged::run_ranks(ranks, [&](LocalCommunicator world) {
                check_pair(a, b, world);
                check_pair(a, owners, world);
                check_pair(owners, b, world);
            }));
        }
}

TEST_CASE("redistributions that do not run together share staging memory; too little is refused") {
    // columns to rows: every message is packed
    const auto cut = []<int Dim>(std::int64_t rows, ragged::Shard<Dim> kind) {
        return ragged::GroupLayout(
            ragged::TensorLayout(ragged::TensorSpec{"w", {rows, 6}}, Ranks(3), ragged::place<"rank">(kind)));
    };
    CHECK_NOTHROW(ragged::run_ranks(3, [&](LocalCommunicator world) {
        ragged::CountingResource<> memory;
        std::size_t bytes = 0;
        for (const std::int64_t rows : {6, 12})
            bytes = std::max(bytes, static_cast<std::size_t>(
                                        ragged::redistribution_bytes<float>(cut(rows, ragged::Shard<1>{}),
                                                                            cut(rows, ragged::Shard<0>{}),
                                                                            world.rank(), world.size())
                                            .staging));
        expect(bytes > 0, "something is packed");
        ragged::Memory staging(memory, bytes);
        const auto make = [&](std::int64_t rows, std::size_t given) {
            return ragged::make_redistribution<float>(
                cut(rows, ragged::Shard<1>{}), cut(rows, ragged::Shard<0>{}), world, memory,
                ragged::detail::host_executor, ragged::Memory::adopt(staging.data(), given, staging.space()));
        };
        const auto small = make(6, bytes), large = make(12, bytes);
        expect(memory.live_bytes() == bytes, "nothing else is taken");
        for (int turn = 0; turn < 2; ++turn)
            for (const auto* move : {&small, &large}) {
                const std::int64_t rows = move == &small ? 6 : 12;
                std::vector<float> columns(static_cast<std::size_t>(rows * 2)), found(columns.size());
                for (std::int64_t i = 0; i < rows; ++i)
                    for (std::int64_t j = 0; j < 2; ++j)
                        columns[static_cast<std::size_t>(i * 2 + j)] =
                            static_cast<float>(i * 6 + world.rank() * 2 + j);
                move->start(columns.data(), found.data()).wait();
                for (std::size_t i = 0; i < found.size(); ++i)
                    expect(found[i] ==
                               static_cast<float>(static_cast<std::size_t>(world.rank()) * found.size() + i),
                           "rows");
            }
        const std::string message = support::message_of([&] { make(12, bytes - 4); });
        expect(message == ragged::concat("a redistribution that stages ", bytes,
                                         " bytes in host memory is given ", bytes - 4, " in host memory"),
               message);
    }));
}
