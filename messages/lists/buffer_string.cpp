// SPDX-License-Identifier: Apache-2.0
// Renders a conversation as plain text; the XML form is in buffer_xml.cpp.

#include "messages/python_text.hpp"

#include <superstep/messages/history.hpp>
#include <superstep/messages/message_json.hpp>

namespace superstep {

namespace {

/// Only the prefixes of human and ai messages can be configured, as in langchain-core.
std::string_view prefix_of(const message& m, const buffer_options& options) {
  switch (m.type) {
  case message_type::human:
    return options.human_prefix;
  case message_type::ai:
    return options.ai_prefix;
  case message_type::system:
    return "System";
  case message_type::tool:
    return "Tool";
  case message_type::function:
    return "Function";
  case message_type::chat:
    return m.role ? std::string_view{*m.role} : std::string_view{};
  case message_type::remove:
    break;
  }
  return "Remove";
}

} // namespace

std::string buffer_string(const message_list& messages, const buffer_options& options) {
  auto out = std::string{};
  auto separator = std::string_view{};
  for (const auto& m : messages) {
    out += separator;
    separator = options.separator;
    ((out += prefix_of(m, options)) += ": ") += text_of(m);
    if (m.type != message_type::ai)
      continue;
    if (!m.tool_calls.empty())
      append_python_literal(out, to_json(m).at("tool_calls"));
    else if (const auto* call = m.additional_kwargs.if_contains("function_call"))
      append_python_literal(out, *call);
  }
  return out;
}

} // namespace superstep
