// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <array>
#include <csignal>
#include <numeric>

#include <ragged/comm/tcp_exchange.hpp>

#include "support/processes.hpp"

using namespace std::chrono_literals;
using ragged::TcpExchange;
using support::contains;
using support::expect;
using support::message_of;

namespace {

using Bytes = std::vector<std::uint8_t>;

/// Listens at a port that was free.
struct Listener {
    ragged::detail::Socket socket;
    int port = 0;

    Listener() {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        socket = ragged::detail::Socket(::socket(AF_INET, SOCK_STREAM, 0));
        socklen_t length = sizeof address;
        expect(::bind(socket.number(), reinterpret_cast<sockaddr*>(&address), length) == 0 &&
                   ::listen(socket.number(), 4) == 0 &&
                   ::getsockname(socket.number(), reinterpret_cast<sockaddr*>(&address), &length) == 0,
               "a free port");
        port = ntohs(address.sin_port);
    }
};

TcpExchange free_port(std::string job = "job") {
    return {"localhost", Listener().port, std::move(job)};
}

Bytes bytes_of_rank(int rank, std::size_t size) {
    Bytes bytes(size);
    if (rank == 0)
        std::iota(bytes.begin(), bytes.end(), std::uint8_t{1});
    return bytes;
}

void exchange_and_check(const TcpExchange& by, int rank, int ranks, std::size_t bytes = 128,
                        std::chrono::milliseconds timeout = 20s) {
    Bytes own = bytes_of_rank(rank, bytes);
    ragged::exchange(by, rank, ranks, own, timeout);
    expect(own == bytes_of_rank(0, bytes), "every rank has the bytes of rank 0");
}

/// A connection to rank 0, as soon as it listens.
ragged::detail::Socket caller(const TcpExchange& by) {
    const auto deadline = ragged::detail::TcpClock::now() + 10s;
    std::string problem;
    for (;;) {
        const auto addresses = ragged::detail::tcp_addresses(by.host.c_str(), by.port, 0, problem);
        for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
            auto socket = ragged::detail::Socket::of(*at);
            if (socket.connect(*at, deadline))
                return socket;
        }
        std::this_thread::sleep_for(1ms);
        expect(ragged::detail::TcpClock::now() < deadline, "rank 0 listens");
    }
}

} // namespace

TEST_CASE("every rank gets the bytes of rank 0, threads and processes, whoever comes first") {
    for (int ranks : {1, 2, 3, 8})
        for (int late : {0, ranks - 1}) {
            const TcpExchange by = free_port();
            const auto body = [&](int rank) {
                if (rank == late)
                    std::this_thread::sleep_for(30ms);
                exchange_and_check(by, rank, ranks);
            };
            CHECK(support::failures_of_processes(ranks, body) == 0);
            CHECK(support::errors_of_threads(ranks, body) ==
                  std::vector<std::string>(static_cast<std::size_t>(ranks)));
        }
}

TEST_CASE("more bytes than a socket takes at once") {
    const TcpExchange by = free_port();
    CHECK(support::errors_of_threads(3, [&](int rank) { exchange_and_check(by, rank, 3, 8'000'000); }) ==
          std::vector<std::string>(3));
}

TEST_CASE("signals do not end an exchange") {
    struct sigaction ignore {};
    ignore.sa_handler = [](int) {};
    expect(::sigaction(SIGUSR1, &ignore, nullptr) == 0, "a handler that restarts nothing");
    const TcpExchange by = free_port();
    CHECK(support::failures_of_processes(2, [&](int rank) {
              const pid_t self = ::getpid();
              std::thread disturb([self] {
                  for (int i = 0; i < 50; ++i) {
                      ::kill(self, SIGUSR1);
                      std::this_thread::sleep_for(2ms);
                  }
              });
              const std::string error = message_of([&] {
                  if (rank == 1)
                      std::this_thread::sleep_for(50ms);
                  exchange_and_check(by, rank, 2);
              });
              disturb.join();
              expect(error.empty(), error);
          }) == 0);
}

