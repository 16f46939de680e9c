// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// Parses JSON as models write it: with comments, one trailing comma, single quotes, and unquoted
/// words as strings. Numbers are parsed as doubles; numbers without a fraction become integers. A
/// member named `__proto__` is dropped.
/// @return the value, or an error with the byte offset; repeated keys, and values nested deeper
/// than in parse_json(), are errors
///
/// Source: the relaxed JSON parser of @ai-sdk-tool/parser 4.1.26.
[[nodiscard]] result<json::value> parse_relaxed_json(std::string_view text);

/// Parses strict JSON as JavaScript's `JSON.parse` does. If a key is repeated, its last value is
/// used. Numbers are parsed as doubles; numbers without a fraction become integers.
[[nodiscard]] result<json::value> parse_lenient_json(std::string_view text);

/// The variant of JSON that read_json() accepts.
struct json_dialect {
  bool relaxed = false;    ///< accept comments, unquoted words, single quotes and trailing commas;
                           ///< reject repeated keys
  bool keep_proto = false; ///< keep a member named `__proto__` instead of dropping it
};

/// Parses JSON of a dialect. The other functions of this header call it.
[[nodiscard]] result<json::value> read_json(std::string_view text, json_dialect dialect);

/// Returns the position of the first byte from `at` on that is the quote, a backslash or a control
/// character. Returns `s.size()` if there is no such byte.
[[nodiscard]] std::size_t end_of_plain(std::string_view s, std::size_t at, char quote) noexcept;

/// Parses the JSON string whose opening quote is at `at`. A string in single quotes may contain
/// escaped single quotes.
/// @param at moved to the position after the closing quote, or to the fault
/// @param out the unescaped text is appended to it
/// @return the text of the fault; null if there is none
[[nodiscard]] const char* read_json_string(std::string_view s, std::size_t& at, std::string& out);

} // namespace superstep
