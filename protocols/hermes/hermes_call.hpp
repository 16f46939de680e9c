// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "protocols/argument_shape.hpp"

#include <superstep/protocols/tool_protocol.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep::hermes {

/// Whether to repair JSON that cannot be parsed.
enum class repair { no, yes };

/// Parses the text between the tags of a call. Nullopt if it is not a call or the arguments do not
/// match the schema of the tool.
/// @param shapes the precomputed facts of the same tools
[[nodiscard]] std::optional<parsed_call> read_body(std::string_view body,
                                                   const std::vector<protocol_tool>& tools,
                                                   argument_shapes& shapes, repair mode);

/// Returns the member `name` of the JSON object that the text begins with. The JSON may be invalid
/// after that member. Empty if there is no such string.
[[nodiscard]] std::string name_in(std::string_view body);

} // namespace superstep::hermes
