// SPDX-License-Identifier: Apache-2.0
// Builds requests for Anthropic's Messages API. The API requires user and assistant turns to
// alternate, so adjacent human and tool messages are merged.
#include "base/ascii_text.hpp"
#include "models/providers/anthropic.hpp"
#include "models/providers/anthropic_content.hpp"
#include "models/providers/json_parts.hpp"

#include <superstep/messages/message_json.hpp>

#include <utility>

namespace superstep::anthropic {

namespace {

using namespace providers;

/// One turn of the conversation. Its content is a string or a list of blocks.
struct turn {
  bool is_user = true;
  json::value content;
};

/// Converts content to a list of blocks. Blank text is dropped, because the API rejects it.
json::array as_blocks(json::value content) {
  if (content.is_array())
    return std::move(content.get_array());
  auto blocks = json::array{};
  if (!is_blank(content.as_string()))
    blocks.push_back(json::object{{"type", "text"}, {"text", std::move(content)}});
  return blocks;
}

/// Appends content to a turn. The turn's content becomes a list of blocks.
void add_to_turn(json::value& into, json::value more) {
  auto blocks = as_blocks(std::move(into));
  for (auto& block : as_blocks(std::move(more)))
    blocks.push_back(std::move(block));
  into = std::move(blocks);
}

/// Whether all content of the message is tool_result blocks.
bool is_result_list(const message& m) {
  if (!m.blocks || m.blocks->empty())
    return false;
  for (const auto& element : *m.blocks)
    if (!element.is_object() || type_of(element.get_object()) != "tool_result")
      return false;
  return true;
}

/// Converts a tool message to a tool_result block. Moves cache_control from the content to the
/// block, where the API expects it.
result<json::value> tool_result_of(const message& m) {
  auto content = json::value(m.content);
  auto cache_control = json::value{};
  if (m.blocks) {
    auto blocks = anthropic_blocks(m);
    // If the content consists of tool_result blocks already, they are sent unchanged.
    if (!blocks || is_result_list(m))
      return blocks ? result<json::value>{*std::move(blocks)} : std::move(blocks).error();
    for (auto& block : *blocks)
      if (const auto* mark = member(block.as_object(), "cache_control")) {
        cache_control = *mark;
        block.get_object().erase("cache_control");
      }
    content = *std::move(blocks);
  }
  auto block = json::object{{"type", "tool_result"}, {"tool_use_id", m.tool_call_id}};
  block["content"] = std::move(content);
  block["is_error"] = m.is_error;
  if (!cache_control.is_null())
    block["cache_control"] = std::move(cache_control);
  return json::value(json::array{std::move(block)});
}

result<json::value> content_of(const message& m) {
  if (m.type == message_type::tool)
    return tool_result_of(m);
  const auto has_calls = !m.tool_calls.empty() || !m.invalid_tool_calls.empty();
  if (!m.blocks && !(m.type == message_type::ai && has_calls))
    return json::value(m.type == message_type::ai && is_blank(m.content) ? std::string{}
                                                                         : m.content);
  auto blocks = anthropic_blocks(m);
  if (!blocks)
    return std::move(blocks).error();
  return json::value(*std::move(blocks));
}

/// Removes white space at the end, which the API rejects in a final assistant turn.
void trim_end(json::value& content) {
  auto* text = content.if_string();
  if (auto* blocks = content.if_array(); blocks && !blocks->empty())
    if (auto& last = blocks->back().as_object(); type_of(last) == "text")
      text = last["text"].if_string();
  if (!text)
    return;
  const auto end = text->find_last_not_of(" \t\r\n\f\v");
  text->resize(end == json::string::npos ? 0 : end + 1);
}

bool is_empty(const json::value& content) {
  const auto* blocks = content.if_array();
  return content == "" || (blocks && blocks->empty());
}

/// Divides a conversation into the system prompt and turns.
class conversation {
public:
  /// Adds a message: to the system prompt, to the current user turn, or as a new turn.
  result<> add(const message& m) {
    if (m.type == message_type::remove || m.type == message_type::chat ||
        m.type == message_type::function)
      return bad_request("Anthropic does not support messages of type \"" +
                         std::string{to_string(m.type)} + '"');
    auto content = content_of(m);
    if (!content)
      return std::move(content).error();
    if (m.type == message_type::system)
      return add_system(*std::move(content));
    const auto is_user = m.type != message_type::ai;
    const auto follows = std::exchange(is_new_turn_, false) == false;
    if (is_user && follows && !turns_.empty() && turns_.back().is_user)
      add_to_turn(turns_.back().content, *std::move(content));
    else
      turns_.push_back({is_user, *std::move(content)});
    return {};
  }

