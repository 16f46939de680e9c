// SPDX-License-Identifier: Apache-2.0
// Runs single calls of a tool node: applies limits, calls the interceptor and runs the steps of
// call_steps.hpp. tool_node_run.cpp runs all calls of an input.
#include "call_steps.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/detail/assert.hpp>
#include <superstep/tools/detail/argument_schema.hpp>
#include <superstep/tools/tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <coroutine>
#include <optional>
#include <stdexcept>
#include <utility>

namespace superstep {

namespace {

using table_ptr = std::shared_ptr<const tool_node::table>;

/// Awaits the end of a task, without its result. A result that is awaited would be part of the
/// awaiting coroutine's frame.
struct end_of {
  task<tool_output>& body;
  [[nodiscard]] bool await_ready() const noexcept { return false; }
  template <class Promise>
  std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> frame) noexcept {
    return body.await_suspend(frame);
  }
  void await_resume() const noexcept {}
};

/// Runs one call. Owns the table, because all copies of the node may be destroyed during the call,
/// and the call and its context, to which the tool refers. There may be thousands of these frames.
/// So the work before and after the body is in separate functions, whose local variables are not
/// part of the frame.
task<tool_answer> execute(table_ptr t, tool_call call, tool_context context) {
  const auto& at = co_await this_context{};
  const auto* entry = t->find(call.name);
  if (entry == nullptr)
    co_return answer_unknown(*t, call);
  context.tool_call_id = call.id;
  auto body = task<tool_output>{};
  {
    const auto own = inject(*t, *entry, call, context);
    body = begin_body(*entry, call, own.get(), context, &at);
  }
  auto end = end_of{body};
  co_await end;
  co_return answer_to(*t, call, environment_of(context).form, [&] { return body.take(); });
}

/// Runs one call with an observer. This is a separate coroutine, so that the frames of other calls
/// are smaller.
task<tool_answer> execute_observed(table_ptr t, tool_call call, tool_context context) {
  auto& at = co_await this_context{};
  auto observed = observed_call{std::move(context.observer), call, context.attempt, at};
  auto running = execute(std::move(t), std::move(call), std::move(context));
  auto answer = tool_answer{};
  try {
    answer = co_await running;
  } catch (...) {
    observed.end(true);
    throw;
  }
  observed.end(answer.answer != nullptr && answer.answer->is_error);
  co_return answer;
}

task<tool_answer> execute_any(table_ptr&& t, tool_call&& call, tool_context&& context) {
  return context.observer ? execute_observed(std::move(t), std::move(call), std::move(context))
                          : execute(std::move(t), std::move(call), std::move(context));
}

/// Runs one call within its limits. It acquires the limit of its tool first, so that a call that
/// waits for it does not occupy a place among the node's calls. All calls acquire in this order, so
/// there are no deadlocks.
task<tool_answer> execute_in_turn(table_ptr t, tool_call call, tool_context context) {
  const auto* entry = t->find(call.name);
  const auto gate = entry != nullptr && entry->gate ? entry->gate->for_call(call.args) : nullptr;
  auto own = limiter::permit{};
  if (gate) {
    auto entering = gate->acquire();
    own = co_await entering;
  }
  auto entering = t->whole.acquire();
  const auto among_all = co_await entering;
  auto running = execute_any(std::move(t), std::move(call), std::move(context));
  auto answer = co_await running;
  co_return answer;
}

/// Runs one call. A call without limits needs no additional coroutine frame.
task<tool_answer> execute_when_allowed(table_ptr t, tool_call&& call, tool_context&& context) {
  const auto& options = t->options;
  if (options.limits.empty() && !options.calls_at_once)
    return execute_any(std::move(t), std::move(call), std::move(context));
  return execute_in_turn(std::move(t), std::move(call), std::move(context));
}

/// Throws if the limit is 0, if its tool is unknown, or if the tool already has a limit.
void check(const tool_limit& limit, const tool_node::table::entry* tool) {
  if (tool == nullptr)
    throw std::invalid_argument{"tool_node_options::limits: '" + limit.tool +
                                "' is not a tool of the node"};
  if (limit.at_once == 0)
    throw std::invalid_argument{"tool_node_options::limits: the limit of tool '" + limit.tool +
                                "' is 0; it must be at least 1"};
  if (tool->gate)
    throw std::invalid_argument{"tool_node_options::limits: tool '" + limit.tool +
                                "' has two limits"};
}

void check(const tool_node_options& options) {
  if (options.calls_at_once == 0U)
    throw std::invalid_argument{
        "tool_node_options::calls_at_once must be at least 1; leave it unset for no limit"};
}

/// Returns the gate of the limit `wanted` in the node `from`; null if that node does not have the
/// same limit.
std::shared_ptr<detail::call_gate> gate_of(const tool_node::table& from, const tool_limit& wanted) {
  const auto same = std::find(from.options.limits.begin(), from.options.limits.end(), wanted);
  return same == from.options.limits.end() ? nullptr : from.by_name.find(wanted.tool)->second.gate;
}

/// Creates the limits of made.options. Limits that the node `from` has as well are shared with it.
/// @param from null for a node without an origin
void set_limits(tool_node::table& made, const tool_node::table* from) {
  if (from == nullptr || from->options.calls_at_once != made.options.calls_at_once)
    made.whole = limiter{made.options.calls_at_once.value_or(0)};
  for (auto& [name, entry] : made.by_name)
    entry.gate = nullptr;
  for (const auto& limit : made.options.limits) {
    const auto found = made.by_name.find(limit.tool);
    auto* tool = found == made.by_name.end() ? nullptr : &found->second;
    check(limit, tool);
    auto gate = from == nullptr ? nullptr : gate_of(*from, limit);
    tool->gate = gate ? std::move(gate) : std::make_shared<detail::call_gate>(limit);
  }
  made.runs_directly = !made.options.wrap_call && !made.options.precomputed_result;
}

/// Runs one call through the node's interceptor.
task<tool_answer> execute_wrapped(table_ptr t, tool_call call, tool_context context) {
  const auto named = tool_call{call.id, call.name, {}};
  const auto* entry = t->find(call.name);
  context.tool_call_id = call.id;
  auto refused = tool_answer{};
  try {
    auto request = tool_request{std::move(call), entry != nullptr ? entry->run.get() : nullptr,
                                std::move(context)};
    auto run = tool_execute{[t](tool_request again) {
      return execute_when_allowed(t, std::move(again.call), std::move(again.context));
    }};
    auto running = t->options.wrap_call(std::move(request), std::move(run));
    auto given = co_await running;
    co_return given;
  } catch (...) {
    refused = answer_failure(*t, named, true);
  }
  co_return refused;
}

/// Returns the definition for the model, without the injected arguments.
tool_definition visible(tool_definition definition, const std::vector<injection>& hidden) {
  auto* properties = definition.parameters.if_contains("properties");
  auto* required = definition.parameters.if_contains("required");
  for (const auto& i : hidden) {
    if (properties != nullptr && properties->is_object())
      properties->get_object().erase(i.argument);
    if (required != nullptr && required->is_array()) {
      auto kept = json::array{};
      for (auto& name : required->get_array())
        if (!name.is_string() || std::string_view{name.get_string()} != i.argument)
          kept.push_back(std::move(name));
      *required = std::move(kept);
    }
  }
  return definition;
}

} // namespace

