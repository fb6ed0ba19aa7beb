// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Many runs as one copy, for executors: how redistribution packs what it sends and unpacks what it gets. Made
// once, then used for any two arrays of any element type.
//
//     const auto table = executor.run_table(runs, memory);
//     executor.copy_runs(table, message, shard);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <ragged/core/error.hpp>
#include <ragged/core/integer.hpp>
#include <ragged/layout/copy_run.hpp>

namespace ragged {

class RunTable {
  public:
    /// @pre the runs do not overlap each other in the destination; in the source they may
    /// @throws BufferError  a number of a run is negative, or all elements do not fit 64 bits
    explicit RunTable(std::span<const CopyRun> runs) {
        for (std::size_t i = 0; i < runs.size(); ++i) {
            const CopyRun& run = runs[i];
            if (run.from < 0 || run.to < 0 || run.elements < 0)
                throw BufferError(concat("run ", i, " of ", runs.size(), " copies ", run.elements,
                                         " elements from ", run.from, " to ", run.to,
                                         ": these are not negative"));
            if (run.elements == 0)
                continue;
            runs_.push_back(run);
            elements_ = checked_add<BufferError>(elements_, run.elements, "elements of all runs");
        }
    }

    /// What a table of so many runs takes from a resource: nothing, it lies in host memory of its own.
    static constexpr std::int64_t resource_bytes(std::int64_t) { return 0; }

    /// As they were given, without the empty ones.
    const std::vector<CopyRun>& runs() const noexcept { return runs_; }
    /// Of all runs together.
    std::int64_t elements() const noexcept { return elements_; }

  private:
    std::vector<CopyRun> runs_;
    std::int64_t elements_ = 0;
};

} // namespace ragged
