// SPDX-License-Identifier: Apache-2.0
// Builds requests for chat completions. Messages and tools, the largest part of a request, are
// written directly as text, without JSON values in between; see request_parts.hpp.
#include "messages/openai_json.hpp"
#include "models/providers/json_parts.hpp"
#include "models/providers/openai_chat.hpp"
#include "models/providers/openai_content.hpp"
#include "models/providers/request_parts.hpp"

#include <utility>

namespace superstep::openai_chat {

namespace {

using namespace providers;

/// Returns a reference to the audio of an earlier answer. The API accepts only the id of such
/// audio, not the data.
std::optional<json::value> audio_of(const message& m) {
  if (m.blocks)
    for (const auto& element : *m.blocks)
      if (const auto* block = element.if_object();
          block && type_of(*block) == "audio" && member(*block, "id"))
        return only(*block, {"id"});
  const auto* audio = object_in(m.additional_kwargs, "audio");
  if (!audio)
    return std::nullopt;
  return audio->contains("id") ? only(*audio, {"id"}) : *audio;
}

bool has_calls(const message& m) {
  return !m.tool_calls.empty() || !m.invalid_tool_calls.empty();
}

/// Appends one tool call to a JSON list that is not closed yet.
void append_call(std::string& out, std::string_view id, std::string_view name,
                 std::string_view arguments) {
  out += out.back() == '[' ? R"({"type":"function","id":)" : R"(,{"type":"function","id":)";
  if (id.empty())
    out += "null";
  else
    append_quoted(out, id);
  out += R"(,"function":{"name":)";
  append_quoted(out, name);
  out += R"(,"arguments":)";
  append_quoted(out, arguments);
  out += "}}";
}

/// Appends the members of an AI message other than its content: reasoning, calls and audio.
void append_answer_members(std::string& out, const message& m, const dialect& style) {
  if (const auto* reasoning = member(m.additional_kwargs, "reasoning_content");
      reasoning && !style.reasoning.empty()) {
    out += ',';
    append_quoted(out, style.reasoning);
    out += ':';
    append_text(out, *reasoning);
  }
  if (has_calls(m)) {
    out += R"(,"tool_calls":[)";
    for (const auto& c : m.tool_calls)
      append_call(out, c.id, c.name, to_text(c.args));
    for (const auto& c : m.invalid_tool_calls)
      append_call(out, c.id, c.name, c.args);
    out += ']';
  } else if (const auto* call = member(m.additional_kwargs, "function_call")) {
    out += R"(,"function_call":)"; // only without tool_calls: the API rejects both together
    append_text(out, *call);
  }
  if (const auto audio = audio_of(m)) {
    out += R"(,"audio":)";
    append_text(out, *audio);
  }
}

/// Appends the value of `content`. Plain text is written without an intermediate JSON value.
result<> append_content(std::string& out, const message& m, const dialect& style) {
  // Null is allowed only together with calls. Some servers require "" instead.
  const auto* const nothing = style.has_null_content ? "null" : "\"\"";
  const auto may_be_null =
      m.type == message_type::ai && (has_calls(m) || member(m.additional_kwargs, "function_call"));
  if (!m.blocks) {
    if (m.content.empty() && may_be_null)
      out += nothing;
    else
      append_quoted(out, m.content);
    return {};
  }
  const auto content = openai_content(m, openai_api::chat_completions);
  if (!content)
    return content.error();
  if (content->get_array().empty()) // the API rejects an empty list
    out += may_be_null ? nothing : "\"\"";
  else
    append_text(out, *content);
  return {};
}

result<> append_message(std::string& out, const message& m, const dialect& style) {
  out += R"({"role":)";
  append_quoted(out, openai_role(m));
  out += R"(,"content":)";
  if (auto appended = append_content(out, m, style); !appended)
    return appended;
  if (!m.name.empty() && m.type != message_type::tool) {
    out += R"(,"name":)";
    append_quoted(out, m.name);
  }
  if (m.type == message_type::ai)
    append_answer_members(out, m, style);
  if (m.type == message_type::tool) {
    out += R"(,"tool_call_id":)";
    append_quoted(out, m.tool_call_id);
  }
  out += '}';
  return {};
}

result<std::string> messages_text(const message_list& messages, const dialect& style) {
  auto out = std::string{};
  for (const auto& m : messages) {
    out += out.empty() ? '[' : ',';
    if (auto appended = append_message(out, m, style); !appended)
      return std::move(appended).error();
  }
  return out.empty() ? "[]" : std::move(out) + ']';
}

/// Returns the list of tools as JSON text; "" without tools.
std::string tools_text(const provider_question& q) {
  auto out = std::string{};
  for (const auto& tool : q.tools) {
    out += out.empty() ? '[' : ',';
    append_text(out, openai_tool(tool));
  }
  if (q.definitions)
    for (const auto& tool : *q.definitions) {
      out += out.empty() ? '[' : ',';
      append_openai(out, tool);
    }
  return out.empty() ? out : std::move(out) + ']';
}

/// Copies the parameters. `stop_sequences` is Anthropic's name for `stop`.
void add_parameters(json::object& body, const json::object& parameters, const dialect& style) {
  for (const auto& [key, value] : parameters) {
    if (value.is_null())
      continue;
    if (key == "max_tokens")
      body[style.max_tokens] = value;
    else if (key == "stop_sequences")
      body["stop"] = value;
    else if ((key == "model_kwargs" || key == "extra_body") && value.is_object())
      put_all(body, value.get_object());
    else
      body[key] = value;
  }
}

} // namespace

result<request_parts> make_parts(const provider_question& q, const dialect& style) {
  auto messages = messages_text(q.messages, style);
  if (!messages)
    return std::move(messages).error();
  auto choice = openai_tool_choice(q);
  if (!choice)
    return std::move(choice).error();
  auto out = request_parts{{}, *std::move(messages), tools_text(q)};
  auto& body = out.body;
  body.reserve(8); // enough for most requests
  body["model"] = q.model;
  body["stream"] = false;
  add_parameters(body, q.parameters, style);
  // Null members are replaced by the texts; see request_parts.
  body["messages"] = nullptr;
  if (!out.tools.empty())
    body["tools"] = nullptr;
  add_parameters(body, bound_parameters(q), style);
  put_as(body, "parallel_tool_calls", q.binding, "parallel_tool_calls");
  if (*choice)
    body["tool_choice"] = **std::move(choice);
  return out;
}

result<provider_request> make_request(provider_question q) {
  const auto parts = make_parts(q);
  if (!parts)
    return parts.error();
  // Parses the text that would be sent, so that the result is exactly what the server gets. Values
  // are nested deeper here than in the JSON from which they came, so the depth limit is higher.
  constexpr auto depth_max = std::size_t{1'000};
  auto body = parse_json(body_text(*parts), {.depth_max = depth_max});
  if (!body)
    return bad_request(std::move(body).error().text);
  return provider_request{"/v1/chat/completions", std::move(body->get_object())};
}

} // namespace superstep::openai_chat
