// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/result.hpp>

#include <boost/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// Dynamic data at the edges of the program. Inside, messages and state are C++ types.
namespace json = boost::json;

/// Bounds of one parse: what comes from outside must not exhaust the memory or the stack.
struct json_limits {
  std::size_t bytes_max = 256 * 1024 * 1024; ///< length of the text
  std::size_t depth_max = 200;               ///< arrays and objects inside one another
};

/// Parses one JSON text (simdjson underneath). The error carries byte offset and an excerpt.
///
/// Refused beyond what JSON refuses: a key that stands twice in one object (one of the values would
/// be lost in silence) and an integer that fits no 64 bits (it would lose digits).
///
/// The value stands in `memory`, and so does every copy that is not given memory of its own.
[[nodiscard]] result<json::value> parse_json(std::string_view text, json_limits limits = {},
                                             json::storage_ptr memory = {});

/// Compact JSON with the keys as they stand; doubles in their shortest round-trip form
/// (18.0 prints as 18.0, 1e+300 as 1e+300); non-ASCII text is kept as UTF-8. A double that JSON
/// cannot write (infinite, not a number) becomes null.
[[nodiscard]] std::string to_text(const json::value&);
[[nodiscard]] std::string to_text(const json::object&);
void append_text(std::string& out, const json::value&);
void append_text(std::string& out, const json::object&);
void append_text(std::string& out, const json::array&);
/// One JSON string, quotes included.
void append_quoted(std::string& out, std::string_view text);

/// The same with object keys sorted by code point and no other choice left: for keys and
/// fingerprints.
[[nodiscard]] std::string to_canonical_text(const json::value&);

} // namespace superstep