tool_node::tool_node(tool_list tools, tool_node_options options) {
  check(options);
  auto made = std::make_shared<table>();
  made->options = std::move(options);
  auto definitions = std::make_shared<std::vector<tool_definition>>();
  definitions->reserve(tools.size()); // prevents reallocation, because by_name refers to the names
  for (auto& tool : tools) {
    SUPERSTEP_ASSERT(tool != nullptr);
    auto injections = tool->injections();
    const auto& definition = definitions->emplace_back(visible(tool->definition(), injections));
    if (definition.name.empty())
      throw std::invalid_argument{"a tool of the node has an empty name"};
    auto schema = argument_schema::compile(definition.parameters);
    if (!schema)
      throw std::invalid_argument{"tool '" + definition.name + "': " + schema.error().text};
    made->names += (made->names.empty() ? "" : ", ") + definition.name;
    auto entry = table::entry{std::move(tool), *std::move(schema), std::move(injections)};
    if (!made->by_name.emplace(definition.name, std::move(entry)).second)
      throw std::invalid_argument{"two tools have the name '" + definition.name + "'"};
  }
  set_limits(*made, nullptr);
  made->definitions = std::move(definitions);
  table_ = std::move(made);
}

task<tool_answer> tool_node::run(tool_call call, tool_context context) const {
  return table_->options.wrap_call
             ? execute_wrapped(table_, std::move(call), std::move(context))
             : execute_when_allowed(table_, std::move(call), std::move(context));
}

tool_call tool_node::inject_tool_args(tool_call call, const tool_environment& environment) const {
  const auto* entry = table_->find(call.name);
  if (entry == nullptr)
    return call;
  return superstep::inject_tool_args(entry->injections, std::move(call), environment,
                                     table_->options.messages_key);
}

tool_definitions tool_node::definitions() const noexcept {
  return table_->definitions;
}

const tool* tool_node::find(std::string_view name) const noexcept {
  const auto* entry = table_->find(name);
  return entry == nullptr ? nullptr : entry->run.get();
}

bool tool_node::needs_environment(std::string_view name) const noexcept {
  if (table_->options.wrap_call)
    return true;
  const auto* entry = table_->find(name);
  return entry != nullptr && (!entry->injections.empty() || entry->run->uses_environment());
}

tool_list tool_node::tools() const {
  auto out = tool_list{};
  for (const auto& definition : *table_->definitions)
    out.push_back(table_->find(definition.name)->run);
  return out;
}

const tool_node_options& tool_node::options() const noexcept {
  return table_->options;
}

tool_node tool_node::with_options(tool_node_options options) const {
  check(options);
  auto made = std::make_shared<table>(*table_); // its names refer to the shared definitions
  made->options = std::move(options);
  set_limits(*made, table_.get());
  return tool_node{std::shared_ptr<const table>{std::move(made)}};
}

} // namespace superstep
