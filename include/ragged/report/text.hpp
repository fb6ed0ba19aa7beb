// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Numbers, names and tables as text for people.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/core/utf8.hpp>
#include <ragged/spec/parse.hpp> // split

namespace ragged {

namespace detail {

/// 3219456 as "3,219,456".
inline std::string grouped(std::int64_t value) {
    std::string text = std::to_string(value);
    for (std::size_t at = text.size(); at > 3;)
        text.insert(at -= 3, ",");
    return text;
}

inline std::string fixed(double value, int digits) {
    char text[64];
    return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed, digits).ptr};
}

inline std::string percent(double ratio) {
    return fixed(ratio * 100, ratio < 0.1 ? 3 : 1) + " %";
}

/// Bytes in the unit that leaves one to four digits before the point.
inline std::string human_bytes(std::int64_t bytes) {
    constexpr std::string_view units[] = {" B", " KiB", " MiB", " GiB", " TiB"};
    double value = static_cast<double>(bytes);
    std::size_t unit = 0;
    for (; (value >= 1024 || value <= -1024) && unit + 1 < std::size(units); ++unit)
        value /= 1024;
    return fixed(value, unit == 0 ? 0 : 2).append(units[unit]);
}

/// 11507286016 as "11.51 G".
inline std::string human_count(std::int64_t count) {
    constexpr std::string_view units[] = {"", " k", " M", " G", " T", " P", " E"};
    double value = static_cast<double>(count);
    std::size_t unit = 0;
    for (; value >= 1000 && unit + 1 < std::size(units); ++unit)
        value /= 1000;
    return fixed(value, unit == 0 ? 0 : 2).append(units[unit]);
}

/// 16384 as "16k": whole multiples of 1024.
inline std::string short_count(std::int64_t count) {
    constexpr std::string_view units[] = {"", "k", "M", "G", "T", "P", "E"};
    std::size_t unit = 0;
    for (; count != 0 && count % 1024 == 0; ++unit)
        count /= 1024;
    return grouped(count).append(units[unit]);
}

/// A name as printable text in at most `width` characters: the end, where names of one model differ.
inline std::string shortened(std::string_view name, std::size_t width) {
    const std::string text = printable(name);
    const std::size_t characters = num_characters(text);
    if (characters <= width)
        return text;
    std::size_t at = 0;
    for (std::size_t dropped = characters - (width - 3); dropped > 0; --dropped)
        at += utf8_length(std::string_view(text).substr(at));
    return "..." + text.substr(at);
}

/// Names of parts between dots as one pattern: * where they differ or only some go on. One * is any number of
/// parts.
inline std::string common_pattern(const std::vector<std::string>& names) {
    std::vector<std::string_view> pattern;
    for (const std::string& name : names) {
        const std::vector<std::string_view> parts = split(name, '.');
        if (pattern.empty())
            pattern = parts;
        const bool same_length = pattern.size() == parts.size();
        pattern.resize(std::min(pattern.size(), parts.size()));
        for (std::size_t i = 0; i < pattern.size(); ++i)
            if (pattern[i] != parts[i] || (!same_length && i + 1 == pattern.size()))
                pattern[i] = "*";
    }
    std::string text;
    for (std::size_t i = 0; i < pattern.size(); ++i)
        if (i == 0 || pattern[i] != "*" || pattern[i - 1] != "*")
            text.append(i == 0 ? "" : ".").append(pattern[i]);
    return text;
}

/// A plain table: the first column to the left, the others to the right. Where it is too wide, the last
/// column is shortened.
class TextTable {
  public:
    void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
    void rule() { rows_.emplace_back(); }

    void write(std::ostream& out, std::string_view indent) const {
        std::vector<std::size_t> widths;
        for (const auto& cells : rows_)
            for (std::size_t i = 0; i < cells.size(); ++i) {
                widths.resize(std::max(widths.size(), i + 1), 0);
                widths[i] = std::max(widths[i], num_characters(cells[i]));
            }
        std::size_t total = indent.size();
        for (std::size_t width : widths)
            total += width + 2;
        const std::size_t excess = total > max_width + 2 ? total - (max_width + 2) : 0;
        const std::size_t last = widths.back();
        widths.back() = std::min(last, std::max(last - std::min(last, excess), min_last_column));
        total -= last - widths.back() + indent.size();
        for (const auto& cells : rows_) {
            out << indent;
            if (cells.empty())
                out << std::string(total - 2, '-');
            for (std::size_t i = 0; i < cells.size(); ++i) {
                const std::string cell = shortened(cells[i], widths[i]);
                const std::string space(widths[i] - num_characters(cell), ' ');
                out << (i == 0 ? cell + (cells.size() > 1 ? space : "") : "  " + space + cell);
            }
            out << '\n';
        }
    }

  private:
    static constexpr std::size_t max_width = 110, min_last_column = 12;

    std::vector<std::vector<std::string>> rows_;
};

} // namespace detail

} // namespace ragged
