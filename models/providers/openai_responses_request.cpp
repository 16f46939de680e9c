// SPDX-License-Identifier: Apache-2.0
// Builds requests for OpenAI's Responses API, whose input is a list of items: messages, tool calls,
// tool results and reasoning. The blocks of earlier answers are converted back to items by
// responses_items.cpp.
#include "messages/spaced_json.hpp"
#include "models/providers/json_parts.hpp"
#include "models/providers/openai_content.hpp"
#include "models/providers/openai_responses.hpp"
#include "models/providers/responses_items.hpp"

#include <algorithm>
#include <utility>

namespace superstep::openai_responses {

namespace {

using namespace providers;

/// Converts a block of chat completions to a block of the Responses API.
result<json::object> input_block(const json::value& element) {
  if (const auto* text = element.if_string())
    return json::object{{"type", "input_text"}, {"text", *text}};
  const auto& block = element.as_object();
  const auto type = type_of(block);
  if (type == "text")
    return json::object{{"type", "input_text"}, {"text", text_in(block, "text")}};
  if (type == "image_url") {
    auto out = json::object{{"type", "input_image"}};
    const auto* inner = object_in(block, "image_url");
    put_as(out, "image_url", inner ? *inner : block, inner ? "url" : "image_url");
    if (inner)
      put_as(out, "detail", *inner, "detail");
    return out;
  }
  if (const auto* file = object_in(block, "file"); file && type == "file") {
    auto out = *file;
    out["type"] = "input_file";
    return out;
  }
  if (is_one_of(type, {"input_text", "input_image", "input_file"}))
    return block;
  return bad_request("OpenAI's Responses API does not accept a block of type \"" +
                     std::string{type} + '"');
}

result<json::array> input_blocks(const json::array& content) {
  auto out = json::array{};
  for (const auto& element : content) {
    auto block = input_block(element);
    if (!block)
      return std::move(block).error();
    out.push_back(*std::move(block));
  }
  return out;
}

/// Whether a block of an earlier answer is a complete item, which is sent unchanged.
bool is_item(std::string_view type) {
  return is_one_of(type, {"reasoning", "compaction", "function_call", "web_search_call",
                          "file_search_call", "computer_call", "custom_tool_call",
                          "code_interpreter_call", "mcp_call", "mcp_list_tools",
                          "mcp_approval_request", "tool_search_call", "tool_search_output",
                          "apply_patch_call", "apply_patch_call_output"});
}

/// Whether the API accepts this block in a tool result. If a result has other blocks, all of it is
/// sent as JSON text.
bool is_result_block(const json::value& element) {
  const auto* block = element.if_object();
  return !block || is_one_of(type_of(*block), {"input_text", "input_image", "input_file", "text",
                                               "image_url", "file"});
}

/// Replaces each non_standard block by the OpenAI item that it contains.
void unwrap(json::array& blocks) {
  for (auto& element : blocks)
    if (auto* block = element.if_object(); block && type_of(*block) == "non_standard")
      if (auto* value = block->if_contains("value"); value && value->is_object()) {
        auto inner = std::move(*value);
        element = std::move(inner);
      }
}

/// Builds the list of input items.
class input_writer {
public:
  /// Adds the items of one message.
  result<> add(const message& m) {
    if (m.type == message_type::ai)
      return add_answer(m);
    auto content = openai_content(m, openai_api::responses);
    if (!content)
      return std::move(content).error();
    if (auto* list = content->if_array())
      unwrap(*list);
    if (m.type == message_type::tool)
      return add_result(m, *std::move(content));
    auto item = json::object{{"role", openai_role(m)}};
    const auto is_input = is_one_of(openai_role(m), {"user", "system", "developer"});
    if (is_input)
      item["type"] = "message";
    if (const auto* list = content->if_array(); list && is_input) {
      auto blocks = input_blocks(*list);
      if (!blocks || blocks->empty())
        return blocks ? result<>{} : std::move(blocks).error();
      item["content"] = *std::move(blocks);
    } else {
      item["content"] = *std::move(content);
    }
    input_.push_back(std::move(item));
    return {};
  }

  json::array take() && { return std::move(input_); }

private:
  /// Adds a tool message as an item of type function_call_output.
  result<> add_result(const message& m, json::value content) {
    const auto* list = content.if_array();
    if (list && !std::all_of(list->begin(), list->end(), is_result_block)) {
      content = to_spaced_json(content);
    } else if (list) {
      auto blocks = input_blocks(*list);
      if (!blocks)
        return std::move(blocks).error();
      content = *std::move(blocks);
    }
    auto item = json::object{{"type", "function_call_output"}, {"call_id", m.tool_call_id}};
    item["output"] = std::move(content);
    input_.push_back(std::move(item));
    return {};
  }

  /// Adds an earlier answer: its blocks as items, followed by the calls that no block represents.
  result<> add_answer(const message& m) {
    auto standard = m;
    if (m.blocks)
      standard.blocks = responses_blocks(*m.blocks, m);
    auto content = openai_content(standard, openai_api::responses);
    if (!content)
      return std::move(content).error();
    auto calls = openai_calls(m);
    first_ = input_.size();
    if (const auto* list = content->if_array()) {
      for (const auto& element : *list)
        add_block(element);
    } else if (*content != "" ||
               (calls.empty() && !m.additional_kwargs.contains("function_call"))) {
      add_text({{"text", *content}});
    }
    const auto content_end = input_.size();
    for (const auto& call : calls)
      add_call(call.get_object(), content_end);
    return {};
  }

