// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string>
#include <string_view>

namespace superstep {

/// A call as indented elements: lists repeat their element, `@x` keys are attributes, `#text` is
/// text between the tags.
/// @param arguments anything but an object is the text of the element
[[nodiscard]] std::string call_xml(std::string_view tool, const json::value& arguments);

/// A result in a `<tool_response>`: lists are `<item>` elements, nothing is escaped.
[[nodiscard]] std::string result_xml(std::string_view tool, const json::value& result);

} // namespace superstep
