// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// JSON (RFC 8259), strictly: what is no JSON, or not what the caller asks for, is refused with its place.
// Texts may come from anywhere; time and memory grow with the text and nothing else.
//
//     const Json plan = Json::parse(text);
//     for (const Json& group : plan.at("groups").items())
//         use(group.at("name").text(), group.at("elements").integer());
#pragma once

#include <algorithm> // std::sort, std::adjacent_find
#include <charconv>
#include <cmath> // std::isfinite
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <ragged/core/error.hpp>
#include <ragged/core/utf8.hpp>

namespace ragged {

/// Text between quotes. UTF-8 passes through; a byte that is none becomes U+FFFD.
inline std::string json_string(std::string_view text) {
    constexpr std::string_view hex = "0123456789abcdef";
    std::string result = "\"";
    while (!text.empty()) {
        const char c = text.front();
        const auto code = static_cast<unsigned char>(c);
        const std::size_t length = detail::utf8_length(text);
        if (c == '"' || c == '\\')
            result += {'\\', c};
        else if (code < 0x20)
            result += {'\\', 'u', '0', '0', hex[code >> 4], hex[code & 15u]};
        else
            result += length == 0 ? detail::utf8_replacement : text.substr(0, length);
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return result + '"';
}

/// The shortest text that reads back as the same double, whatever the locale, and looks like one: 0.0.
/// @throws JsonError  JSON has no infinities and no NaN
inline std::string json_number(double value) {
    char text[32];
    const std::string number(text, std::to_chars(text, text + sizeof text, value).ptr);
    if (!std::isfinite(value))
        throw JsonError(concat("JSON has no number ", number));
    return number.find_first_of(".e") == std::string::npos ? number + ".0" : number;
}

namespace detail {

struct JsonArray {
    std::size_t end; // node after its last item
};
struct JsonObject {
    std::size_t end; // node after its last member
};
using JsonNode =
    std::variant<std::monostate, bool, std::int64_t, double, std::string_view, JsonArray, JsonObject>;

/// All values of one text in its order: a container, then what is in it; a key, then its value.
struct JsonDocument {
    std::string strings;        // unescaped, one after another; the nodes look into it
    std::deque<JsonNode> nodes; // grows without copies: memory stays within 14 times the densest text

    /// The node after a value and everything in it.
    std::size_t after(std::size_t node) const {
        if (const auto* array = std::get_if<JsonArray>(&nodes[node]))
            return array->end;
        const auto* object = std::get_if<JsonObject>(&nodes[node]);
        return object ? object->end : node + 1;
    }
};

class JsonReader {
  public:
    JsonReader(std::string_view text, JsonDocument& document)
        : text_(text)
        , document_(document) {}

    void read() {
        document_.strings.reserve(text_.size()); // no string is longer than its source: views stay valid
        read_value(0);
        if (at_ != text_.size())
            expected("the end of the text");
    }

  private:
    static constexpr int max_depth = 64; // the stack is finite

    [[noreturn]] void refuse(std::size_t at, std::string_view why) const {
        const std::string_view before = text_.substr(0, at); // was read, so it is UTF-8
        const std::size_t line = before.rfind('\n') + 1;     // npos + 1 is 0
        throw JsonError(concat("line ", std::count(before.begin(), before.end(), '\n') + 1, ", column ",
                               num_characters(before.substr(line)) + 1, ": ", why));
    }
    [[noreturn]] void expected(std::string_view what) const {
        const std::string_view rest = text_.substr(at_), found = rest.substr(0, utf8_length(rest));
        refuse(at_, concat("expected ", what, ", found ",
                           rest.empty()    ? "the end of the text"
                           : found.empty() ? "a byte that is no UTF-8"
                                           : json_string(found)));
    }

    char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    bool next_is_digit() const { return next() >= '0' && next() <= '9'; }
    bool take(std::string_view token) {
        const bool found = text_.substr(at_).starts_with(token);
        at_ += found ? token.size() : 0;
        return found;
    }
    void skip_space() { at_ = std::min(text_.find_first_not_of(" \t\n\r", at_), text_.size()); }

    /// A value with the space around it.
    void read_value(int depth) {
        skip_space();
        if (take("{"))
            read_container<JsonObject>("}", depth + 1);
        else if (take("["))
            read_container<JsonArray>("]", depth + 1);
        else if (take("\""))
            read_string();
        else if (next() == '-' || next_is_digit())
            read_number();
        else if (take("null"))
            document_.nodes.emplace_back();
        else if (take("true"))
            document_.nodes.emplace_back(true);
        else if (take("false"))
            document_.nodes.emplace_back(false);
        else
            expected("a value");
        skip_space();
    }

    template <class Container>
    void read_container(std::string_view close, int depth) {
        if (depth > max_depth)
            refuse(at_ - 1, concat("more than ", max_depth, " arrays and objects in one another"));
        const std::size_t node = document_.nodes.size(), first_key = keys_.size();
        document_.nodes.emplace_back();
        skip_space();
        if (!take(close)) {
            do {
                if constexpr (std::is_same_v<Container, JsonObject>)
                    read_key();
                read_value(depth);
            } while (take(","));
            if (!take(close))
                expected(concat("\",\" or \"", close, "\""));
        }
        refuse_duplicates(first_key);
        document_.nodes[node] = Container{document_.nodes.size()};
    }

    void read_key() {
        skip_space();
        const std::size_t start = at_;
        if (!take("\""))
            expected("a key in quotes");
        keys_.emplace_back(read_string(), start);
        skip_space();
        if (!take(":"))
            expected("\":\"");
    }

    /// By sorting: unlike hashing, no choice of keys makes it slow.
    void refuse_duplicates(std::size_t first) {
        const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first);
        std::sort(begin, keys_.end());
        const auto same = std::adjacent_find(begin, keys_.end(),
                                             [](const Key& a, const Key& b) { return a.first == b.first; });
        if (same != keys_.end())
            refuse((same + 1)->second, concat("duplicate key ", json_string(excerpt(same->first))));
        keys_.erase(begin, keys_.end());
    }

    std::string_view read_string() {
        const std::size_t start = document_.strings.size();
        while (!take("\"")) {
            const std::string_view rest = text_.substr(at_), character = rest.substr(0, utf8_length(rest));
            if (take("\\"))
                read_escape();
            else if (character.empty() || static_cast<unsigned char>(rest[0]) < 0x20)
                expected(rest.empty() ? "the closing quote" : "UTF-8 without control characters");
            else {
                document_.strings += character;
                at_ += character.size();
            }
        }
        const std::string_view string = std::string_view(document_.strings).substr(start);
        document_.nodes.emplace_back(string);
        return string;
    }

    void read_escape() {
        constexpr std::string_view escapes = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
        const std::size_t start = at_ - 1, escape = escapes.find(next());
        if (take("u")) {
            std::uint32_t code = read_hex();
            if (code >= 0xd800 && code < 0xdc00 && take("\\u"))
                if (const std::uint32_t low = read_hex(); low >= 0xdc00 && low < 0xe000)
                    code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            if (code >= 0xd800 && code < 0xe000)
                refuse(start, "half of a surrogate pair");
            append_utf8(document_.strings, code);
        } else if (escape != std::string_view::npos) {
            document_.strings += meanings[escape];
            ++at_;
        } else
            expected("one of \"\\/bfnrtu after the backslash");
    }
    std::uint32_t read_hex() {
        const std::string_view digits = text_.substr(at_, 4);
        std::uint32_t code = 0;
        if (std::from_chars(digits.data(), digits.data() + digits.size(), code, 16).ptr - digits.data() != 4)
            refuse(at_, concat("expected 4 hexadecimal digits, found ", json_string(digits)));
        at_ += 4;
        return code;
    }

    void read_number() {
        const std::size_t start = at_;
        take("-");
        if (!take("0"))
            read_digits();
        const std::size_t whole = at_;
        if (take("."))
            read_digits();
        if (take("e") || take("E")) {
            if (!take("+"))
                take("-");
            read_digits();
        }
        const std::string_view number = text_.substr(start, at_ - start);
        if (!(at_ == whole ? convert<std::int64_t>(number) : convert<double>(number)))
            refuse(start, concat(excerpt(number), " does not fit ", at_ == whole ? "64 bits" : "a double"));
    }
    void read_digits() {
        if (!next_is_digit())
            expected("a digit");
        while (next_is_digit())
            ++at_;
    }
    template <class Number>
    bool convert(std::string_view number) {
        Number value{};
        const std::errc error = std::from_chars(number.data(), number.data() + number.size(), value).ec;
        document_.nodes.emplace_back(value);
        return error == std::errc{};
    }

    using Key = std::pair<std::string_view, std::size_t>; // and where it stands in the text

    std::string_view text_;
    JsonDocument& document_;
    std::size_t at_ = 0;
    std::vector<Key> keys_; // of the objects that are open
};

/// What a message says was found.
struct JsonFound {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(std::int64_t value) const { return concat(value); }
    std::string operator()(double value) const { return json_number(value); }
    std::string operator()(std::string_view value) const { return json_string(excerpt(value)); }
    std::string operator()(JsonArray) const { return "an array"; }
    std::string operator()(JsonObject) const { return "an object"; }
};

} // namespace detail

/// One value of a document; cheap to copy, and the document lives as long as any of its values. Every
/// accessor throws JsonError with the path of the value, what was expected and what was found:
/// groups[3].segments[0].shard_elements: expected an integer, found "abc"
class Json {
  public:
    /// In the order of detail::JsonNode.
    enum class Kind { null, boolean, integer, number, text, array, object };

