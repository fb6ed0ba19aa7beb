// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A few bytes from rank 0 to all ranks over TCP: rank 0 listens, the others connect, say who they are and are
// given the bytes. Whoever says something else is turned away, and rank 0 goes on.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <ragged/core/error.hpp>
#include <ragged/core/hash.hpp>

namespace ragged {

struct TcpExchange {
    std::string host; // of rank 0, as the others reach it
    int port;
    std::string job{}; // where two jobs might meet at a port: ranks of another are turned away
};

namespace detail {

using TcpClock = std::chrono::steady_clock;

/// How many of `sockets` are ready; 0 after the deadline.
inline int wait_for(std::span<pollfd> sockets, TcpClock::time_point deadline) {
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - TcpClock::now());
        const int count = ::poll(sockets.data(), static_cast<nfds_t>(sockets.size()),
                                 static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1 << 30)));
        if (count >= 0 || errno != EINTR)
            return count;
    }
}

/// Owns a socket. Every call gives up at the deadline and goes on after a signal.
class Socket {
  public:
    explicit Socket(int number = -1)
        : number_(number) {}
    Socket(Socket&& other) noexcept
        : number_(std::exchange(other.number_, -1)) {}
    Socket& operator=(Socket&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Socket() {
        if (number_ >= 0)
            ::close(number_);
    }

    static Socket of(const addrinfo& address) {
        return Socket(::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                               address.ai_protocol));
    }

    int number() const { return number_; }
    explicit operator bool() const { return number_ >= 0; }

    bool connect(const addrinfo& to, TcpClock::time_point deadline) {
        if (::connect(number_, to.ai_addr, to.ai_addrlen) == 0)
            return true;
        if ((errno != EINPROGRESS && errno != EINTR) || !ready(POLLOUT, deadline))
            return false;
        socklen_t length = sizeof errno;
        return ::getsockopt(number_, SOL_SOCKET, SO_ERROR, &errno, &length) == 0 && errno == 0;
    }
    bool send(std::span<const std::uint8_t> bytes, TcpClock::time_point deadline) {
        while (!bytes.empty()) {
            const auto sent = ::send(number_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent > 0)
                bytes = bytes.subspan(static_cast<std::size_t>(sent));
            else if (!again() || !ready(POLLOUT, deadline))
                return false;
        }
        return true;
    }
    bool receive(std::span<std::uint8_t> bytes, TcpClock::time_point deadline) {
        while (!bytes.empty()) {
            const auto received = ::recv(number_, bytes.data(), bytes.size(), 0);
            if (received > 0)
                bytes = bytes.subspan(static_cast<std::size_t>(received));
            else if (received == 0) // the other side closed
                return errno = ECONNRESET, false;
            else if (!again() || !ready(POLLIN, deadline))
                return false;
        }
        return true;
    }
    static bool again() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

  private:
    bool ready(short events, TcpClock::time_point deadline) const {
        pollfd waiting{number_, events, 0};
        const int count = wait_for({&waiting, 1}, deadline);
        if (count == 0)
            errno = ETIMEDOUT;
        return count > 0;
    }

    int number_;
};

using TcpHello = std::array<std::uint8_t, 40>;
inline constexpr std::size_t tcp_hello_rank = 16; // where it names the rank

/// What a rank says first, and rank 0 answers: that it is one of us, which one, and what it expects. Little
/// endian.
inline TcpHello tcp_hello(std::string_view job, std::size_t rank, std::size_t size, std::size_t bytes) {
    Hash hash;
    hash.add(job);
    TcpHello hello{};
    std::size_t at = 0;
    for (const std::uint64_t word : {std::uint64_t{0x3163786764676172} /* ragdgxc1 */, hash.value(),
                                     std::uint64_t{rank}, std::uint64_t{size}, std::uint64_t{bytes}})
        for (int shift = 0; shift < 64; shift += 8)
            hello[at++] = static_cast<std::uint8_t>(word >> shift);
    return hello;
}

using TcpAddresses = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

inline TcpAddresses tcp_addresses(const char* host, int port, int flags, std::string& problem) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = flags;
    addrinfo* found = nullptr;
    if (const int error = ::getaddrinfo(host, std::to_string(port).c_str(), &hints, &found); error != 0)
        problem = ::gai_strerror(error);
    return {found, [](addrinfo* list) {
                if (list != nullptr)
                    ::freeaddrinfo(list);
            }};
}

