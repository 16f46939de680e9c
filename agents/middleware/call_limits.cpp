// SPDX-License-Identifier: Apache-2.0
// The middleware for limits of model and tool calls: decides from the counts what its hooks do. The
// templates in the header connect the hooks to a field of the state.
#include "agents/chat_history.hpp"
#include "tools/failed_call.hpp"

#include <superstep/agents/prebuilt_middleware.hpp>

#include <string_view>
#include <vector>

namespace superstep::detail {

namespace {

using limit = std::optional<std::int64_t>;

std::int64_t count_of(const std::map<std::string, std::int64_t>& counts, const std::string& key) {
  const auto found = counts.find(key);
  return found == counts.end() ? 0 : found->second;
}

void check(const limit& thread_max, const limit& run_max) {
  if (!thread_max && !run_max)
    throw std::invalid_argument{"a call limit requires thread_max or run_max"};
}

/// Returns a text for the model and the user that names the exceeded limits.
std::string exceeded(std::int64_t thread, std::int64_t run,
                     const tool_call_limit_options& options) {
  auto out = std::string{};
  const auto add = [&](std::string_view scope, std::int64_t is, const limit& most) {
    if (!most || is <= *most)
      return;
    out += std::string{out.empty() ? "" : " and "} + std::string{scope} + " limit exceeded (" +
           std::to_string(is) + "/" + std::to_string(*most) + " calls)";
  };
  add("thread", thread, options.thread_max);
  add("run", run, options.run_max);
  const auto what = options.tool.empty() ? std::string{"Tool"} : "'" + options.tool + "' tool";
  return what + " call limit reached: " + out + ".";
}

message refusal(const tool_call& call, const std::string& tool) {
  auto text = tool.empty() ? std::string{"Tool call limit exceeded. Do not make additional tool "
                                         "calls."}
                           : "Tool call limit exceeded. Do not call '" + tool + "' again.";
  return failed_call(call, std::move(text));
}

/// Returns the answer to a call within the limit that does not run because the run ends.
message not_run(const tool_call& call) {
  return failed_call(call, "Execution stopped before this tool call could run because another tool "
                           "call in the same batch exceeded the limit.");
}

} // namespace

void check_limits(const model_call_limit_options& options) {
  check(options.thread_max, options.run_max);
  if (options.then == at_limit::proceed)
    throw std::invalid_argument{
        "model_call_limit: at_limit::proceed is not possible, because a run "
        "cannot continue without the model; use finish or fail"};
}

void check_limits(const tool_call_limit_options& options) {
  check(options.thread_max, options.run_max);
}

std::string key_of(const tool_call_limit_options& options) {
  return options.tool.empty() ? "tools" : "tool " + options.tool;
}

limit_step begin_run(const call_counts& counts, const std::string& key) {
  auto out = limit_step{};
  if (count_of(counts.run, key) == 0)
    return out;
  out.counts = counts;
  out.counts->run.erase(key);
  return out;
}

limit_step before_model(const model_call_limit_options& options, const call_counts& counts) {
  const auto thread = count_of(counts.thread, model_limit_key);
  const auto run = count_of(counts.run, model_limit_key);
  auto reached = std::string{};
  const auto add = [&](std::string_view scope, std::int64_t is, const limit& most) {
    if (most && is >= *most)
      reached += std::string{reached.empty() ? "" : ", "} + std::string{scope} + " limit (" +
                 std::to_string(is) + "/" + std::to_string(*most) + ")";
  };
  add("thread", thread, options.thread_max);
  add("run", run, options.run_max);
  auto out = limit_step{};
  if (reached.empty())
    return out;
  auto text = "Model call limits exceeded: " + reached;
  if (options.then == at_limit::fail)
    throw call_limit_error{text};
  out.messages.push_back(ai_message(std::move(text)));
  out.to = jump::finish;
  return out;
}

limit_step after_model(const call_counts& counts) {
  auto out = limit_step{};
  out.counts = counts;
  ++out.counts->thread[model_limit_key];
  ++out.counts->run[model_limit_key];
  return out;
}

limit_step after_model(const tool_call_limit_options& options, const call_counts& counts,
                       const message_list& messages) {
  auto out = limit_step{};
  const auto position = last_ai_index(messages);
  if (position == messages.size() || messages[position].tool_calls.empty())
    return out;
  // Other middleware may have answered calls. They are counted, but have no second answer.
  const auto answered = answered_calls(messages, position + 1);
  auto others = std::vector<const tool_call*>{}; // open calls that the limit does not refuse
  const auto key = key_of(options);
  auto thread = count_of(counts.thread, key);
  auto run = count_of(counts.run, key);
  auto refused = std::vector<const tool_call*>{}; // those without an answer
  auto tried = std::int64_t{0};
  auto counted = std::int64_t{0};
  for (const auto& call : messages[position].tool_calls) {
    const auto is_counted = options.tool.empty() || call.name == options.tool;
    const auto is_refused =
        is_counted && ((options.thread_max && thread + 1 > *options.thread_max) ||
                       (options.run_max && run + 1 > *options.run_max));
    if (!is_answered(call, answered))
      (is_refused ? refused : others).push_back(&call);
    if (is_refused) {
      ++tried;
    } else if (is_counted) {
      ++thread;
      ++run;
      ++counted;
    }
  }
  if (counted + tried == 0)
    return out;
  // The thread's count has only calls that were made; the run's count also has refused calls.
  // LangChain counts in the same way.
  out.counts = counts;
  out.counts->thread[key] = thread;
  out.counts->run[key] = run + tried;
  if (tried == 0)
    return out;
  if (options.then == at_limit::fail)
    throw call_limit_error{exceeded(thread + tried, run + tried, options)};
  for (const auto* call : refused)
    out.messages.push_back(refusal(*call, options.tool));
  if (options.then == at_limit::finish) {
    // No call of this answer runs, so the other calls get an answer too, and the thread does not
    // count them.
    for (const auto* call : others)
      out.messages.push_back(not_run(*call));
    out.messages.push_back(ai_message(exceeded(thread + tried, run + tried, options)));
    out.counts->thread[key] = thread - counted;
    out.to = jump::finish;
  }
  return out;
}

} // namespace superstep::detail
