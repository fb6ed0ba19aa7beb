// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// Command lines of the example programs: one positional argument, and options that take one value or none.
#pragma once

#include <algorithm> // std::unique
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/spec/parse.hpp>

namespace support {

/// What the user got wrong; main prints it on one line and exits with 2.
class UsageError : public ragged::Error {
  public:
    using Error::Error;
};

/// A message on one line, whatever names and arguments it quotes.
inline std::string one_line(std::string text) {
    for (char& c : text)
        if (static_cast<unsigned char>(c) < 0x20)
            c = '?';
    return text;
}

struct Option {
    std::string_view name;
    bool takes_value = true;
    bool repeats = false;
};

/// What A..B means in a list of numbers.
enum class Ranges : bool { none, doubling }; // doubling: A, 2A, 4A, ... up to B

class Options {
  public:
    /// @throws UsageError  unknown or repeated option, a value that is missing, more than one positional
    /// argument
    Options(int count, char** arguments, std::initializer_list<Option> known) {
        for (int i = 1; i < count; ++i) {
            const std::string_view argument = arguments[i];
            if (!argument.starts_with("-") || argument == "-") {
                if (!positional_.empty())
                    throw UsageError(
                        ragged::concat("unexpected argument '", argument, "' after '", positional_, "'"));
                positional_ = argument;
                continue;
            }
            const Option* option = nullptr;
            for (const Option& candidate : known)
                if (candidate.name == argument)
                    option = &candidate;
            if (option == nullptr)
                throw UsageError(
                    ragged::concat("unknown option '", argument, "', --help lists the known ones"));
            if (!option->repeats && has(argument))
                throw UsageError(ragged::concat(argument, " is given twice"));
            if (option->takes_value &&
                (i + 1 == count || std::string_view(arguments[i + 1]).starts_with("--")))
                throw UsageError(ragged::concat(argument, " needs a value"));
            given_.emplace_back(argument, option->takes_value ? arguments[++i] : "");
        }
    }

    const std::string& positional() const { return positional_; }

    bool has(std::string_view name) const {
        for (const auto& [given, value] : given_)
            if (given == name)
                return true;
        return false;
    }
    std::string value(std::string_view name, std::string otherwise = "") const {
        for (const auto& [given, value] : given_)
            if (given == name)
                return value;
        return otherwise;
    }
    /// Every value of an option that repeats, in order.
    std::vector<std::string> values(std::string_view name) const {
        std::vector<std::string> result;
        for (const auto& [given, value] : given_)
            if (given == name)
                result.push_back(value);
        return result;
    }
    /// A whole number of at least `least`. @throws UsageError naming the option
    std::int64_t number(std::string_view name, std::int64_t least, std::int64_t otherwise) const {
        return has(name) ? parse(name, value(name), least) : otherwise;
    }
    /// A list "8,16,100" of whole numbers of at least `least`, rising, each once; where allowed, items may be
    /// ranges. @throws UsageError naming the option
    std::vector<std::int64_t> numbers(std::string_view name, std::int64_t least, const std::string& otherwise,
                                      Ranges ranges = Ranges::none) const {
        std::vector<std::int64_t> result;
        const std::string list = value(name, otherwise);
        for (const std::string_view item : ragged::detail::split(list, ',')) {
            const std::size_t dots = ranges == Ranges::none ? std::string_view::npos : item.find("..");
            const std::int64_t first = parse(name, item.substr(0, dots), least);
            const std::int64_t last =
                dots == std::string_view::npos ? first : parse(name, item.substr(dots + 2), least);
            if (last < first)
                throw UsageError(ragged::concat(name, " ", item, " ends before it starts"));
            for (std::int64_t number = first;; number *= 2) {
                result.push_back(number);
                if (number > last / 2)
                    break;
            }
        }
        std::sort(result.begin(), result.end());
        result.erase(std::unique(result.begin(), result.end()), result.end());
        return result;
    }

  private:
    static std::int64_t parse(std::string_view name, std::string_view text, std::int64_t least) {
        std::int64_t result = 0;
        if (text.starts_with("-")) // parse_count would complain of the sign alone
            throw UsageError(ragged::concat(name, " ", text, " is below ", least));
        try {
            result = ragged::detail::parse_count(text, name);
        } catch (const ragged::SpecError& error) {
            throw UsageError(error.what());
        }
        if (result < least)
            throw UsageError(ragged::concat(name, " ", text, " is below ", least));
        return result;
    }

    std::string positional_;
    std::vector<std::pair<std::string, std::string>> given_;
};

} // namespace support
