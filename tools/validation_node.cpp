// SPDX-License-Identifier: Apache-2.0
// Validates tool calls without running tools. The schemas are compiled once, in the constructor.
#include <superstep/base/detail/assert.hpp>
#include <superstep/tools/validation_node.hpp>

#include <map>
#include <stdexcept>
#include <utility>

namespace superstep {

namespace {

struct checked_schema {
  json::object parameters;
  argument_schema schema;
};

std::string describe(const std::vector<argument_fault>& faults) {
  auto text = std::string{};
  for (const auto& fault : faults)
    text += (text.empty() ? "" : "\n") +
            (fault.path.empty() ? std::string{"arguments"} : fault.path) + ": " + fault.text;
  return text + "\n\nRespond after fixing all validation errors.";
}

/// Adds default values to a value. The recursion is bounded, because parse_json() limits the depth.
json::value fill(const json::value& schema, const json::value& value) {
  const auto* known = schema.if_object();
  if (known == nullptr)
    return value;
  if (const auto* members = value.if_object())
    return fill_arguments(*known, *members);
  const auto* items = known->if_contains("items");
  const auto* list = value.if_array();
  if (list == nullptr || items == nullptr)
    return value;
  auto out = json::array{};
  for (const auto& item : *list)
    out.push_back(fill(*items, item));
  return out;
}

std::vector<tool_definition> definitions_of(const tool_list& tools) {
  auto out = std::vector<tool_definition>{};
  for (const auto& tool : tools) {
    SUPERSTEP_ASSERT(tool != nullptr);
    out.push_back(tool->definition());
  }
  return out;
}

} // namespace

struct validation_node::table {
  std::map<std::string, checked_schema, std::less<>> by_name;
};

json::object fill_arguments(const json::object& schema, const json::object& arguments) {
  const auto* properties = schema.if_contains("properties");
  if (properties == nullptr || !properties->is_object())
    return arguments;
  auto out = json::object{};
  for (const auto& property : properties->get_object()) {
    const auto* given = arguments.if_contains(property.key());
    const auto* known = property.value().if_object();
    const auto* default_value = known != nullptr ? known->if_contains("default") : nullptr;
    if (given != nullptr)
      out.emplace(property.key(), fill(property.value(), *given));
    else
      out.emplace(property.key(), default_value != nullptr ? *default_value : json::value{});
  }
  return out;
}

validation_node::validation_node(std::vector<tool_definition> schemas,
                                 validation_node_options options)
    : options_{std::move(options)} {
  auto made = std::make_shared<table>();
  for (auto& definition : schemas) {
    auto compiled = argument_schema::compile(definition.parameters);
    if (!compiled)
      throw std::invalid_argument{"schema '" + definition.name + "': " + compiled.error().text};
    auto entry = checked_schema{std::move(definition.parameters), *std::move(compiled)};
    if (!made->by_name.emplace(definition.name, std::move(entry)).second)
      throw std::invalid_argument{"two schemas have the name '" + definition.name + "'"};
  }
  table_ = std::move(made);
}

validation_node::validation_node(const tool_list& tools, validation_node_options options)
    : validation_node{definitions_of(tools), std::move(options)} {}

bool validation_node::knows(std::string_view schema) const noexcept {
  return table_->by_name.contains(schema);
}

result<message> validation_node::check(const tool_call& call) const {
  const auto found = table_->by_name.find(call.name);
  if (found == table_->by_name.end())
    return error{errc::not_found, "no schema has the name \"" + call.name + '"'};
  const auto faults = found->second.schema.check(call.args);
  if (faults.empty())
    return tool_message(to_text(fill_arguments(found->second.parameters, call.args)), call.id,
                        call.name);
  auto answer =
      tool_message(options_.format_error ? options_.format_error(call, faults) : describe(faults),
                   call.id, call.name);
  answer.additional_kwargs["is_error"] = true;
  return answer;
}

result<std::vector<message>> validation_node::run(const message_list& messages) const {
  if (messages.empty())
    return error{errc::invalid_argument,
                 "the validation node cannot run: its input has no messages"};
  const auto& last = messages[messages.size() - 1];
  if (last.type != message_type::ai)
    return error{errc::invalid_argument,
                 "the validation node cannot run: the last message is not an AI message"};
  auto out = std::vector<message>{};
  for (const auto& call : last.tool_calls) {
    auto answer = check(call);
    if (!answer)
      return answer.error();
    out.push_back(*std::move(answer));
  }
  return out;
}

} // namespace superstep
