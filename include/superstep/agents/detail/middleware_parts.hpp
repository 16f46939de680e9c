// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/detail/sent_call.hpp>
#include <superstep/agents/middleware.hpp>
#include <superstep/runtime/detail/program.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Parts of agents with middleware that do not depend on the type of the state.
namespace superstep::react {

inline constexpr auto model_name = "model";

using tool_timeouts = std::map<std::string, std::chrono::milliseconds>;

/// The nodes that follow a node of an agent.
struct exits {
  std::string next;  ///< follows without a jump; empty: the model's latest answer decides
  std::string model; ///< the beginning of the loop
  std::string end;   ///< the node after the loop
  std::shared_ptr<const tool_timeouts> timeouts{}; ///< timeouts of tool calls; null: none
  react_version version = react_version::v2;
  agent_rules rules = agent_rules::create_agent;
  /// Names of the tools that hand the conversation over, in version v2; null: none.
  std::shared_ptr<const tool_names> handoffs{};
  /// Whether a hook, or the model's node itself, may have answered calls of the latest answer.
  bool is_looped = false;
};

/// Returns the name of a jump, for messages.
[[nodiscard]] std::string_view name_of(jump to) noexcept;
/// Returns the node that a jump leads to; empty for jump::none.
[[nodiscard]] std::string_view target_of(const exits& from, jump to) noexcept;

/// The place where a run continues: a node, or tool calls to send to the tools.
struct continuation {
  std::string_view node; ///< name of the next node; empty if `calls` is set
  sent_calls calls{};    ///< each call becomes a Send to the tools
};

/// Returns where a run continues after the model or a hook: at the target of the jump, else at
/// `next` if it is set. Otherwise the latest answer decides: its pending calls, the model if all
/// calls have been answered, or the end. A handoff ends the agent, so it waits until the other
/// calls of its answer have ended, and only the first handoff of an answer runs.
/// @param messages only the last one is read, unless calls may be answered (exits::is_looped) or
/// `to` is the tools
[[nodiscard]] continuation continue_after(const exits& from, jump to, const message_list& messages);
/// Returns where a run continues after the tools: at a handoff that has waited for other calls, at
/// the end if a called tool is return_direct, else at the model.
[[nodiscard]] continuation continue_after_tools(const exits& from, const message_list& messages,
                                                const tool_names& return_direct);

/// Returns the names of the tools that command the parent graph; null if there are none.
[[nodiscard]] std::shared_ptr<const tool_names> handoffs_of(const agent_tools& tools);

/// Returns the timeout of a call of the tool; 0 if there is none.
[[nodiscard]] send::milliseconds timeout_of(const exits& from, const std::string& tool);

/// Combines interceptors into one; the first is outermost. Empty if there are none.
[[nodiscard]] tool_interceptor composed(std::vector<tool_interceptor> all);

/// Returns the tools of an agent and of its middleware as one node. The interceptors of the
/// middleware are outside the node's own interceptor.
[[nodiscard]] agent_tools with_middleware(const agent_tools& own, const tool_list& more,
                                          std::vector<tool_interceptor> wraps);

/// Returns the same tools with another limit on the calls in flight.
[[nodiscard]] agent_tools with_limit(const agent_tools& tools, std::size_t calls_at_once);

/// Converts a tool's command to the form that the parent graph applies, which names fields and
/// nodes instead of using this graph's indexes.
[[nodiscard]] std::shared_ptr<const value> to_parent(tool_command said, const std::string& key);
/// Returns the nodes that a tool's command goes to. Throws graph_error for a Send, because a tool
/// cannot create an input of the node's C++ type.
[[nodiscard]] std::vector<std::string> targets_of(const tool_command& said, const std::string& key);

/// Creates the model of a spec with make_model(). Throws compile_error.
[[nodiscard]] chat_model_ptr resolved_model(const std::string& spec);

/// The fields of a state, for check_injections().
struct state_fields {
  std::string state;                     ///< name of the state, for error texts
  std::vector<std::string> readable;     ///< fields that tools may read
  std::vector<std::string> unreadable{}; ///< fields without a JSON form
};
/// Throws compile_error for tools that inject a field which the state lacks or tools cannot read,
/// unless the injection has a default value.
void check_injections(const tool_node& tools, const state_fields& fields);

/// Throws compile_error for a timeout of an unknown tool or a timeout out of range.
void check_timeouts(const tool_timeouts& timeouts, const tool_node& tools);
/// Returns error answers to the calls of a task that was stopped. A cancelled run stops all its
/// calls. A timeout or an exit of the actor is answered only for a task with a single call. Returns
/// an empty list for other failures.
[[nodiscard]] message_list answer_stopped(const std::vector<tool_call>& calls, bool is_one,
                                          const run_error& why);

/// Throws compile_error for middleware with empty or duplicate names.
void check_names(const std::vector<std::string>& names);
/// Throws compile_error for jumps of a hook to nodes that the agent does not have.
void check_jumps(const std::string& hook, const std::vector<jump>& jumps, bool has_tools);
/// Throws graph_error for a jump that a hook did not declare.
void check_jump(std::string_view hook, const std::vector<jump>& declared, jump to);

/// Throws compile_error for a response format that cannot be requested in the answers of the loop.
void check_response_in_answer(const response_format& response, agent_rules rules, bool has_tools);

} // namespace superstep::react
