// SPDX-License-Identifier: Apache-2.0
#include "agents/chat_history.hpp"

#include <superstep/agents/detail/middleware_parts.hpp>
#include <superstep/runtime/graph_error.hpp>
#include <superstep/tools/argument_schema.hpp>
#include <superstep/tools/failed_call.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <system_error>

namespace superstep::react {

namespace {

using interceptors = std::shared_ptr<const std::vector<tool_interceptor>>;

task<tool_answer> run_from(const interceptors& all, std::size_t first, tool_request request,
                           tool_execute execute) {
  if (first == all->size())
    return execute(std::move(request));
  auto inner = [all, first, execute = std::move(execute)](tool_request changed) {
    return run_from(all, first + 1, std::move(changed), execute);
  };
  return (*all)[first](std::move(request), std::move(inner));
}

/// What a listed tool throws must come through the interceptors around it; what comes out of them
/// is answered in the same words as without them. Wrong arguments are answered inside.
tool_errors errors_outside() {
  return tool_errors::by(
      [](const std::exception& e) {
        return dynamic_cast<const tool_invocation_error*>(&e) != nullptr ? std::string{e.what()}
                                                                         : error_template(e);
      },
      {error_type::of<tool_invocation_error>()});
}

/// How long a call may take; 0: as long as it likes.
std::uint32_t limit_of(const exits& from, const std::string& tool) {
  if (!from.timeouts)
    return 0;
  const auto found = from.timeouts->find(tool);
  return found == from.timeouts->end() ? 0 : static_cast<std::uint32_t>(found->second.count());
}

} // namespace

std::string_view name_of(jump to) noexcept {
  switch (to) {
  case jump::model:
    return "model";
  case jump::tools:
    return "tools";
  case jump::finish:
    return "end";
  case jump::none:
    break;
  }
  return "none";
}

std::string_view target_of(const exits& from, jump to) noexcept {
  switch (to) {
  case jump::model:
    return from.model;
  case jump::tools:
    return tools_name;
  case jump::finish:
    return from.end;
  case jump::none:
    break;
  }
  return {};
}

void go_on(const exits& from, jump to, const message_list& messages, const program& table,
           node_output& out) {
  if (to == jump::model || to == jump::finish)
    return table.go_to(out, target_of(from, to));
  if (to == jump::none) {
    if (!from.next.empty())
      return table.go_to(out, from.next);
    const auto* last = last_ai_message(messages);
    if (last == nullptr || last->tool_calls.empty())
      return table.go_to(out, from.end);
  }
  auto pending = pending_calls(messages);
  if (pending.empty()) // a hook has answered them all, or there were none
    return table.go_to(out, from.model);
  for (auto& call : pending) {
    const auto limit = limit_of(from, call.name);
    table.send_to(out, tools_name, value{std::move(call)});
    out.sends.back().timeout_ms = limit;
  }
}

void go_on_after_tools(const exits& from, const message_list& messages,
                       const tool_names& return_direct, const program& table, node_output& out) {
  const auto* last = last_ai_message(messages);
  const auto ends = last != nullptr && !last->tool_calls.empty() &&
                    std::ranges::all_of(last->tool_calls, [&](const auto& call) {
                      return return_direct.contains(call.name);
                    });
  table.go_to(out, ends ? from.end : from.model);
}

tool_interceptor composed(std::vector<tool_interceptor> all) {
  std::erase_if(all, [](const auto& one) { return !one; });
  if (all.empty())
    return {};
  return [all = std::make_shared<const std::vector<tool_interceptor>>(std::move(all))](
             tool_request request, tool_execute execute) {
    return run_from(all, 0, std::move(request), std::move(execute));
  };
}

agent_tools with_middleware(const agent_tools& own, const tool_list& more,
                            std::vector<tool_interceptor> around) {
  auto options = own.node().options();
  const auto has_around = !around.empty();
  around.push_back(std::move(options.around));
  options.around = composed(std::move(around));
  if (has_around && own.is_list())
    options.errors = errors_outside();
  auto tools = own.node().tools();
  tools.insert(tools.end(), more.begin(), more.end());
  return tool_node{std::move(tools), std::move(options)};
}

void check_timeouts(const tool_timeouts& timeouts, const tool_node& tools) {
  for (const auto& [name, limit] : timeouts) {
    if (tools.find(name) == nullptr)
      refuse_options("tool_timeouts names '" + name + "', which is no tool of the agent");
    if (limit.count() <= 0 || limit.count() >= std::numeric_limits<std::uint32_t>::max())
      refuse_options("the time-out of tool '" + name + "' must be from 1 ms to 49 days");
  }
}

message_list answer_stopped(const std::vector<tool_call>& calls, bool is_one,
                            const run_error& why) {
  const auto is_stopped =
      why.code == graph_errc::cancelled ||
      (is_one && (why.code == graph_errc::actor_exited || why.code == graph_errc::node_timeout));
  auto answers = message_list{};
  if (is_stopped)
    for (const auto& call : calls)
      answers.push_back(stopped_call(call, why.text));
  return answers;
}

void check_names(const std::vector<std::string>& names) {
  auto seen = std::set<std::string_view>{};
  for (const auto& name : names) {
    if (name.empty())
      refuse_options("a middleware has no name: its nodes are called by it");
    if (!seen.insert(name).second)
      refuse_options("two middleware have the name '" + name + "'");
  }
}

void check_jumps(const std::string& hook, const std::vector<jump>& jumps, bool has_tools) {
  for (const auto to : jumps)
    if (to == jump::none || (to == jump::tools && !has_tools))
      refuse_options("hook '" + hook + "' declares a jump to '" + std::string{name_of(to)} +
                     "', which the agent does not have");
}

void check_jump(std::string_view hook, const std::vector<jump>& declared, jump to) {
  if (to != jump::none && std::ranges::find(declared, to) == declared.end())
    refuse("hook '" + std::string{hook} + "' jumps to '" + std::string{name_of(to)} +
           "': it must be declared among the jumps of the hook");
}

std::shared_ptr<const answer_schema> format_of(const response_format& response) {
  if (!response.prompt.empty())
    refuse_options("a response has no prompt of its own here: it is asked for in every call");
  return std::make_shared<const answer_schema>(answer_schema_of(response));
}

json::value read_response(const message& answer, const answer_schema& schema) {
  const auto fail = [](std::string why) {
    throw std::system_error{make_error_code(errc::parse_failed),
                            "the model's structured response: " + std::move(why)};
  };
  auto parsed = parse_json(text_of(answer));
  if (!parsed || !parsed->is_object())
    fail("the answer is no JSON object");
  auto checks = argument_schema::compile(schema.schema);
  if (!checks)
    fail(checks.error().text);
  if (const auto faults = checks->check(parsed->get_object()); !faults.empty())
    fail(faults.front().path + ": " + faults.front().text);
  return *std::move(parsed);
}

} // namespace superstep::react
