// SPDX-License-Identifier: Apache-2.0
// Middleware in which a person reviews all tool calls of an answer at once, after the model.
#include "agents/chat_history.hpp"
#include "agents/review_parts.hpp"
#include "tools/failed_call.hpp"

#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/prebuilt_middleware.hpp>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace superstep {

namespace {

using review_options_ptr = std::shared_ptr<const review_options>;

std::vector<tool_call> calls_to_review(const message_list& messages,
                                       const review_options& options) {
  auto calls = react::pending_calls(messages);
  std::erase_if(calls, [&](const auto& call) { return !reviews::is_meant(call, options); });
  return calls;
}

message rejection(const tool_call& call) {
  return failed_call(call,
                     "User rejected the tool call for `" + call.name + "` with id " + call.id);
}

/// Returns the answer with its calls as edited, and tool messages for rejected or answered calls.
message_step decided(const message_list& messages, const std::vector<tool_call>& calls,
                     const json::value& answer, const review_options& options) {
  const auto said = answer.is_array() ? answer.get_array() : json::array(1, answer);
  if (said.size() != calls.size())
    throw std::invalid_argument{"Number of human decisions (" + std::to_string(said.size()) +
                                ") does not match number of hanging tool calls (" +
                                std::to_string(calls.size()) + ")."};
  auto revised = *last_ai_message(messages);
  auto is_revised = false;
  auto answers = std::vector<message>{};
  for (auto i = std::size_t{0}; i < calls.size(); ++i) {
    auto response = reviews::read_response(said[i], options);
    if (response.type == human_response::kind::ignore) {
      answers.push_back(rejection(calls[i]));
    } else if (auto* edited = std::get_if<action_request>(&response.args)) {
      auto& call = *std::ranges::find(revised.tool_calls, calls[i].id, &tool_call::id);
      call.name = std::move(edited->action);
      call.args = std::move(edited->args);
      is_revised = true;
    } else if (auto* words = std::get_if<std::string>(&response.args);
               words != nullptr && response.type == human_response::kind::response) {
      answers.push_back(tool_message(std::move(*words), calls[i].id, calls[i].name));
    }
  }
  auto out = message_step{};
  if (is_revised)
    out.messages.push_back(std::move(revised));
  for (auto& m : answers)
    out.messages.push_back(std::move(m));
  return out;
}

task<message_step> review(review_options_ptr options, const message_list& messages, runtime rt) {
  const auto calls = calls_to_review(messages, *options);
  if (calls.empty())
    co_return message_step{};
  auto asked = json::array{};
  for (const auto& call : calls)
    asked.emplace_back(to_json(reviews::question_about(call, *options)));
  auto asking = rt.interrupt(json::value(std::move(asked)));
  const auto answer = co_await asking;
  co_return decided(messages, calls, answer, *options);
}

} // namespace

message_middleware human_in_the_loop(review_options options) {
  auto out = message_middleware{};
  out.name = "HumanInTheLoopMiddleware";
  out.after_model.run = [options = std::make_shared<const review_options>(std::move(options))](
                            const message_list& messages, runtime rt) {
    return review(options, messages, std::move(rt));
  };
  return out;
}

} // namespace superstep
