// SPDX-License-Identifier: Apache-2.0
// Interceptor of tool nodes by which a person reviews tool calls. The middleware human_in_the_loop
// also uses the functions in namespace reviews.
#include "agents/review_parts.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>

namespace superstep {

namespace reviews {

namespace {

using response_kind = human_response::kind;

/// Compares JSON values. Numbers are compared by value, because clients may write 2.0 as 2.
bool is_same(const json::value& a, const json::value& b) {
  if (a.is_number() && b.is_number())
    return a == b || a.to_number<double>() == b.to_number<double>();
  if (a.is_array() && b.is_array())
    return std::ranges::equal(a.get_array(), b.get_array(), is_same);
  if (!a.is_object() || !b.is_object())
    return a == b;
  const auto& others = b.get_object();
  return a.get_object().size() == others.size() &&
         std::ranges::all_of(a.get_object(), [&](const auto& member) {
           const auto* other = others.if_contains(member.key());
           return other != nullptr && is_same(member.value(), *other);
         });
}

/// Returns what is wrong with the arguments of a response; an empty text if they match its type.
std::string_view fault_of(const human_response& said, const tool_call& call) {
  const auto* action = std::get_if<action_request>(&said.args);
  const auto is_text = std::holds_alternative<std::string>(said.args);
  if (said.type == response_kind::edit)
    return action == nullptr ? "an edit requires the changed action as args" : "";
  if (said.type == response_kind::response)
    return is_text ? "" : "a response requires a text as args";
  if (is_text && said.type == response_kind::accept)
    return "an accepted call has no text; use a response or an edit";
  if (action != nullptr && (action->action != call.name || !is_same(action->args, call.args)))
    return "the action differs from the call; use an edit to change the call";
  return "";
}

} // namespace

bool is_meant(const tool_call& call, const review_options& options) {
  const auto& tools = options.tools;
  return tools.empty() || std::ranges::find(tools, call.name) != tools.end();
}

human_interrupt question_about(const tool_call& call, const review_options& options) {
  auto asked = human_interrupt{};
  asked.action = {call.name, call.args};
  asked.config = options.config;
  asked.description =
      json::value(options.describe ? options.describe(call) : "Review the call of " + call.name);
  return asked;
}

human_response read_response(const json::value& answer, const tool_call& call,
                             const review_options& options) {
  auto given = answer;
  if (auto* members = given.if_object(); members != nullptr && !members->contains("args"))
    (*members)["args"] = nullptr; // `args` is optional in answers that need no arguments
  auto said = human_response_from_json(given);
  if (!said)
    throw tool_value_error{"invalid answer to a review: " + said.error().text};
  if (!is_allowed(said->type, options.config))
    throw tool_value_error{
        "invalid answer to a review: the review does not allow this type of answer"};
  if (const auto fault = fault_of(*said, call); !fault.empty())
    throw tool_value_error{"invalid answer to a review: " + std::string{fault}};
  return *std::move(said);
}

std::string reason_of(const human_response& ignored) {
  const auto* reason = std::get_if<std::string>(&ignored.args);
  return reason != nullptr ? *reason : std::string{};
}

} // namespace reviews

namespace {

using review_options_ptr = std::shared_ptr<const review_options>;

const json::value& only_response(const json::value& answer) {
  const auto* list = answer.if_array();
  if (list != nullptr && list->size() != 1)
    throw tool_value_error{"invalid answer to a review: expected one response, got " +
                           std::to_string(list->size())};
  return list != nullptr ? list->front() : answer;
}

tool_answer answered(const tool_call& call, std::string text) {
  auto out = tool_answer{};
  out.answer = std::make_shared<const message>(tool_message(std::move(text), call.id, call.name));
  return out;
}

std::string text_of_ignored(const human_response& said) {
  const auto reason = reviews::reason_of(said);
  return reason.empty() ? "The call was ignored." : "The call was ignored: " + reason;
}

/// Interrupts the run, and acts on the person's answer after the run is resumed. On resume this
/// coroutine starts from its beginning, and interrupt() then returns the answer.
task<tool_answer> review(review_options_ptr options, tool_request request, tool_execute execute) {
  if (request.tool != nullptr && reviews::is_meant(request.call, *options)) {
    const auto* environment = request.context.environment.get();
    if (environment == nullptr || !environment->run)
      throw std::logic_error{"review_calls() works only in a tool node that a graph runs"};
    auto question = json::array(1, to_json(reviews::question_about(request.call, *options)));
    auto asking = environment->run->interrupt(std::move(question));
    const auto answer = co_await asking;
    auto said = reviews::read_response(only_response(answer), request.call, *options);
    if (said.type == human_response::kind::ignore)
      co_return answered(request.call, text_of_ignored(said));
    if (said.type == human_response::kind::response)
      co_return answered(request.call, std::get<std::string>(std::move(said.args)));
    if (said.type == human_response::kind::edit) {
      auto& edited = std::get<action_request>(said.args);
      if (edited.action != request.call.name)
        throw tool_value_error{"invalid answer to a review: the call of '" + request.call.name +
                               "' cannot be changed to a call of '" + edited.action + "'"};
      request.call.args = std::move(edited.args);
    }
  }
  auto running = execute(std::move(request));
  auto out = co_await running;
  co_return out;
}

} // namespace

tool_interceptor review_calls(review_options options) {
  return [options = std::make_shared<const review_options>(std::move(options))](
             tool_request request, tool_execute execute) {
    return review(options, std::move(request), std::move(execute));
  };
}

} // namespace superstep
