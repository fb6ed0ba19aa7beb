// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Every pair of placements along one axis of two, where the other replicates.
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
using Held = List<On<"r", Replicate>, On<"s", S>>;

} // namespace

TEST_CASE("along one axis, the other replicates") {
    CHECK_NOTHROW(check_on_planes([](auto& suite) {
        add_all<Held, Held>(suite);
        add_values<Held>(suite, Held<Partial<>>{});
        add_values<Held>(suite, Held<Partial<PartialOp::avg>>{});
        add_values<Held>(suite, Held<Partial<PartialOp::max>>{});
    }));
}
