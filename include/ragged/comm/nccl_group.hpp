// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// An open group of NCCL: what is called between construction and end() starts together.
#pragma once

#include <ragged/comm/nccl_stream.hpp>

namespace ragged::detail {

/// Left by an exception, it ends all the same, so that NCCL is not left inside; what fails then shows in the
/// next call.
template <class Api>
class NcclGroup {
  public:
    NcclGroup(NcclStream<Api>& stream, const NcclOperation& operation)
        : stream_(stream)
        , operation_(operation) {
        stream.begin_group(operation);
    }
    NcclGroup(const NcclGroup&) = delete;
    NcclGroup& operator=(const NcclGroup&) = delete;
    ~NcclGroup() {
        if (!ended_)
            try {
                stream_.end_group(operation_);
            } catch (...) { // kept as the first failure
            }
    }

    void end() {
        ended_ = true;
        stream_.end_group(operation_);
    }

  private:
    NcclStream<Api>& stream_;
    NcclOperation operation_;
    bool ended_ = false;
};

} // namespace ragged::detail
