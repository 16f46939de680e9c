// SPDX-License-Identifier: Apache-2.0
// Runs single calls of a tool node: injects and checks arguments, applies limits, calls the
// interceptor and answers failures. tool_node_run.cpp runs all calls of an input.
#include "base/deadline.hpp"
#include "base/utf8.hpp"
#include "tool_result.hpp"
#include "tool_table.hpp"

#include <superstep/base/await.hpp>
#include <superstep/base/detail/assert.hpp>
#include <superstep/tools/detail/argument_schema.hpp>
#include <superstep/tools/tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

namespace superstep {

namespace {

using table_ptr = std::shared_ptr<const tool_node::table>;

/// Stands for an exception that is not derived from std::exception.
class unknown_exception final : public std::exception {
public:
  [[nodiscard]] const char* what() const noexcept override {
    return "the tool threw an exception that is not derived from std::exception";
  }
};

/// Returns the answer to the current exception. Rethrows the exception if it must not be answered.
/// @param any true for exceptions of an interceptor, which are answered whatever their class
std::string answer_current(const tool_errors& errors, bool any) {
  if (is_unavailable(std::current_exception()))
    throw;
  auto words = std::optional<std::string>{};
  try {
    throw;
  } catch (const std::exception& e) {
    words = any ? errors.answer_any(e) : errors.answer(e);
  } catch (...) {
    const auto e = unknown_exception{};
    words = any ? errors.answer_any(e) : errors.answer(e);
  }
  if (!words)
    throw;
  return *std::move(words);
}

tool_output failed(std::string text) {
  auto out = tool_output{};
  out.content = std::move(text);
  out.is_error = true;
  return out;
}

message answer(std::string id, std::string name, tool_output out) {
  auto m = tool_message(valid_utf8(std::move(out.content)), std::move(id), std::move(name));
  m.is_error = out.is_error;
  m.artifact = std::move(out.artifact);
  m.blocks = std::move(out.blocks);
  return m;
}

tool_answer answered(message m) {
  return {std::make_shared<const message>(std::move(m)), {}};
}

std::string please_fix(std::string_view what) {
  return "Error: " + std::string{what} + "\n Please fix your mistakes.";
}

tool_output within(tool_output out, std::size_t bytes_max, const std::string& name) {
  const auto size = out.blocks ? to_text(json::value(*out.blocks)).size() : out.content.size();
  if (size <= bytes_max)
    return out;
  return failed(please_fix("the result of tool '" + name + "' has " + std::to_string(size) +
                           " bytes; at most " + std::to_string(bytes_max) + " are allowed"));
}

/// Converts the items of a reply to an answer. A single message is the answer itself.
tool_answer answer_of(std::vector<tool_item> items) {
  if (auto* only = items.size() == 1 ? std::get_if<message>(&items.front()) : nullptr)
    return answered(std::move(*only));
  return {nullptr, std::move(items)};
}

/// The parts of a call that are needed when its body already owns the call.
struct call_in_hand {
  std::string id;
  std::string name;
  tool_input_form form;
};

tool_answer answer_unknown(const tool_node::table& t, tool_call call) {
  auto text = "Error: " + call.name + " is not a valid tool, try one of [" + t.names + "].";
  return answered(answer(std::move(call.id), std::move(call.name), failed(std::move(text))));
}

tool_answer answer_output(const tool_node::table& t, call_in_hand& call, tool_output out) {
  if (out.reply) {
    const auto asked = tool_call{call.id, call.name, {}};
    auto items = detail::checked(std::move(*out.reply), asked, call.form, t.options.messages_key);
    if (!items.empty())
      return answer_of(std::move(items));
  }
  out = within(std::move(out), t.options.result_bytes_max, call.name);
  return answered(answer(std::move(call.id), std::move(call.name), std::move(out)));
}

/// Returns the answer to the current exception, shortened if necessary; see answer_current().
tool_answer answer_failure(const tool_node::table& t, call_in_hand& call, bool any) {
  auto text = answer_current(t.options.errors, any);
  return answered(answer(std::move(call.id), std::move(call.name),
                         within(failed(std::move(text)), t.options.result_bytes_max, call.name)));
}

const tool_environment& surroundings_of(const tool_context& context) {
  static const auto nothing = tool_environment{tool_input_form::state, {}, nullptr, {}};
  return context.environment ? *context.environment : nothing;
}

/// Adds the id of the call, and default values for fields that are missing in the state.
void add_defaults(json::object& args, const std::vector<injection>& injections,
                  const std::string& id) {
  for (const auto& i : injections)
    if (i.from == injection::source::tool_call_id)
      args[i.argument] = id;
    else if (i.default_value && !args.contains(i.argument))
      args[i.argument] = *i.default_value;
}

/// Checks the arguments. The time of the check counts towards the call's timeout, and cancelling
/// the call ends the check.
void check_arguments(const tool_node::table::entry& entry, const tool_call& call,
                     tool_context& context, const execution_context& at) {
  auto limits = schema_check_limits{};
  limits.stop = context.stop;
  if (const auto whole = entry.run->time_limit()) {
    limits.time_max = std::min(limits.time_max, *whole);
    const auto end = detail::deadline_after(at.where->now(), *whole);
    context.deadline = std::min(context.deadline.value_or(end), end);
  }
  auto faults = entry.schema.check(call.args, limits);
  if (!faults.empty())
    throw tool_invocation_error{call.name, call.args, std::move(faults)};
}

/// Sets the injected arguments. Returns a copy of the call without them, because the schema
/// describes only the model's arguments; null if the tool has no injected arguments. An exception
/// here is not answered like a failure of the call. It fails the node, or reaches the interceptor
/// if the node has one.
std::unique_ptr<tool_call> inject(const tool_node::table& t, const tool_node::table::entry& entry,
                                  tool_call& call, tool_context& context) {
  if (entry.injections.empty())
    return nullptr;
  context.tools = t.definitions;
  auto filled =
      inject_tool_args(entry.injections, call, surroundings_of(context), t.options.messages_key);
  add_defaults(filled.args, entry.injections, call.id);
  auto given = std::make_unique<tool_call>(std::exchange(call, std::move(filled)));
  for (const auto& i : entry.injections)
    given->args.erase(i.argument);
  return given;
}

/// Notifies an observer of one call. If the object is destroyed before end(), the call was
/// cancelled.
class observed_call {
public:
  observed_call(std::shared_ptr<const call_observer> observer, const tool_call& call,
                std::uint32_t attempt, execution_context& at)
      : observer_{std::move(observer)}, start_{at.where->now()} {
    observed_.call_id = call.id;
    observed_.tool = call.name;
    observed_.attempt = attempt;
    observer_->on_start(observed_.call_id);
  }
  observed_call(const observed_call&) = delete;
  observed_call& operator=(const observed_call&) = delete;
  ~observed_call() {
    observed_.took = std::chrono::nanoseconds{-1};
    if (observer_)
      observer_->on_end(std::move(observed_));
  }
  void end(execution_context& at, bool is_error) {
    observed_.took = at.where->now() - start_;
    observed_.is_error = is_error;
    std::exchange(observer_, nullptr)->on_end(std::move(observed_));
  }

private:
  std::shared_ptr<const call_observer> observer_;
  call_time observed_;
  executor::time_point start_;
};

/// Runs one call. Owns the table, because all copies of the node may be destroyed during the call.
/// There may be thousands of these frames. So the work before and after the body is in separate
/// functions, whose local variables are not part of the frame.
task<tool_answer> execute(table_ptr t, tool_call call, tool_context context) {
  const auto& at = co_await this_context{};
  const auto* entry = t->find(call.name);
  if (entry == nullptr)
    co_return answer_unknown(*t, std::move(call));
  context.tool_call_id = call.id;
  const auto given = inject(*t, *entry, call, context);
  auto in_hand = call_in_hand{call.id, call.name, surroundings_of(context).form};
  auto refused = tool_answer{};
  try {
    check_arguments(*entry, given ? *given : call, context, at);
    auto body = entry->run->run(std::move(call), std::move(context));
    auto out = co_await body;
    co_return answer_output(*t, in_hand, std::move(out));
  } catch (...) {
    refused = answer_failure(*t, in_hand, false);
  }
  co_return refused;
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
    observed.end(at, true);
    throw;
  }
  observed.end(at, answer.answer != nullptr && answer.answer->is_error);
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
}

/// Runs one call through the node's interceptor.
task<tool_answer> execute_wrapped(table_ptr t, tool_call call, tool_context context) {
  auto in_hand = call_in_hand{call.id, call.name, surroundings_of(context).form};
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
    refused = answer_failure(*t, in_hand, true);
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
    made->has_injections = made->has_injections || !injections.empty();
    auto entry = table::entry{std::move(tool), *std::move(schema), std::move(injections), {}};
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

message tool_node::answer_invalid(const invalid_tool_call& call) const {
  auto text = "Error invoking tool '" + call.name + "' with arguments " + call.args +
              " with error:\n " + call.error + "\n Please fix the error and try again.";
  // The arguments text of a confused model can have any length.
  if (text.size() > table_->options.result_bytes_max)
    text = please_fix("the arguments of the call are too long and are not a JSON object");
  return answer(call.id, call.name, failed(std::move(text)));
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

bool tool_node::runs_bare(std::string_view name) const noexcept {
  if (table_->options.wrap_call)
    return false;
  const auto* entry = table_->find(name);
  return entry == nullptr || (entry->injections.empty() && !entry->run->reads_surroundings());
}

tool_list tool_node::tools() const {
  auto out = tool_list{};
  for (const auto& definition : *table_->definitions)
    out.push_back(table_->find(definition.name)->run);
  return out;
}

bool tool_node::needs_surroundings() const noexcept {
  return table_->has_injections || table_->options.wrap_call;
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
