// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// Formats a call as indented XML elements, one per argument. A list becomes one element per item.
/// A key `@x` becomes the attribute x, and `#text` becomes text between the tags.
/// @param arguments usually an object; a list becomes `<item>` elements, a scalar the text of the
/// element
[[nodiscard]] std::string call_xml(std::string_view tool, const json::value& arguments);

/// Formats a tool result as a `<tool_response>` element. A list becomes `<item>` elements. Nothing
/// is escaped, as in @ai-sdk-tool/parser 4.1.26.
[[nodiscard]] std::string result_xml(std::string_view tool, const json::value& result);

} // namespace superstep
