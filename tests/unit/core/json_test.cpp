// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// The grammar as a table of texts, on both sides of each rule; then laws: what is written is read back, no
// part of a document is a document, no bytes do harm.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ragged/core/json.hpp>

#include "support/expect.hpp"

using namespace std::string_literals;
using ragged::Json, ragged::JsonError;
using support::message_of;

namespace {

/// The value as text without space, every string and number in the one way we write it.
std::string written(const Json& json) {
    std::string text;
    switch (json.kind()) {
    case Json::Kind::null:
        return "null";
    case Json::Kind::boolean:
        return json.boolean() ? "true" : "false";
    case Json::Kind::integer:
        return std::to_string(json.integer());
    case Json::Kind::number:
        return ragged::json_number(json.number());
    case Json::Kind::text:
        return ragged::json_string(json.text());
    case Json::Kind::array:
        for (const Json& item : json.items())
            text += (text.empty() ? "" : ",") + written(item);
        return "[" + text + "]";
    default:
        for (const auto& [key, value] : json.members())
            text += (text.empty() ? "" : ",") + ragged::json_string(key) + ":" + written(value);
        return "{" + text + "}";
    }
}

std::string repeated(std::string_view part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i)
        text += part;
    return text;
}

/// What reading says: the value as we write it, or the error.
std::string read(const std::string& text) {
    std::string result;
    const std::string error = message_of([&] { result = written(Json::parse(text)); });
    return error.empty() ? result : error;
}

/// A document with every kind of value, all escapes and characters of every length.
const std::string everything =
    "{\"null\": null, \"booleans\": [true, false],\r\n\t\"integers\": [0, -0, 12, -9223372036854775808],\n"
    R"( "numbers": [0.5, -1.25e-3, 1E+2, 0e0], "strings": ["", "a\"\\\/\b\f\n\r\t\u0000\u00e9\ud83d\ude00"],)"
    " \"utf8\": \"\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\", \"empty\": {\"\": {}, \"array\": []}}";

} // namespace

TEST_CASE("texts that are JSON") {
    const std::pair<std::string, std::string> accepted[] = {
        {"null", "null"},
        {"true", "true"},
        {"false", "false"},
        {" \t\r\n 1 \t\r\n ", "1"},
        {"0", "0"},
        {"-0", "0"},
        {"9223372036854775807", "9223372036854775807"},
        {"-9223372036854775808", "-9223372036854775808"},
        {"1.0", "1.0"},
        {"-0.0", "-0.0"},
        {"0.1", "0.1"},
        {"1e0", "1.0"},
        {"1E+02", "100.0"},
        {"100e-2", "1.0"},
        {"9223372036854775808.0", "9223372036854775808.0"},
        {"1.7976931348623157e308", "1.7976931348623157e+308"},
        {"5e-324", "5e-324"},
        {"0e999999999999999999999", "0.0"},
        {"0." + repeated("1", 2000), "0.1111111111111111"},
        {R"("")", R"("")"},
        {R"("\"\\\/\b\f\n\r\t")", R"("\"\\/\u0008\u000c\u000a\u000d\u0009")"},
        {R"("\u0041\u00e9\u20AC\uFFFF")", "\"A\xc3\xa9\xe2\x82\xac\xef\xbf\xbf\""},
        {R"("\u0000")", R"("\u0000")"},
        {R"("\ud83d\uDE00\ud800\udc00\udbff\udfff")", "\"\xf0\x9f\x98\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\""},
        {"\"/\x7f\"", "\"/\x7f\""},
        {"\"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\"", "\"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\""},
        {"[]", "[]"},
        {"[ ]", "[]"},
        {"[ 1 , [ 2 ] , \"\" ]", R"([1,[2],""])"},
        {"{}", "{}"},
        {"{ }", "{}"},
        {R"({ "b" : 1 , "a" : { } })", R"({"b":1,"a":{}})"},
        {R"({"":0,"a":{"a":{"a":1}},"A":2})", R"({"":0,"a":{"a":{"a":1}},"A":2})"},
        {R"([{"a":1},{"a":2}])", R"([{"a":1},{"a":2}])"},
        {repeated("[", 64) + repeated("]", 64), repeated("[", 64) + repeated("]", 64)},
    };
    for (const auto& [text, value] : accepted)
        CHECK(read(text) == value);
}