  /// Adds `system` and `messages` to the body.
  void write(json::object& body) && {
    if (const auto* blocks = system_.if_array();
        !system_.is_null() && (!blocks || !blocks->empty()))
      body["system"] = std::move(system_);
    auto& messages = body["messages"].emplace_array();
    for (auto i = std::size_t{0}; i < turns_.size(); ++i) {
      auto& t = turns_[i];
      const auto is_last = i + 1 == turns_.size();
      if (!t.is_user && is_last)
        trim_end(t.content);
      if (!t.is_user && !is_last && is_empty(t.content))
        continue; // only the last answer may be empty
      auto form = json::object{{"role", t.is_user ? "user" : "assistant"}};
      form["content"] = std::move(t.content);
      messages.push_back(std::move(form));
    }
  }

private:
  result<> add_system(json::value content) {
    is_new_turn_ = true; // a system message separates user turns, so they are not merged
    if (const auto* blocks = content.if_array())
      for (const auto& block : *blocks)
        if (const auto type = type_of(block.as_object()); type != "text")
          return bad_request("Anthropic accepts only text in system messages, got type \"" +
                             std::string{type} + '"');
    if (system_.is_null())
      system_ = std::move(content);
    else
      add_to_turn(system_, std::move(content));
    return {};
  }

  json::value system_;
  bool is_new_turn_ = false;
  std::vector<turn> turns_;
};

/// Converts a tool to Anthropic's form. Unknown forms are sent unchanged.
json::value tool_form(const json::value& tool) {
  const auto* given = tool.if_object();
  const auto* function = given ? object_in(*given, "function") : nullptr;
  if (given && !function && given->contains("parameters") && !given->contains("type"))
    function = given; // a function without the outer object
  if (!function)
    return tool;
  auto out = only(*function, {"name", "description", "strict"});
  const auto* schema = function->if_contains("parameters");
  out["input_schema"] =
      schema ? *schema : json::object{{"type", "object"}, {"properties", json::object{}}};
  put_as(out, "cache_control", *given, "cache_control");
  return out;
}

/// Adds `tools` and `tool_choice`. A choice other than auto and any is the name of a tool.
result<> add_tools(json::object& body, const provider_question& q) {
  if (!q.tools.empty()) {
    auto& tools = body["tools"].emplace_array();
    for (const auto& tool : q.tools)
      tools.push_back(tool_form(tool));
  }
  const auto* choice = member(q.binding, "tool_choice");
  if (choice && *choice != false && *choice != "") {
    const auto* word = choice->if_string();
    if (!word && !choice->is_object())
      return bad_request(
          "tool_choice: must be \"auto\", \"any\", a tool's name or an object, got " +
          to_text(*choice));
    if (!word)
      body["tool_choice"] = *choice;
    else if (*word == "auto" || *word == "any")
      body["tool_choice"] = json::object{{"type", *word}};
    else
      body["tool_choice"] = json::object{{"type", "tool"}, {"name", *word}};
  }
  // Anthropic expects parallel_tool_calls, negated, inside tool_choice.
  const auto* parallel = member(q.binding, "parallel_tool_calls");
  if (parallel && parallel->is_bool()) {
    auto& form = body["tool_choice"];
    if (!form.is_object())
      form = json::object{{"type", "auto"}};
    form.get_object()["disable_parallel_tool_use"] = !parallel->get_bool();
  }
  return {};
}

/// Copies the parameters. Anthropic's name for `stop` is stop_sequences, and its value is a list.
void add_parameters(json::object& body, const json::object& parameters) {
  for (const auto& [key, value] : parameters) {
    if (value.is_null())
      continue;
    if (key == "stop")
      body["stop_sequences"] = value.is_string() ? json::value(json::array{value}) : value;
    else if (key == "model_kwargs" && value.is_object())
      put_all(body, value.get_object());
    else
      body[key] = value;
  }
}

} // namespace

result<provider_request> make_request(provider_question q) {
  spell_out_tools(q);
  auto body = json::object{{"model", q.model}};
  add_parameters(body, q.parameters);
  add_parameters(body, bound_parameters(q));
  auto messages = conversation{};
  for (const auto& m : q.messages)
    if (auto added = messages.add(m); !added)
      return std::move(added).error();
  std::move(messages).write(body);
  if (auto added = add_tools(body, q); !added)
    return std::move(added).error();
  return provider_request{"/v1/messages", std::move(body)};
}

} // namespace superstep::anthropic
