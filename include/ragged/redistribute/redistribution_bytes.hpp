// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a redistribution takes from its memory resource, known from the layouts alone, before there is one.
#pragma once

#include <cstdint>
#include <vector>

#include <ragged/group/host_executor.hpp>
#include <ragged/redistribute/stage.hpp>
#include <ragged/redistribute/steps.hpp>

namespace ragged {

struct RedistributionBytes {
    std::int64_t staging = 0; // messages and parts that must be packed
    std::int64_t tables = 0;  // the runs that the executor copies; none on a host

    constexpr std::int64_t all() const { return staging + tables; }
    constexpr bool operator==(const RedistributionBytes&) const = default;
};

/// What make_redistribution<T>(from, to, world, resource, executor) takes from the resource on `rank` of a
/// world of `num_ranks`. Local; takes nothing.
/// @throws PlanError  the layouts are not of the same tensors; BufferError  bytes beyond 64 bits
template <element T, group_executor E = HostExecutor, class From, class To>
RedistributionBytes redistribution_bytes(const From& from, const To& to, int rank, int num_ranks) {
    detail::require_group_layouts<From, To>();
    detail::require_values<From, To>();
    using Table = typename E::run_table_type;
    const detail::Stage before(from), after(to);
    detail::Program program(before, after, rank, num_ranks);
    RedistributionBytes bytes;
    const auto count = [&](const std::vector<CopyRun>& runs) {
        bytes.tables += Table::resource_bytes(static_cast<std::int64_t>(runs.size()));
    };
    detail::add_steps<detail::exchange_only>(program, before, after,
                                             [&](const detail::ProgramStep& step, const auto&... exchange) {
                                                 count(step.copy.runs);
                                                 (count(exchange.pack), ...);
                                             });
    count(program.finish().runs);
    bytes.staging = detail::staging_bytes_of<T>(program);
    return bytes;
}

} // namespace ragged
