// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include <ragged/core/fixed_string.hpp>

namespace {

using ragged::FixedString;

template <FixedString Name>
struct Named {
    static constexpr std::string_view name = Name.view();
};

} // namespace

TEST_CASE("a fixed string is its characters without the terminator") {
    static_assert(FixedString("shard").view() == "shard");
    static_assert(FixedString("shard").view().size() == 5);
    static_assert(FixedString("").view().empty());
    static_assert(FixedString("a\0b").view().size() == 3); // a zero inside belongs to it
    const std::string_view converted = FixedString("shard");
    CHECK(std::string(FixedString("wq").view()) == "wq");
    CHECK(converted.size() == 5);
}

TEST_CASE("equality looks at the characters, across lengths") {
    static_assert(FixedString("a") == FixedString("a"));
    static_assert(!(FixedString("a") == FixedString("b")));
    static_assert(!(FixedString("a") == FixedString("ab")));
    static_assert(!(FixedString("ab") == FixedString("a")));
    static_assert(FixedString("") == FixedString(""));
    static_assert(!(FixedString("a") == FixedString("a\0")));
    CHECK(FixedString("shard") == FixedString("shard"));
}

TEST_CASE("as a template argument: equal strings are one type, others are not") {
    static_assert(std::is_same_v<Named<"shard">, Named<"shard">>);
    static_assert(!std::is_same_v<Named<"shard">, Named<"replica">>);
    static_assert(!std::is_same_v<Named<"a">, Named<"a ">>);
    CHECK(Named<"layers.0.wq">::name == "layers.0.wq");
}
