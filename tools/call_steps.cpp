// SPDX-License-Identifier: Apache-2.0
// The steps of one call of a tool node: injects and checks arguments, starts the tool, and converts
// its result or failure to an answer.
#include "call_steps.hpp"

#include "base/deadline.hpp"
#include "base/utf8.hpp"
#include "failed_call.hpp"
#include "messages/message_memory.hpp"
#include "tool_result.hpp"

#include <superstep/tools/detail/argument_schema.hpp>

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace superstep {

namespace {

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

/// Sets the members of the message that answers a call.
void fill_answer(message& m, const std::string& id, const std::string& name, tool_output&& out) {
  m.type = message_type::tool;
  if (!is_utf8(out.content))
    out.content = valid_utf8(std::move(out.content));
  m.content = std::move(out.content);
  m.tool_call_id = id;
  m.name = name;
  m.is_error = out.is_error;
  if (!out.artifact.is_null()) // an assignment costs much more than this test
    m.artifact = std::move(out.artifact);
  m.blocks = std::move(out.blocks);
}

tool_answer answer(const tool_call& call, tool_output&& out) {
  auto m = detail::make_message();
  fill_answer(*m, call.id, call.name, std::move(out));
  return {std::move(m), {}};
}

std::string please_fix(std::string_view what) {
  return "Error: " + std::string{what} + "\n Please fix your mistakes.";
}

/// Replaces a result that is too long by an error.
void keep_within(tool_output& out, std::size_t bytes_max, const std::string& name) {
  const auto size = out.blocks ? to_text(json::value(*out.blocks)).size() : out.content.size();
  if (size > bytes_max)
    out = error_output(please_fix("the result of tool '" + name + "' has " + std::to_string(size) +
                                  " bytes; at most " + std::to_string(bytes_max) + " are allowed"));
}

/// Converts the items of a reply to an answer. A single message is the answer itself.
tool_answer answer_of(std::vector<tool_item> items) {
  if (auto* only = items.size() == 1 ? std::get_if<message>(&items.front()) : nullptr)
    return {std::make_shared<message>(std::move(*only)), {}};
  return {nullptr, std::move(items)};
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
/// the call ends the check. Returns the arguments without the nulls that count as absent; nullopt
/// if there are none.
/// @param at where the call runs; null if the tool has no timeout
std::optional<json::object> check_arguments(const tool_node::table::entry& entry,
                                            const tool_call& call, tool_context& context,
                                            const execution_context* at) {
  auto limits = schema_check_limits{};
  limits.stop = context.stop;
  if (at != nullptr) {
    if (const auto whole = entry.run->timeout()) {
      limits.time_max = std::min(limits.time_max, *whole);
      const auto end = detail::deadline_after(at->where->now(), *whole);
      context.deadline = std::min(context.deadline.value_or(end), end);
    }
  }
  auto checked = entry.schema.examine(call.args, limits);
  if (!checked.faults.empty())
    throw tool_invocation_error{call.name, call.args, std::move(checked.faults)};
  return std::move(checked.without_nulls);
}

/// Returns the call with other arguments from the model, and the same injected arguments.
tool_call with_arguments(const tool_call& call, json::object&& args,
                         const std::vector<injection>& injections) {
  auto out = tool_call{call.id, call.name, std::move(args)};
  for (const auto& i : injections)
    if (const auto* value = call.args.if_contains(i.argument))
      out.args[i.argument] = *value;
  return out;
}

/// Runs a call that the caller does not keep.
task<tool_output> run_own(tool_ptr tool, tool_call call, const tool_context& context) {
  auto body = tool->run(call, context);
  auto out = co_await body;
  co_return out;
}

} // namespace

task<tool_output> fail_later(std::exception_ptr failure) {
  std::rethrow_exception(failure);
  co_return tool_output{};
}

const tool_environment& environment_of(const tool_context& context) {
  static const auto nothing = tool_environment{tool_input_form::state};
  return context.environment ? *context.environment : nothing;
}

std::shared_ptr<const tool_environment> empty_environment(tool_input_form form) {
  static const auto of_state = tool_environment{tool_input_form::state};
  static const auto of_list = tool_environment{tool_input_form::list};
  static const auto of_calls = tool_environment{tool_input_form::calls};
  const auto* shared = form == tool_input_form::state  ? &of_state
                       : form == tool_input_form::list ? &of_list
                                                       : &of_calls;
  return {std::shared_ptr<void>{}, shared};
}

std::unique_ptr<tool_call> inject(const tool_node::table& t, const tool_node::table::entry& entry,
                                  tool_call& call, tool_context& context) {
  if (entry.injections.empty())
    return nullptr;
  if (!environment_of(context).tools) { // the caller has made the environment itself
    auto completed = environment_of(context);
    completed.tools = t.definitions;
    context.environment = std::make_shared<const tool_environment>(std::move(completed));
  }
  auto filled =
      inject_tool_args(entry.injections, call, environment_of(context), t.options.messages_key);
  add_defaults(filled.args, entry.injections, call.id);
  auto given = std::make_unique<tool_call>(std::exchange(call, std::move(filled)));
  for (const auto& i : entry.injections)
    given->args.stable_erase(i.argument);
  return given;
}

task<tool_output> begin_body(const tool_node::table::entry& entry, const tool_call& call,
                             const tool_call* own, tool_context& context,
                             const execution_context* at) {
  try {
    if (auto args = check_arguments(entry, own != nullptr ? *own : call, context, at))
      return run_own(entry.run, with_arguments(call, *std::move(args), entry.injections), context);
    return entry.run->run(call, context);
  } catch (...) {
    return fail_later(std::current_exception());
  }
}

tool_answer answer_unknown(const tool_node::table& t, const tool_call& call) {
  auto text = "Error: " + call.name + " is not a valid tool, try one of [" + t.names + "].";
  return answer(call, error_output(std::move(text)));
}

tool_answer answer_output(const tool_node::table& t, const tool_call& call, tool_input_form form,
                          tool_output&& out) {
  if (out.reply) {
    auto items = detail::checked(std::move(*out.reply), call, form, t.options.messages_key);
    if (!items.empty())
      return answer_of(std::move(items));
  }
  keep_within(out, t.options.result_bytes_max, call.name);
  return answer(call, std::move(out));
}

tool_answer answer_failure(const tool_node::table& t, const tool_call& call, bool any) {
  auto out = error_output(answer_current(t.options.errors, any));
  keep_within(out, t.options.result_bytes_max, call.name);
  return answer(call, std::move(out));
}

message tool_node::answer_invalid(const invalid_tool_call& call) const {
  auto text = "Error invoking tool '" + call.name + "' with arguments " + call.args +
              " with error:\n " + call.error + "\n Please fix the error and try again.";
  // The arguments text of a confused model can have any length.
  if (text.size() > table_->options.result_bytes_max)
    text = please_fix("the arguments of the call are too long and are not a JSON object");
  auto m = message{};
  fill_answer(m, call.id, call.name, error_output(std::move(text)));
  return m;
}

} // namespace superstep
