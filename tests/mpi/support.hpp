// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What the programs that run under mpirun share: main, and memory that others can read.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <vector>

#include <ragged/mpi.hpp>

namespace support {

/// Runs `body`; an exception of any rank ends the job with its text and status 1.
template <class Body>
int run_under_mpi(const Body& body) {
    const ragged::MpiEnvironment mpi;
    try {
        body();
        return 0;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
        ragged::MpiEnvironment::abort(1);
    }
}

inline ragged::MpiOptions options_of(std::string_view path) {
    return {.timeout = std::chrono::seconds(60), .shared_memory = path == "window"};
}

/// Arrays one behind the other in one shared window, round and round: those of one test case live together.
class WindowArrays {
  public:
    explicit WindowArrays(const ragged::MpiCommunicator& world)
        : resource_(world)
        , memory_(resource_, bytes) {}

    template <class T>
    class Array {
      public:
        Array(T* data, std::size_t count)
            : data_(data)
            , count_(count) {}
        T* data() const { return data_; }
        std::vector<T> values() const { return {data_, data_ + count_}; }

      private:
        T* data_;
        std::size_t count_;
    };

    template <class T>
    Array<T> of(const std::vector<T>& values) {
        const std::size_t size = values.size() * sizeof(T);
        if (next_ + size > bytes)
            next_ = 0;
        T* const data = reinterpret_cast<T*>(static_cast<char*>(memory_.data()) + next_);
        if (size > 0)
            std::memcpy(data, values.data(), size);
        next_ += (size + 63) / 64 * 64;
        return {data, values.size()};
    }

  private:
    static constexpr std::size_t bytes = 8 << 20;

    ragged::MpiSharedResource resource_;
    ragged::Memory memory_;
    std::size_t next_ = 0;
};

} // namespace support
