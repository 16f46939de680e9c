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
///
/// The value of an element is its text, or an object if it has attributes or inner elements. An
/// attribute x is the member `@_x`, and the text beside inner elements is the member `#text`.
/// Entities are not decoded.
/// @param raw elements whose content is not parsed
/// @return an error if the tags do not match, or there are too many or too deeply nested elements
[[nodiscard]] result<json::object> read_xml(std::string_view xml, const raw_names& raw);
/// Returns `xml` with missing close tags added, and without close tags that close nothing. A `<`
/// that begins no tag is escaped.
[[nodiscard]] std::string balance_xml(std::string_view xml);

/// Whether an element with one of these names occurs several times, at any depth. Elements inside
/// the first top-level element with another of these names do not count.
[[nodiscard]] bool repeats_element(std::string_view xml, const raw_names& names);
/// Finds the outermost element for each of these names, at any depth.
/// @return the content of the elements by name. Empty if the text does not end with a tag
[[nodiscard]] json::object outermost_elements(std::string_view xml, const raw_names& names);

} // namespace superstep
