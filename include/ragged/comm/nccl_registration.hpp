// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Memory that NCCL knows before it is used, so that collectives over it copy nothing in between. One arena
// registered once is meant: registration is slow.
//
//     const auto registered = ragged::register_memory(world, arena.data(), arena.bytes());
#pragma once

#include <algorithm> // std::find
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility> // std::exchange
#include <vector>

#include <ragged/buffer/memory_resource.hpp> // buffer_alignment, what windows ask for
#include <ragged/comm/nccl_communicator.hpp>

namespace ragged {

/// What a registration got. Everything works with each of them; the later ones are faster.
enum class NcclRegistered : std::uint8_t {
    none,   // CUDA memory that NCCL cannot share
    local,  // known to this rank's NCCL
    window, // symmetric: known to all ranks, at equal offsets
};

constexpr std::string_view name(NcclRegistered kind) {
    return kind == NcclRegistered::window ? "window" : kind == NcclRegistered::local ? "local" : "none";
}

/// Ends the registration in its destructor, in which all ranks come in the same order, after what uses the
/// memory is done: NCCL unmaps it at once. The memory is freed after that. Keeps the communicator.
template <class Api>
class [[nodiscard]] NcclRegistration {
    using Operation = detail::NcclOperation;

  public:
    /// Collective over the communicator and blocking; not inside a group. Every rank brings as many bytes.
    /// A window needs memory of ncclMemAlloc with an aligned base on every rank, and NCCL 2.27.
    /// @param pointer  device, [bytes]
    /// @throws NcclError  NCCL refuses memory that it should take
    NcclRegistration(BasicNcclCommunicator<Api>& communicator, void* pointer, std::size_t bytes)
        : communicator_(communicator) {
        const Operation operation{"register_memory", communicator.rank(), communicator.size(),
                                  static_cast<std::int64_t>(bytes), DType::u8};
        auto& shared = communicator.shared();
        communicator.member_->check_memory(operation, static_cast<const std::uint8_t*>(pointer),
                                           operation.count, 1);
        // A window on some ranks only would wait for the others.
        if (all_can(operation, communicator, pointer, bytes)) {
            shared.check(communicator.api().register_window(communicator.native(), pointer, bytes, window_),
                         operation);
            shared.settle(operation); // NCCL sets the window late
        }
        if (window_ == typename Api::Window{} && bytes > 0)
            shared.check(communicator.api().register_local(communicator.native(), pointer, bytes, handle_),
                         operation);
    }
    NcclRegistration(NcclRegistration&& other) noexcept
        : communicator_(other.communicator_)
        , window_(std::exchange(other.window_, {}))
        , handle_(std::exchange(other.handle_, nullptr)) {}
    NcclRegistration& operator=(NcclRegistration&&) = delete;
    ~NcclRegistration() {
        if (communicator_.shared().failed()) // aborted, and its registrations with it
            return;
        if (window_ != typename Api::Window{})
            static_cast<void>(communicator_.api().deregister_window(communicator_.native(), window_));
        if (handle_ != nullptr)
            static_cast<void>(communicator_.api().deregister_local(communicator_.native(), handle_));
    }

    NcclRegistered kind() const {
        return window_ != typename Api::Window{} ? NcclRegistered::window
               : handle_ != nullptr              ? NcclRegistered::local
                                                 : NcclRegistered::none;
    }

  private:
    static bool all_can(const Operation& operation, BasicNcclCommunicator<Api>& communicator,
                        const void* pointer, std::size_t bytes) {
        auto& shared = communicator.shared();
        bool own = communicator.api().has_windows() && shared.options().windows && bytes > 0 &&
                   reinterpret_cast<std::uintptr_t>(pointer) % buffer_alignment == 0;
        if (own)
            shared.check(communicator.api().can_be_window(pointer, own), operation);
        std::vector<std::uint8_t> can(static_cast<std::size_t>(communicator.size()), 0);
        can[static_cast<std::size_t>(communicator.rank())] = own;
        communicator.all_gather_host(can.data(), 1);
        return std::find(can.begin(), can.end(), 0) == can.end();
    }

    BasicNcclCommunicator<Api> communicator_; // a handle
    typename Api::Window window_{};
    void* handle_ = nullptr;
};

/// See NcclRegistration.
template <class Api>
NcclRegistration<Api> register_memory(BasicNcclCommunicator<Api>& communicator, void* pointer,
                                      std::size_t bytes) {
    return {communicator, pointer, bytes};
}

} // namespace ragged
