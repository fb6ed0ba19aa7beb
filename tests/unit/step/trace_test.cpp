// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <ragged/step/trace.hpp>

#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/expect.hpp"

using ragged::Trace;

TEST_CASE("a trace is JSON with one process per rank and one thread per lane") {
    std::vector<std::string> ranks;
    for (std::int64_t rank = 0; rank < 3; ++rank) {
        Trace trace(rank, 4);
        trace.add("forward \"odd\\name\"", Trace::Lane::compute, 1.5, 2.0);
        trace.add("gather", Trace::Lane::communication, 1.25, 1.75);
        ranks.push_back(ragged::trace_json(trace));
    }
    std::ostringstream out;
    ragged::write_trace(out, ranks);
    const auto trace = ragged::Json::parse(out.str());
    const auto events = trace.at("traceEvents").items();
    REQUIRE(events.size() == 15);
    for (std::size_t rank = 0; rank < 3; ++rank) {
        const auto* event = &events[5 * rank];
        CHECK(event[0].at("ph").text() == "M");
        CHECK(event[0].at("args").at("name").text() == "rank " + std::to_string(rank));
        CHECK(event[1].at("args").at("name").text() == "compute");
        CHECK(event[2].at("args").at("name").text() == "communication");
        CHECK(event[3].at("name").text() == "forward \"odd\\name\"");
        CHECK(event[3].at("ph").text() == "X");
        CHECK(event[3].at("ts").number() == 1.5e6);
        CHECK(event[3].at("dur").number() == 0.5e6);
        CHECK(event[3].at("tid").integer() == event[1].at("tid").integer());
        CHECK(event[4].at("tid").integer() == event[2].at("tid").integer());
        for (int i = 0; i < 5; ++i)
            CHECK(event[i].at("pid").integer() == static_cast<std::int64_t>(rank));
    }
}

TEST_CASE("a trace keeps what fits and counts the rest, or nothing at all") {
    Trace trace(0, 2);
    for (int i = 0; i < 5; ++i)
        trace.add("event", Trace::Lane::compute, i, i + 1);
    CHECK(trace.events().size() == 2);
    CHECK(trace.lost() == 3);
    Trace off;
    off.add("event", Trace::Lane::compute, 0, 1);
    CHECK(!off.is_on());
    CHECK(off.events().empty());
    CHECK(off.lost() == 0);
}

TEST_CASE("a trace without ranks is JSON too; times must be finite") {
    std::ostringstream out;
    ragged::write_trace(out, {});
    CHECK(ragged::Json::parse(out.str()).at("traceEvents").items().empty());
    Trace trace(0, 1);
    trace.add("event", Trace::Lane::compute, 0, std::numeric_limits<double>::infinity());
    CHECK(support::contains(support::message_of([&] { ragged::trace_json(trace); }), "JSON has no number"));
}