TEST_CASE("texts that are none, with the place and what was expected there") {
    const std::pair<std::string, std::string> refused[] = {
        // values
        {"", "line 1, column 1: expected a value, found the end of the text"},
        {" \n ", "line 2, column 2: expected a value, found the end of the text"},
        {"nul", "line 1, column 1: expected a value, found \"n\""},
        {"True", "line 1, column 1: expected a value, found \"T\""},
        {"NaN", "line 1, column 1: expected a value, found \"N\""},
        {"'a'", "line 1, column 1: expected a value, found \"'\""},
        {"\xef\xbb\xbf{}", "line 1, column 1: expected a value, found \"\xef\xbb\xbf\""}, // byte order mark
        {"\xa0 1", "line 1, column 1: expected a value, found a byte that is no UTF-8"},
        {"\f1", "line 1, column 1: expected a value, found \"\\u000c\""},
        {"\0"s, "line 1, column 1: expected a value, found \"\\u0000\""},
        {"/**/1", "line 1, column 1: expected a value, found \"/\""},
        // after the value
        {"1 2", "line 1, column 3: expected the end of the text, found \"2\""},
        {"{}}", "line 1, column 3: expected the end of the text, found \"}\""},
        {"nulll", "line 1, column 5: expected the end of the text, found \"l\""},
        {"1\0"s, "line 1, column 2: expected the end of the text, found \"\\u0000\""},
        // numbers
        {"-", "line 1, column 2: expected a digit, found the end of the text"},
        {"-a", "line 1, column 2: expected a digit, found \"a\""},
        {"--1", "line 1, column 2: expected a digit, found \"-\""},
        {"+1", "line 1, column 1: expected a value, found \"+\""},
        {".5", "line 1, column 1: expected a value, found \".\""},
        {"-.5", "line 1, column 2: expected a digit, found \".\""},
        {"1.", "line 1, column 3: expected a digit, found the end of the text"},
        {"[1.]", "line 1, column 4: expected a digit, found \"]\""},
        {"1.e5", "line 1, column 3: expected a digit, found \"e\""},
        {"1e", "line 1, column 3: expected a digit, found the end of the text"},
        {"1e+", "line 1, column 4: expected a digit, found the end of the text"},
        {"1e+-1", "line 1, column 4: expected a digit, found \"-\""},
        {"01", "line 1, column 2: expected the end of the text, found \"1\""},
        {"-00", "line 1, column 3: expected the end of the text, found \"0\""},
        {"[01]", "line 1, column 3: expected \",\" or \"]\", found \"1\""},
        {"0x10", "line 1, column 2: expected the end of the text, found \"x\""},
        {"1_000", "line 1, column 2: expected the end of the text, found \"_\""},
        {"-Infinity", "line 1, column 2: expected a digit, found \"I\""},
        {"[1, 9223372036854775808]", "line 1, column 5: 9223372036854775808 does not fit 64 bits"},
        {"-9223372036854775809", "line 1, column 1: -9223372036854775809 does not fit 64 bits"},
        {repeated("1", 2000), "line 1, column 1: " + repeated("1", 60) + "... does not fit 64 bits"},
        {"1e999", "line 1, column 1: 1e999 does not fit a double"},
        {"[-1.5E+999]", "line 1, column 2: -1.5E+999 does not fit a double"},
        {"1.7976931348623159e308", "line 1, column 1: 1.7976931348623159e308 does not fit a double"},
        {"1e-999", "line 1, column 1: 1e-999 does not fit a double"},
        {"1e99999999999999999999", "line 1, column 1: 1e99999999999999999999 does not fit a double"},
        // strings
        {"\"", "line 1, column 2: expected the closing quote, found the end of the text"},
        {"\"a", "line 1, column 3: expected the closing quote, found the end of the text"},
        {"\"a\nb\"", "line 1, column 3: expected UTF-8 without control characters, found \"\\u000a\""},
        {"\"\0\""s, "line 1, column 2: expected UTF-8 without control characters, found \"\\u0000\""},
        {"\"\x1f\"", "line 1, column 2: expected UTF-8 without control characters, found \"\\u001f\""},
        {"\"\\",
         "line 1, column 3: expected one of \"\\/bfnrtu after the backslash, found the end of the text"},
        {"\"\\x41\"", "line 1, column 3: expected one of \"\\/bfnrtu after the backslash, found \"x\""},
        {"\"\\\0\""s, "line 1, column 3: expected one of \"\\/bfnrtu after the backslash, found \"\\u0000\""},
        {R"("\u")", "line 1, column 4: expected 4 hexadecimal digits, found \"\\\"\""},
        {R"("\u12)", "line 1, column 4: expected 4 hexadecimal digits, found \"12\""},
        {R"("\u12g4")", "line 1, column 4: expected 4 hexadecimal digits, found \"12g4\""},
        {R"("\u-123")", "line 1, column 4: expected 4 hexadecimal digits, found \"-123\""},
        {R"("\u 123")", "line 1, column 4: expected 4 hexadecimal digits, found \" 123\""},
        {R"("\u0x12")", "line 1, column 4: expected 4 hexadecimal digits, found \"0x12\""},
        {R"("a\ud83d")", "line 1, column 3: half of a surrogate pair"},
        {R"("\ude00")", "line 1, column 2: half of a surrogate pair"},
        {R"("\ude00\ud83d")", "line 1, column 2: half of a surrogate pair"},
        {R"("\ud83d\ud83d")", "line 1, column 2: half of a surrogate pair"},
        {R"("\ud83d\u0041")", "line 1, column 2: half of a surrogate pair"},
        {R"("\ud83d\ue000")", "line 1, column 2: half of a surrogate pair"},
        {R"("\ude00\ude00")", "line 1, column 2: half of a surrogate pair"},
        {R"("\ud83d\n")", "line 1, column 2: half of a surrogate pair"},
        {R"("\ud83d\u")", "line 1, column 10: expected 4 hexadecimal digits, found \"\\\"\""},
        // arrays
        {"[", "line 1, column 2: expected a value, found the end of the text"},
        {"[1", "line 1, column 3: expected \",\" or \"]\", found the end of the text"},
        {"[1,", "line 1, column 4: expected a value, found the end of the text"},
        {"[1,]", "line 1, column 4: expected a value, found \"]\""},
        {"[,1]", "line 1, column 2: expected a value, found \",\""},
        {"[1 2]", "line 1, column 4: expected \",\" or \"]\", found \"2\""},
        {"[1}", "line 1, column 3: expected \",\" or \"]\", found \"}\""},
        {"]", "line 1, column 1: expected a value, found \"]\""},
        // objects
        {"{", "line 1, column 2: expected a key in quotes, found the end of the text"},
        {"{1: 2}", "line 1, column 2: expected a key in quotes, found \"1\""},
        {"{a: 2}", "line 1, column 2: expected a key in quotes, found \"a\""},
        {R"({"a"})", "line 1, column 5: expected \":\", found \"}\""},
        {R"({"a" 1})", "line 1, column 6: expected \":\", found \"1\""},
        {R"({"a":})", "line 1, column 6: expected a value, found \"}\""},
        {R"({"a":1)", "line 1, column 7: expected \",\" or \"}\", found the end of the text"},
        {R"({"a":1,})", "line 1, column 8: expected a key in quotes, found \"}\""},
        {R"({"a":1])", "line 1, column 7: expected \",\" or \"}\", found \"]\""},
        {R"({"a":1 "b":2})", "line 1, column 8: expected \",\" or \"}\", found \"\\\"\""},
        {R"({"a": 1, "b": 2, "a": 3, "b": 4})", R"(line 1, column 18: duplicate key "a")"},
        {R"({"x": {"a": 1, "b": 2, "\u0061": 3}, "a": 4})", R"(line 1, column 24: duplicate key "a")"},
        {R"({"":1,"":2})", R"(line 1, column 7: duplicate key "")"},
        // depth
        {repeated("[", 65), "line 1, column 65: more than 64 arrays and objects in one another"},
        {repeated("{\"a\":[", 32) + "{}",
         "line 1, column 193: more than 64 arrays and objects in one another"},
        // places: lines end at line feeds, columns count characters
        {"[\n  1,\r\n  \"\xc3\xa9\xf0\x9f\x98\x80\\n\" x",
         "line 3, column 10: expected \",\" or \"]\", found \"x\""},
    };
    for (const auto& [text, message] : refused) {
        CHECK(read(text) == message);
        CHECK_THROWS_AS(Json::parse(text), JsonError);
    }
    for (const char* bytes : {"\x80", "\xc3", "\xc3z", "\xc0\xaf", "\xe0\x80\xaf", "\xed\xa0\x80",
                              "\xf0\x80\x80\xaf", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\xff"})
        CHECK(read("[\""s + bytes + "\"]") == "line 1, column 3: expected UTF-8 without control characters, "
                                              "found a byte that is no UTF-8");
}

TEST_CASE("values by type, as they stand in the text") {
    const Json json = Json::parse(everything);
    CHECK(json.kind() == Json::Kind::object);
    CHECK(json.at("null").kind() == Json::Kind::null);
    CHECK(json.at("booleans").items().at(0).boolean());
    CHECK_FALSE(json.at("booleans").items().at(1).boolean());
    CHECK(json.at("integers").items().at(3).integer() == std::numeric_limits<std::int64_t>::min());
    CHECK(json.at("integers").items().at(2).number() == 12.0);
    CHECK(json.at("numbers").items().at(1).number() == -0.00125);
    CHECK(json.at("strings").items().at(1).text() == "a\"\\/\b\f\n\r\t\0\xc3\xa9\xf0\x9f\x98\x80"s);
    CHECK(json.at("empty").at("").members().empty());
    CHECK(json.at("empty").at("array").items().empty());
    CHECK(json.find("utf8")->text() == "\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
    CHECK_FALSE(json.find("array").has_value()); // of an object further in
    CHECK_FALSE(json.at("empty").find("utf8").has_value());

    std::string keys;
    for (const auto& [key, value] : json.members())
        keys += key + " " + value.path() + "; ";
    CHECK(keys == "null null; booleans booleans; integers integers; numbers numbers; strings strings; "
                  "utf8 utf8; empty empty; ");
    CHECK(std::signbit(Json::parse("-0.0").number()));
}

TEST_CASE("a value keeps its document, whatever becomes of the text and of the other values") {
    std::vector<Json> kept;
    {
        std::string text = R"({"a": [{"name": "a text that is not short"}]})";
        kept = Json::parse(text).at("a").items();
        text.assign(text.size(), '?');
    }
    const Json copy = kept.at(0);
    kept.clear();
    CHECK(copy.at("name").text() == "a text that is not short");
    CHECK(copy.at("name").path() == "a[0].name");
}

TEST_CASE("errors of access name the path, what was expected and what was found") {
    const Json plan = Json::parse(
        R"({"groups": [{}, [[]], {"segments": [{"shard_elements": "abc", "x": null}]}], "a b": {"": true},)"
        R"( "é\"\n": [1.5, -7], "_9": false})");
    const Json segment = plan.at("groups").items().at(2).at("segments").items().at(0);
    const std::string path = "groups[2].segments[0]";
    const auto error = [](const Json& json, auto access) { return message_of([&] { (json.*access)(); }); };
    CHECK(error(segment.at("shard_elements"), &Json::integer) ==
          path + ".shard_elements: expected an integer, found \"abc\"");
    CHECK(error(segment.at("x"), &Json::text) == path + ".x: expected a string, found null");
    CHECK(error(segment, &Json::items) == path + ": expected an array, found an object");
    CHECK(error(plan.at("groups").items().at(1).items().at(0), &Json::members) ==
          "groups[1][0]: expected an object, found an array");
    CHECK(error(plan.at("a b").at(""), &Json::number) == R"(["a b"][""]: expected a number, found true)");
    CHECK(error(plan.at("é\"\n").items().at(0), &Json::integer) ==
          R"(["é\"\u000a"][0]: expected an integer, found 1.5)");
    CHECK(error(plan.at("é\"\n").items().at(1), &Json::boolean) ==
          R"(["é\"\u000a"][1]: expected true or false, found -7)");
    CHECK(error(plan.at("_9"), &Json::text) == "_9: expected a string, found false");
    CHECK(error(plan, &Json::integer) == "the document: expected an integer, found an object");
    CHECK(message_of([&] { segment.at("name"); }) == path + " has no key \"name\"");
    CHECK(message_of([&] { plan.at("shard_elements"); }) == "the document has no key \"shard_elements\"");
    CHECK(message_of([&] { segment.at("x").at("y"); }) == path + ".x: expected an object, found null");
    CHECK(message_of([&] { plan.at("groups").find("y"); }) == "groups: expected an object, found an array");
    CHECK_THROWS_AS(plan.text(), JsonError);
    CHECK_THROWS_AS(plan.at("y"), JsonError);
}

