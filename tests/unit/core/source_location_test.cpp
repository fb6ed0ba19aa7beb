// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include <ragged/core/source_location.hpp>

namespace {

ragged::SourceLocation called_from(ragged::SourceLocation where = ragged::SourceLocation::current()) {
    return where;
}

} // namespace

TEST_CASE("as a default argument it is the place of the call") {
    const ragged::SourceLocation first = called_from();
    const ragged::SourceLocation second = called_from();
    CHECK(second.line == first.line + 1);
    CHECK(std::string(first.file).ends_with("source_location_test.cpp"));
}
