// SPDX-License-Identifier: Apache-2.0
// Reads the keys `hooks`, `response`, `cache` and `store` of agent files; see agent_file.cpp.
#include "agents/hook_fields.hpp"

#include "agents/overrides.hpp"
#include "models/strict_schema.hpp"

#include <superstep/checkpoint/postgres.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace superstep::detail {

void read_hooks(fields& root, agent_spec& into) {
  const auto node = root.take("hooks");
  if (!node.IsDefined() || node.IsNull())
    return;
  auto at = fields{node, "hooks", root.faults()};
  if (const auto trim = at.take("trim"); trim.IsDefined() && !trim.IsNull()) {
    auto& options = into.trim.emplace();
    auto keys = fields{trim, "hooks.trim", root.faults()};
    keys.number("tokens", options.tokens_max, 1).done();
  }
  if (const auto summarise = at.take("summarise"); summarise.IsDefined() && !summarise.IsNull()) {
    auto& options = into.summarise.emplace();
    auto keys = fields{summarise, "hooks.summarise", root.faults()};
    keys.number("tokens", options.tokens_max, 1)
        .number("keep", options.messages_kept, 1)
        .text("prompt", options.prompt)
        .done();
  }
  if (into.trim && into.summarise)
    root.wrong("hooks", "trim and summarise cannot be combined; remove one of them");
  at.done();
  into.hooks_line = line_of(node);
}

