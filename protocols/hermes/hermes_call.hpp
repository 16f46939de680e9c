// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/argument_shape.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::hermes {

enum class repair { no, yes };

/// Returns the call in the text between the tags; nullopt if it cannot be parsed.
/// @param shapes the shapes of the same tools
[[nodiscard]] std::optional<parsed_call> read_body(std::string_view body,
                                                   const std::vector<protocol_tool>& tools,
                                                   argument_shapes& shapes, repair mode);

/// Returns the string member `name` of the object at the beginning of the text, which may be broken
/// after that member. Empty if it cannot be read.
[[nodiscard]] std::string name_in(std::string_view body);

} // namespace superstep::hermes
