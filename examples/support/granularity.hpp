// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// --granularity SPEC[@GLOB]: which tensors of a model get which block.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <ragged/spec/parse.hpp>

namespace support {

struct Granularity {
    std::string text; // as the user wrote it
    ragged::Block block;
    std::string glob = "*";
};

/// Whether the whole of `text` matches: * is any run of characters, ? is one.
inline bool matches(std::string_view glob, std::string_view text) {
    std::size_t g = 0, t = 0, star = std::string_view::npos, after_star = 0;
    while (t < text.size()) {
        if (g < glob.size() && (glob[g] == '?' || glob[g] == text[t]) && glob[g] != '*')
            ++g, ++t;
        else if (g < glob.size() && glob[g] == '*')
            star = g++, after_star = t;
        else if (star != std::string_view::npos)
            g = star + 1, t = ++after_star; // let the last star take one more
        else
            return false;
    }
    while (g < glob.size() && glob[g] == '*')
        ++g;
    return g == glob.size();
}

/// @throws ragged::SpecError naming the option's text
inline std::vector<Granularity> parse_granularities(const std::vector<std::string>& texts) {
    std::vector<Granularity> result{{"rows:1", ragged::rows(1), "*"}};
    for (const std::string& text : texts) {
        Granularity granularity{text, {}, "*"};
        const std::size_t at = text.find('@');
        if (at != std::string::npos)
            granularity.glob = text.substr(at + 1);
        try {
            granularity.block = ragged::parse_block(text.substr(0, at));
        } catch (const ragged::SpecError& error) {
            throw ragged::SpecError(ragged::concat("--granularity '", text, "': ", error.what()));
        }
        result.push_back(granularity);
    }
    return result;
}

/// Later ones win; rows and tiles pass tensors below 2-D by, which may then be cut anywhere.
/// @throws ragged::SpecError when a pattern names no tensor
inline void apply(const std::vector<Granularity>& granularities, ragged::ModelSpec& model) {
    for (const Granularity& granularity : granularities) {
        const auto kind = granularity.block.kind;
        const bool matrices_only = kind == ragged::Block::Kind::rows || kind == ragged::Block::Kind::tile;
        bool found = false;
        for (ragged::GroupSpec& group : model.groups)
            for (ragged::TensorSpec& tensor : group.tensors)
                if (matches(granularity.glob, tensor.name)) {
                    found = true;
                    if (!matrices_only || tensor.shape.rank() >= 2)
                        tensor.block = granularity.block;
                }
        if (!found && granularity.glob != "*")
            throw ragged::SpecError(ragged::concat("--granularity '", granularity.text,
                                                   "': no tensor matches '", granularity.glob, "'"));
    }
}

} // namespace support
