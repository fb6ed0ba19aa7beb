// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Output that is there whole or not at all: text goes to a file beside the target, which takes the target's
// name at the end. Targets that are no regular files (a device, a pipe) are written directly.
#pragma once

#include <sys/stat.h>
#include <unistd.h> // STDOUT_FILENO

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include <ragged/core/error.hpp>

namespace support {

/// Whether two paths lead to one regular file, or will when it is made.
inline bool same_file(const std::filesystem::path& a, const std::filesystem::path& b) {
    std::error_code error;
    if (std::filesystem::exists(a, error) && std::filesystem::exists(b, error))
        return std::filesystem::is_regular_file(a, error) && std::filesystem::equivalent(a, b, error);
    return std::filesystem::weakly_canonical(std::filesystem::absolute(a, error), error) ==
           std::filesystem::weakly_canonical(std::filesystem::absolute(b, error), error);
}

/// Whether a path is standard output by another name, a file or a pipe that both would write to. Asked of the
/// open descriptor: a pipe has no path to compare.
inline bool is_standard_output(const std::filesystem::path& path) {
    struct stat named {
    }, open{};
    return ::stat(path.c_str(), &named) == 0 && ::fstat(STDOUT_FILENO, &open) == 0 &&
           named.st_dev == open.st_dev && named.st_ino == open.st_ino && !S_ISCHR(named.st_mode);
}

class OutputFile {
  public:
    /// Nothing that exists is touched before finish(). @throws ragged::Error when the place cannot be written
    explicit OutputFile(const std::string& path)
        : path_(path)
        , target_(path) {
        std::error_code error;
        if (std::filesystem::exists(target_, error)) {
            direct_ = !std::filesystem::is_regular_file(target_, error);
            if (!direct_)
                target_ = std::filesystem::canonical(target_, error); // a link stays a link
            if (std::filesystem::is_directory(target_, error))
                errno = EISDIR, fail();
            // a file that may not be written must not be replaced either
            if (!direct_ && !std::ofstream(target_, std::ios::app))
                fail();
        }
        if (!direct_)
            make_part();
        stream_.open(direct_ ? target_ : part_, std::ios::binary);
        if (!stream_)
            fail();
    }
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile() { remove(); }

    std::ostream& stream() { return stream_; }

    /// Make sure that every byte is out. @throws ragged::Error naming the path
    void finish() {
        stream_.close();
        if (!stream_)
            fail();
    }

    /// Give the finished file its name. @throws ragged::Error naming the path
    void publish() {
        if (direct_)
            return;
        std::error_code error;
        std::filesystem::rename(part_, target_, error);
        if (error)
            throw ragged::Error(ragged::concat("'", path_, "': cannot be written: ", error.message()));
        part_.clear();
    }

  private:
    [[noreturn]] void fail() {
        const std::string why = std::strerror(errno);
        remove();
        throw ragged::Error(ragged::concat("'", path_, "': cannot be written: ", why));
    }

    /// A new file beside the target under a name that nobody has.
    void make_part() {
        const std::filesystem::path folder = target_.parent_path();
        if (target_.filename().empty())
            errno = ENOENT, fail();
        for (int number = 0;; ++number) {
            part_ = folder / ragged::concat(".ragged-", number, ".part");
            if (std::FILE* file = std::fopen(part_.c_str(), "wx")) {
                std::fclose(file);
                return;
            }
            if (errno != EEXIST || number == max_parts) {
                part_.clear();
                fail();
            }
        }
    }

    void remove() noexcept {
        std::error_code ignored;
        if (!part_.empty())
            std::filesystem::remove(part_, ignored);
    }

    static constexpr int max_parts = 1000;

    std::string path_;             // as the user wrote it
    std::filesystem::path target_; // links followed
    std::filesystem::path part_;   // empty when there is none
    bool direct_ = false;
    std::ofstream stream_;
};

/// Flush standard output. @throws ragged::Error when it took not all
inline void finish_standard_output() {
    std::cout.flush();
    if (!std::cout)
        throw ragged::Error("standard output: cannot be written");
}

} // namespace support
