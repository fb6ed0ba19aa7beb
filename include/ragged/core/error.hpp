// SPDX-FileCopyrightText: 2026 The ragged authors
// SPDX-License-Identifier: Apache-2.0
//
// What the library throws. Every message is one line that names the tensor, the numbers found and the numbers
// allowed; the type says which layer refused.
//
//     try { auto plan = ragged::make_plan(group, 1024); }
//     catch (const ragged::PlanError& error) { log(error.what()); }
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace ragged {

/// Base of everything the library throws.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// A text is not JSON, or holds something else than what is asked for.
class JsonError : public Error {
  public:
    using Error::Error;
};

/// A model description is malformed: names, types, shapes, blocks, inventory files.
class SpecError : public Error {
  public:
    using Error::Error;
};

/// A layout or plan cannot be made from these numbers, or a policy returned one that breaks a law.
class PlanError : public Error {
  public:
    using Error::Error;
};

/// A buffer was asked for something that its plan, type or memory does not allow.
class BufferError : public Error {
  public:
    using Error::Error;
};

/// A collective failed. `rank` is the rank to blame, or -1 when no single one is.
class CommError : public Error {
  public:
    CommError(const std::string& what, std::string operation, int rank)
        : Error(what)
        , operation_(std::move(operation))
        , rank_(rank) {}

    const std::string& operation() const noexcept { return operation_; }
    int rank() const noexcept { return rank_; }

  private:
    std::string operation_;
    int rank_;
};

namespace detail {

inline void append(std::string& text, std::string_view part) {
    text += part;
}
inline void append(std::string& text, char part) {
    text += part;
}
template <class Number>
requires std::is_arithmetic_v<Number>
void append(std::string& text, Number part) {
    text += std::to_string(part);
}

} // namespace detail

/// Join strings and numbers into one message. Standard formatting is not available in every C++20 library.
template <class... Parts>
std::string concat(const Parts&... parts) {
    std::string text;
    (detail::append(text, parts), ...);
    return text;
}

} // namespace ragged
