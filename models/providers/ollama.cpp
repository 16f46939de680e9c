// SPDX-License-Identifier: Apache-2.0
// Builds requests for Ollama's chat API and reads its answers.
#include "models/providers/ollama.hpp"

#include "base/ascii_text.hpp"
#include "messages/python_text.hpp"
#include "messages/spaced_json.hpp"
#include "models/providers/json_parts.hpp"
#include "models/providers/openai_content.hpp"

#include <superstep/messages/message_json.hpp>

#include <string_view>
#include <unordered_map>
#include <utility>

namespace superstep::ollama {

namespace {

using namespace providers;

error refused(std::string_view text) {
  return bad_request("Ollama does not accept this block: " + std::string{text});
}

/// Returns the base64 text of a data URL. Returns a text that is not a URL unchanged, and "" for a
/// link, because Ollama does not download images.
std::string_view image_data(std::string_view url) {
  const auto comma = url.find(',');
  if (url.find("://") != std::string_view::npos)
    return {};
  return comma == std::string_view::npos ? url : url.substr(comma + 1);
}

/// Formats a value as Python text for the model, as langchain-ollama does.
std::string python_text_of(const json::value& value) {
  const auto* text = value.if_string();
  return text ? std::string{*text} : python_literal(value);
}

/// Builds the content of one message. Ollama expects text in `content` and images in `images`.
class content_writer {
public:
  explicit content_writer(const message& m) : m_{m} {}

  /// Adds `content` and `images` to the form, unless they are empty.
  result<> write(json::object& form) {
    text_ = m_.content;
    if (m_.blocks)
      for (const auto& element : *m_.blocks)
        if (auto added = add(element); !added)
          return added;
    if (!text_.empty())
      form["content"] = text_;
    if (!images_.empty())
      form["images"] = std::move(images_);
    return {};
  }

private:
  result<> add(const json::value& element) {
    if (const auto* text = element.if_string()) {
      (text_ += '\n') += std::string_view{*text};
      return {};
    }
    const auto& block = element.as_object();
    const auto type = type_of(block);
    if (type == "text") {
      (text_ += '\n') += text_in(block, "text");
      return {};
    }
    const auto standard = m_.type == message_type::ai && is_standard(m_);
    if (standard && type == "non_standard") {
      const auto* value = member(block, "value");
      (text_ += '\n') += value ? python_text_of(*value) : "";
      return {};
    }
    if (type == "refusal") {
      (text_ += '\n') += text_in(block, "refusal");
      return {};
    }
    // Tool calls are sent separately. Reasoning and tools of other providers are dropped.
    if (m_.type == message_type::ai && is_of_server_tool(type))
      return {};
    if (m_.type == message_type::ai &&
        is_one_of(type, {"thinking", "redacted_thinking", "reasoning", "reasoning_content",
                         "function_call", "tool_call", "tool_call_chunk", "invalid_tool_call",
                         "input_json_delta"}))
      return {};
    // Only texts and images of a standard answer are sent.
    if (type == "tool_use" ||
        (standard && !is_one_of(type, {"image", "image_url"}) && !block.contains("source_type")))
      return {};
    if (type == "image_url") {
      const auto* inner = object_in(block, "image_url");
      const auto url = inner ? text_in(*inner, "url") : text_in(block, "image_url");
      const auto data = image_data(url);
      if (data.empty())
        return refused("an image_url must be a data URL, got \"" + std::string{url.substr(0, 100)} +
                       '"');
      images_.emplace_back(data);
      return {};
    }
    if (!is_data_block(block) || type != "image")
      return refused("only text and images are supported, got type \"" + std::string{type} + '"');
    const auto data = text_in(block, block.contains("base64") ? "base64" : "data");
    if (data.empty())
      return refused("an image needs `base64`");
    images_.emplace_back(data);
    return {};
  }

