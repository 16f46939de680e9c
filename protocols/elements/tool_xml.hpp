// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/error.hpp>
#include <superstep/base/json.hpp>

#include <string>
#include <string_view>
#include <unordered_set>

namespace superstep {

/// Names of elements whose content is taken verbatim.
using raw_names = std::unordered_set<std::string>;

/// Returns the elements of `xml` as members; text around them is ignored.
/// @param names_once top-level elements that may occur once; repetition of others makes a list
[[nodiscard]] result<json::object> read_xml(std::string_view xml, const raw_names& raw,
                                            const raw_names& names_once);
/// Returns `xml` with missing close tags added and stray ones removed.
[[nodiscard]] std::string balance_xml(std::string_view xml);

/// Parses arguments written as XML elements. Unlike in XML, the content of a string property is
/// taken verbatim, markup included. Linear in the length; nesting is bounded by xml_depth_max.
/// @param repair whether unbalanced tags are repaired before the text is rejected
[[nodiscard]] result<json::value> parse_tool_xml(std::string_view xml, const json::value& schema,
                                                 bool repair);

/// The names that the reader needs from a schema, computed once.
struct xml_names {
  explicit xml_names(const json::value& schema);
  raw_names raw;  ///< string properties at any level, whose content is never markup
  raw_names once; ///< top-level string properties, which do not make lists
};

/// Whether the last of repeated strings counts: models repeat them if `command` is a list.
[[nodiscard]] bool keeps_last_text(const json::value& schema);

/// As above, for a schema whose names are known.
[[nodiscard]] result<json::value> parse_tool_xml(std::string_view xml, const json::value& schema,
                                                 const xml_names& names, bool repair);

} // namespace superstep