TEST_CASE("whoever else connects is turned away and holds nobody up") {
    const TcpExchange by = free_port();
    const auto right = ragged::detail::tcp_hello(by.job, 1, 3, 128);
    const auto said = [&](std::span<const std::uint8_t> text) {
        auto socket = caller(by);
        static_cast<void>(socket.send(text, ragged::detail::TcpClock::now() + 10s));
        return socket;
    };
    std::vector<ragged::detail::Socket> callers; // they stay until the end
    const auto errors = support::errors_of_threads(4, [&](int rank) {
        if (rank < 3)
            return exchange_and_check(by, rank == 0 ? 0 : (std::this_thread::sleep_for(100ms), rank), 3);
        callers.push_back(caller(by));                       // says nothing
        callers.push_back(said(std::span(right).first(17))); // says half
        { const auto gone = said(std::span(right).first(9)); }
        { const auto gone = caller(by); }
        const Bytes garbage(1000, 0x47);
        callers.push_back(said(garbage));
        for (const auto& wrong :
             {ragged::detail::tcp_hello("another", 1, 3, 128), ragged::detail::tcp_hello(by.job, 0, 3, 128),
              ragged::detail::tcp_hello(by.job, 3, 3, 128), ragged::detail::tcp_hello(by.job, 1, 4, 128),
              ragged::detail::tcp_hello(by.job, 1, 3, 127)}) {
            callers.push_back(said(wrong));
            std::array<std::uint8_t, 1> answer{};
            expect(!callers.back().receive(answer, ragged::detail::TcpClock::now() + 10s), "turned away");
        }
    });
    CHECK(errors == std::vector<std::string>(4));
}

TEST_CASE("ranks that do not come in time are named") {
    const TcpExchange by = free_port();
    const auto start = std::chrono::steady_clock::now();
    try {
        exchange_and_check(by, 0, 3, 128, 100ms);
        CHECK(false);
    } catch (const ragged::CommError& error) {
        CHECK(contains(error.what(), "within 100 ms from rank 1 2 of 3"));
        CHECK(error.rank() == 1);
    }
    const std::string none = message_of([&] { exchange_and_check(by, 2, 3, 128, 100ms); });
    CHECK(contains(none, "rank 2 of 3 got nothing from rank 0 at localhost:" + std::to_string(by.port) +
                             " within 100 ms: Connection refused"));
    CHECK(contains(message_of([&] {
                       exchange_and_check({"no.such.host.invalid", 1}, 1, 2, 128, 10ms);
                   }),
                   "no.such.host.invalid:1"));
    CHECK(std::chrono::steady_clock::now() - start < 20s);

    const auto errors = support::errors_of_threads(3, [&](int rank) {
        if (rank != 1)
            exchange_and_check(by, rank, 3, 128, 1s);
    });
    CHECK(contains(errors[0], "from rank 1 of 3"));
    CHECK(errors[2] == ""); // it has what it came for
}

TEST_CASE("somebody else at the port: rank 0 cannot listen, the others are not taken in") {
    const Listener other;
    const TcpExchange by{"localhost", other.port};
    CHECK(
        contains(message_of([&] { exchange_and_check(by, 0, 2); }),
                 "rank 0 cannot listen at port " + std::to_string(other.port) + ": Address already in use"));
    const auto errors = support::errors_of_threads(2, [&](int rank) {
        if (rank == 1)
            return exchange_and_check(by, 1, 2, 128, 200ms);
        ragged::detail::Socket caller(::accept(other.socket.number(), nullptr, nullptr));
        const Bytes garbage(1000, 0x47);
        static_cast<void>(caller.send(garbage, ragged::detail::TcpClock::now() + 1s));
        std::this_thread::sleep_for(50ms);
    });
    CHECK(errors[0] == "");
    CHECK(contains(errors[1], "rank 1 of 2 got nothing"));
}

TEST_CASE("ranks outside the world are refused") {
    for (auto [rank, ranks] : {std::pair{2, 2}, {-1, 2}, {0, 0}})
        CHECK(contains(message_of([&, r = rank, n = ranks] { exchange_and_check(free_port(), r, n); }),
                       "exchange: rank"));
}