TEST_CASE("messages stay short, whatever the text") {
    const std::string name(100000, 'x');
    const Json json = Json::parse("{\"" + name + "\": \"" + name + "\"}");
    const std::string shortened = "\"" + name.substr(0, 60) + "...\"";
    CHECK(message_of([&] { json.at(name).integer(); }) ==
          "[" + shortened + "]: expected an integer, found " + shortened);
    CHECK(message_of([&] { json.at(name + name); }) == "the document has no key " + shortened);
    CHECK(read("{\"" + name + "\": 1, \"" + name + "\": 2}") ==
          "line 1, column 100009: duplicate key " + shortened);
}

TEST_CASE("many keys, and nesting far beyond what is allowed, take no time and no stack") {
    std::string text = "{";
    for (int i = 0; i < 100000; ++i)
        text += "\"a key with a long common start " + std::to_string(i) + "\": 1, ";
    CHECK(Json::parse(text + "\"\": 1}").members().size() == 100001);
    CHECK(support::contains(read(text + "\"a key with a long common start 7\": 1}"), "duplicate key"));
    for (const char* open : {"[", "{\"a\":"})
        CHECK(support::contains(read(repeated(open, 1000000)), "more than 64"));
}

TEST_CASE("strings are read back as they were written") {
    std::string characters, escapes = "\"";
    for (std::uint32_t code = 0; code < 0x110000; ++code) {
        if (code >= 0xd800 && code < 0xe000)
            continue;
        ragged::detail::append_utf8(characters, code);
        const auto escape = [&](std::uint32_t unit) {
            escapes += "\\u";
            for (int shift = 12; shift >= 0; shift -= 4)
                escapes += "0123456789abcdef"[unit >> shift & 15u];
        };
        if (code >= 0x10000)
            escape(0xd800 + ((code - 0x10000) >> 10));
        escape(code < 0x10000 ? code : 0xdc00 + (code & 0x3ffu));
    }
    CHECK((Json::parse(ragged::json_string(characters)).text() == characters)); // too long to print
    CHECK((Json::parse(escapes + "\"").text() == characters));
    for (int byte = 0; byte < 256; ++byte) { // any byte can be written; those that are no UTF-8 are replaced
        const std::string text(1, static_cast<char>(byte));
        CHECK(Json::parse(ragged::json_string(text)).text() == (byte < 0x80 ? text : "\xef\xbf\xbd"));
    }
    CHECK(ragged::json_string("\xc3\xa9\xff\x80") == "\"\xc3\xa9\xef\xbf\xbd\xef\xbf\xbd\"");
}

