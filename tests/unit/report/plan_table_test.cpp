// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <sstream>

#include <ragged/report/plan_table.hpp>

#include "support/expect.hpp"

using support::contains;
namespace detail = ragged::detail;

namespace {

ragged::ModelSpec model() {
    ragged::ModelSpec result{"m", {}};
    for (const char* name : {"layers.0", "layers.1", "layers.2"})
        result.groups.push_back({name, {{"w", {40, 100}, ragged::rows(16)}, {"b", {100}}}});
    result.groups.push_back({"head", {{"v", {640}}}});
    return result;
}

} // namespace

TEST_CASE("numbers for people") {
    CHECK(detail::grouped(0) == "0");
    CHECK(detail::grouped(999) == "999");
    CHECK(detail::grouped(1000) == "1,000");
    CHECK(detail::grouped(1234567) == "1,234,567");
    CHECK(detail::human_bytes(1023) == "1023 B");
    CHECK(detail::human_bytes(1536) == "1.50 KiB");
    CHECK(detail::percent(0.0123456) == "1.235 %");
    CHECK(detail::percent(2.5) == "250.0 %");
    CHECK(detail::shortened("abcdefghij", 10) == "abcdefghij");
    CHECK(detail::shortened("abcdefghijk", 10) == "...efghijk");
}

TEST_CASE("equal groups share a line, and the totals count every group") {
    std::ostringstream out;
    ragged::write_table(out, ragged::make_plan(model(), 4));
    CHECK(contains(out.str(), "plan of m on 4 devices: 4 groups, 12,940 elements"));
    CHECK(contains(out.str(), "layers.0 .. layers.2 (3)"));
    CHECK(contains(out.str(), "head"));
    CHECK_FALSE(contains(out.str(), "layers.1"));
}

TEST_CASE("the explanation names the tensor, its granularity and other layouts") {
    std::ostringstream out;
    ragged::write_explanation(out, ragged::make_plan(model(), 4));
    CHECK(contains(out.str(), "S is set by w 40x100, cut in steps of 1,600 elements (rows:16)"));
    CHECK(contains(out.str(), "nothing forces S"));
    for (const char* layout : {"ragged, exact", "ZeRO, FSDP1", "FSDP2", "Megatron-FSDP", "concatenation"})
        CHECK(contains(out.str(), layout));
}

TEST_CASE("a model without groups, and a group without tensors, have a table") {
    std::ostringstream out;
    ragged::write_table(out, ragged::make_plan(ragged::ModelSpec{"empty", {}}, 4));
    ragged::write_explanation(out, ragged::make_plan(ragged::ModelSpec{"hollow", {{"g", {}}}}, 4));
    CHECK(contains(out.str(), "plan of empty"));
}