namespace {

/// Reads an option of `response` that is one of several words, and removes it from the schema.
template <class T>
void take_word(json::object& schema, std::string_view key,
               std::initializer_list<std::pair<std::string_view, T>> words, T& into, fields& root) {
  const auto given = schema.if_contains(key);
  if (!given)
    return;
  auto text = given->is_string() ? std::string{given->get_string()} : to_text(*given);
  if (given->is_bool()) // YAML 1.1 reads on and off as booleans
    text = given->get_bool() ? "on" : "off";
  schema.erase(key);
  auto names = std::string{};
  for (const auto& [word, value] : words) {
    if (text == word) {
      into = value;
      return;
    }
    names += (names.empty() ? "" : ", ") + std::string{word};
  }
  root.wrong("response", std::string{key} + ": must be one of: " + names + "; got '" + text + '\'');
}

/// Reads the options beside the schema, and removes them from it. JSON Schema has no keywords with
/// these names.
void take_options(json::object& schema, agent_spec& into, fields& root) {
  using superstep::response_request;
  take_word<strict_mode>(
      schema, "strict",
      {{"auto", strict_mode::automatic}, {"on", strict_mode::on}, {"off", strict_mode::off}},
      into.response_strict, root);
  take_word<response_request>(schema, "request",
                              {{"auto", response_request::by_rules},
                               {"in_answer", response_request::in_answer},
                               {"separate", response_request::separate}},
                              into.response_request, root);
  if (const auto* retries = schema.if_contains("retries")) {
    constexpr auto retries_max = 10;
    const auto* number = retries->if_int64();
    if (number == nullptr || *number < 0 || *number > retries_max)
      root.wrong("response", "retries: must be an integer from 0 to 10");
    else
      into.response_retries = static_cast<std::uint32_t>(*number);
    schema.erase("retries");
  }
}

/// The keywords of JSON Schema 2020-12 and of earlier drafts, and `nullable` of OpenAPI, that an
/// object may have. Source: https://json-schema.org/draft/2020-12/schema
constexpr auto schema_keywords = std::array<std::string_view, 46>{"$anchor",
                                                                  "$comment",
                                                                  "$defs",
                                                                  "$dynamicAnchor",
                                                                  "$dynamicRef",
                                                                  "$id",
                                                                  "$ref",
                                                                  "$schema",
                                                                  "$vocabulary",
                                                                  "additionalProperties",
                                                                  "allOf",
                                                                  "anyOf",
                                                                  "const",
                                                                  "contains",
                                                                  "default",
                                                                  "definitions",
                                                                  "dependencies",
                                                                  "dependentRequired",
                                                                  "dependentSchemas",
                                                                  "deprecated",
                                                                  "description",
                                                                  "else",
                                                                  "enum",
                                                                  "examples",
                                                                  "format",
                                                                  "id",
                                                                  "if",
                                                                  "items",
                                                                  "maxProperties",
                                                                  "minProperties",
                                                                  "name",
                                                                  "not",
                                                                  "nullable",
                                                                  "oneOf",
                                                                  "patternProperties",
                                                                  "prefixItems",
                                                                  "properties",
                                                                  "propertyNames",
                                                                  "readOnly",
                                                                  "required",
                                                                  "then",
                                                                  "title",
                                                                  "type",
                                                                  "unevaluatedItems",
                                                                  "unevaluatedProperties",
                                                                  "writeOnly"};

/// The keywords for values that are not objects, which the members of an object may have as well.
constexpr auto value_keywords = std::array<std::string_view, 16>{
    "contentEncoding",  "contentMediaType", "contentSchema", "exclusiveMaximum",
    "exclusiveMinimum", "maxContains",      "maxItems",      "maxLength",
    "maximum",          "minContains",      "minItems",      "minLength",
    "minimum",          "multipleOf",       "pattern",       "uniqueItems"};

bool is_keyword_of_object(std::string_view key) {
  return std::ranges::find(schema_keywords, key) != schema_keywords.end() || key.starts_with("x-");
}

bool is_keyword(std::string_view key) {
  return is_keyword_of_object(key) ||
         std::ranges::find(value_keywords, key) != value_keywords.end();
}

/// Rejects unknown keywords in the schemas of the members of an object, and below.
void check_members(const YAML::Node& node, const json::object& schema, const std::string& path,
                   fault_list& faults) {
  const auto check = [&faults](const YAML::Node& at, const json::value& member,
                               const std::string& name) {
    if (!member.is_object())
      return;
    for (const auto& [key, value] : member.get_object())
      if (!is_keyword(key))
        faults.add(at[std::string{key}], name + '.' + std::string{key},
                   "is not a keyword of JSON Schema");
    check_members(at, member.get_object(), name, faults);
  };
  if (const auto* const members = schema.if_contains("properties");
      members != nullptr && members->is_object())
    for (const auto& [name, member] : members->get_object())
      check(node["properties"][std::string{name}], member,
            fmt::format("{}.properties.{}", path, std::string_view{name}));
  if (const auto* const items = schema.if_contains("items"); items != nullptr)
    check(node["items"], *items, path + ".items");
}

/// Rejects keys of the response that are neither options nor keywords of JSON Schema.
void check_keys(const YAML::Node& node, const json::object& schema, fields& root) {
  for (const auto& [name, value] : schema) {
    const auto key = std::string{name};
    if (!is_keyword_of_object(key))
      root.faults().add(node[key], "response." + key,
                        "is neither an option of response (strict, retries, request) nor a keyword "
                        "of JSON Schema");
  }
}

/// Rejects a schema that requires a member that it does not describe, in an object or below.
void check_required(const YAML::Node& node, const json::object& schema, const std::string& path,
                    fault_list& faults) {
  const auto* const properties = schema.if_contains("properties");
  if (properties == nullptr || !properties->is_object())
    return;
  const auto& members = properties->get_object();
  const auto* const more = schema.if_contains("additionalProperties");
  const auto is_closed =
      (more == nullptr || *more == false) &&
      std::ranges::none_of(std::array{"$ref", "allOf", "anyOf", "oneOf", "patternProperties"},
                           [&](const auto* keyword) { return schema.contains(keyword); });
  if (const auto* const required = schema.if_contains("required");
      is_closed && required != nullptr && required->is_array())
    for (const auto& one : required->get_array())
      if (one.is_string() && !members.contains(one.get_string()))
        faults.add(node["required"], path + ".required",
                   fmt::format("contains '{}', which is not in properties",
                               std::string_view{one.get_string()}));
  for (const auto& [name, member] : members)
    if (member.is_object())
      check_required(node["properties"][std::string{name}], member.get_object(),
                     fmt::format("{}.properties.{}", path, std::string_view{name}), faults);
}

/// Rejects options of the response that contradict each other or the schema.
void check_response(const agent_spec& spec, fields& root) {
  if (spec.response_strict == strict_mode::on)
    if (const auto strict = to_strict_schema(*spec.response); !strict)
      root.wrong("response",
                 "strict: the strict mode does not accept this schema: " + strict.error().text +
                     "; change the schema, or set strict to auto");
  if (spec.response_request == superstep::response_request::in_answer && !spec.tools.empty() &&
      spec.response_method != structured_method::json_schema)
    root.wrong("response", "request: in_answer requires response_method json_schema in an agent "
                           "with tools; use separate");
  if (spec.response_request == superstep::response_request::in_answer && !spec.tools.empty() &&
      !spec.protocol.empty())
    root.wrong("response", "request: in_answer cannot be combined with model.protocol in an agent "
                           "with tools; use separate");
}

} // namespace

