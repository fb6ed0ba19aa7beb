// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Host memory that the other ranks of a node can read: buffers in it are gathered and reduced by direct
// copies.
#pragma once

#include <cstddef>
#include <memory>

#include <ragged/buffer/memory_resource.hpp>
#include <ragged/comm/mpi_communicator.hpp>

namespace ragged {

/// Each allocation is a shared window of MPI: allocating and giving back are collective over the ranks of the
/// node, in the same order on each, slow, and wait for a rank that does not come without a time limit; make
/// buffers once, or lay them in one allocation.
/// Plain host memory where the communicator was made without shared memory.
class MpiSharedResource {
  public:
    /// @param world  or one split from it; all share the node's memory
    explicit MpiSharedResource(const MpiCommunicator& world)
        : node_(world.state_->node)
        , shared_(world.state_->options.shared_memory) {}

    static constexpr MemorySpace space() { return host_space; }

    /// Sizes may differ between ranks, but a Memory of 0 bytes does not come here: where some ranks want
    /// none, all of them must ask for a byte more.
    /// @throws BufferError  out of memory, on all ranks; a rank did not come, or a collective failed;
    /// MpiError
    void* allocate(std::size_t bytes) {
        return shared_ ? node_->allocate(bytes) : HostResource{}.allocate(bytes);
    }
    void zero(void* pointer, std::size_t bytes) { HostResource{}.zero(pointer, bytes); }
    /// After a failed collective the memory stays until the process ends: the other ranks may never come.
    void deallocate(void* pointer, std::size_t bytes) noexcept {
        if (shared_)
            node_->deallocate(pointer);
        else
            HostResource{}.deallocate(pointer, bytes);
    }

  private:
    std::shared_ptr<detail::MpiNode> node_;
    bool shared_;
};

static_assert(memory_resource<MpiSharedResource>);

} // namespace ragged
