// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <string_view>

namespace superstep {

/// Reads arguments written as XML elements. Not XML: what a string property holds is taken as it
/// stands, markup included. Linear in the length; nesting is bounded.
/// @param repair mends tags that do not match before giving up
[[nodiscard]] result<json::value> parse_tool_xml(std::string_view xml, const json::value& schema,
                                                 bool repair);

} // namespace superstep
