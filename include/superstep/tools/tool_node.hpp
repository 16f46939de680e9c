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

/// The outcome of one call: the message that answers it, or the items that its tool returned.
struct tool_answer {
  message_ptr answer;             ///< the answer; null if there are items
  std::vector<tool_item> items{}; ///< commands and messages, in the tool's order

  /// Returns the message. Throws tool_value_error if the tool returned a command.
  operator message_ptr() const;
  const message& operator*() const { return *answer; }
  const message* operator->() const { return answer.get(); }
};

/// A tool call as an interceptor sees it. Interceptors may change it before it runs.
struct tool_request {
  tool_call call;                        ///< name, id and arguments
  const superstep::tool* tool = nullptr; ///< the tool; null if no tool has this name
  tool_context context;
};
/// Runs the call; may be called several times. The task throws failures that the node does not
/// answer.
using tool_execute = std::function<task<tool_answer>(tool_request)>;
/// Wraps every call of a node, also calls of unknown tools: receives the request and a function
/// that runs it, and returns the answer. It may call the function any number of times, also never.
/// Source: `wrap_tool_call` in LangGraph 1.2.22, prebuilt/tool_node.py.
using tool_interceptor = std::function<task<tool_answer>(tool_request, tool_execute)>;

/// A limit on the concurrent calls of one tool, over all runs that share the node. With a limit of
/// 1 the tool is exclusive. Tools without a tool_limit have no limit of their own.
struct tool_limit {
  std::string tool;        ///< name of the tool
  std::size_t at_once = 1; ///< maximum number of calls in flight; at least 1
  /// Name of an argument: the limit applies separately to each of its values. Empty: to all calls.
  std::string key{};
};

/// Options of a tool_node.
struct tool_node_options {
  tool_errors errors{};                       ///< the failures that become answers
  std::size_t result_bytes_max = 1024 * 1024; ///< of one result; a longer one is an error result
  std::string messages_key = "messages";      ///< key of the messages in the state
  std::string name = "tools";                 ///< of the node
  std::vector<std::string> tags{}; ///< of the node
  /// Maximum number of calls in flight in this node and its copies, over all runs; 0: no limit.
  /// Further calls wait.
  std::size_t calls_at_once = 0;
  std::vector<tool_limit> limits{};
  /// Wraps every call; may be empty. Its exceptions are answered, whatever their class, except with
  /// tool_errors::none().
  tool_interceptor wrap_call{};
  /// Returns the answer to a call that has already run (see agent_options::early_tools), or null to
  /// run the call. Used by run_each() and run() of an input. May be empty.
  std::function<message_ptr(const runtime&, const tool_call&)> precomputed_result{};
};

/// The input of a tool node; see tool_node::from_state().
struct tool_node_input {
  tool_input_form form = tool_input_form::calls;
  std::vector<tool_call> calls;
  tool_state_ptr state{};
  std::shared_ptr<const call_observer> observer{}; ///< see tool_context
};

/// The output of a tool node.
struct tool_node_output {
  tool_input_form form = tool_input_form::calls;
  /// The results in the order of the calls. Commands to the parent that only contain Sends are
  /// merged into one, the last item.
  std::vector<tool_item> items{};
  /// Whether one of the items is a command.
  [[nodiscard]] bool has_commands() const noexcept;
};

/// Runs the tool calls of a model. For each call it finds the tool, sets the injected arguments,
/// checks the arguments against the schema, runs the tool, and converts the result or failure to
/// the message that answers the call.
///
/// The message gets the call's id and the tool's name, unless the tool made it. The texts of errors
/// are those of LangGraph, because models read them.
/// @par Threads
/// Immutable; all members may be called by any number of threads.
/// @par Lifetime
/// Must outlive the calls that it runs. Copies share their limits.
/// Source: `ToolNode` in LangGraph 1.2.22, prebuilt/tool_node.py.
class tool_node {
public:
  /// @throws std::invalid_argument if two tools have the same name, a name is empty, a tool's
  /// schema is not valid, or a limit is 0 or refers to an unknown tool
  explicit tool_node(tool_list tools, tool_node_options options = {});

  /// Runs one call. The task throws failures that `options.errors` does not answer. The answer is a
  /// pointer, because thousands of suspended calls would otherwise each reserve space for a
  /// message.
  [[nodiscard]] task<tool_answer> run(tool_call call, tool_context context) const;

  /// Makes the input of run() from a state or list, whose last AI message contains the calls; from
  /// calls; or from one call with the state that it was made in, which is what a Send carries.
  /// @throws tool_value_error if there are no messages or no AI message
  /// @throws empty_message_list for an empty list @{
  [[nodiscard]] tool_node_input from_state(tool_state_ptr state) const;
  [[nodiscard]] tool_node_input from_list(message_list messages) const;
  [[nodiscard]] tool_node_input from_calls(std::vector<tool_call> calls) const;
  [[nodiscard]] tool_node_input from_call(tool_call call, tool_state_ptr state) const;
  /// @}

  /// Runs the calls concurrently, at most `run_config::max_concurrency` at once, and returns the
  /// result or failure of each, in the order of the calls. Throws before the first call if a tool
  /// needs a store and there is none.
  /// @param rt runtime of the node; tools get its config, store, events and interrupts
  [[nodiscard]] task<std::vector<settled<tool_answer>>> run_each(tool_node_input input,
                                                                 runtime rt) const;
  /// Runs the calls like run_each() and combines their results. Throws the first call's failure.
  [[nodiscard]] task<tool_node_output> run(tool_node_input input, runtime rt) const;
  /// Runs one call without an environment, which is cheaper. @pre runs_bare(call.name)
  [[nodiscard]] task<tool_answer> run_bare(const tool_call& call, const runtime& rt,
                                           std::shared_ptr<const call_observer> observer) const;

  /// Returns the answer to a call whose arguments could not be parsed.
  [[nodiscard]] message answer_invalid(const invalid_tool_call& call) const;
  /// Returns the call with the injected arguments of its tool set; a call of an unknown tool
  /// unchanged. See superstep::inject_tool_args().
  [[nodiscard]] tool_call inject_tool_args(tool_call call,
                                           const tool_environment& environment) const;

  /// Returns the definitions for the model, in the order of the tools, without injected arguments.
  [[nodiscard]] tool_definitions definitions() const noexcept;
  /// Returns the tool with this name, valid as long as the node; nullptr if there is none.
  [[nodiscard]] const tool* find(std::string_view name) const noexcept;
  /// Whether a call of this name needs no tool_context::environment: its tool has no injections and
  /// does not use it, and the node has no interceptor. True for unknown tools.
  [[nodiscard]] bool runs_bare(std::string_view name) const noexcept;
  /// Returns the tools in the order in which they were given.
  [[nodiscard]] tool_list tools() const;
  /// Whether calls need tool_context::environment, because a tool has injected arguments or the
  /// node has an interceptor.
  [[nodiscard]] bool needs_surroundings() const noexcept;
  /// The options of this node.
  [[nodiscard]] const tool_node_options& options() const noexcept;
  /// Returns a node with the same tools and other options. It shares the limits of this node, and
  /// calls of both nodes are counted together.
  [[nodiscard]] tool_node with_options(tool_node_options options) const;

  struct table;

private:
  explicit tool_node(std::shared_ptr<const table> t) noexcept : table_{std::move(t)} {}

  std::shared_ptr<const table> table_;
};

} // namespace superstep
