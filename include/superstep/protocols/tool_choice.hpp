// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

namespace superstep {

/// What a model must be asked for so that it calls a tool: `{type: json, schema, …}`; null for a
/// choice that is left to the model. Refuses a choice that no answer could satisfy.
/// @param choice `{type: auto | none | required | tool, toolName?}`
[[nodiscard]] result<json::value> forced_response_format(const std::vector<protocol_tool>& tools,
                                                         const json::object& choice);

/// The one call in an answer of that format. Always a call: a forced choice has no other outcome,
/// and what is wrong with it goes to `on_error`.
[[nodiscard]] parsed_call parse_forced_call(std::string_view text,
                                            const std::vector<protocol_tool>& tools,
                                            const protocol_error_handler& on_error);

} // namespace superstep
