// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/react_loop.hpp>
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

// What agents with middleware do, whatever their state looks like.
namespace superstep::react {

inline constexpr auto model_name = "model";

using tool_timeouts = std::map<std::string, std::chrono::milliseconds>;

/// Where a node of an agent leads.
struct exits {
  std::string next;  ///< without a jump; empty: as the latest answer of the model says
  std::string model; ///< the beginning of the loop
  std::string end;   ///< what follows the loop
  std::shared_ptr<const tool_timeouts> timeouts{}; ///< of calls; null: none
  react_version version = react_version::v2;
  agent_rules rules = agent_rules::create_agent;
  /// A hook, or the model's node itself, may have answered calls of the latest answer.
  bool is_looped = false;
};

[[nodiscard]] std::string_view name_of(jump to) noexcept;
/// The node that a jump leads to; empty for none.
[[nodiscard]] std::string_view target_of(const exits& from, jump to) noexcept;

/// Where a run continues: at a node, or with calls.
struct continuation {
  std::string_view node;          ///< a name of the exits; empty: the calls
  std::vector<tool_call> calls{}; ///< each as a Send to the tools
};

/// Returns where a run continues after the model or a hook: the target of a jump; `next`;
/// or, by the latest answer of the model, its pending calls, the model again if all have been
/// answered, else the end.
/// @param messages only the last one is read, unless calls may be answered (exits::is_looped) or
/// `to` is the tools
[[nodiscard]] continuation continue_after(const exits& from, jump to, const message_list& messages);
/// Returns where a run continues after the tools: the end if they were called to end the loop.
[[nodiscard]] std::string_view continue_after_tools(const exits& from, const message_list& messages,
                                                    const tool_names& return_direct);

/// Returns the timeout of a call of the tool, in milliseconds; 0 if there is none.
[[nodiscard]] std::uint32_t timeout_of(const exits& from, const std::string& tool);

/// Several interceptors as one; the first is outermost. Empty for none.
[[nodiscard]] tool_interceptor composed(std::vector<tool_interceptor> all);

/// The tools of an agent and of its middleware, with the middleware's interceptors around the
/// node's own.
[[nodiscard]] agent_tools with_middleware(const agent_tools& own, const tool_list& more,
                                          std::vector<tool_interceptor> wraps);

/// Returns these tools with another bound of calls in flight.
[[nodiscard]] agent_tools with_limit(const agent_tools& tools, std::size_t calls_at_once);

/// A command of a tool to the parent graph, by the names of fields and nodes.
[[nodiscard]] std::shared_ptr<const value> to_parent(tool_command said, const std::string& key);
/// The nodes that a command of a tool goes to. Throws graph_error for a Send: its input would have
/// to be of the node's own type.
[[nodiscard]] std::vector<std::string> targets_of(const tool_command& said, const std::string& key);

/// Makes the model of a spec (make_model()). Throws compile_error.
[[nodiscard]] chat_model_ptr resolved_model(const std::string& spec);

/// Rejects timeouts of unknown tools and timeouts out of range.
void check_timeouts(const tool_timeouts& timeouts, const tool_node& tools);
/// The answers to calls of a task that was stopped from outside, because the run was cancelled or,
/// of a task that is one call, it took too long or its actor was told to exit; none for other
/// failures.
[[nodiscard]] message_list answer_stopped(const std::vector<tool_call>& calls, bool is_one,
                                          const run_error& why);

/// Refuses names that do not tell the middleware apart.
void check_names(const std::vector<std::string>& names);
/// Refuses jumps of a hook that lead nowhere.
void check_jumps(const std::string& hook, const std::vector<jump>& jumps, bool has_tools);
/// Refuses a jump that a hook did not declare.
void check_jump(std::string_view hook, const std::vector<jump>& declared, jump to);

/// The schema of a response as models take it. Refuses one that has a prompt of its own.
[[nodiscard]] std::shared_ptr<const answer_schema> format_of(const response_format& response);
/// Parses the last answer; throws if it does not match the schema.
[[nodiscard]] json::value read_response(const message& answer, const answer_schema& schema);

} // namespace superstep::react
