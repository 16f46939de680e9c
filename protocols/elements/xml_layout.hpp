// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// Formats a call as indented XML elements, one per argument. A list becomes one element per item.
/// A key `@x` and the members of `_attributes` become attributes. `#text` and `_text` become text
/// between the tags. A list in a list is flattened, as in @ai-sdk-tool/parser 4.1.26.
/// @param arguments usually an object; a list becomes one `<tool>` element per item, a scalar the
/// text of the element
[[nodiscard]] std::string call_xml(std::string_view tool, const json::value& arguments);

/// Formats a tool result as a `<tool_response>` element. A list becomes `<item>` elements. Nothing
/// is escaped, as in @ai-sdk-tool/parser 4.1.26.
[[nodiscard]] std::string result_xml(std::string_view tool, const json::value& result);

} // namespace superstep
