// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace superstep {

/// Boost.JSON, for dynamic data at the boundaries of the program. Internally, messages and state
/// are C++ types. Programs that use its conversions, such as value_to(), or its parser classes
/// include <boost/json.hpp>; this header does not, to save compile time.
namespace json = boost::json;

/// Limits of one call of parse_json(), so that input cannot exhaust memory or stack.
struct json_limits {
  std::size_t bytes_max = 256 * 1024 * 1024; ///< length of the text in bytes
  std::size_t depth_max = 200;               ///< nesting of arrays and objects
};

/// Parses one JSON text (RFC 8259), using simdjson.
///
/// RFC 8259 allows a duplicate key in an object and an integer that does not fit in 64 bits. Both
/// are errors here, because data would be lost silently.
///
/// @param text the complete text, in UTF-8
/// @param limits see json_limits
/// @param memory allocates the value, and its copies unless they specify another storage
/// @return the value; errc::parse_failed with byte offset and an excerpt of the text;
/// errc::too_large beyond `limits`
/// @par Threads
/// May be called from any thread; each thread reuses one parser.
[[nodiscard]] result<json::value> parse_json(std::string_view text, json_limits limits = {},
                                             json::storage_ptr memory = {});

/// Returns compact JSON with keys in their order. Doubles are written in their shortest form that
/// parses to the same value (18.0, 1e+300); infinities and NaN become null. Non-ASCII text is not
/// escaped. May be called from any thread. @{
[[nodiscard]] std::string to_text(const json::value&);
[[nodiscard]] std::string to_text(const json::object&);
/// @}
/// Appends the text of to_text() to `out`. May be called from any thread. @{
void append_text(std::string& out, const json::value&);
void append_text(std::string& out, const json::object&);
void append_text(std::string& out, const json::array&);
/// @}
/// Appends a text to `out` as a JSON string, with quotes and escapes. The text must be UTF-8, which
/// is not checked. May be called from any thread.
void append_quoted(std::string& out, std::string_view text);

/// Returns canonical JSON: as to_text(), but with object keys sorted by code point. For lookup keys
/// and fingerprints. May be called from any thread.
[[nodiscard]] std::string to_canonical_text(const json::value&);

} // namespace superstep
