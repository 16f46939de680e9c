// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/elements/xml_tree.hpp"

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <string_view>

namespace superstep {

/// Parses arguments written as XML elements and coerces them to the schema. Unlike in XML, the
/// content of a string property is text even if it contains tags. Linear in the length; elements
/// may be nested xml_depth_max deep.
/// @param schema the JSON Schema of the arguments, without a wrapper
/// @param repair whether to repair unbalanced tags if the text cannot be parsed otherwise
/// @return the coerced arguments; an error in the cases in which read_xml() returns one, and if the
/// element of a string property is repeated
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

/// Converts the value of a top-level element that read_xml() returned: the text of an element with
/// attributes or inner elements replaces them, and `<item>` or numbered elements become a list.
/// @param property schema of the argument; null if the tool's schema does not contain it
[[nodiscard]] json::value argument_of(json::value v, const json::value* property);

/// Parses arguments like the overload above, with names that the caller has computed.
[[nodiscard]] result<json::value> parse_tool_xml(std::string_view xml, const json::value& schema,
                                                 const xml_names& names, bool repair);

} // namespace superstep