    /// Read a whole text. A number without fraction and exponent is an integer of 64 bits, any other a
    /// double; one that does not fit (or is too close to 0) is refused. So are duplicate keys, surrogates
    /// outside a pair, bytes that are no UTF-8 and more than 64 arrays and objects in one another.
    /// @throws JsonError  line and column, in characters from 1, and what was expected there
    static Json parse(std::string_view text) {
        const auto document = std::make_shared<detail::JsonDocument>();
        detail::JsonReader(text, *document).read();
        return {document, 0};
    }

    Kind kind() const { return static_cast<Kind>(node().index()); }
    bool boolean() const { return get<bool>("true or false"); }
    std::int64_t integer() const { return get<std::int64_t>("an integer"); }
    /// An integer becomes the nearest double.
    double number() const {
        return kind() == Kind::integer ? static_cast<double>(integer()) : get<double>("a number");
    }
    std::string text() const { return std::string(get<std::string_view>("a string")); }

    /// The values of an array.
    std::vector<Json> items() const {
        std::vector<Json> result;
        const std::size_t end = get<detail::JsonArray>("an array").end;
        for (std::size_t item = node_ + 1; item != end; item = document_->after(item))
            result.push_back({document_, item});
        return result;
    }
    /// The keys and values of an object, in the order of the text.
    std::vector<std::pair<std::string, Json>> members() const {
        std::vector<std::pair<std::string, Json>> result;
        const std::size_t end = get<detail::JsonObject>("an object").end;
        for (std::size_t key = node_ + 1; key != end; key = document_->after(key + 1))
            result.emplace_back(key_at(key), Json(document_, key + 1));
        return result;
    }
    /// The value of a key of an object, or nothing. Cost: linear in what the object has.
    std::optional<Json> find(std::string_view wanted) const {
        const std::size_t end = get<detail::JsonObject>("an object").end;
        for (std::size_t key = node_ + 1; key != end; key = document_->after(key + 1))
            if (key_at(key) == wanted)
                return Json(document_, key + 1);
        return std::nullopt;
    }
    /// The value of a key that must be there. Cost: as find().
    Json at(std::string_view key) const {
        if (const auto value = find(key))
            return *value;
        throw JsonError(concat(path(), " has no key ", json_string(detail::excerpt(key))));
    }

