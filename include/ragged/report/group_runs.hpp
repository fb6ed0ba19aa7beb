// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The groups of a model plan as a report shows them: once for each run of neighbours that differ in names
// only.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <ragged/plan/make_plan.hpp>
#include <ragged/report/text.hpp>

namespace ragged {

namespace detail {

/// Length of what the names of a group have in common, up to a dot. Reports leave it out.
inline std::size_t common_prefix(const Plan& plan) {
    if (plan.tensors.size() < 2)
        return 0;
    const std::string& first = plan.tensors.front().spec.name;
    std::size_t common = first.size();
    for (const PlacedTensor& tensor : plan.tensors) {
        const std::string& other = tensor.spec.name;
        const auto end = std::mismatch(first.begin(), first.end(), other.begin(), other.end());
        common = std::min(common, static_cast<std::size_t>(end.first - first.begin()));
    }
    const std::size_t dot = first.substr(0, common).rfind('.');
    return dot == std::string::npos ? 0 : dot + 1;
}

/// Neighbouring groups that differ in names only.
struct GroupRun {
    std::size_t first;
    std::size_t count;
};

inline bool same_arrangement(const Plan& a, const Plan& b) {
    return a.segments == b.segments &&
           std::equal(a.tensors.begin(), a.tensors.end(), b.tensors.begin(), b.tensors.end(),
                      [](const PlacedTensor& x, const PlacedTensor& y) {
                          return x.spec.shape == y.spec.shape && x.spec.block == y.spec.block &&
                                 x.spec.dtype == y.spec.dtype && x.offset == y.offset;
                      });
}

inline std::vector<GroupRun> group_runs(const ModelPlan& model) {
    std::vector<GroupRun> runs;
    for (std::size_t g = 0; g < model.groups.size(); ++g)
        if (!runs.empty() && same_arrangement(model.groups[runs.back().first], model.groups[g]))
            ++runs.back().count;
        else
            runs.push_back({g, 1});
    return runs;
}

inline std::string run_name(const ModelPlan& model, const GroupRun& run) {
    const std::string& first = model.groups[run.first].name;
    if (run.count == 1)
        return shortened(first, 32);
    return concat(shortened(first, 16), " .. ", shortened(model.groups[run.first + run.count - 1].name, 16),
                  " (", run.count, ")");
}

} // namespace detail

} // namespace ragged
