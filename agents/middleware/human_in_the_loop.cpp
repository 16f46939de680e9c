// SPDX-License-Identifier: Apache-2.0
// Middleware in which a person reviews all tool calls of an answer at once, after the model.
#include "agents/chat_history.hpp"
#include "agents/review_parts.hpp"
#include "tools/failed_call.hpp"

#include <superstep/agents/prebuilt_middleware.hpp>

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <utility>
#include <variant>
#include <vector>

namespace superstep {

namespace {

using review_options_ptr = std::shared_ptr<const review_options>;

/// Returns the indices of the calls of the answer that wait for a review. Some servers use one id
/// for several calls, so ids do not identify calls.
std::vector<std::size_t> calls_to_review(const message_list& messages,
                                         const review_options& options) {
  auto out = std::vector<std::size_t>{};
  const auto position = last_ai_index(messages);
  if (position == messages.size())
    return out;
  const auto& calls = messages[position].tool_calls;
  const auto answered = answered_calls(messages, position + 1);
  for (auto i = std::size_t{0}; i < calls.size(); ++i)
    if (reviews::is_meant(calls[i], options) && !is_answered(calls[i], answered))
      out.push_back(i);
  return out;
}

message rejection(const tool_call& call, std::string reason) {
  return failed_call(call, reason.empty() ? "User rejected the tool call for `" + call.name +
                                                "` with id " + call.id
                                          : std::move(reason));
}

/// Returns the answer with its calls as edited, and tool messages for rejected or answered calls.
message_step decided(const message_list& messages, const std::vector<std::size_t>& indices,
                     const json::value& answer, const review_options& options) {
  const auto said = answer.is_array() ? answer.get_array() : json::array(1, answer);
  if (said.size() != indices.size())
    throw std::invalid_argument{"Number of human decisions (" + std::to_string(said.size()) +
                                ") does not match number of hanging tool calls (" +
                                std::to_string(indices.size()) + ")."};
  auto revised = *last_ai_message(messages);
  auto is_revised = false;
  auto answers = std::vector<message>{};
  for (auto i = std::size_t{0}; i < indices.size(); ++i) {
    auto& call = revised.tool_calls[indices[i]];
    auto response = reviews::read_response(said[i], call, options);
    switch (response.type) {
    case human_response::kind::accept:
      break;
    case human_response::kind::ignore:
      answers.push_back(rejection(call, reviews::reason_of(response)));
      break;
    case human_response::kind::response:
      answers.push_back(
          tool_message(std::get<std::string>(std::move(response.args)), call.id, call.name));
      break;
    case human_response::kind::edit:
      auto& edited = std::get<action_request>(response.args);
      call.name = std::move(edited.action);
      call.args = std::move(edited.args);
      is_revised = true;
      break;
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
  const auto indices = calls_to_review(messages, *options);
  if (indices.empty())
    co_return message_step{};
  auto asked = json::array{};
  const auto& calls = last_ai_message(messages)->tool_calls;
  for (const auto index : indices)
    asked.emplace_back(to_json(reviews::question_about(calls[index], *options)));
  auto asking = rt.interrupt(json::value(std::move(asked)));
  const auto answer = co_await asking;
  co_return decided(messages, indices, answer, *options);
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
