// SPDX-License-Identifier: Apache-2.0
// Reads the options of tool nodes from cases and prints the nodes' results in the cases' form.
#include "case_errors.hpp"
#include "case_tools.hpp"
#include "graph_cases/expression.hpp"
#include "langgraph_texts.hpp"
#include "message_form.hpp"

#include <superstep/messages/message_json.hpp>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

namespace superstep::conformance {

namespace {

using graph_cases::as_text;
using graph_cases::evaluate;
using graph_cases::member;
using graph_cases::text_member;

constexpr auto star = std::string_view{"<*>"};

/// Replaces the text between `before` and the last `after` by a star; nullopt if the text has
/// another form.
std::optional<std::string> starred(std::string_view text, std::string_view begins,
                                   std::string_view before, std::string_view after) {
  const auto from = text.find(before);
  if (!text.starts_with(begins) || from == text.npos)
    return std::nullopt;
  const auto inner = from + before.size();
  const auto to = after.empty() ? text.size() : text.find(after, inner);
  if (to == text.npos)
    return std::nullopt;
  return std::string{text.substr(0, inner)} + std::string{star} + std::string{text.substr(to)};
}

/// Replaces the descriptions of wrong arguments by a star and keeps their paths.
std::optional<std::string> starred_faults(std::string_view text) {
  constexpr auto head = std::string_view{" with error:\n "};
  constexpr auto tail = std::string_view{"\n Please fix the error and try again."};
  const auto args = text.find(" with kwargs ");
  const auto begin = text.find(head);
  if (!text.starts_with("Error invoking tool '") || args == text.npos || begin == text.npos ||
      !text.ends_with(tail))
    return std::nullopt;
  auto out = std::string{text.substr(0, args)} + " with kwargs <*>" + std::string{head};
  auto lines = text.substr(begin + head.size());
  lines.remove_suffix(tail.size());
  for (auto is_first = true; !lines.empty(); is_first = false) {
    const auto line = lines.substr(0, lines.find('\n'));
    const auto colon = line.find(": ");
    out += is_first ? "" : "\n";
    out += colon == line.npos ? std::string{line} : std::string{line.substr(0, colon)} + ": <*>";
    lines.remove_prefix(std::min(line.size() + 1, lines.size()));
  }
  return out + std::string{tail};
}

/// Replaces the text in `Error: Class(…)`, but keeps plain text in single quotes.
std::optional<std::string> starred_template(std::string_view text) {
  constexpr auto tail = std::string_view{")\n Please fix your mistakes."};
  const auto open = text.find('(');
  if (!text.starts_with("Error: ") || open == text.npos || !text.ends_with(tail))
    return std::nullopt;
  auto inner = text.substr(open + 1);
  inner.remove_suffix(tail.size());
  if (inner.size() >= 2 && inner.starts_with('\'') && inner.ends_with('\'') &&
      inner.substr(1, inner.size() - 2).find_first_of("'\\") == inner.npos)
    return std::string{text};
  return std::string{text.substr(0, open + 1)} + std::string{star} + std::string{tail};
}

tool_errors errors_of(const json::value& how, bool exact) {
  if (how.is_bool())
    return how.get_bool() ? tool_errors::all() : tool_errors::none();
  if (how.is_string())
    return tool_errors::text(std::string{how.get_string()});
  const auto& members = how.as_object();
  if (const auto* type = members.if_contains("type"))
    return tool_errors::only({class_named(std::string_view{type->as_string()})});
  auto types = std::vector<error_type>{};
  const auto add = [&](const json::value& names) {
    for (const auto& name : names.as_array())
      types.push_back(class_named(std::string_view{name.as_string()}));
  };
  if (const auto* names = members.if_contains("types")) {
    add(*names);
    return tool_errors::only(std::move(types));
  }
  const auto fn = member(members, "fn").as_object();
  if (const auto* names = fn.if_contains("on"))
    add(*names);
  return tool_errors::by(
      [text = member(fn, "text"), exact](const std::exception& e) {
        const auto* named = dynamic_cast<const named_error*>(&e);
        const auto seen =
            json::value{{"class", named != nullptr ? named->error_name() : "Exception"},
                        {"message", canonical(e.what(), exact)}};
        auto in = graph_cases::scope{};
        in.input = &seen;
        return as_text(evaluate(text, in));
      },
      std::move(types));
}

/// Returns the values that the expressions of an interceptor can read.
json::value seen_by_interceptor(const tool_request& request) {
  const auto* environment = request.context.environment.get();
  auto out = json::object{{"args", request.call.args},
                          {"name", request.call.name},
                          {"id", request.call.id},
                          {"known", request.tool != nullptr},
                          {"state", nullptr}};
  if (environment != nullptr && environment->state)
    out["state"] = printed(environment->state->whole(), true);
  return out;
}

tool_answer with_suffix(tool_answer answer, const std::string& suffix) {
  if (answer.answer == nullptr)
    return answer;
  auto m = *answer.answer;
  m.content += suffix;
  return {std::make_shared<const message>(std::move(m)), {}};
}

task<tool_answer> intercept(std::shared_ptr<const json::object> how, tool_request request,
                            tool_execute execute) {
  const auto what = text_member(*how, "do");
  const auto seen = seen_by_interceptor(request);
  auto in = graph_cases::scope{};
  in.input = &seen;
  const auto* only = how->if_contains("only");
  const auto applies = only == nullptr || std::ranges::any_of(only->as_array(), [&](const auto& n) {
                         return n.as_string() == request.call.name.c_str();
                       });
  if (applies && what == "raise")
    raise(text_member(*how, "error"), as_text(evaluate(member(*how, "message"), in)));
  if (applies && what == "answer") {
    auto content = output_of(evaluate(member(*how, "content"), in));
    auto m = tool_message(std::move(content.content), request.call.id, request.call.name);
    m.blocks = std::move(content.blocks);
    co_return tool_answer{std::make_shared<const message>(std::move(m)), {}};
  }
  if (applies && what == "args")
    for (const auto& [name, e] : member(*how, "set").as_object())
      request.call.args[name] = evaluate(e, in);
  const auto runs = applies && what == "retry" ? member(*how, "times").as_int64() : 1;
  auto answer = tool_answer{};
  for (auto i = std::int64_t{0}; i < runs; ++i) {
    auto call = execute(request);
    answer = co_await call;
    if (answer.answer == nullptr || !answer->is_error)
      break;
  }
  if (applies && what == "suffix")
    answer = with_suffix(std::move(answer), text_member(*how, "text"));
  co_return answer;
}

bool holds_nothing(std::string_view key, const json::value& v) {
  return v.is_null() || (v.is_array() && v.get_array().empty()) ||
         (v.is_object() && v.get_object().empty()) || (key == "status" && v == "success");
}

json::value printed_target(const tool_target& to, bool exact) {
  if (!to.input)
    return json::value(to.node);
  return {{"$send", to.node}, {"arg", printed(*to.input, exact)}};
}

json::array printed_list(const std::vector<message>& messages, bool exact) {
  auto out = json::array{};
  for (const auto& m : messages)
    out.push_back(printed_message(m, exact));
  return out;
}

} // namespace

std::string canonical(std::string text, bool exact) {
  text = langgraph_text(std::move(text));
  if (exact)
    return text;
  using form = std::array<std::string_view, 3>;
  constexpr auto forms = std::array{
      form{"Expected to have a matching ToolMessage", ", got: ", ". Every tool call"},
      form{"Tools can provide a dict in Command.update", ", got: ", " for tool '"},
      form{"Tools can provide a list of messages in Command.update", ", got: ", " for tool '"}};
  if (auto out = starred_faults(text))
    return *out;
  if (auto out = starred_template(text))
    return *out;
  for (const auto& [begins, before, after] : forms)
    if (auto out = starred(text, begins, before, after))
      return *out;
  return text;
}

tool_node_options make_node_options(const json::object& node, bool exact) {
  auto out = tool_node_options{};
  out.errors = errors_of(member(node, "handle_tool_errors"), exact);
  if (const auto* key = node.if_contains("messages_key"))
    out.messages_key = std::string_view{key->as_string()};
  if (const auto* name = node.if_contains("name"))
    out.name = std::string_view{name->as_string()};
  if (const auto* wrap = node.if_contains("wrap"))
    out.wrap_call = [how = std::make_shared<const json::object>(wrap->as_object())](
                        tool_request request, tool_execute execute) {
      return intercept(how, std::move(request), std::move(execute));
    };
  return out;
}

json::value printed_message(const message& m, bool exact) {
  return printed(form_of(m), exact);
}

json::value printed(const json::value& v, bool exact) {
  if (const auto* list = v.if_array()) {
    auto out = json::array{};
    for (const auto& item : *list)
      out.push_back(printed(item, exact));
    return out;
  }
  const auto* members = v.if_object();
  if (members == nullptr)
    return v;
  const auto is_message = members->contains("type") && members->contains("content");
  auto out = json::object{};
  for (const auto& [key, item] : *members) {
    if (is_message && key != "content" && holds_nothing(key, item))
      continue;
    if (key == "type" && (item == "tool_call" || item == "invalid_tool_call"))
      continue;
    if (is_message && key == "content")
      out[key] = item.is_string() && members->at("type") == "tool"
                     ? json::value(canonical(std::string{item.get_string()}, exact))
                     : item;
    else
      out[key] = printed(item, exact);
  }
  return out;
}

json::value printed_command(const tool_command& c, std::string_view messages_key, bool exact) {
  auto out = json::object{};
  if (const auto* fields = std::get_if<tool_update>(&c.update)) {
    auto update = printed(fields->fields, exact).as_object();
    if (fields->messages)
      update[messages_key] = printed_list(*fields->messages, exact);
    out["update"] = std::move(update);
  } else if (const auto* list = std::get_if<std::vector<message>>(&c.update)) {
    out["update"] = printed_list(*list, exact);
  }
  if (const auto* to = std::get_if<tool_target>(&c.go_to)) {
    out["goto"] = printed_target(*to, exact);
  } else if (const auto* targets = std::get_if<std::vector<tool_target>>(&c.go_to)) {
    auto list = json::array{};
    for (const auto& one : *targets)
      list.push_back(printed_target(one, exact));
    out["goto"] = std::move(list);
  }
  if (c.to_parent)
    out["parent"] = true;
  return {{"$command", std::move(out)}};
}

json::value printed_failure(const std::exception_ptr& failure, bool exact) {
  try {
    std::rethrow_exception(failure);
  } catch (const missing_state_field& e) {
    return {{"kind", "missing_key"}, {"key", e.field()}};
  } catch (const tool_invocation_error& e) {
    return {{"kind", "bad_arguments"}, {"text", canonical(e.what(), exact)}};
  } catch (const empty_message_list&) {
    return {{"kind", "empty_list"}};
  } catch (const std::exception& e) {
    const auto* named = dynamic_cast<const named_error*>(&e);
    if (named != nullptr && dynamic_cast<const by_program*>(&e) != nullptr)
      return {{"kind", "raised"}, {"class", named->error_name()}, {"message", e.what()}};
    return {{"kind", "refused"}, {"text", canonical(e.what(), exact)}};
  }
}

} // namespace superstep::conformance
