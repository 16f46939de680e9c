// SPDX-License-Identifier: Apache-2.0
// Interceptor of tool nodes by which a person reviews tool calls. The middleware human_in_the_loop
// also uses the functions in namespace reviews.
#include "agents/review_parts.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

namespace superstep {

namespace reviews {

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

human_response read_response(const json::value& answer, const review_options& options) {
  auto given = answer;
  if (auto* members = given.if_object(); members != nullptr && !members->contains("args"))
    (*members)["args"] = nullptr; // `args` is optional in answers that need no arguments
  auto said = human_response_from_json(given);
  if (!said)
    throw tool_value_error{"invalid answer to a review: " + said.error().text};
  if (!is_allowed(said->type, options.config))
    throw tool_value_error{
        "invalid answer to a review: the review does not allow this type of answer"};
  return *std::move(said);
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
    auto said = reviews::read_response(only_response(answer), *options);
    if (said.type == human_response::kind::ignore)
      co_return answered(request.call, "The call was ignored.");
    if (auto* words = std::get_if<std::string>(&said.args);
        words != nullptr && said.type == human_response::kind::response)
      co_return answered(request.call, std::move(*words));
    if (auto* edited = std::get_if<action_request>(&said.args)) {
      if (edited->action != request.call.name)
        throw tool_value_error{"invalid answer to a review: the call of '" + request.call.name +
                               "' cannot be changed to a call of '" + edited->action + "'"};
      request.call.args = std::move(edited->args);
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
