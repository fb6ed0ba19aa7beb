// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Read a model inventory: a tab-separated table with header `group name dtype shape`, one tensor a row in
// registration order, one group per run of equal group names. Lines that start with # are comments.
// Rows that repeat may be folded: the lines between `@repeat i 3 60` and `@end` stand once for each i from 3
// to 60, with {i} replaced; repeats nest.
//
//     layers.0 <tab> layers.0.wq <tab> bf16 <tab> 4096x4096
#pragma once

#include <filesystem>
#include <fstream>
#include <istream>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include <ragged/spec/parse.hpp>

namespace ragged {

namespace detail {

class InventoryReader {
  public:
    InventoryReader(std::istream& input, std::string_view source)
        : source_(source) {
        std::string line;
        for (std::int64_t number = 1; std::getline(input, line); ++number) {
            if (!line.empty() && line.back() == '\r')
                line.pop_back();
            if (!line.empty() && line.front() != '#')
                lines_.push_back({number, line});
        }
        if (input.bad())
            throw SpecError(concat(source_, ": reading stopped in the middle"));
    }

    ModelSpec read(std::string model) {
        model_.name = std::move(model);
        if (lines_.empty() || lines_.front().text != "group\tname\tdtype\tshape")
            throw SpecError(concat(source_, ":", lines_.empty() ? 1 : lines_.front().number,
                                   ": the header 'group<tab>name<tab>dtype<tab>shape' is missing"));
        std::vector<std::pair<std::string, std::int64_t>> variables;
        if (const std::size_t end = read_block(1, variables); end != lines_.size())
            fail(lines_[end], "@end without @repeat");
        return std::move(model_);
    }

  private:
    struct Line {
        std::int64_t number;
        std::string text;
    };
    using Variables = std::vector<std::pair<std::string, std::int64_t>>;

    [[noreturn]] void fail(const Line& line, std::string_view why) const {
        throw SpecError(concat(source_, ":", line.number, ": ", why));
    }

    /// Read from line `at` to the @end that closes it, or to the end of the file; returns where it stopped.
    std::size_t read_block(std::size_t at, Variables& variables) {
        while (at < lines_.size()) {
            const Line& line = lines_[at];
            if (line.text == "@end")
                break;
            if (line.text.starts_with("@"))
                at = read_repeat(at, variables);
            else
                read_row(line, variables), ++at;
        }
        return at;
    }

    std::size_t read_repeat(std::size_t at, Variables& variables) {
        const Line& line = lines_[at];
        const std::vector<std::string_view> words = split(line.text, ' ');
        if (words.size() != 4 || words[0] != "@repeat" || words[1].empty())
            fail(line, concat("'", line.text, "' is not '@repeat NAME FIRST LAST' or '@end'"));
        std::int64_t first = 0, last = 0;
        try {
            first = parse_count(words[2], "first");
            last = parse_count(words[3], "last");
        } catch (const SpecError& error) {
            fail(line, error.what());
        }
        if (last < first)
            fail(line, concat("repeat from ", first, " to ", last, " is not in order"));
        if (last - first >= max_repeats - num_repeats_)
            fail(line, concat("more than ", max_repeats, " repeats in all"));
        if (variables.size() == max_depth)
            fail(line, concat("more than ", max_depth, " repeats in one another"));
        for (const auto& [outer, unused] : variables)
            if (outer == words[1])
                fail(line, concat("'", outer, "' repeats already"));
        std::size_t end = at + 1;
        for (std::int64_t value = first; value <= last; ++value) {
            ++num_repeats_;
            variables.emplace_back(words[1], value);
            end = read_block(at + 1, variables);
            variables.pop_back();
            if (end == lines_.size())
                fail(line, "@repeat without @end");
        }
        return end + 1;
    }

    void read_row(const Line& line, const Variables& variables) {
        std::string text = line.text;
        for (const auto& [variable, value] : variables)
            replace_all(text, concat("{", variable, "}"), std::to_string(value));
        const std::vector<std::string_view> fields = split(text, '\t');
        if (fields.size() != 4)
            fail(line,
                 concat("expected 4 tab-separated fields (group name dtype shape), found ", fields.size()));
        if (fields[0].empty() || fields[1].empty())
            fail(line, concat(fields[0].empty() ? "the group" : "the tensor name", " is empty"));
        if (model_.groups.empty() || model_.groups.back().name != fields[0]) {
            model_.groups.push_back({std::string(fields[0]), {}});
            names_.clear();
        }
        if (!names_.emplace(fields[1]).second)
            fail(line, concat("duplicate tensor '", fields[1], "' in group '", fields[0], "'"));
        try {
            model_.groups.back().tensors.push_back(
                {std::string(fields[1]), parse_shape(fields[3]), Block{}, dtype_from_name(fields[2])});
        } catch (const SpecError& error) {
            fail(line, concat("tensor '", fields[1], "': ", error.what()));
        }
    }

    static void replace_all(std::string& text, std::string_view from, std::string_view to) {
        for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
            text.replace(at, from.size(), to);
    }

    static constexpr std::size_t max_depth = 8;
    static constexpr std::int64_t max_repeats = 1'000'000;

    std::string source_;
    std::vector<Line> lines_;
    std::int64_t num_repeats_ = 0;
    ModelSpec model_;
    std::unordered_set<std::string> names_; // of the group being read
};

} // namespace detail

/// Read an inventory from a stream. `source` stands in messages, `model` becomes the model's name.
/// Every tensor gets the default block, one element.
/// @throws SpecError  "source:line: " and what is wrong there
inline ModelSpec read_inventory(std::istream& input, std::string_view source, std::string model) {
    return detail::InventoryReader(input, source).read(std::move(model));
}

/// Read an inventory file; the model is named after the file.
/// @throws SpecError  the file cannot be read, or as above
inline ModelSpec read_inventory(const std::filesystem::path& path) {
    std::ifstream input(path);
    if (!input || std::filesystem::is_directory(path))
        throw SpecError(concat(path.string(), ": cannot be read"));
    return read_inventory(input, path.string(), path.stem().string());
}

} // namespace ragged
