// SPDX-License-Identifier: Apache-2.0
// Runs all calls of a tool node's input. tool_node.cpp runs each call, and tool_result.cpp combines
// the results.
#include "call_steps.hpp"
#include "call_task.hpp"
#include "tool_result.hpp"
#include "tools/failed_call.hpp"

#include <superstep/base/detail/assert.hpp>
#include <superstep/base/detail/limiter.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <utility>

namespace superstep {

namespace {

/// Returns the calls of the last AI message, which need not be the last message.
std::vector<tool_call> calls_of(const message_list& messages) {
  if (messages.empty())
    throw tool_value_error{"the tool node cannot run: its input has no messages"};
  for (auto i = messages.size(); i > 0; --i)
    if (messages[i - 1].type == message_type::ai)
      return messages[i - 1].tool_calls;
  throw tool_value_error{"the tool node cannot run: its input has no AI message"};
}

task<tool_answer> run_limited(limiter limit, task<tool_answer> call) {
  auto entering = limit.acquire();
  auto permit = co_await entering;
  auto answer = co_await call;
  co_return answer;
}

task<tool_answer> at_once(message_ptr answer) {
  co_return tool_answer{std::move(answer), {}};
}

/// Returns the precomputed answers, one per call, null where there is none. The list is empty if
/// the node has no function for such answers.
std::vector<message_ptr> known_answers(const tool_node& node, const std::vector<tool_call>& calls,
                                       const runtime& rt) {
  auto out = std::vector<message_ptr>{};
  if (node.options().precomputed_result)
    for (const auto& call : calls)
      out.push_back(node.options().precomputed_result(rt, call));
  return out;
}

/// Returns the answer to a call that was stopped from outside. Providers require an answer to every
/// call.
tool_answer stopped(const tool_call& call) {
  return {std::make_shared<const message>(stopped_call(call, "its actor was stopped")), {}};
}

/// Throws if a call needs a store but there is none. This is checked before any call runs, so that
/// no call has an effect.
void check_store(const tool_node& node, const std::vector<tool_call>& calls,
                 const tool_environment& environment) {
  if (environment.store != nullptr || node.options().wrap_call)
    return;
  for (const auto& call : calls) {
    const auto* tool = node.find(call.name);
    if (tool == nullptr)
      continue;
    auto wanted = tool->injections();
    std::erase_if(wanted, [](const auto& i) { return i.from != injection::source::store; });
    static_cast<void>(inject_tool_args(wanted, call, environment));
  }
}

/// The data that all calls of one activation use.
struct activation {
  tool_context context;
  std::vector<message_ptr> known; ///< see known_answers()
};

/// Prepares the calls of an input. Moves from its observer and, unless no tool needs an
/// environment, from its state.
activation prepare(const tool_node& node, tool_node_input& input, runtime&& rt) {
  auto out = activation{};
  set_task(out.context, rt);
  out.context.observer = std::move(input.observer);
  out.known = known_answers(node, input.calls, rt);
  if (std::ranges::none_of(input.calls,
                           [&](const auto& call) { return node.needs_environment(call.name); })) {
    out.context.environment = empty_environment(input.form);
    return out;
  }
  auto* store = rt.store();
  auto environment = tool_environment{input.form, std::move(input.state), store, std::move(rt),
                                      node.definitions()};
  check_store(node, input.calls, environment);
  out.context.environment = std::make_shared<const tool_environment>(std::move(environment));
  return out;
}

// These functions create the tasks of calls. They are not part of the coroutines that await the
// calls, whose frames exist for as long as the slowest call.

/// Returns the task of the only call of an input.
task<tool_answer> begin_only(const tool_node& node, tool_node_input&& input, runtime&& rt) {
  SUPERSTEP_ASSERT(input.calls.size() == 1);
  auto [context, known] = prepare(node, input, std::move(rt));
  return !known.empty() && known[0] ? at_once(std::move(known[0]))
                                    : node.run(std::move(input.calls[0]), std::move(context));
}

/// Returns the tasks of all calls of an input, with the limit of the run's max_concurrency.
std::vector<task<tool_answer>> begin_all(const tool_node& node, tool_node_input& input,
                                         runtime&& rt) {
  const auto at_once_max = rt.config().max_concurrency.value_or(0);
  auto [context, known] = prepare(node, input, std::move(rt));
  const auto limit = limiter{at_once_max};
  auto bodies = std::vector<task<tool_answer>>{};
  bodies.reserve(input.calls.size());
  const auto repeats = repeats_of(input.calls);
  for (auto i = std::size_t{0}; i < input.calls.size(); ++i) {
    context.repeat = repeats[i];
    auto call = !known.empty() && known[i] ? at_once(std::move(known[i]))
                                           : node.run(input.calls[i], context);
    bodies.push_back(at_once_max > 0 ? run_limited(limit, std::move(call)) : std::move(call));
  }
  return bodies;
}

/// Returns the output of a node that has run one call.
tool_node_output output_of(tool_answer&& answer, tool_input_form form) {
  auto answers = std::vector<tool_answer>{};
  answers.push_back(std::move(answer));
  return detail::combine(std::move(answers), form);
}

} // namespace

tool_node_input tool_node::from_state(tool_state_ptr state) const {
  auto calls = calls_of(state->messages(options().messages_key));
  return {tool_input_form::state, std::move(calls), std::move(state)};
}

tool_node_input tool_node::from_list(message_list messages) const {
  if (messages.empty())
    throw empty_message_list{};
  auto calls = calls_of(messages);
  return {tool_input_form::list, std::move(calls), message_tool_state(std::move(messages))};
}

tool_node_input tool_node::from_calls(std::vector<tool_call> calls) const {
  return {tool_input_form::calls, std::move(calls), nullptr};
}

tool_node_input tool_node::from_call(tool_call call, tool_state_ptr state) const {
  auto calls = std::vector<tool_call>{};
  calls.push_back(std::move(call));
  return {tool_input_form::calls, std::move(calls), std::move(state)};
}

task<std::vector<settled<tool_answer>>> tool_node::run_each(tool_node_input input,
                                                            runtime rt) const {
  const auto self = *this;       // shares the table, which this coroutine needs until its end
  if (input.calls.size() == 1) { // a fork would cost as much as the call itself
    auto call = begin_only(self, std::move(input), std::move(rt));
    auto out = std::vector<settled<tool_answer>>(1);
    try {
      auto answer = co_await call;
      out.front().value.emplace(std::move(answer));
    } catch (...) {
      out.front().failure = std::current_exception();
    }
    co_return out;
  }
  auto all = when_all(begin_all(self, input, std::move(rt)));
  auto ended = co_await all;
  for (auto i = std::size_t{0}; i < ended.size(); ++i)
    if (!ended[i].value && !ended[i].failure)
      ended[i].value = stopped(input.calls[i]);
  co_return ended;
}

task<tool_node_output> tool_node::run(tool_node_input input, runtime rt) const {
  const auto form = input.form;
  if (input.calls.size() == 1) {
    auto call = begin_only(*this, std::move(input), std::move(rt));
    auto answer = co_await call;
    co_return output_of(std::move(answer), form);
  }
  auto running = run_each(std::move(input), std::move(rt));
  auto ended = co_await running;
  auto answers = std::vector<tool_answer>{};
  for (auto& one : ended) {
    if (one.failure)
      std::rethrow_exception(one.failure);
    answers.push_back(*std::move(one.value));
  }
  co_return detail::combine(std::move(answers), form);
}

} // namespace superstep
