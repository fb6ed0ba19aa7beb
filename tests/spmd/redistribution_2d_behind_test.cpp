// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Every pair of placements along one axis of two, where the other cuts what that leaves.
#include <doctest/doctest.h>

#include "support/redistribution_suite.hpp"

using namespace ragged;
using support::add_all;
using support::add_values;
using support::check_on_planes;
using support::List;
using support::On;

namespace {

template <class S>
using Rows = List<On<"s", S>, On<"r", Shard<0>>>;
template <class S>
using Columns = List<On<"s", S>, On<"r", Shard<1>>>;

} // namespace

TEST_CASE("along one axis, the other then cuts rows") {
    CHECK_NOTHROW(check_on_planes([](auto& suite) {
        add_all<Rows, Rows>(suite);
        add_values<Rows>(suite, Rows<Partial<>>{});
    }));
}

TEST_CASE("along one axis, the other then cuts columns") {
    CHECK_NOTHROW(check_on_planes([](auto& suite) {
        add_all<Columns, Columns>(suite);
        add_values<Columns>(suite, Columns<Partial<PartialOp::avg>>{});
    }));
}
