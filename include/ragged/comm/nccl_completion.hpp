// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a collective of an NCCL communicator returns: the point in the stream at which it is done.
#pragma once

#include <memory>
#include <utility>

#include <ragged/comm/nccl_stream.hpp>

namespace ragged {

namespace detail {
template <class>
class NcclMember;
}

/// An operation in the stream. Hold it no longer than needed: its event is then used for another.
template <class Api>
class [[nodiscard]] NcclCompletion {
    using Shared = detail::NcclStream<Api>;

  public:
    NcclCompletion(NcclCompletion&& other) noexcept
        : stream_(std::move(other.stream_))
        , mark_(std::exchange(other.mark_, nullptr))
        , operation_(other.operation_) {}
    NcclCompletion& operator=(NcclCompletion&& other) noexcept {
        std::swap(stream_, other.stream_);
        std::swap(mark_, other.mark_);
        std::swap(operation_, other.operation_);
        return *this;
    }
    ~NcclCompletion() {
        if (mark_ != nullptr)
            Shared::drop(*mark_);
    }

    /// Block the host until the operation is done, polling its event and the errors of the communicators.
    /// @throws NcclError  an error, or the time-out; the communicator is aborted then
    void wait() { stream_->wait(*mark_, operation_); }
    /// Looks for the event and for errors once, and blocks nobody. Not while capturing.
    bool done() const { return stream_->done(*mark_, operation_); }
    /// What is enqueued on `stream` from now on runs after the operation. Does not block the host; a failure
    /// shows at the next call that does. May be captured.
    void wait(const typename Api::Stream& stream) { stream_->wait(*mark_, stream, operation_); }

  private:
    friend class detail::NcclMember<Api>;
    NcclCompletion(std::shared_ptr<Shared> stream, const detail::NcclOperation& operation)
        : stream_(std::move(stream))
        , mark_(&stream_->take_mark(operation))
        , operation_(operation) {}

    std::shared_ptr<Shared> stream_;
    typename Shared::Mark* mark_;
    detail::NcclOperation operation_;
};

} // namespace ragged