TEST_CASE("numbers are read back as the same bits, and never as integers") {
    CHECK(ragged::json_number(0) == "0.0");
    CHECK(ragged::json_number(-0.0) == "-0.0");
    CHECK(ragged::json_number(0.1) == "0.1");
    CHECK(ragged::json_number(1e-7) == "1e-07");
    using Limits = std::numeric_limits<double>;
    std::vector<double> values{
        1.0 / 3,       5.4364477706697967e-05, 191.0, 1e300, 0x1p53, 0x1p63, Limits::max(), Limits::lowest(),
        Limits::min(), Limits::denorm_min(),   -0.0};
    std::mt19937_64 random(11);
    while (values.size() < 20000)
        if (const auto value = std::bit_cast<double>(random()); std::isfinite(value))
            values.push_back(value);
    for (const double value : values) {
        const Json json = Json::parse(ragged::json_number(value));
        if (json.kind() != Json::Kind::number ||
            std::bit_cast<std::uint64_t>(json.number()) != std::bit_cast<std::uint64_t>(value))
            FAIL_CHECK(value);
    }
    CHECK_THROWS_WITH_AS(ragged::json_number(-Limits::infinity()), "JSON has no number -inf", JsonError);
    CHECK_THROWS_WITH_AS(ragged::json_number(Limits::quiet_NaN()), "JSON has no number nan", JsonError);
}

