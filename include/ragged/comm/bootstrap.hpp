// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// How a world begins: a value that rank 0 has, such as NCCL's unique id, comes to all ranks before there is a
// communicator to send it with, or by one of another engine.
//
//     const auto launcher = ragged::Launcher::from_environment();
//     ragged::NcclCommunicator::UniqueId id{};
//     if (launcher.rank == 0)
//         id = ragged::NcclCommunicator::make_id();
//     ragged::bootstrap(launcher, id);                  // over TCP, at the launcher's address
//     ragged::NcclCommunicator world(id, launcher.rank, launcher.size, stream);
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <type_traits>

#include <ragged/comm/communicator.hpp>
#include <ragged/comm/file_exchange.hpp>
#include <ragged/comm/launcher.hpp>
#include <ragged/comm/tcp_exchange.hpp>

namespace ragged {

inline constexpr std::chrono::milliseconds bootstrap_timeout{300'000};

namespace detail {

template <class Value>
requires std::is_trivially_copyable_v<Value> std::span<std::uint8_t> bytes_of(Value& value) {
    return {reinterpret_cast<std::uint8_t*>(&value), sizeof value};
}

} // namespace detail

/// Give all ranks the value of rank 0, over TCP. Collective and blocking.
/// @throws CommError  the launcher names no address; see TcpExchange
template <class Value>
void bootstrap(const Launcher& launcher, Value& value,
               std::chrono::milliseconds timeout = bootstrap_timeout) {
    if (launcher.size > 1 && (launcher.host.empty() || launcher.port == 0))
        throw CommError("bootstrap: MASTER_ADDR and MASTER_PORT are to say where rank 0 listens", "bootstrap",
                        -1);
    exchange(TcpExchange{launcher.host, launcher.port, launcher.job}, launcher.rank, launcher.size,
             detail::bytes_of(value), timeout);
}

/// The same through a file. @throws CommError  see FileExchange
template <class Value>
void bootstrap(const Launcher& launcher, const FileExchange& by, Value& value,
               std::chrono::milliseconds timeout = bootstrap_timeout) {
    exchange(by, launcher.rank, detail::bytes_of(value), timeout);
}

/// The same by a communicator over host memory. @throws CommError  the broadcast fails
template <class Communicator, class Value>
requires has_broadcast<Communicator, std::uint8_t>
void bootstrap(Communicator& communicator, Value& value) {
    if (communicator.space() != host_space)
        throw CommError("bootstrap: needs a communicator over host memory", "bootstrap", communicator.rank());
    const auto bytes = detail::bytes_of(value);
    communicator.broadcast(bytes.data(), static_cast<std::int64_t>(bytes.size()), 0).wait();
}

} // namespace ragged
