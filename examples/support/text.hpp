// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What a byte-level language model learns: a text, and windows into it drawn by step and number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <vector>

#include <ragged/core/error.hpp>

#include "random.hpp"

namespace support {

/// All bytes of a file. @throws ragged::Error when it cannot be read
inline std::vector<std::uint8_t> read_bytes(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::vector<std::uint8_t> bytes;
    if (file && !std::filesystem::is_directory(path))
        bytes.assign(std::istreambuf_iterator<char>(file), {});
    else
        file.setstate(std::ios::failbit);
    if (file.fail())
        throw ragged::Error(ragged::concat("'", path.string(), "': cannot be read"));
    return bytes;
}

/// The sources of a project one after the other, in the order of their names: its README and the C++ files of
/// the folders. @throws ragged::Error when a file cannot be read, or there is none
inline std::vector<std::uint8_t> read_sources(const std::filesystem::path& project,
                                              std::span<const char* const> folders) {
    std::vector<std::string> names{"README.md"};
    for (const char* folder : folders)
        for (const auto& entry : std::filesystem::recursive_directory_iterator(project / folder)) {
            const std::string extension = entry.path().extension().string();
            if (extension == ".hpp" || extension == ".cpp" || extension == ".md")
                names.push_back(entry.path().lexically_relative(project).generic_string());
        }
    std::sort(names.begin(), names.end());
    std::vector<std::uint8_t> bytes;
    for (const std::string& name : names) {
        const auto file = read_bytes(project / name);
        bytes.insert(bytes.end(), file.begin(), file.end());
    }
    return bytes;
}

/// Windows of a text; the same text, seed, step and number give the same one anywhere.
class TextWindows {
  public:
    /// @param length  bytes of a window
    /// @throws ragged::Error when the text is shorter
    TextWindows(std::vector<std::uint8_t> text, std::int64_t length, std::uint64_t seed)
        : text_(std::move(text))
        , sequence_(random_sequence(seed, "text")) {
        const auto bytes = static_cast<std::int64_t>(text_.size());
        if (bytes < length)
            throw ragged::Error(ragged::concat("the text has ", bytes, " bytes, a sequence takes ", length));
        starts_ = static_cast<std::uint64_t>(bytes - length + 1);
    }

    /// Its first byte. Local; thread-safe.
    const std::uint8_t* window(std::int64_t step, std::int64_t number) const {
        const std::uint64_t of_step = random_bits(sequence_, static_cast<std::uint64_t>(step));
        return text_.data() + random_bits(of_step, static_cast<std::uint64_t>(number)) % starts_;
    }

    std::int64_t bytes() const { return static_cast<std::int64_t>(text_.size()); }

  private:
    std::vector<std::uint8_t> text_;
    std::uint64_t sequence_, starts_;
};

} // namespace support