    /// Where the value stands, for messages: groups[3].segments[0], or "the document". Not stored but found
    /// again, for it is needed only once something is wrong.
    std::string path() const {
        std::string path;
        for (std::size_t node = 0; node != node_;) {
            const bool object = std::holds_alternative<detail::JsonObject>(document_->nodes[node]);
            std::size_t child = node + 1, index = 0; // a key before a value is one of the children passed
            for (; document_->after(child) <= node_; ++index)
                child = document_->after(child);
            path += object ? step(key_at(child - 1), path.empty()) : concat('[', index, ']');
            node = child;
        }
        return path.empty() ? "the document" : path;
    }

  private:
    Json(std::shared_ptr<const detail::JsonDocument> document, std::size_t node)
        : document_(std::move(document))
        , node_(node) {}

    const detail::JsonNode& node() const { return document_->nodes[node_]; }
    std::string_view key_at(std::size_t node) const {
        return std::get<std::string_view>(document_->nodes[node]);
    }

    template <class T>
    const T& get(std::string_view expected) const {
        if (const T* value = std::get_if<T>(&node()))
            return *value;
        const std::string found = std::visit(detail::JsonFound{}, node());
        throw JsonError(concat(path(), ": expected ", expected, ", found ", found));
    }

    /// .word, or ["key"] where that would be ambiguous.
    static std::string step(std::string_view key, bool first) {
        constexpr std::string_view word = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
        const std::string shown = detail::excerpt(key);
        if (shown.empty() || shown.find_first_not_of(word) != std::string::npos)
            return concat('[', json_string(shown), ']');
        return concat(first ? "" : ".", shown);
    }

    std::shared_ptr<const detail::JsonDocument> document_;
    std::size_t node_;
};

} // namespace ragged