/// Rank 0: give the bytes to every other rank once.
inline void tcp_serve(const TcpExchange& by, int size, std::span<const std::uint8_t> bytes,
                      std::chrono::milliseconds timeout) {
    const auto deadline = TcpClock::now() + timeout;
    std::string problem = "no address";
    Socket listener;
    const TcpAddresses addresses = tcp_addresses(nullptr, by.port, AI_PASSIVE, problem);
    for (const addrinfo* at = addresses.get(); at != nullptr && !listener; at = at->ai_next) {
        Socket tried = Socket::of(*at);
        const int on = 1; // a port that an earlier job left is free
        if (tried && ::setsockopt(tried.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
            ::bind(tried.number(), at->ai_addr, at->ai_addrlen) == 0 &&
            ::listen(tried.number(), SOMAXCONN) == 0)
            listener = std::move(tried);
        else
            problem = std::generic_category().message(errno);
    }
    if (!listener)
        throw CommError(concat("exchange: rank 0 cannot listen at port ", by.port, ": ", problem), "exchange",
                        0);

    struct Caller {
        Socket socket;
        TcpHello said{};
        std::size_t length = 0;
    };
    std::vector<Caller> callers; // they are heard side by side: one that says nothing holds nobody up
    std::vector<bool> served(static_cast<std::size_t>(size), false);
    served[0] = true;
    const auto hello_of = [&](std::size_t rank) {
        return tcp_hello(by.job, rank, served.size(), bytes.size());
    };
    const auto rank_of = [&](const Caller& caller) -> std::size_t { // a rank to serve, or 0
        std::size_t rank = 0;
        for (std::size_t byte = 8; byte-- > 0;)
            rank = rank << 8 | caller.said[tcp_hello_rank + byte];
        return rank < served.size() && !served[rank] && caller.said == hello_of(rank) ? rank : 0;
    };
    while (std::count(served.begin(), served.end(), false) > 0) {
        std::vector<pollfd> waiting{{listener.number(), POLLIN, 0}};
        for (const Caller& caller : callers)
            waiting.push_back({caller.socket.number(), POLLIN, 0});
        if (wait_for(waiting, deadline) <= 0)
            break;
        for (std::size_t i = callers.size(); i-- > 0;) {
            if (waiting[i + 1].revents == 0)
                continue;
            Caller& caller = callers[i];
            const auto received = ::recv(caller.socket.number(), caller.said.data() + caller.length,
                                         caller.said.size() - caller.length, 0);
            if (received < 0 && Socket::again())
                continue;
            caller.length += static_cast<std::size_t>(std::max<std::ptrdiff_t>(received, 0));
            if (received > 0 && caller.length < caller.said.size())
                continue;
            const std::size_t rank = received > 0 ? rank_of(caller) : 0;
            if (rank > 0 && caller.socket.send(hello_of(0), deadline))
                served[rank] = caller.socket.send(bytes, deadline);
            callers.erase(callers.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (waiting[0].revents != 0)
            if (Socket socket(::accept4(listener.number(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
                socket)
                callers.push_back({std::move(socket)});
    }
    std::string missing;
    for (std::size_t rank = 0; rank < served.size(); ++rank)
        if (!served[rank])
            missing += concat(' ', rank);
    if (!missing.empty())
        throw CommError(concat("exchange: no connection at port ", by.port, " within ", timeout.count(),
                               " ms from rank", missing, " of ", size),
                        "exchange",
                        static_cast<int>(std::find(served.begin(), served.end(), false) - served.begin()));
}

/// Another rank: ask until rank 0 answers.
inline void tcp_ask(const TcpExchange& by, int rank, int size, std::span<std::uint8_t> bytes,
                    std::chrono::milliseconds timeout) {
    const auto deadline = TcpClock::now() + timeout;
    const auto hello_of = [&](int speaker) {
        return tcp_hello(by.job, static_cast<std::size_t>(speaker), static_cast<std::size_t>(size),
                         bytes.size());
    };
    std::string problem = "no address";
    do {
        const TcpAddresses addresses = tcp_addresses(by.host.c_str(), by.port, 0, problem);
        for (const addrinfo* at = addresses.get(); at != nullptr; at = at->ai_next) {
            Socket socket = Socket::of(*at);
            TcpHello answer{};
            if (!socket || !socket.connect(*at, deadline) || !socket.send(hello_of(rank), deadline) ||
                !socket.receive(answer, deadline))
                problem = std::generic_category().message(errno);
            else if (answer != hello_of(0)) // a port may even be connected to itself
                problem = "somebody else answers";
            else if (!socket.receive(bytes, deadline))
                problem = std::generic_category().message(errno);
            else
                return;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    } while (TcpClock::now() < deadline);
    throw CommError(concat("exchange: rank ", rank, " of ", size, " got nothing from rank 0 at ", by.host,
                           ':', by.port, " within ", timeout.count(), " ms: ", problem),
                    "exchange", 0);
}

} // namespace detail

/// Bring the bytes of rank 0 to all ranks. Blocking; rank 0 returns when all have them.
/// @param bytes  [equal on all ranks] host; filled on all ranks but 0
/// @throws CommError  the port is taken; ranks that did not come, or rank 0 that did not answer, in time
inline void exchange(const TcpExchange& by, int rank, int size, std::span<std::uint8_t> bytes,
                     std::chrono::milliseconds timeout) {
    if (size < 1 || rank < 0 || rank >= size)
        throw CommError(concat("exchange: rank ", rank, " is not in [0, ", size, ")"), "exchange", rank);
    if (size == 1)
        return;
    rank == 0 ? detail::tcp_serve(by, size, bytes, timeout) : detail::tcp_ask(by, rank, size, bytes, timeout);
}

} // namespace ragged
