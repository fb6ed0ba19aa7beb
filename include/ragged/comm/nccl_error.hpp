// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// How a call of NCCL, or of CUDA on its behalf, ended, and what is thrown when it ended badly. Needs neither
// of their headers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <ragged/spec/dtype.hpp>

namespace ragged {

/// What a call returned: the number means nothing without the library that it is from. 0 is success in both.
struct NcclStatus {
    enum class Library : std::uint8_t { nccl, cuda };

    Library library = Library::nccl;
    int code = 0;

    constexpr bool ok() const { return code == 0; }
    /// A state, not a failure: the call goes on and is to be asked again.
    constexpr bool in_progress() const { return *this == NcclStatus{Library::nccl, 7}; }

    constexpr bool operator==(const NcclStatus&) const = default;
};

inline constexpr NcclStatus nccl_in_progress{NcclStatus::Library::nccl, 7};
inline constexpr NcclStatus nccl_remote_error{NcclStatus::Library::nccl, 6};

/// NCCL or CUDA refused or failed, or an operation did not end in time: its status is then in_progress.
/// `rank` is this rank when the failure is local, or -1 when it came from another or from nobody known.
class NcclError : public CommError {
  public:
    NcclError(const std::string& what, std::string operation, int rank, NcclStatus status)
        : CommError(what, std::move(operation), rank)
        , status_(status) {}

    NcclStatus status() const noexcept { return status_; }

  private:
    NcclStatus status_;
};

namespace detail {

/// What an error names.
struct NcclOperation {
    std::string_view name;
    int rank;
    int size;
    std::int64_t count = 0;
    std::optional<DType> dtype{};

    std::string text() const {
        return concat(name, dtype ? concat(" of ", count, ' ', ragged::name(*dtype)) : "", " on rank ", rank,
                      " of ", size);
    }
};

} // namespace detail
} // namespace ragged