TEST_CASE("no shorter part of a document is one") {
    REQUIRE(read(read(everything)) == read(everything));
    for (std::size_t length = 0; length < everything.size(); ++length)
        CHECK_THROWS_AS(Json::parse(everything.substr(0, length)), JsonError);
}

TEST_CASE("changed bytes are refused or read as what they say") {
    std::mt19937 random(5);
    const std::string_view likely = "{}[]\",:\\/ue0123456789.+-truefalsn \n\x80\xc3\xff";
    int accepted = 0;
    for (int trial = 0; trial < 20000; ++trial) {
        std::string text = everything;
        for (auto changes = random() % 4 + 1; changes > 0; --changes) {
            const std::size_t at = random() % text.size();
            if (random() % 3 == 0)
                text.erase(at, random() % 3);
            else if (random() % 2 == 0)
                text.insert(at, 1, likely[random() % likely.size()]);
            else
                text[at] = static_cast<char>(random() % 256);
        }
        try {
            const std::string value = written(Json::parse(text));
            ++accepted;
            if (written(Json::parse(value)) != value)
                FAIL_CHECK(value);
        } catch (const JsonError& error) {
            if (std::string_view(error.what()).size() > 200)
                FAIL_CHECK(error.what());
        }
    }
    CHECK(accepted > 1000);
    CHECK(accepted < 19000);
}
