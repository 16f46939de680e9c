// SPDX-License-Identifier: Apache-2.0
// Converts AI SDK conversations to text. Follows transformParams of @ai-sdk-tool/parser 4.1.26
// (recorded cases of kind proto.transform). Declared in protocol_parts.hpp.
#include "protocols/protocol_parts.hpp"
#include "protocols/text.hpp"

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

bool is_a(const json::value& part, std::string_view type) {
  return part.is_object() && text::member_text(part.get_object(), "type") == type;
}

json::value text_part(std::string_view text) {
  auto part = json::object{{"type", "text"}};
  part["text"] = json::string_view{text.data(), text.size()};
  return part;
}

bool is_all_text(const json::array& parts) {
  return std::ranges::all_of(parts, [](const auto& part) { return is_a(part, "text"); });
}

std::string joined(const json::array& parts) {
  auto out = std::string{};
  for (const auto& part : parts) {
    if (&part != parts.data())
      out += '\n';
    out += text::member_text(part.get_object(), "text");
  }
  return out;
}

std::string_view role_of(const json::value& message) {
  return message.is_object() ? text::member_text(message.get_object(), "role") : std::string_view{};
}

json::array* parts_of(json::value& message) {
  auto* content = message.is_object() ? message.get_object().if_contains("content") : nullptr;
  return content ? content->if_array() : nullptr;
}

/// Returns a message with these members only. Options of a message whose content was converted are
/// dropped, as in the AI SDK middleware.
json::value bare_message(std::string_view role, json::value content) {
  auto message = json::object{};
  message["role"] = json::string_view{role.data(), role.size()};
  message["content"] = std::move(content);
  return message;
}

json::array assistant_parts(const tool_protocol& protocol, json::array parts,
                            const protocol_error_handler& on_error) {
  auto out = json::array{};
  for (auto& part : parts) {
    if (is_a(part, "text") || is_a(part, "reasoning")) {
      out.push_back(std::move(part));
    } else if (is_a(part, "tool-call")) {
      const auto& call = part.get_object();
      const auto* input = call.if_contains("input");
      const auto arguments = input == nullptr     ? std::string{"{}"}
                             : input->is_string() ? std::string{text::view(input->get_string())}
                                                  : to_text(*input);
      out.push_back(
          text_part(protocol.format_call(text::member_text(call, "toolName"), arguments)));
    } else {
      out.push_back(text_part(to_text(part)));
      if (on_error)
        on_error({"unknown-assistant-content", "", to_text(part)});
    }
  }
  if (is_all_text(out))
    return json::array{text_part(joined(out))};
  return out;
}

std::string approval(const json::object& part) {
  const auto* approved = part.if_contains("approved");
  const auto is_approved = approved && approved->is_bool() && approved->get_bool();
  const auto reason = std::string{text::member_text(part, "reason")};
  return std::string{"[Tool Approval "} + (is_approved ? "Approved" : "Denied") +
         (reason.empty() ? reason : ": " + reason) + ']';
}

/// Converts the parts of a tool message: first the results, then the user's decisions about calls
/// that needed approval. A message without such parts becomes an empty text.
json::array tool_parts(const tool_protocol& protocol, const json::array& parts) {
  auto sections = json::array{};
  for (const auto& part : parts) {
    if (!is_a(part, "tool-result"))
      continue;
    const auto& found = part.get_object();
    const auto* output = found.if_contains("output");
    const auto value =
        output && output->is_object() ? tool_result_value(output->get_object()) : json::value{};
    sections.push_back(
        text_part(protocol.format_result(text::member_text(found, "toolName"), value)));
  }
  for (const auto& part : parts)
    if (is_a(part, "tool-approval-response"))
      sections.push_back(text_part(approval(part.get_object())));
  if (sections.empty())
    sections.push_back(text_part(""));
  return sections;
}

/// Returns the text of a system message. Parts of other types are left out.
std::string system_text(json::value& message) {
  const auto* parts = parts_of(message);
  if (parts == nullptr)
    return std::string{text::member_text(message.get_object(), "content")};
  auto texts = json::array{};
  for (const auto& part : *parts)
    if (is_a(part, "text") && !text::member_text(part.get_object(), "text").empty())
      texts.push_back(part);
  return joined(texts);
}

void add_system_text(json::array& messages, std::string_view prompt) {
  if (text::trim(prompt).empty())
    return;
  for (auto& message : messages) {
    if (role_of(message) != "system")
      continue;
    message.get_object()["content"] = system_text(message) + "\n\n" + std::string{prompt};
    return;
  }
  auto system = json::object{{"role", "system"}};
  system["content"] = json::string_view{prompt.data(), prompt.size()};
  messages.push_back(std::move(system));
}

