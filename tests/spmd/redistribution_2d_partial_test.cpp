// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Every pair of placements along one axis of two, where ranks of the other hold contributions.
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
using Reduced = List<On<"r", Replicate>, On<"s", S>>;
template <class S>
using Sums = List<On<"r", Partial<>>, On<"s", S>>;

} // namespace

TEST_CASE("along one axis, the other is reduced") {
    CHECK_NOTHROW(check_on_planes([](auto& suite) {
        add_all<Sums, Reduced>(suite);
        add_values<Reduced>(suite, Sums<Partial<>>{});
        add_values<Reduced>(suite, Sums<Partial<PartialOp::avg>>{});
    }));
}

TEST_CASE("along one axis, the other keeps its contributions") {
    CHECK_NOTHROW(check_on_planes([](auto& suite) {
        add_all<Sums, Sums>(suite);
        add_values<Sums>(suite, Sums<Partial<>>{});
    }));
}
