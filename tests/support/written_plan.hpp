// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Plans as text, and a small one by hand that has everything the text may have.
#pragma once

#include <sstream>
#include <string>
#include <string_view>

#include <ragged/plan/make_plan.hpp>
#include <ragged/report/plan_json.hpp>

namespace support {

inline std::string written(const ragged::ModelPlan& model) {
    std::ostringstream out;
    ragged::write_json(out, model, {"search", 3, 0.25});
    return out.str();
}

struct Canned {
    static constexpr std::string_view name = "canned";
    ragged::Arrangement arrangement;
    ragged::Arrangement operator()(const ragged::PlanInput&) const { return arrangement; }
};

/// Shards of 40 bytes with a, s[1] and e, shards of 8 bytes with s[0] and b, on 2 devices; and an empty
/// group.
inline ragged::ModelPlan two_segments() {
    using ragged::DType;
    const ragged::GroupSpec group{"g",
                                  {{"a", {6, 10}, ragged::rows(1), DType::u8},
                                   {"s", {2, 8}, ragged::rows(1), DType::u8, 0, true},
                                   {"b", {8}, {}, DType::u8, 8},
                                   {"e", {0, 4}, ragged::tile({1, 2}), DType::u8, 0, true}}};
    const Canned policy{
        {.segments = {{40, 0}, {8, 1}}, .starts = {{0, 0}, {1, 0}, {0, 60}, {1, 8}, {0, 68}}}};
    const ragged::PlanOptions options{.alignment_bytes = 4};
    return {"m",
            {ragged::make_plan(group, 2, policy, options),
             ragged::make_plan(ragged::GroupSpec{"none", {}}, 2, ragged::policy::Exact{}, options)}};
}

} // namespace support