/// Replaces several texts of a message by one, with a line for each.
void join_text(json::value& message) {
  auto* parts = parts_of(message);
  if (parts == nullptr || parts->size() < 2 || !is_all_text(*parts))
    return;
  const auto role = std::string{role_of(message)};
  const auto text = joined(*parts);
  message = role == "system" ? bare_message(role, json::value(text))
                             : bare_message(role, json::array(1, text_part(text)));
}

/// Merges adjacent user messages that contain only text, also empty text. Models expect alternating
/// roles.
json::array merge_user_messages(json::array messages) {
  const auto is_user_text = [](json::value& message) {
    const auto* parts = parts_of(message);
    return role_of(message) == "user" && parts && is_all_text(*parts);
  };
  auto out = json::array{};
  for (auto& message : messages) {
    if (out.empty() || !is_user_text(message) || !is_user_text(out.back())) {
      out.push_back(std::move(message));
      continue;
    }
    const auto text = joined(*parts_of(out.back())) + '\n' + joined(*parts_of(message));
    out.back() = bare_message("user", json::array(1, text_part(text)));
  }
  return out;
}

std::string id_text(const json::object& part) {
  const auto* id = part.if_contains("fileId");
  if (id == nullptr)
    return "";
  return id->is_string() ? std::string{text::view(id->get_string())} : to_text(*id);
}

/// Returns the text for one part of a tool result. Images and files become a placeholder.
std::string placeholder(const json::object& part) {
  const auto type = text::member_text(part, "type");
  const auto in = [&](const char* key) { return std::string{text::member_text(part, key)}; };
  if (type == "text")
    return in("text");
  if (type == "image-data")
    return "[Image: " + in("mediaType") + ']';
  if (type == "image-url")
    return "[Image URL: " + in("url") + ']';
  if (type == "image-file-id")
    return "[Image ID: " + id_text(part) + ']';
  if (type == "file-data") {
    const auto name = in("filename");
    return name.empty() ? "[File: " + in("mediaType") + ']'
                        : "[File: " + name + " (" + in("mediaType") + ")]";
  }
  if (type == "file-url")
    return "[File URL: " + in("url") + ']';
  if (type == "file-id")
    return "[File ID: " + id_text(part) + ']';
  if (type == "media")
    return "[Media: " + in("mediaType") + ']';
  return type == "custom" ? "[Custom content]" : "[Unknown content]";
}

} // namespace

std::string example_section(const tool_protocol& protocol,
                            const std::vector<protocol_tool>& tools) {
  auto out = std::string{};
  for (const auto& tool : tools) {
    for (auto i = std::size_t{0}; i < tool.examples.size(); ++i) {
      out += out.empty() ? "" : "\n\n";
      out += i == 0 ? "Tool: " + tool.name + '\n' : "";
      out += "Example " + std::to_string(i + 1) + ":\n";
      out += protocol.example_call(tool.name, tool.examples[i]);
    }
  }
  if (out.empty())
    return out;
  return "# Sample calls\nThey show the form of a call. Take the values from the conversation, "
         "never from here.\n\n" +
         out;
}

json::value tool_result_value(const json::object& output) {
  const auto type = text::member_text(output, "type");
  const auto* found = output.if_contains("value");
  auto value = found ? *found : json::value{};
  if (type == "error-text" || type == "error-json") {
    auto text = std::string{"[Error: "};
    if (type == "error-text" && value.is_string())
      text += text::view(value.get_string());
    else
      text::append_javascript(text, value);
    return json::value(text + ']');
  }
  if (type == "execution-denied") {
    const auto reason = std::string{text::member_text(output, "reason")};
    return json::value("[Execution Denied" + (reason.empty() ? "" : ": " + reason) + ']');
  }
  if (type != "content" || !value.is_array())
    return value;
  auto lines = std::string{};
  for (const auto& part : value.get_array()) {
    if (&part != value.get_array().data())
      lines += '\n';
    lines += part.is_object() ? placeholder(part.get_object()) : "[Unknown content]";
  }
  return json::value(lines);
}

json::array transform_prompt(const tool_protocol& protocol, json::array messages,
                             std::string_view tools_prompt,
                             const protocol_error_handler& on_error) {
  for (auto& message : messages) {
    auto* parts = parts_of(message);
    if (parts == nullptr)
      continue;
    if (role_of(message) == "assistant") {
      message = bare_message("assistant", assistant_parts(protocol, std::move(*parts), on_error));
    } else if (role_of(message) == "tool") {
      message = bare_message("user", tool_parts(protocol, *parts));
    }
  }
  for (auto& message : messages)
    join_text(message);
  messages = merge_user_messages(std::move(messages));
  add_system_text(messages, tools_prompt);
  return messages;
}

} // namespace superstep
