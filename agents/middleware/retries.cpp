// SPDX-License-Identifier: Apache-2.0
// Middleware that retries failed model and tool calls, or asks other models instead.
#include "base/held_exception.hpp"
#include "tools/failed_call.hpp"

#include <superstep/agents/prebuilt_middleware.hpp>
#include <superstep/base/await.hpp>
#include <superstep/models/model_retry.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>

namespace superstep {

namespace {

using retry_options_ptr = std::shared_ptr<const retry_options>;

bool is_broken_off(const std::exception_ptr& failure) {
  return detail::holds<broken_answer>(failure);
}

bool is_worth_it(const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::system_error& e) {
    return is_worth_another_try(error{e.code(), e.what()}) && is_worth_a_retry(failure);
  } catch (...) {
    return is_worth_a_retry(failure);
  }
}

/// Whether a failure of this kind may be repeated.
bool is_repeatable(const retry_options& options, const std::exception_ptr& failure) {
  return !is_broken_off(failure) && !is_unavailable(failure) &&
         (options.policy.retry_on ? options.policy.retry_on(failure) : is_worth_it(failure));
}

std::chrono::milliseconds rest_after(const retry_options& options, std::uint32_t attempt,
                                     std::string_view key) {
  // The jitter depends only on `key` and the attempt. Calls that fail together have different keys,
  // so they are not repeated together. Equal runs wait equally long.
  const auto luck = std::hash<std::string_view>{}(key) + attempt * std::uint64_t{7919};
  return wait_after(options.policy, attempt, luck);
}

/// Returns the text that takes the place of the answer after the last attempt. Rethrows the failure
/// if the options require that.
std::string last_words(const retry_options& options, const std::exception_ptr& failure,
                       std::uint32_t attempts, const std::string& who, std::string_view advice) {
  if (options.then_throw || is_broken_off(failure) || is_unavailable(failure))
    std::rethrow_exception(failure);
  const auto start = who + " failed after " + std::to_string(attempts) +
                     (attempts == 1 ? " attempt" : " attempts") + " with ";
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& e) {
    if (options.words)
      return options.words(e);
    const auto* named = dynamic_cast<const named_error*>(&e);
    return start + std::string{named != nullptr ? named->error_name() : "Error"} + ": " + e.what() +
           std::string{advice};
  } catch (...) {
    return start + "an unknown error" + std::string{advice};
  }
}

/// Whether a call requests a structured response: by its format, or as the arguments of its only
/// tool, which the model must call. A text about a failure would be read as the response.
bool requests_response(const model_call& call) {
  const auto* choice = call.parameters.if_contains("tool_choice");
  return call.format || (choice && call.tools && call.tools->size() == 1 &&
                         *choice == json::value(call.tools->front().name));
}

task<message> ask_again(retry_options_ptr options, model_call call, model_ask ask, runtime rt) {
  auto attempt = std::uint32_t{1};
  auto failure = std::exception_ptr{};
  for (;; ++attempt) {
    try {
      auto asking = ask(call);
      auto answer = co_await asking;
      co_return answer;
    } catch (...) { // co_await is not allowed in a handler, so the wait is below
      failure = std::current_exception();
    }
    if (!is_repeatable(*options, failure))
      std::rethrow_exception(failure);
    if (attempt >= options->policy.max_attempts)
      break;
    auto rest = sleep_for{rest_after(*options, attempt, rt.config().run_id)};
    co_await rest;
  }
  if (requests_response(call))
    std::rethrow_exception(failure);
  co_return ai_message(last_words(*options, failure, attempt, "Model call", ""));
}

tool_answer answered(const tool_call& call, std::string text) {
  auto out = tool_answer{};
  out.answer = std::make_shared<const message>(failed_call(call, std::move(text)));
  return out;
}

task<tool_answer> run_again(retry_options_ptr options, tool_request request, tool_execute execute) {
  auto attempt = std::uint32_t{1};
  auto failure = std::exception_ptr{};
  for (;; ++attempt) {
    try {
      auto again = request;
      again.context.attempt = attempt;
      auto running = execute(std::move(again));
      auto answer = co_await running;
      co_return answer;
    } catch (...) { // co_await is not allowed in a handler, so the wait is below
      failure = std::current_exception();
    }
    const auto can_repeat = is_repeatable(*options, failure);
    if (!can_repeat && options->policy.retry_on)
      std::rethrow_exception(failure);
    if (!can_repeat || attempt >= options->policy.max_attempts)
      break;
    auto rest = sleep_for{rest_after(*options, attempt, request.call.id)};
    co_await rest;
  }
  const auto who = "Tool '" + request.call.name + "'";
  co_return answered(request.call,
                     last_words(*options, failure, attempt, who, ". Please try again."));
}

using models = std::shared_ptr<const std::vector<chat_model_ptr>>;

task<message> ask_others(models others, model_call call, model_ask ask) {
  for (auto next = std::size_t{0};; ++next) {
    try {
      auto asking = ask(call);
      auto answer = co_await asking;
      co_return answer;
    } catch (...) {
      if (next == others->size() || is_broken_off(std::current_exception()))
        throw;
    }
    call.model = (*others)[next];
  }
}

retry_options_ptr checked(retry_options options) {
  if (options.policy.max_attempts == 0)
    throw std::invalid_argument{"retry_options: policy.max_attempts must be at least 1"};
  return std::make_shared<const retry_options>(std::move(options));
}

} // namespace

message_middleware model_retry(retry_options options) {
  auto out = message_middleware{};
  out.name = "ModelRetryMiddleware";
  out.wrap_model_call = [options = checked(std::move(options))](model_call call, model_ask ask,
                                                                runtime rt) {
    return ask_again(options, std::move(call), std::move(ask), std::move(rt));
  };
  return out;
}

message_middleware tool_retry(retry_options options, std::vector<std::string> tools) {
  auto out = message_middleware{};
  out.name = "ToolRetryMiddleware";
  out.wrap_tool_call = [options = checked(std::move(options)),
                        tools = std::move(tools)](tool_request request, tool_execute execute) {
    const auto is_meant =
        tools.empty() || std::ranges::find(tools, request.call.name) != tools.end();
    return is_meant ? run_again(options, std::move(request), std::move(execute))
                    : execute(std::move(request));
  };
  return out;
}

message_middleware model_fallback(std::vector<chat_model_ptr> others) {
  if (others.empty())
    throw std::invalid_argument{"model_fallback() requires at least one model"};
  if (const auto null = std::ranges::find(others, nullptr); null != others.end())
    throw std::invalid_argument{"model_fallback(): others[" +
                                std::to_string(null - others.begin()) + "] is null"};
  auto out = message_middleware{};
  out.name = "ModelFallbackMiddleware";
  out.wrap_model_call = [others = std::make_shared<const std::vector<chat_model_ptr>>(
                             std::move(others))](model_call call, model_ask ask, const runtime&) {
    return ask_others(others, std::move(call), std::move(ask));
  };
  return out;
}

} // namespace superstep
