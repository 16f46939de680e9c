// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/await.hpp>
#include <superstep/messages/message_list.hpp>
#include <superstep/tools/tool.hpp>
#include <superstep/tools/tool_errors.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// What became of one call: the message that answers it, or the items its tool handed back.
struct tool_answer {
  message_ptr answer;             ///< null when there are items
  std::vector<tool_item> items{}; ///< commands and messages, in the order of the tool

  /// The message alone. Throws tool_value_error when the tool handed back a command.
  operator message_ptr() const;
  const message& operator*() const { return *answer; }
  const message* operator->() const { return answer.get(); }
};

/// What an interceptor sees of a call, and may change before it goes on.
struct tool_request {
  tool_call call;
  const superstep::tool* tool = nullptr; ///< null: no tool has that name
  tool_context context;
};
/// Runs the call (again). Its faults are thrown as far as the node does not answer them.
using tool_execute = std::function<task<tool_answer>(tool_request)>;
/// Stands around every call of a node, unknown tools included; what it returns is the call's
/// answer. Runs the call as often as it likes, or not at all.
using tool_interceptor = std::function<task<tool_answer>(tool_request, tool_execute)>;

/// How many calls of a tool may be under way at once, in all runs that share the node; one: the
/// tool is exclusive. Tools without a limit may be called any number of times at once.
struct tool_limit {
  std::string tool;
  std::size_t at_once = 1;
  /// An argument: calls that agree in it count together, others go on beside them. Empty: none.
  std::string key{};
};

struct tool_node_options {
  tool_errors errors{};                       ///< which failures become answers
  std::size_t result_bytes_max = 1024 * 1024; ///< of one result; a longer one is an error result
  std::string messages_key = "messages";      ///< of the state
  std::string name = "tools";
  std::vector<std::string> tags{};
  /// Of all calls of this node and its copies, in all runs; 0: no limit. Calls beyond it wait.
  std::size_t calls_at_once = 0;
  std::vector<tool_limit> limits{};
  /// What it throws is answered, whatever its class, unless no failures are. Empty: none.
  tool_interceptor wrap_call{};
  /// The answer to a call that was run before its turn; null: none, so the call is run. Asked by
  /// run_each() and run() of an input. Empty: no call ever was.
  std::function<message_ptr(const runtime&, const tool_call&)> precomputed_result{};
};

/// What a node of tools is given; see tool_node::from_state().
struct tool_node_input {
  tool_input_form form = tool_input_form::calls;
  std::vector<tool_call> calls;
  tool_state_ptr state{};
  std::shared_ptr<const call_observer> observer{}; ///< see tool_context
};

/// What a node of tools gives: what the calls came to, in their order.
struct tool_node_output {
  tool_input_form form = tool_input_form::calls;
  /// Commands to the parent with lists of Sends are one, the last item, and write nothing.
  std::vector<tool_item> items{};
  [[nodiscard]] bool has_commands() const noexcept;
};

/// Runs the tool calls of a model: finds the tool, fills in what the model must not set, checks the
/// arguments against the schema, runs the tool, and turns whatever comes of it into the message
/// that answers the call.
///
/// The message has the call's id and the tool's name, unless the tool made it. Texts of errors are
/// the reference's.
/// @par Threads
/// Immutable; any number of calls at once. Outlives the calls it runs.
class tool_node {
public:
  /// Throws std::invalid_argument when two tools have one name, a name is empty, the schema of a
  /// tool is none, or a limit is of no tool or of 0 calls.
  explicit tool_node(tool_list tools, tool_node_options options = {});

  /// Runs one call. A pointer to the message, because ten thousand calls may wait at once and each
  /// would hold room for one. Throws what the options do not answer.
  [[nodiscard]] task<tool_answer> run(tool_call call, tool_context context) const;

  /// The calls of the last AI message of a state or list; calls themselves; and a call with the
  /// state it was made in, which is what a Send carries. Throws tool_value_error without messages
  /// and without an AI message, empty_message_list for a list without any. @{
  [[nodiscard]] tool_node_input from_state(tool_state_ptr state) const;
  [[nodiscard]] tool_node_input from_list(message_list messages) const;
  [[nodiscard]] tool_node_input from_calls(std::vector<tool_call> calls) const;
  [[nodiscard]] tool_node_input from_call(tool_call call, tool_state_ptr state) const;
  /// @}

  /// Runs the calls at the same time, at most `run_config::max_concurrency` of them: what became of
  /// each, so that one that fails takes nothing from its siblings. Throws before the first call
  /// when a tool needs a store and there is none.
  /// @param rt of the node; its config, store, events and interrupts are the tools'
  [[nodiscard]] task<std::vector<settled<tool_answer>>> run_each(tool_node_input input,
                                                                 runtime rt) const;
  /// The same as one result; throws the failure of the first call that has one.
  [[nodiscard]] task<tool_node_output> run(tool_node_input input, runtime rt) const;

  /// Runs one call without a state around it, which is cheaper. @pre runs_bare(call.name)
  [[nodiscard]] task<tool_answer> run_bare(const tool_call& call, const runtime& rt,
                                           std::shared_ptr<const call_observer> observer) const;

  /// The answer to a call whose arguments could not be parsed.
  [[nodiscard]] message answer_invalid(const invalid_tool_call& call) const;
  /// The call as its tool gets it; a call of an unknown tool as it is. See superstep's function of
  /// this name.
  [[nodiscard]] tool_call inject_tool_args(tool_call call,
                                           const tool_environment& environment) const;

  /// What a model is told about the tools, in the order in which they were given: without the
  /// arguments that the node fills in.
  [[nodiscard]] tool_definitions definitions() const noexcept;
  /// Valid as long as this node; nullptr when there is no such tool.
  [[nodiscard]] const tool* find(std::string_view name) const noexcept;
  /// Whether a call of this name needs no tool_context::environment: its tool neither has
  /// injections nor reads it, and the node has no interceptor. True for unknown tools.
  [[nodiscard]] bool runs_bare(std::string_view name) const noexcept;
  /// In the order in which they were given.
  [[nodiscard]] tool_list tools() const;
  /// Whether some tool has injected arguments or the node an interceptor: then calls need
  /// tool_context::environment.
  [[nodiscard]] bool needs_surroundings() const noexcept;
  [[nodiscard]] const tool_node_options& options() const noexcept;
  /// The same tools, run in another way. How many calls may run at once stays as it is, and both
  /// nodes are counted together.
  [[nodiscard]] tool_node with_options(tool_node_options options) const;

  struct table;

private:
  explicit tool_node(std::shared_ptr<const table> t) noexcept : table_{std::move(t)} {}

  std::shared_ptr<const table> table_;
};

} // namespace superstep
