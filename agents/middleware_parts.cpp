// SPDX-License-Identifier: Apache-2.0
// Parts of agents with middleware that do not depend on the type of the state: the next node after
// each node, the order of interceptors, and checks of options. Templates in agents/detail use them.
#include "agents/chat_history.hpp"
#include "agents/errors_outside.hpp"
#include "tools/failed_call.hpp"

#include <superstep/agents/detail/middleware_parts.hpp>
#include <superstep/models/chat_model.hpp>
#include <superstep/runtime/graph_error.hpp>
#include <superstep/tools/detail/argument_schema.hpp>

#include <algorithm>
#include <limits>
#include <set>
#include <system_error>

namespace superstep::react {

namespace {

using interceptors = std::shared_ptr<const std::vector<tool_interceptor>>;

/// Runs a request through the interceptors from index `first` on. The last one calls `execute`.
task<tool_answer> run_from(const interceptors& all, std::size_t first, tool_request request,
                           tool_execute execute) {
  if (first == all->size())
    return execute(std::move(request));
  auto inner = [all, first, execute = std::move(execute)](tool_request changed) {
    return run_from(all, first + 1, std::move(changed), execute);
  };
  return (*all)[first](std::move(request), std::move(inner));
}

bool is_handoff(const exits& from, const sent_call& call) {
  return from.handoffs->contains(call->name);
}

/// Whether the latest result belongs to the last of the calls that ran in this step. The router of
/// each of these calls sees only the result of its own call, so the others are still pending.
bool is_of_last_call(const exits& from, const message_list& messages, const sent_calls& pending) {
  const sent_call* other = nullptr; // the last of the other calls
  for (const auto& call : pending)
    if (!is_handoff(from, call))
      other = &call;
  if (other == nullptr)
    return true;
  auto own = std::string_view{};
  for (auto i = messages.size(); i-- > 0 && own.empty();)
    if (messages[i].type == message_type::tool)
      own = messages[i].tool_call_id;
  const auto& calls = last_ai_message(messages)->tool_calls;
  const auto first = std::ranges::find_if(
      calls, [&](const auto& call) { return call.id == own || call.id == (*other)->id; });
  return first == calls.end() || first->id != own;
}

/// Returns the pending calls that run in the next step: all that are not handoffs, else the first
/// handoff. The results of a step are lost if one of its calls hands over.
sent_calls next_calls(const exits& from, sent_calls pending) {
  if (pending.size() < 2)
    return pending;
  auto next = sent_calls{};
  for (const auto& call : pending)
    if (!is_handoff(from, call))
      next.push_back(call);
  if (next.empty())
    next.push_back(*pending.begin());
  return next;
}

/// Returns the name of the tool whose result answers a call of the latest AI message. Interceptors
/// may pass a call on to another tool. Without a named result it is the tool that the model called.
const std::string& executed_tool(const message_list& messages, const tool_call& call) {
  for (auto i = messages.size(); i > 0 && messages[i - 1].type != message_type::ai; --i)
    if (const auto& m = messages[i - 1]; m.tool_call_id == call.id && !m.name.empty())
      return m.name;
  return call.name;
}

} // namespace

tool_errors errors_outside() {
  return tool_errors::by(
      [](const std::exception& e) {
        return dynamic_cast<const tool_invocation_error*>(&e) != nullptr ? std::string{e.what()}
                                                                         : error_template(e);
      },
      {error_type::of<tool_invocation_error>()});
}

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

send::milliseconds timeout_of(const exits& from, const std::string& tool) {
  if (!from.timeouts)
    return send::milliseconds{0};
  const auto found = from.timeouts->find(tool);
  return found == from.timeouts->end()
             ? send::milliseconds{0}
             : std::chrono::duration_cast<send::milliseconds>(found->second);
}

std::shared_ptr<const tool_names> handoffs_of(const agent_tools& tools) {
  auto names = tool_names{};
  for (const auto& tool : tools.node().tools())
    if (tool->commands_parent())
      names.insert(tool->definition().name);
  return names.empty() ? nullptr : std::make_shared<const tool_names>(std::move(names));
}

continuation continue_after(const exits& from, jump to, const message_list& messages) {
  if (to == jump::model || to == jump::finish)
    return {target_of(from, to)};
  if (to == jump::none && !from.next.empty())
    return {from.next};
  const auto ends_with = [&](message_type type) {
    return !messages.empty() && messages.back().type == type;
  };
  auto calls = sent_calls{};
  if (from.is_looped || to == jump::tools || ends_with(message_type::ai))
    calls = pending_sends(messages);
  if (from.handoffs)
    calls = next_calls(from, std::move(calls));
  if (!calls.empty())
    return from.version == react_version::v2 ? continuation{{}, std::move(calls)}
                                             : continuation{tools_name};
  if (!from.is_looped)
    return {to == jump::tools ? from.model : from.end};
  // No call is pending. If calls were answered already, by a hook or because their arguments were
  // invalid, the model must read the answers. Otherwise the run ends.
  auto is_answered = ends_with(message_type::tool);
  if (from.rules == agent_rules::create_agent && !is_answered) {
    const auto* last = last_ai_message(messages);
    is_answered = last != nullptr && !last->tool_calls.empty();
  }
  return {is_answered || to == jump::tools ? from.model : from.end};
}

continuation continue_after_tools(const exits& from, const message_list& messages,
                                  const tool_names& return_direct) {
  if (from.handoffs) {
    const auto pending = pending_sends(messages);
    const auto first =
        std::ranges::find_if(pending, [&](const auto& call) { return is_handoff(from, call); });
    // One router sends the handoff, for all calls of the step. END activates no node.
    if (first != pending.end())
      return is_of_last_call(from, messages, pending) ? continuation{{}, sent_calls{1, *first}}
                                                      : continuation{detail::end_node};
  }
  if (from.rules == agent_rules::create_react_agent)
    return {ends_directly(messages, return_direct) ? std::string_view{detail::end_node}
                                                   : from.model};
  const auto* last = last_ai_message(messages);
  const auto ends = last != nullptr && !last->tool_calls.empty() &&
                    std::ranges::all_of(last->tool_calls, [&](const auto& call) {
                      return return_direct.contains(executed_tool(messages, call));
                    });
  return {ends ? from.end : from.model};
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
                            std::vector<tool_interceptor> wraps) {
  auto options = own.node().options();
  const auto has_wraps = !wraps.empty();
  wraps.push_back(std::move(options.wrap_call));
  options.wrap_call = composed(std::move(wraps));
  if (has_wraps && own.is_list())
    options.errors = errors_outside();
  auto tools = own.node().tools();
  tools.insert(tools.end(), more.begin(), more.end());
  try {
    return tool_node{std::move(tools), std::move(options)};
  } catch (const std::invalid_argument& e) {
    refuse_options("tools of the agent and its middleware: " + std::string{e.what()});
  }
}

agent_tools with_limit(const agent_tools& tools, std::size_t calls_at_once) {
  if (calls_at_once == 0)
    refuse_options("tool_calls_at_once must be at least 1; leave it unset for no limit");
  auto options = tools.node().options();
  options.calls_at_once = calls_at_once;
  return tool_node{tools.node().tools(), std::move(options)};
}

std::vector<std::string> targets_of(const tool_command& said, const std::string& key) {
  auto out = std::vector<std::string>{};
  const auto add = [&](const tool_target& to) {
    if (to.input)
      refuse("command of a tool that updates '" + key + "': node '" + to.node +
             "' has an input of a C++ type, so a tool cannot send it an input; name the node "
             "as a target without an input");
    out.push_back(to.node);
  };
  if (const auto* one = std::get_if<tool_target>(&said.go_to))
    add(*one);
  else if (const auto* several = std::get_if<std::vector<tool_target>>(&said.go_to))
    std::ranges::for_each(*several, add);
  return out;
}

std::shared_ptr<const value> to_parent(tool_command said, const std::string& key) {
  auto out = named_command{};
  out.go_to = targets_of(said, key);
  if (auto* update = std::get_if<tool_update>(&said.update)) {
    for (auto& field : update->fields)
      out.update.push_back({std::string{field.key()}, value{std::move(field.value())}});
    if (update->messages)
      out.update.push_back({key, value{message_list{*std::move(update->messages)}}});
  } else if (auto* messages = std::get_if<std::vector<message>>(&said.update)) {
    out.update.push_back({key, value{message_list{std::move(*messages)}}});
  }
  return std::make_shared<const value>(std::move(out));
}

chat_model_ptr resolved_model(const std::string& spec) {
  auto made = make_model(spec);
  if (!made)
    refuse_options("model \"" + spec.substr(0, 200) + "\": " + made.error().text);
  return *std::move(made);
}

namespace {

/// Returns why a field cannot be injected; empty if it can.
std::string misfit_of(const injection& wanted, const std::string& tool,
                      const state_fields& fields) {
  if (wanted.from != injection::source::field || wanted.default_value ||
      std::ranges::find(fields.readable, wanted.field) != fields.readable.end())
    return {};
  auto out = "tool '" + tool + "' injects the state field '" + wanted.field +
             "' into its parameter '" + wanted.argument + "', but ";
  if (std::ranges::find(fields.unreadable, wanted.field) != fields.unreadable.end())
    return out + "the type of this field in " + fields.state +
           " has no JSON form; inject another field";
  out += fields.state + " has no such field (its fields:";
  for (const auto& name : fields.readable)
    out += (&name == &fields.readable.front() ? " " : ", ") + name;
  return out + "); add the field to the state, or make the parameter a std::optional";
}

} // namespace

void check_injections(const tool_node& tools, const state_fields& fields) {
  auto faults = std::vector<fault>{};
  for (const auto& tool : tools.tools())
    for (const auto& wanted : tool->injections())
      if (auto text = misfit_of(wanted, tool->definition().name, fields); !text.empty())
        faults.push_back({graph_errc::invalid_graph, tools_name, std::move(text)});
  if (!faults.empty())
    throw compile_error{std::move(faults)};
}

void check_timeouts(const tool_timeouts& timeouts, const tool_node& tools) {
  for (const auto& [name, limit] : timeouts) {
    if (tools.find(name) == nullptr)
      refuse_options("tool_timeouts: '" + name + "' is not a tool of the agent");
    if (limit.count() <= 0 || limit.count() >= std::numeric_limits<std::uint32_t>::max())
      refuse_options("tool_timeouts: the timeout of '" + name + "' must be from 1 ms to 49 days");
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
      refuse_options(
          "a middleware has no name; set middleware::name, because its nodes get this name");
    if (!seen.insert(name).second)
      refuse_options("two middlewares have the name '" + name + "'; names must be unique");
  }
}

void check_jumps(const std::string& hook, const std::vector<jump>& jumps, bool has_tools) {
  for (const auto to : jumps)
    if (to == jump::none)
      refuse_options("hook '" + hook +
                     "' declares jump::none; remove it, because a hook that does "
                     "not jump needs no declaration");
    else if (to == jump::tools && !has_tools)
      refuse_options("hook '" + hook + "' declares a jump to '" + std::string{name_of(to)} +
                     "', which the agent does not have");
}

void check_jump(std::string_view hook, const std::vector<jump>& declared, jump to) {
  if (to != jump::none && std::ranges::find(declared, to) == declared.end())
    refuse("hook '" + std::string{hook} + "' jumps to '" + std::string{name_of(to)} +
           "' without declaring it; add it to the jumps of the hook");
}

void check_response_in_answer(const response_format& response, agent_rules rules, bool has_tools) {
  const auto is_react = rules == agent_rules::create_react_agent;
  if (!response.prompt.empty())
    refuse_options("response_format::prompt must be empty: the response is requested in every "
                   "model call, not in a separate call");
  if (response.method == structured_method::tool_call && !is_react)
    refuse_options(
        "response_format::method tool_call needs a separate model call for the response; set "
        "response_format::request to response_request::separate, or use json_schema or "
        "json_object");
  if (response.method != structured_method::json_schema && is_react && has_tools)
    refuse_options("response_format::request in_answer requires the method json_schema in an agent "
                   "with tools; use response_request::separate");
}

} // namespace superstep::react