void read_response(fields& root, agent_spec& into) {
  const auto node = root.take("response");
  auto method = std::string{"json_schema"};
  root.text("response_method", method);
  if (method == "tool_call")
    into.response_method = structured_method::tool_call;
  else if (method == "json_object")
    into.response_method = structured_method::json_object;
  else if (method != "json_schema")
    root.wrong("response_method",
               "must be json_schema, json_object or tool_call, got '" + method + "'");
  const auto* provider = std::get_if<provider_model_options>(&into.model);
  if (method == "json_object" && provider && provider->api == provider_api::anthropic)
    root.wrong("response_method",
               "json_object: Anthropic has no such mode; use json_schema or tool_call");
  if (!node.IsDefined() || node.IsNull())
    return;
  into.response_line = line_of(node);
  if (!node.IsMap())
    return root.wrong("response", "must be a JSON Schema of type object");
  auto schema = to_json(node, "response", root.faults());
  if (!schema)
    return;
  const auto* type = schema->get_object().if_contains("type");
  if (type == nullptr || *type != "object")
    return root.wrong("response",
                      "must be a JSON Schema of type object; providers accept no other type");
  take_options(schema->get_object(), into, root);
  check_keys(node, schema->get_object(), root);
  check_members(node, schema->get_object(), "response", root.faults());
  check_schema(node, schema->get_object(), "response", root.faults());
  check_required(node, schema->get_object(), "response", root.faults());
  into.response = std::move(schema->get_object());
  check_response(into, root);
}

void read_cache(fields& root, const std::string& folder, agent_spec& into) {
  const auto node = root.take("cache");
  if (!node.IsDefined() || node.IsNull())
    return;
  into.cache_line = line_of(node);
  auto& options = into.cache.emplace();
  constexpr auto bytes_min = std::int64_t{1} << 20;
  auto at = fields{node, "cache", root.faults()};
  at.required_text("path", options.path)
      .number("bytes_max", options.bytes_max, bytes_min)
      .flag("sampled", options.with_sampled)
      .done();
  options.path = in_folder(folder, options.path);
  if (std::holds_alternative<recorded_model_options>(into.model) ||
      std::holds_alternative<replayed_model_options>(into.model))
    root.wrong("cache", "cannot be used with the providers recorded and replayed, whose answers "
                        "depend on the row and not only on the request");
}

void read_store(fields& root, const std::string& folder, agent_spec& into) {
  const auto node = root.take("store");
  if (!node.IsDefined() || node.IsNull())
    return;
  into.store_line = line_of(node);
  auto at = fields{node, "store", root.faults()};
  at.required_text("path", into.store).done();
  if (!superstep::is_postgres_url(into.store))
    into.store = in_folder(folder, into.store);
}

} // namespace superstep::detail
