// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// When each action of a step ran on one rank, to be looked at: written in the trace event format that
// chrome://tracing and Perfetto open, one process per rank, one thread per lane.
//
//     const std::string events = ragged::trace_json(step.trace());      // on every rank
//     ragged::write_trace(file, all_events);                            // on one
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/core/json.hpp>

namespace ragged {

/// Events of one rank. Memory is taken once; what does not fit is counted only.
class Trace {
  public:
    enum class Lane : std::uint8_t { compute, communication };

    struct Event {
        std::string name;
        Lane lane;
        double start; // seconds of a clock that all ranks share
        double end;
    };

    /// @param capacity  events; 0: nothing is recorded
    explicit Trace(std::int64_t rank = 0, std::int64_t capacity = 0)
        : rank_(rank)
        , capacity_(static_cast<std::size_t>(capacity)) {
        events_.reserve(capacity_);
    }

    bool is_on() const { return capacity_ > 0; }
    void add(std::string name, Lane lane, double start, double end) {
        if (events_.size() < capacity_)
            events_.push_back({std::move(name), lane, start, end});
        else
            ++lost_;
    }

    std::int64_t rank() const { return rank_; }
    const std::vector<Event>& events() const { return events_; }
    /// Events that came when there was no more room.
    std::int64_t lost() const { return is_on() ? lost_ : 0; }

  private:
    std::int64_t rank_;
    std::size_t capacity_;
    std::vector<Event> events_;
    std::int64_t lost_ = 0;
};

namespace detail {

constexpr std::string_view name(Trace::Lane lane) {
    return lane == Trace::Lane::compute ? "compute" : "communication";
}

} // namespace detail

/// The events of one rank as members of a JSON array, without its brackets; times in microseconds.
/// @throws JsonError  a time that is not finite
inline std::string trace_json(const Trace& trace) {
    std::string text = concat("{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":", trace.rank(),
                              ",\"args\":{\"name\":\"rank ", trace.rank(), "\"}}");
    for (const auto lane : {Trace::Lane::compute, Trace::Lane::communication})
        text +=
            concat(",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":", trace.rank(),
                   ",\"tid\":", static_cast<int>(lane), ",\"args\":{\"name\":\"", detail::name(lane), "\"}}");
    for (const Trace::Event& event : trace.events())
        text += concat(",\n{\"ph\":\"X\",\"name\":", json_string(event.name), ",\"pid\":", trace.rank(),
                       ",\"tid\":", static_cast<int>(event.lane), ",\"ts\":", json_number(event.start * 1e6),
                       ",\"dur\":", json_number((event.end - event.start) * 1e6), "}");
    return text;
}

/// One file for all ranks. @param ranks  trace_json of each
/// Source: the trace event format of Chromium's trace viewer, "JSON Object Format"
inline void write_trace(std::ostream& out, std::span<const std::string> ranks) {
    out << "{\"traceEvents\":[";
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
        out << (rank == 0 ? "\n" : ",\n") << ranks[rank];
    out << "\n]}\n";
}

} // namespace ragged
