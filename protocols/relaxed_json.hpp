// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// Parses JSON as models write it: with comments, one trailing comma, single quotes, bare words as
/// strings. Follows the relaxed parser of `@ai-sdk-tool/parser` 4.1.26. Errors contain the offset.
/// Nesting is bounded as in parse_json(). Numbers are doubles; whole ones become integers. A member
/// named `__proto__` is dropped.
[[nodiscard]] result<json::value> parse_relaxed_json(std::string_view text);

/// Parses strict JSON as JavaScript's `JSON.parse` does: the last value of a repeated key counts,
/// and every number is a double (whole ones become integers).
[[nodiscard]] result<json::value> parse_lenient_json(std::string_view text);

/// The variant of JSON that read_json() accepts.
struct json_dialect {
  bool relaxed = false;    ///< comments, words, single quotes, trailing commas; no repeated keys
  bool keep_proto = false; ///< a member named `__proto__` is kept, for callers that refuse it
};

[[nodiscard]] result<json::value> read_json(std::string_view text, json_dialect dialect);

/// Returns the end of the unescaped beginning of a string: the position of its quote, an escape, a
/// control character or the end of the text.
[[nodiscard]] std::size_t end_of_plain(std::string_view s, std::size_t at, char quote) noexcept;

/// Reads the JSON string whose quote is at `at`, and moves `at` behind it. A single-quoted string
/// may contain escaped single quotes.
/// @returns the fault, with `at` at its position; null if there is none
[[nodiscard]] const char* read_json_string(std::string_view s, std::size_t& at, std::string& out);

} // namespace superstep
