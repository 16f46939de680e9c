// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <boost/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// Boost.JSON, for dynamic data at the boundaries of the program. Internally, messages and state
/// are C++ types.
namespace json = boost::json;

/// Limits of one parse, so that input cannot exhaust memory or stack.
struct json_limits {
  std::size_t bytes_max = 256 * 1024 * 1024; ///< length of the text
  std::size_t depth_max = 200;               ///< nesting of arrays and objects
};

/// Parses one JSON text, using simdjson.
///
/// Beyond RFC 8259, two things are errors because data would be lost silently: a duplicate key in
/// an object, and an integer that does not fit in 64 bits.
///
/// @param memory allocates the value and every copy that does not specify its own
/// @return the value; errc::parse_failed with byte offset and an excerpt of the text;
/// errc::too_large beyond `limits`
/// @par Threads
/// May be called from any thread; each thread reuses one parser.
[[nodiscard]] result<json::value> parse_json(std::string_view text, json_limits limits = {},
                                             json::storage_ptr memory = {});

/// Returns compact JSON with keys in their order. Doubles are written in their shortest round-trip
/// form (18.0, 1e+300); infinities and NaN become null. Non-ASCII text is not escaped.
[[nodiscard]] std::string to_text(const json::value&);
[[nodiscard]] std::string to_text(const json::object&);
/// Appends the same text to `out`. @{
void append_text(std::string& out, const json::value&);
void append_text(std::string& out, const json::object&);
void append_text(std::string& out, const json::array&);
/// @}
/// Appends a JSON string with its quotes.
void append_quoted(std::string& out, std::string_view text);

/// Returns canonical JSON: as to_text(), but with object keys sorted by code point. For lookup keys
/// and fingerprints.
[[nodiscard]] std::string to_canonical_text(const json::value&);

} // namespace superstep
