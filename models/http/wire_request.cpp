// SPDX-License-Identifier: Apache-2.0
// Builds the body of an HTTP request: merges parameters and converts the request with
// models/providers. Also makes the changes that the providers' SDKs make before they send a
// request.
#include "models/http/wire_request.hpp"

#include "models/http/provider_traits.hpp"
#include "models/providers/anthropic.hpp"
#include "models/providers/json_parts.hpp"
#include "models/providers/ollama.hpp"
#include "models/providers/openai_responses.hpp"
#include "models/providers/request_parts.hpp"
#include "models/strict_schema.hpp"

#include <superstep/models/chat_model.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace superstep::models {

namespace {

using namespace providers;

/// Default of max_tokens for Anthropic, whose API requires the parameter.
constexpr auto anthropic_max_tokens = 4096;

bool is_binding(std::string_view name) {
  return is_one_of(name, {"tool_choice", "parallel_tool_calls", "strict"});
}

/// Converts a tool choice to the provider's form. All providers share the choices auto, any,
/// required, none and the name of a tool.
json::value choice_for(provider_api api, json::value choice) {
  if (api != provider_api::anthropic)
    return choice;
  if (choice == "required" || choice == true)
    return "any";
  if (choice == "none")
    return json::object{{"type", "none"}};
  return choice;
}

result<> add_parameters(provider_question& q, provider_api api, const json::object& from) {
  for (const auto& [key, value] : from) {
    const auto name = std::string_view{key.data(), key.size()};
    if (is_reserved_parameter(name))
      return bad_request("parameter \"" + std::string{name} +
                         "\" cannot be set; remove it from the parameters of the model");
    if (name == "model" && value.is_string())
      q.model = std::string_view{value.get_string()};
    else if (name == "tool_choice")
      q.binding[key] = choice_for(api, value);
    else if (is_binding(name))
      q.binding[key] = value;
    else
      q.parameters[key] = value;
  }
  return {};
}

/// Whether Anthropic's API accepts a keyword of a strict schema.
bool is_accepted(std::string_view key, const json::value& value) {
  if (key == "minItems")
    return value == 0 || value == 1;
  if (key == "format")
    return value.is_string() && is_one_of(std::string_view{value.get_string()},
                                          {"date-time", "time", "date", "duration", "email",
                                           "hostname", "uri", "ipv4", "ipv6", "uuid"});
  return !is_one_of(key, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
                          "multipleOf", "minLength", "maxLength", "maxItems", "uniqueItems",
                          "minProperties", "maxProperties"});
}

/// Moves the keywords that Anthropic's API rejects in a strict schema to its description, where the
/// model reads them, and replaces `oneOf` by `anyOf`. Anthropic's SDKs do the same.
/// Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs
void describe_bounds(json::object& schema) {
  auto kept = json::object{};
  auto bounds = std::string{};
  const auto has_any = schema.contains("anyOf");
  for (auto& member : schema) {
    const auto key = std::string_view{member.key().data(), member.key().size()};
    if (is_accepted(key, member.value()))
      kept[key == "oneOf" && !has_any ? "anyOf" : key] = std::move(member.value());
    else
      bounds += fmt::format("{}{}: {}", bounds.empty() ? "" : ", ", key, to_text(member.value()));
  }
  if (!bounds.empty()) {
    const auto text = text_in(kept, "description");
    kept["description"] = fmt::format("{}{}{{{}}}", text, text.empty() ? "" : "\n\n", bounds);
  }
  schema = std::move(kept);
}

/// Converts a schema to the form that strict modes require: all objects forbid additional
/// properties. OpenAI also requires all properties. Anthropic accepts only some keywords. The
/// recursion is bounded, because parse_json() limits the depth.
void make_strict(json::value& schema, provider_api api) {
  if (auto* list = schema.if_array())
    for (auto& element : *list)
      make_strict(element, api);
  auto* object = schema.if_object();
  if (!object)
    return;
  for (auto& member : *object) {
    const auto key = std::string_view{member.key().data(), member.key().size()};
    const auto has_names = is_one_of(key, {"properties", "$defs", "definitions"});
    if (auto* named = has_names ? member.value().if_object() : nullptr)
      for (auto& inner : *named)
        make_strict(inner.value(), api);
    else if (!is_one_of(key, {"const", "enum", "default", "examples"}))
      make_strict(member.value(), api);
  }
  const auto* more = object->if_contains("additionalProperties");
  if (type_of(*object) == "object" && (!more || *more == true))
    (*object)["additionalProperties"] = false;
  if (api == provider_api::anthropic)
    return describe_bounds(*object);
  if (const auto* named = object_in(*object, "properties")) {
    auto names = json::array{};
    for (const auto& [name, _] : *named)
      names.emplace_back(name);
    (*object)["required"] = std::move(names);
  }
}

