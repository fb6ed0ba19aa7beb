// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Shapes and blocks from text, as inventories, command lines and written plans have them.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include <ragged/spec/tensor_spec.hpp>

namespace ragged {

namespace detail {

/// Separate at every `separator`; the result has one part more than there are separators.
inline std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t at = text.find(separator);
        parts.push_back(text.substr(0, at));
        if (at == std::string_view::npos)
            return parts;
        text.remove_prefix(at + 1);
    }
}

/// A whole decimal count. @throws SpecError naming `what`
inline std::int64_t parse_count(std::string_view text, std::string_view what) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty())
        throw SpecError(concat(what, " is missing"));
    if (error == std::errc::result_out_of_range)
        throw SpecError(concat(what, " '", text, "' does not fit 64 bits"));
    if (error != std::errc{} || end != text.data() + text.size())
        throw SpecError(concat(what, " '", text, "' is not a whole number"));
    if (value < 0)
        throw SpecError(concat(what, " ", text, " is negative"));
    return value;
}

} // namespace detail

/// "128x2880x5760" as a shape. @throws SpecError  an extent is missing, negative, no number or too large
inline Shape parse_shape(std::string_view text) {
    Shape shape;
    for (std::string_view extent : detail::split(text, 'x'))
        shape.push_back(detail::parse_count(extent, concat("extent of shape '", text, "'")));
    return shape;
}

/// "rows:16" or "block:32x32" as a block: what to_string(Block) writes.
/// @throws SpecError  an unknown word, or a size that is missing, no number, too large or below 1
inline Block parse_block(std::string_view text) {
    const auto count_behind = [&](std::string_view word) {
        return detail::parse_count(text.substr(word.size()), concat("count of block '", text, "'"));
    };
    Block block = whole();
    if (text.starts_with("elements:"))
        block = elements(count_behind("elements:"));
    else if (text.starts_with("rows:"))
        block = rows(count_behind("rows:"));
    else if (text == "block:scalar")
        block = tile({});
    else if (text.starts_with("block:"))
        block = tile(parse_shape(text.substr(6)));
    else if (text != "whole")
        throw SpecError(concat("unknown block '", text, "', known: elements:N rows:N block:AxBx... whole"));
    for (int dim = 0; dim < block.sizes.rank(); ++dim)
        if (block.sizes[dim] < 1)
            throw SpecError(concat("block '", text, "' has a size below 1"));
    return block;
}

} // namespace ragged
