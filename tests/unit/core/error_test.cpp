// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include <ragged/core/error.hpp>

TEST_CASE("every error is caught as Error and as std::runtime_error, and as no other layer's") {
    static_assert(std::is_base_of_v<std::runtime_error, ragged::Error>);
    static_assert(std::is_base_of_v<ragged::Error, ragged::JsonError>);
    static_assert(std::is_base_of_v<ragged::Error, ragged::SpecError>);
    static_assert(std::is_base_of_v<ragged::Error, ragged::PlanError>);
    static_assert(std::is_base_of_v<ragged::Error, ragged::BufferError>);
    static_assert(std::is_base_of_v<ragged::Error, ragged::CommError>);
    static_assert(!std::is_base_of_v<ragged::SpecError, ragged::PlanError>);
    static_assert(!std::is_base_of_v<ragged::PlanError, ragged::BufferError>);
    CHECK_THROWS_WITH_AS(throw ragged::SpecError("tensor 'wq'"), "tensor 'wq'", ragged::Error);
    CHECK_THROWS_WITH_AS(throw ragged::PlanError("group 'g'"), "group 'g'", std::runtime_error);
    CHECK_THROWS_WITH_AS(throw ragged::BufferError("slot 1"), "slot 1", ragged::Error);
}

TEST_CASE("a communication error names the operation and the rank to blame") {
    try {
        throw ragged::CommError("rank 3 left all_gather", "all_gather", 3);
    } catch (const ragged::Error& base) {
        const auto& error = dynamic_cast<const ragged::CommError&>(base);
        CHECK(std::string(error.what()) == "rank 3 left all_gather");
        CHECK(error.operation() == "all_gather");
        CHECK(error.rank() == 3);
    }
    CHECK(ragged::CommError("timeout", "barrier", -1).rank() == -1);
    const ragged::CommError error("a", "b", 1), copy = error; // thrown objects are copied
    CHECK(copy.operation() == "b");
}

TEST_CASE("concat joins strings, characters and numbers in order") {
    using namespace std::string_literals;
    using namespace std::string_view_literals;
    CHECK(ragged::concat() == "");
    CHECK(ragged::concat("tensor '", "wq"s, '\'', ": "sv, 4096, " of ", std::int64_t{14336}) ==
          "tensor 'wq': 4096 of 14336");
    CHECK(ragged::concat(std::size_t{7}, -1, 2u) == "7-12");
    CHECK(ragged::concat(std::numeric_limits<std::int64_t>::min(), ' ',
                         std::numeric_limits<std::int64_t>::max(), ' ',
                         std::numeric_limits<std::uint64_t>::max()) ==
          "-9223372036854775808 9223372036854775807 18446744073709551615");
    CHECK(ragged::concat(0.5) == "0.500000");
    CHECK(ragged::concat('x', "", "y"s) == "xy");
}
