// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The only header with compiler or platform conditions: what a host compiler and nvcc must be told apart for.
#pragma once

#if defined(__CUDACC__)
#define RAGGED_HOST_DEVICE __host__ __device__
#else
#define RAGGED_HOST_DEVICE
#endif

namespace ragged {

/// Reinterpret the bits of `from`. Unlike std::bit_cast it may be called in device code.
template <class To, class From>
requires(sizeof(To) == sizeof(From)) RAGGED_HOST_DEVICE constexpr To bit_cast(const From& from) noexcept {
    return __builtin_bit_cast(To, from);
}

} // namespace ragged
