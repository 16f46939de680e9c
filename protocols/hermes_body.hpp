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

/// The call in the text between the tags; nothing: there is none that can be understood.
/// @param shapes of the same tools
[[nodiscard]] std::optional<parsed_call> read_body(std::string_view body,
                                                   const std::vector<protocol_tool>& tools,
                                                   argument_shapes& shapes, repair mode);

/// The text of the string member `name` of the object that the text begins, if it can be read
/// although the text may be broken further on; empty: it cannot.
[[nodiscard]] std::string name_in(std::string_view body);

} // namespace superstep::hermes
