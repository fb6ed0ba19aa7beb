// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Output that is there whole or not at all: text goes to a file beside the target, which takes the target's
// name at the end. Targets that are no regular files (a device, a pipe) are written directly.
#pragma once

#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <ragged/core/error.hpp>

namespace support {

class OutputFile {
  public:
    /// @throws ragged::Error when the place cannot be written
    explicit OutputFile(const std::string& path)
        : path_(target(path))
        , direct_(std::filesystem::exists(path_) && !std::filesystem::is_regular_file(path_))
        , written_(direct_ ? path_ : path_ + ".part") {
        if (!direct_ && std::filesystem::exists(written_)) // another output of this run, or of another one
            throw ragged::Error(
                ragged::concat(path_, ": ", written_, " is in the way; is it written twice?"));
        stream_.open(written_, std::ios::binary | std::ios::trunc);
        // a file that may not be written must not be replaced either
        const bool may_replace =
            direct_ || !std::filesystem::exists(path_) || std::ofstream(path_, std::ios::app).good();
        if (!stream_ || !may_replace) {
            remove();
            throw ragged::Error(ragged::concat(path, ": cannot be written"));
        }
    }
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile() { remove(); }

    std::ostream& stream() { return stream_; }

    /// Make sure that every byte is out. @throws ragged::Error naming the path
    void finish() {
        stream_.close();
        if (!stream_)
            throw ragged::Error(ragged::concat(path_, ": cannot be written"));
    }

    /// Give the finished file its name. @throws ragged::Error naming the path
    void publish() {
        if (direct_)
            return;
        std::error_code error;
        std::filesystem::rename(written_, path_, error);
        if (error)
            throw ragged::Error(ragged::concat(path_, ": ", error.message()));
        published_ = true;
    }

  private:
    /// What a link points to, so that the link stays.
    static std::string target(const std::string& path) {
        std::error_code none;
        const auto resolved = std::filesystem::weakly_canonical(path, none);
        return none ? path : resolved.string();
    }

    void remove() noexcept {
        std::error_code ignored;
        if (!direct_ && !published_)
            std::filesystem::remove(written_, ignored);
    }

    std::string path_;
    bool direct_;
    std::string written_;
    std::ofstream stream_;
    bool published_ = false;
};

/// Flush standard output. @throws ragged::Error when it took not all
inline void finish_standard_output() {
    std::cout.flush();
    if (!std::cout)
        throw ragged::Error("standard output: cannot be written");
}

} // namespace support