  const message& m_;
  std::string text_;
  json::array images_;
};

/// Returns the role of a message. Ollama has no role `developer`, so such messages are sent as
/// system messages.
result<std::string_view> role_of(const message& m) {
  if (m.type == message_type::function || m.type == message_type::remove)
    return bad_request("Ollama does not support messages of type \"" +
                       std::string{to_string(m.type)} + '"');
  return m.type == message_type::system ? "system" : openai_role(m);
}

/// Converts one message. Invalid calls are omitted, because Ollama accepts only objects as
/// arguments.
result<json::object> message_form(const message& m) {
  const auto role = role_of(m);
  if (!role)
    return role.error();
  auto form = json::object{{"role", *role}};
  if (auto written = content_writer{m}.write(form); !written)
    return std::move(written).error();
  if (m.type != message_type::ai)
    return form;
  put_as(form, "thinking", m.additional_kwargs, "reasoning_content");
  if (m.tool_calls.empty())
    return form;
  auto& calls = form["tool_calls"].emplace_array();
  for (const auto& c : m.tool_calls)
    calls.push_back(
        json::object{{"function", json::object{{"name", c.name}, {"arguments", c.args}}}});
  return form;
}

/// Returns the arguments of a call as JSON text. Small models write nested objects and lists as
/// JSON text, which is decoded here. A value that is not an object is passed on, and
/// parse_tool_call() rejects it.
std::string arguments_text(const json::value* arguments, std::string_view name) {
  if (const auto* text = arguments ? arguments->if_string() : nullptr) {
    auto parsed = parse_json(*text);
    return parsed ? to_spaced_json(*parsed, charset::ascii) : std::string{*text};
  }
  const auto* given = arguments ? arguments->if_object() : nullptr;
  if (!given)
    return arguments && !arguments->is_null() ? to_text(*arguments) : "{}";
  auto out = json::object{};
  for (const auto& [key, value] : *given) {
    if (key == "functionName" && value == json::value(name))
      continue; // some models repeat the tool's name here
    const auto* text = value.if_string();
    auto parsed = text ? parse_json(*text) : result<json::value>{value};
    const auto decoded = parsed && (parsed->is_object() || parsed->is_array());
    out[key] = decoded ? *std::move(parsed) : value;
  }
  return to_spaced_json(out, charset::ascii);
}

/// Adds parameters to the body: some are top-level members, all others belong to `options`.
void add_parameters(json::object& body, const json::object& parameters) {
  for (const auto& [key, value] : parameters) {
    if (value.is_null())
      continue;
    const auto name = std::string_view{key.data(), key.size()};
    if (name == "reasoning")
      body["think"] = value;
    else if (is_one_of(name, {"format", "keep_alive", "logprobs", "top_logprobs"}) ||
             (name == "options" && value.is_object())) // replaces all other options
      body[key] = value;
    else
      body["options"].get_object()[name == "max_tokens" ? json::string_view{"num_predict"} : key] =
          value;
  }
}

} // namespace

result<provider_request> make_request(provider_question q) {
  spell_out_tools(q);
  auto body = json::object{{"model", q.model}, {"stream", true}};
  body["options"].emplace_object();
  add_parameters(body, q.parameters);
  add_parameters(body, bound_parameters(q));
  for (auto& tool : q.tools)
    tool = openai_tool(std::move(tool));
  body["tools"] = std::move(q.tools);
  auto& messages = body["messages"].emplace_array();
  for (const auto& m : q.messages) {
    auto form = message_form(m);
    if (!form)
      return std::move(form).error();
    messages.push_back(*std::move(form));
  }
  return provider_request{"/api/chat", std::move(body)};
}

void add_call_ids(provider_request& request, const message_list& messages) {
  auto& forms = request.body["messages"].as_array();
  // Tool names by the ids of calls.
  auto names = std::unordered_map<std::string_view, std::string_view>{};
  for (auto i = std::size_t{0}; i < messages.size(); ++i) {
    const auto& m = messages[i];
    auto& form = forms.at(i).as_object();
    for (auto k = std::size_t{0}; k < m.tool_calls.size(); ++k) {
      const auto& call = m.tool_calls[k];
      names.insert_or_assign(call.id, call.name);
      if (!call.id.empty())
        form.at("tool_calls").at(k).as_object()["id"] = call.id;
    }
    if (m.type != message_type::tool)
      continue;
    const auto known = names.find(m.tool_call_id);
    if (const auto name = known != names.end() ? known->second : std::string_view{m.name};
        !name.empty())
      form["tool_name"] = name;
    if (!m.tool_call_id.empty())
      form["tool_call_id"] = m.tool_call_id;
  }
}

/// Returns an id for a call. It depends only on the answer, so a replayed answer gets the same ids.
std::string line_reader::next_id(const json::object& line) {
  return "call_" + std::string{text_in(line, "created_at")} + '_' + std::to_string(calls_++);
}

chunk_result line_reader::read(const json::object& line) {
  if (auto fault = error_in(line))
    return *std::move(fault);
  auto chunk = message_chunk{};
  auto& m = chunk.part;
  m.type = message_type::ai;
  const auto none = json::object{};
  const auto* given = object_in(line, "message");
  const auto& from = given ? *given : none;
  m.content = text_in(from, "content");
  const auto* done = line.if_contains("done");
  const auto is_done = done && *done == true;
  if (is_done && text_in(line, "done_reason") == "load" && is_blank(m.content))
    return std::optional<message_chunk>{}; // reports that the model was loaded, without an answer
  if (with_reasoning_)
    put_as(m.additional_kwargs, "reasoning_content", from, "thinking");
  // Ollama sends each call completely in one line.
  if (const auto* calls = array_in(from, "tool_calls"))
    for (const auto& element : *calls) {
      const auto* call = element.if_object();
      const auto* function = call ? object_in(*call, "function") : nullptr;
      if (!function)
        return bad_answer("tool_calls: a call has no `function`: " + to_text(element));
      const auto name = text_in(*function, "name");
      const auto id = text_in(*call, "id");
      chunk.call_chunks.push_back({std::string{name},
                                   arguments_text(function->if_contains("arguments"), name),
                                   id.empty() ? next_id(line) : std::string{id}, nullptr});
    }
  put_as(m.response_metadata, "logprobs", line, "logprobs");
  if (!is_done)
    return std::optional{std::move(chunk)};
  for (const auto& [key, value] : line)
    if (key != "message")
      m.response_metadata[key] = value;
  put_as(m.response_metadata, "model_name", line, "model");
  m.response_metadata["model_provider"] = "ollama";
  const auto input = count_in(line, "prompt_eval_count");
  const auto output = count_in(line, "eval_count");
  // Ollama omits a count of 0, for example that of a prompt that it has cached as a whole.
  if (member(line, "prompt_eval_count") || member(line, "eval_count"))
    m.usage = token_usage{input, output, input + output, {}, {}};
  return std::optional{std::move(chunk)};
}

} // namespace superstep::ollama