/// Sets in each tool whether its calls must match the schema exactly, if the provider supports
/// that. A strict schema must forbid additional properties; OpenAI also requires all properties.
void bind_strictly(provider_question& q, provider_api api) {
  const auto* strict = member(q.binding, "strict");
  if (!strict || !strict->is_bool() || api == provider_api::ollama)
    return;
  spell_out_tools(q);
  for (auto& tool : q.tools) {
    auto& function = tool.as_object()["function"].as_object();
    function["strict"] = strict->get_bool();
    if (auto* schema = strict->get_bool() ? function.if_contains("parameters") : nullptr)
      make_strict(*schema, api);
  }
}

result<provider_question> make_question(const provider_model_options& options,
                                        const model_request& request) {
  auto q = provider_question{};
  q.model = options.model;
  for (const auto* parameters : {&options.parameters, &request.parameters.get()})
    if (auto added = add_parameters(q, options.api, *parameters); !added)
      return std::move(added).error();
  if (options.api == provider_api::anthropic)
    q.parameters.emplace("max_tokens", anthropic_max_tokens);
  if (request.system) {
    q.messages.push_back(request.system);
    for (auto i = std::size_t{0}; i < request.messages.size(); ++i)
      q.messages.push_back(request.messages.at_ptr(i));
  } else {
    q.messages = request.messages; // shares the messages instead of copying them
  }
  q.definitions = request.tools;
  bind_strictly(q, options.api);
  return q;
}

/// Returns the schema for OpenAI's APIs. The strict mode is used only if the schema can be
/// converted to its subset; the APIs reject any other schema in that mode.
json::object named_schema(const answer_schema& format) {
  auto out = json::object{{"name", format.name}};
  if (!format.description.empty())
    out["description"] = format.description;
  auto strict = strict_form(format);
  out["strict"] = strict.has_value();
  out["schema"] = strict ? *std::move(strict) : format.schema;
  return out;
}

/// Sets a member of an object in the body, and creates the object if it does not exist.
void put_inside(json::object& body, std::string_view outer, std::string_view key,
                json::value value) {
  auto& into = body[outer];
  if (!into.is_object())
    into = json::object{};
  into.get_object()[key] = std::move(value);
}

/// Requests a JSON object without a schema.
result<> add_json_mode(json::object& body, provider_api api) {
  const auto form = json::object{{"type", "json_object"}};
  switch (api) {
  case provider_api::openai_chat:
    body["response_format"] = form;
    break;
  case provider_api::openai_responses:
    put_inside(body, "text", "format", form);
    break;
  case provider_api::anthropic:
    return bad_request("Anthropic has no JSON mode without a schema; use the method json_schema or "
                       "tool_call");
  case provider_api::ollama:
    body["format"] = "json";
    break;
  }
  return {};
}

result<> add_format(json::object& body, provider_api api, const answer_schema& format) {
  if (format.mode == answer_mode::json_object)
    return add_json_mode(body, api);
  switch (api) {
  case provider_api::openai_chat:
    body["response_format"] =
        json::object{{"type", "json_schema"}, {"json_schema", named_schema(format)}};
    break;
  case provider_api::openai_responses: {
    auto form = named_schema(format);
    form["type"] = "json_schema";
    put_inside(body, "text", "format", std::move(form));
    break;
  }
  case provider_api::anthropic: {
    auto schema = json::value(format.schema);
    make_strict(schema, api); // the API enforces all schemas, and rejects others
    put_inside(body, "output_config", "format",
               json::object{{"type", "json_schema"}, {"schema", std::move(schema)}});
    break;
  }
  case provider_api::ollama:
    body["format"] = format.schema;
    break;
  }
  return {};
}

/// Whether the server is OpenAI's own, or Azure's with OpenAI's models. This function runs for each
/// request and the URL was checked earlier, so it does not parse the URL completely.
bool is_openai(std::string_view base_url) {
  const auto scheme = base_url.find("://");
  auto host = base_url.substr(scheme == std::string_view::npos ? 0 : scheme + 3);
  host = host.substr(0, host.find_first_of("/:?#"));
  return base_url.empty() || host == "api.openai.com" || host.ends_with(".openai.azure.com");
}

openai_chat::dialect dialect_of(const provider_model_options& options) {
  const auto is_own = is_openai(options.base_url);
  auto out = openai_chat::dialect{};
  if (options.max_tokens_field)
    out.max_tokens = *options.max_tokens_field;
  else if (!is_own)
    out.max_tokens = "max_tokens";
  out.has_null_content = is_own;
  out.reasoning = options.reasoning_field;
  return out;
}

