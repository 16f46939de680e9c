// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <string>
#include <string_view>
#include <unordered_set>

namespace superstep {

/// Names of elements whose content is text and is not parsed as XML.
using raw_names = std::unordered_set<std::string>;

/// Parses XML elements to an object with one member per element name. An element that occurs
/// several times becomes a list. Text outside the elements is ignored.
/// @param raw elements whose content is not parsed
/// @param names_once elements that must not occur twice at the top level
/// @return an error if the tags do not match, an element of `names_once` is repeated, or there are
/// too many or too deeply nested elements
[[nodiscard]] result<json::object> read_xml(std::string_view xml, const raw_names& raw,
                                            const raw_names& names_once);
/// Returns `xml` with missing close tags added, and without close tags that close nothing. A `<`
/// that begins no tag is escaped.
[[nodiscard]] std::string balance_xml(std::string_view xml);

/// Parses arguments written as XML elements and coerces them to the schema. Unlike in XML, the
/// content of a string property is text even if it contains tags. Linear in the length; elements
/// may be nested xml_depth_max deep.
/// @param schema the JSON Schema of the arguments, without a wrapper
/// @param repair whether to repair unbalanced tags if the text cannot be parsed otherwise
/// @return the coerced arguments; an error in the cases in which read_xml() returns one
[[nodiscard]] result<json::value> parse_tool_xml(std::string_view xml, const json::value& schema,
                                                 bool repair);

/// The names that parse_tool_xml() needs from a schema, computed once per tool.
struct xml_names {
  explicit xml_names(const json::value& schema);
  raw_names raw;  ///< string properties at any level; their content is not parsed
  raw_names once; ///< top-level string properties, which must not be repeated
};

/// Whether a repeated string property is allowed and its last value is used. True for tools with a
/// list `command`, for which models repeat the other parameters.
/// Source: @ai-sdk-tool/parser 4.1.26.
[[nodiscard]] bool keeps_last_text(const json::value& schema);

/// Parses arguments like the overload above, with names that the caller has computed.
[[nodiscard]] result<json::value> parse_tool_xml(std::string_view xml, const json::value& schema,
                                                 const xml_names& names, bool repair);

} // namespace superstep
