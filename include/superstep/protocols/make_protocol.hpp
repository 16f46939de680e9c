// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/tool_definition.hpp>
#include <superstep/protocols/tool_protocol.hpp>

#include <string_view>

namespace superstep {

/// The protocol of an agent file, in its own spelling or in that of the ecosystem; the error of an
/// unknown name lists those there are.
[[nodiscard]] result<tool_protocol_ptr> make_protocol(std::string_view name);

/// A tool as protocols want it, from `{name, description, inputSchema, inputExamples}`.
[[nodiscard]] protocol_tool make_protocol_tool(const json::object& declaration);
[[nodiscard]] protocol_tool make_protocol_tool(const tool_definition& tool);

} // namespace superstep