/// Sets `strict` to false in functions without it, because OpenAI's SDK requires the member.
/// Otherwise the server may treat a function as strict, with all optional parameters required.
void say_strict(json::object& body) {
  auto* tools = body.if_contains("tools");
  if (!tools || !tools->is_array())
    return;
  for (auto& tool : tools->get_array())
    if (auto* form = tool.if_object(); form && type_of(*form) == "function")
      form->emplace("strict", false);
}

/// Returns the text of an earlier answer; nullopt if the answer has an id, or has content other
/// than text without annotations.
std::optional<std::string> plain_text(const json::object& item) {
  const auto* parts = array_in(item, "content");
  if (!parts || item.contains("id"))
    return std::nullopt;
  auto out = std::string{};
  for (const auto& part : *parts) {
    if (!part.is_object() || type_of(part.get_object()) != "output_text")
      return std::nullopt;
    const auto* notes = array_in(part.get_object(), "annotations");
    if (notes && !notes->empty())
      return std::nullopt;
    out += text_in(part.get_object(), "text");
  }
  return out;
}

/// Adds members that OpenAI's SDK requires: `status` in earlier answers and `detail` in images. An
/// earlier answer for which plain_text() returns a text is sent as a string, which needs neither.
void complete_items(json::object& body) {
  auto* input = body["input"].if_array(); // extra_body may have replaced it
  for (auto i = std::size_t{0}; input && i < input->size(); ++i) {
    if (!(*input)[i].is_object())
      continue;
    auto& item = (*input)[i].get_object();
    auto* parts = item.contains("content") ? item["content"].if_array() : nullptr;
    if (parts)
      for (auto& part : *parts)
        if (part.is_object() && type_of(part.get_object()) == "input_image")
          part.get_object().emplace("detail", "auto");
    if (type_of(item) != "message" || text_in(item, "role") != "assistant")
      continue;
    if (auto text = plain_text(item))
      item["content"] = *std::move(text);
    else if (parts)
      item.emplace("status", "completed");
  }
}

result<request_parts> make_parts(const provider_model_options& options, provider_question q) {
  const auto api = options.api;
  if (api == provider_api::openai_chat)
    return openai_chat::make_parts(q, dialect_of(options));
  if (api == provider_api::ollama) {
    const auto messages = q.messages; // shares the messages instead of copying them
    auto made = ollama::make_request(std::move(q));
    if (!made)
      return std::move(made).error();
    ollama::add_call_ids(*made, messages);
    return request_parts{std::move(made->body), {}, {}};
  }
  const auto make = api == provider_api::openai_responses ? openai_responses::make_request
                                                          : anthropic::make_request;
  auto made = make(std::move(q));
  if (!made)
    return std::move(made).error();
  if (api == provider_api::openai_responses) {
    say_strict(made->body);
    complete_items(made->body);
  }
  return request_parts{std::move(made->body), {}, {}};
}

/// Whether the request contains documents. An answer about documents consists of blocks with
/// citations.
bool has_documents(const json::object& body) {
  const auto is_document = [](const json::value& element) {
    const auto* block = element.if_object();
    return block && type_of(*block) == "document";
  };
  const auto* messages = array_in(body, "messages");
  return messages && std::any_of(messages->begin(), messages->end(), [&](const json::value& m) {
           const auto* blocks = array_in(m.as_object(), "content");
           return blocks && std::any_of(blocks->begin(), blocks->end(), is_document);
         });
}

} // namespace

bool takes_format_beside_tools(const provider_model_options& options) {
  const auto is_of_openai =
      options.api == provider_api::openai_chat || options.api == provider_api::openai_responses;
  return options.api == provider_api::anthropic || (is_of_openai && is_openai(options.base_url));
}

bool is_reserved_parameter(std::string_view name) noexcept {
  return is_one_of(name, {"messages", "input", "system", "tools", "stream", "stream_options", "n"});
}

result<wire_request> write_request(const provider_model_options& options,
                                   const model_request& request) {
  auto q = make_question(options, request);
  if (!q)
    return std::move(q).error();
  auto out = wire_request{};
  const auto* reasoning = q->parameters.if_contains("reasoning");
  out.with_reasoning = reasoning && !reasoning->is_null() && *reasoning != false;
  auto made = make_parts(options, *std::move(q));
  if (!made)
    return std::move(made).error();
  auto& body = made->body;
  if (request.format)
    if (auto added = add_format(body, options.api, *request.format); !added)
      return std::move(added).error();

  out.is_streamed = options.stream || request.on_chunk || traits_of(options.api).always_streams;
  if (out.is_streamed)
    body["stream"] = true;
  if (out.is_streamed && options.api == provider_api::openai_chat)
    body["stream_options"] = json::object{{"include_usage", true}};
  out.text_only = options.api == provider_api::anthropic && !body.contains("tools") &&
                  !body.contains("thinking") && !has_documents(body);
  out.body = body_text(*made);
  return out;
}

} // namespace superstep::models
