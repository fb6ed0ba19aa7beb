// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// A few bytes from rank 0 to all ranks through a file that all can see.
#pragma once

#include <algorithm> // std::copy
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>

#include <ragged/core/error.hpp>

namespace ragged {

struct FileExchange {
    std::filesystem::path path; // one per job and per exchange; its directory exists
    std::string job; // differs between jobs, so that the file of an earlier one is not taken for this
};

namespace detail {

/// What the file begins with; the bytes follow, and nothing else.
inline std::string file_exchange_header(std::string_view job, std::size_t bytes) {
    return concat("ragged exchange 1\n", job.size(), ' ', bytes, '\n', job, '\n');
}

} // namespace detail

/// Bring the bytes of rank 0 to all ranks. Rank 0 writes and returns; the others block until the file is
/// there. The file stays, as nobody knows who read it last; the next job's takes its place.
/// @param bytes  [equal on all ranks] host; filled on all ranks but 0
/// @throws CommError  no job was named, the file cannot be written, it is of another job or size until the
/// time-out
inline void exchange(const FileExchange& by, int rank, std::span<std::uint8_t> bytes,
                     std::chrono::milliseconds timeout) {
    const auto fail = [&](const std::string& what, int blamed) {
        throw CommError(concat("exchange: file '", by.path.string(), "' ", what), "exchange", blamed);
    };
    if (by.job.empty())
        fail("needs the name of the job: without it, the file of an earlier one would be read", rank);
    const std::string header = detail::file_exchange_header(by.job, bytes.size());
    if (rank == 0) {
        std::filesystem::path unfinished = by.path;
        unfinished += ".unfinished";
        std::ofstream file(unfinished, std::ios::binary | std::ios::trunc);
        file << header;
        file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        file.close();
        std::error_code error;
        if (file)
            std::filesystem::rename(unfinished, by.path, error); // whole or not at all
        if (!file || error)
            fail(concat("cannot be written", error ? ": " + error.message() : std::string()), 0);
        return;
    }
    std::string found;
    for (const auto start = std::chrono::steady_clock::now();;) {
        std::ifstream file(by.path, std::ios::binary);
        if (file) {
            found.assign(std::istreambuf_iterator<char>(file), {});
            if (found.size() == header.size() + bytes.size() && found.starts_with(header)) {
                std::copy(found.begin() + static_cast<std::ptrdiff_t>(header.size()), found.end(),
                          bytes.begin());
                return;
            }
        }
        if (std::chrono::steady_clock::now() - start >= timeout)
            break;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    const std::string late = concat(" within ", timeout.count(), " ms");
    if (found.empty())
        fail(concat("did not come from rank 0 to rank ", rank, late), 0);
    fail(concat("is not the one of job '", by.job, "' with ", bytes.size(),
                " bytes, which did not come to rank ", rank, late),
         0);
}

} // namespace ragged