  void add_block(const json::value& element) {
    if (const auto* text = element.if_string())
      return add_text({{"text", *text}});
    const auto& block = element.as_object();
    const auto type = type_of(block);
    if (is_one_of(type, {"text", "output_text", "refusal"})) {
      add_text(block);
    } else if (type == "image_generation_call") {
      input_.push_back(only(block, {"type", "id"})); // the API identifies an image by its id
    } else if (is_item(type)) {
      auto item = block;
      item.erase("index");
      if (auto* summary = item.if_contains("summary"); summary && summary->is_array())
        for (auto& part : summary->get_array())
          if (part.is_object())
            part.get_object().erase("index");
      input_.push_back(std::move(item));
    }
  }

  /// Adds a text. Texts with the same id become parts of one message item.
  void add_text(const json::object& block) {
    auto part = json::object{};
    if (type_of(block) == "refusal") {
      part = only(block, {"type", "refusal"});
    } else {
      part = json::object{{"type", "output_text"}, {"text", text_in(block, "text")}};
      auto& annotations = part["annotations"].emplace_array();
      if (const auto* given = array_in(block, "annotations"))
        for (const auto& a : *given)
          annotations.push_back(a.is_object() ? own_annotation(a.get_object()) : a);
    }
    const auto id = text_in(block, "id");
    for (auto i = first_; i < input_.size() && !id.empty(); ++i) {
      auto& item = input_[i].get_object();
      auto* parts = type_of(item) == "message" ? item["content"].if_array() : nullptr;
      if (parts && text_in(item, "id") == id) {
        parts->push_back(std::move(part));
        return;
      }
    }
    auto item = json::object{{"type", "message"}, {"role", "assistant"}};
    item["content"] = json::array{std::move(part)};
    put_as(item, "id", block, "id");
    put_as(item, "phase", block, "phase");
    input_.push_back(std::move(item));
  }

  /// Adds a tool call unless the content has an item for it. Calls are not compared with each
  /// other, because several calls may have no id.
  void add_call(const json::object& call, std::size_t content_end) {
    for (auto i = first_; i < content_end; ++i) {
      const auto& item = input_[i].get_object();
      const auto* id = item.if_contains("call_id");
      if (is_one_of(type_of(item), {"function_call", "custom_tool_call"}) && id &&
          *id == call.at("id"))
        return;
    }
    const auto& function = call.at("function").as_object();
    input_.push_back({{"type", "function_call"},
                      {"call_id", call.at("id")},
                      {"name", function.at("name")},
                      {"arguments", function.at("arguments")}});
  }

  json::array input_;
  std::size_t first_ = 0; ///< index of the first item of the current answer
};

/// Returns the member `text` of the body, which has the options for the answer's text.
json::object& text_part(json::object& body) {
  auto& text = body["text"];
  if (!text.is_object())
    text = json::object{};
  return text.get_object();
}

/// Converts a response_format of chat completions: removes the object around the schema.
json::value answer_form(const json::value& form) {
  const auto* given = form.if_object();
  const auto* schema = given ? object_in(*given, "json_schema") : nullptr;
  if (!schema)
    return form;
  auto out = *schema;
  out["type"] = "json_schema";
  return out;
}

/// Converts parameters of chat completions to those of the Responses API, so that users can use the
/// same names for both.
void add_parameters(json::object& body, const json::object& parameters) {
  for (const auto& [key, value] : parameters) {
    if (value.is_null())
      continue;
    if (key == "max_tokens" || key == "max_completion_tokens")
      body["max_output_tokens"] = value;
    else if (key == "stop")
      continue; // the Responses API has no stop sequences
    else if (key == "reasoning_effort")
      body.emplace("reasoning", json::object{{"effort", value}});
    else if (key == "verbosity")
      text_part(body)["verbosity"] = value;
    else if (key == "response_format")
      text_part(body)["format"] = answer_form(value);
    else if (key == "text" && value.is_object())
      put_all(text_part(body), value.get_object());
    else if (key == "model_kwargs" && value.is_object())
      add_parameters(body, value.get_object());
    else if (key == "extra_body" && value.is_object())
      put_all(body, value.get_object());
    else
      body[key] = value;
  }
}

/// Moves the members of `function` to the object around it, as the Responses API expects.
json::value flat(json::value form) {
  auto* object = form.if_object();
  auto* function = object ? object->if_contains("function") : nullptr;
  if (!function || !function->is_object())
    return form;
  auto out = std::move(function->get_object());
  out["type"] = "function";
  return out;
}

} // namespace

result<provider_request> make_request(provider_question q) {
  spell_out_tools(q);
  auto body = json::object{{"model", q.model}, {"stream", false}};
  add_parameters(body, q.parameters);
  auto input = input_writer{};
  for (const auto& m : q.messages)
    if (auto added = input.add(m); !added)
      return std::move(added).error();
  body["input"] = std::move(input).take();
  auto choice = openai_tool_choice(q);
  if (!choice)
    return std::move(choice).error();
  for (auto& tool : q.tools)
    tool = flat(openai_tool(std::move(tool)));
  if (!q.tools.empty())
    body["tools"] = std::move(q.tools);
  add_parameters(body, bound_parameters(q));
  put_as(body, "parallel_tool_calls", q.binding, "parallel_tool_calls");
  if (*choice)
    body["tool_choice"] = flat(**std::move(choice));
  return provider_request{"/v1/responses", std::move(body)};
}

} // namespace superstep::openai_responses
