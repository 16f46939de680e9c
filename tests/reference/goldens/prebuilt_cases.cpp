// SPDX-License-Identifier: Apache-2.0
// Recorded cases of the prebuilt parts that need no graph: tools_condition, ValidationNode and the
// records of human review.
#include "cases.hpp"
#include "graph_cases/expression.hpp"
#include "langgraph_texts.hpp"
#include "message_form.hpp"
#include "validation_case.hpp"

#include <superstep/messages/message_json.hpp>
#include <superstep/tools/human_review.hpp>
#include <superstep/tools/tool_node.hpp>
#include <superstep/tools/validation_node.hpp>

#include <stdexcept>
#include <string>

namespace superstep::conformance {

namespace {

std::string text_in(const json::object& o, std::string_view name,
                    std::string_view default_value = "") {
  const auto* found = o.if_contains(name);
  return std::string{found != nullptr ? std::string_view{found->as_string()} : default_value};
}

/// Replaces the text between two marks by `<*>`, because the display of values depends on the
/// language.
std::string starred(const std::string& text, std::string_view before, std::string_view after) {
  const auto begin = text.find(before);
  const auto end = after.empty() ? text.size() : text.rfind(after);
  if (begin == text.npos || end == text.npos || end < begin + before.size())
    return text;
  return text.substr(0, begin + before.size()) + "<*>" + text.substr(end);
}

json::value refused(const std::string& text) {
  return {{"failed", {{"kind", "refused"}, {"text", text}}}};
}

/// Returns the messages of a case with their types; empty if there are none.
message_list messages_at(const json::value* list) {
  auto out = message_list{};
  if (list != nullptr && list->is_array())
    for (const auto& m : list->get_array())
      out.push_back(message_in(m));
  return out;
}

json::value answer_condition(const json::object& input) {
  const auto* list = input.if_contains("list");
  const auto to = list != nullptr ? tools_condition(messages_at(list))
                                  : tools_condition(input.at("state").as_object(),
                                                    text_in(input, "messages_key", "messages"));
  if (!to)
    return refused(starred(langgraph_text(to.error().text), "tool_edge: ", ""));
  return {{"to", *to}};
}

/// Returns a message without generated ids and empty members, which cases do not contain.
json::value form_of_answer(const message& m) {
  auto form = form_of(m).as_object();
  if (const auto* status = form.if_contains("status"); status != nullptr && *status == "success")
    form.erase("status");
  auto& content = form.at("content");
  if (const auto* text = content.if_string())
    content = starred(std::string{std::string_view{*text}}, "",
                      "\n\nRespond after fixing all validation errors.");
  return form;
}

json::value answer_validation(const json::object& input) {
  const auto node = make_validation_node(input.at("node").as_object());
  const auto& given = input.at("input").as_object();
  const auto* list = given.if_contains("list");
  const auto* state = given.if_contains("state");
  const auto messages =
      messages_at(list != nullptr ? list : state->as_object().if_contains("messages"));
  const auto answers = node.run(messages);
  if (!answers && answers.error().code == errc::not_found) {
    for (const auto& call : messages[messages.size() - 1].tool_calls)
      if (!node.knows(call.name))
        return {{"failed", {{"kind", "missing_key"}, {"key", call.name}}}};
  }
  if (!answers)
    return refused(langgraph_text(answers.error().text));
  auto out = json::array{};
  for (const auto& answer : *answers)
    out.push_back(form_of_answer(answer));
  if (list != nullptr)
    return {{"out", std::move(out)}};
  return {{"out", {{"messages", std::move(out)}}}};
}

json::value answer_human(const json::object& input) {
  const auto record = text_in(input, "record");
  const auto& v = input.at("value");
  auto out = json::object{};
  if (record == "HumanInterruptConfig")
    out["value"] = to_json(value_of(human_interrupt_config_from_json(v)));
  else if (record == "ActionRequest")
    out["value"] = to_json(value_of(action_request_from_json(v)));
  else if (record == "HumanInterrupt")
    out["value"] = to_json(value_of(human_interrupt_from_json(v)));
  else if (record == "HumanResponse")
    out["value"] = to_json(value_of(human_response_from_json(v)));
  else
    throw std::runtime_error{"unknown record " + record};
  return out;
}

} // namespace

validation_node make_validation_node(const json::object& node) {
  auto schemas = std::vector<tool_definition>{};
  for (const auto& schema : node.at("schemas").as_array()) {
    auto definition = tool_definition{};
    definition.name = text_in(schema.as_object(), "name");
    definition.parameters = schema.at("schema").as_object();
    schemas.push_back(std::move(definition));
  }
  auto options = validation_node_options{};
  if (const auto* format = node.if_contains("format_error"))
    options.format_error = [format](const tool_call& call, const auto&) {
      auto seen = json::value{{"name", call.name}, {"args", call.args}, {"id", call.id}};
      auto scope = graph_cases::scope{};
      scope.input = &seen;
      return graph_cases::as_text(graph_cases::evaluate(*format, scope));
    };
  return validation_node{std::move(schemas), std::move(options)};
}

void add_prebuilt_cases(case_table& table) {
  table["prebuilt.tools_condition"] = answer_condition;
  table["prebuilt.validation_node"] = answer_validation;
  table["prebuilt.human"] = answer_human;
}

} // namespace superstep::conformance
