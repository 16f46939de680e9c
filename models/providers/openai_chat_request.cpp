// SPDX-License-Identifier: Apache-2.0
#include "models/providers/json_parts.hpp"
#include "models/providers/openai_content.hpp"

#include <superstep/models/providers/openai_chat.hpp>

#include <utility>

namespace superstep::openai_chat {

namespace {

using namespace providers;

/// The sound of an earlier answer goes back as its id; the API does not take the data.
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

void add_answer_members(json::object& form, const message& m) {
  if (auto calls = openai_calls(m); !calls.empty())
    form["tool_calls"] = std::move(calls);
  else if (const auto* call = member(m.additional_kwargs, "function_call"))
    form["function_call"] = *call; // never both: the API refuses that
  auto& content = form["content"];
  const auto* list = content.if_array();
  const auto is_empty = content == "" || (list && list->empty());
  if (is_empty && (form.contains("tool_calls") || form.contains("function_call")))
    content = nullptr;
  if (auto audio = audio_of(m))
    form["audio"] = *std::move(audio);
}

result<json::object> message_form(const message& m) {
  auto content = openai_content(m, openai_api::chat_completions);
  if (!content)
    return std::move(content).error();
  auto form = json::object{};
  form.reserve(4);
  form["role"] = openai_role(m);
  form["content"] = *std::move(content);
  if (!m.name.empty() && m.type != message_type::tool)
    form["name"] = m.name;
  if (m.type == message_type::ai)
    add_answer_members(form, m);
  if (m.type == message_type::tool)
    form["tool_call_id"] = m.tool_call_id;
  return form;
}

void add_parameters(json::object& body, const json::object& parameters) {
  for (const auto& [key, value] : parameters) {
    if (value.is_null())
      continue;
    if (key == "max_tokens")
      body["max_completion_tokens"] = value;
    else if (key == "stop_sequences")
      body["stop"] = value;
    else if ((key == "model_kwargs" || key == "extra_body") && value.is_object())
      put_all(body, value.get_object());
    else
      body[key] = value;
  }
}

} // namespace

result<provider_request> make_request(provider_question q) {
  auto body = json::object{{"model", q.model}, {"stream", false}};
  add_parameters(body, q.parameters);
  auto messages = json::array{};
  for (const auto& m : q.messages) {
    auto form = message_form(m);
    if (!form)
      return std::move(form).error();
    messages.push_back(*std::move(form));
  }
  body["messages"] = std::move(messages);
  auto choice = openai_tool_choice(q);
  if (!choice)
    return std::move(choice).error();
  for (auto& tool : q.tools)
    tool = openai_tool(std::move(tool));
  if (!q.tools.empty())
    body["tools"] = std::move(q.tools);
  add_parameters(body, bound_parameters(q));
  put_as(body, "parallel_tool_calls", q.binding, "parallel_tool_calls");
  if (*choice)
    body["tool_choice"] = **std::move(choice);
  return provider_request{"/v1/chat/completions", std::move(body)};
}

} // namespace superstep::openai_chat
