// SPDX-License-Identifier: Apache-2.0
// Formats messages for terminals.
#include <superstep/messages/history.hpp>
#include <superstep/messages/message_json.hpp>

#include <cctype>

namespace superstep {

namespace {

constexpr auto width = std::size_t{80};

/// Centers a title in a line of `=`, 80 columns wide, as langchain-core does.
std::string rule_with(std::string title) {
  title = ' ' + std::move(title) + ' ';
  const auto rest = title.size() < width ? width - title.size() : std::size_t{0};
  return std::string(rest / 2, '=') + title + std::string(rest - rest / 2, '=');
}

std::string title_of(const message& m) {
  auto type = m.type == message_type::chat ? m.role.value_or({}) : std::string{to_string(m.type)};
  if (!type.empty())
    type[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(type[0])));
  return type + " Message";
}

/// Returns the content with one line per block: its text, or its type in brackets.
std::string body_of(const message& m) {
  if (!m.blocks)
    return m.content;
  auto out = std::string{};
  for (const auto& element : *m.blocks) {
    const auto* block = element.if_object();
    const auto* text = block ? block->if_contains("text") : &element;
    if (!out.empty())
      out += '\n';
    if (text && text->is_string()) {
      out += std::string_view{text->get_string()};
      continue;
    }
    const auto* type = block ? block->if_contains("type") : nullptr;
    out += '[' + (type && type->is_string() ? std::string{type->get_string()} : "block") + ']';
  }
  return out;
}

void append_call_header(std::string& out, const std::string& name, const std::string& id) {
  out += "\n  " + name + (id.empty() ? "" : " (" + id + ')') + "\n  Args:";
}

void append_calls(std::string& out, const message& m) {
  if (!m.tool_calls.empty())
    out += "\nTool Calls:";
  for (const auto& call : m.tool_calls) {
    append_call_header(out, call.name, call.id);
    for (const auto& [key, value] : call.args) {
      const auto* text = value.if_string();
      out += "\n    " + std::string{key} + ": " + (text ? std::string{*text} : to_text(value));
    }
  }
  if (!m.invalid_tool_calls.empty())
    out += "\nInvalid Tool Calls:";
  for (const auto& call : m.invalid_tool_calls) {
    append_call_header(out, call.name, call.id);
    out += "\n    " + call.args;
    if (!call.error.empty())
      out += "\n  Error: " + call.error;
  }
}

} // namespace

std::string pretty_text(const message& m) {
  auto out = rule_with(title_of(m));
  if (!m.name.empty())
    out += "\nName: " + m.name;
  if (m.type == message_type::tool && m.is_error)
    out += "\nStatus: error";
  if (const auto body = body_of(m); !body.empty())
    out += "\n\n" + body;
  append_calls(out, m);
  return out;
}

std::string pretty_text(const message_list& messages) {
  auto out = std::string{};
  for (const auto& m : messages)
    out += (out.empty() ? "" : "\n\n") + pretty_text(m);
  return out;
}

} // namespace superstep
