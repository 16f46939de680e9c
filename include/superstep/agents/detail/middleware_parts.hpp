// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_parts.hpp>
#include <superstep/agents/detail/react_loop.hpp>
#include <superstep/agents/middleware.hpp>
#include <superstep/runtime/program.hpp>

#include <chrono>
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
};

[[nodiscard]] std::string_view name_of(jump to) noexcept;
/// The node that a jump leads to; empty for none.
[[nodiscard]] std::string_view target_of(const exits& from, jump to) noexcept;

/// Adds where to go on: the target of a jump; what `next` says; or, by the latest answer of the
/// model, its pending calls as Sends, the model again when all have been answered, else the end.
void go_on(const exits& from, jump to, const message_list& messages, const program& table,
           node_output& out);
/// The same after the tools: the end when the answer called none but those that end the loop.
void go_on_after_tools(const exits& from, const message_list& messages,
                       const tool_names& return_direct, const program& table, node_output& out);

/// Several interceptors as one; the first is outermost. Empty for none.
[[nodiscard]] tool_interceptor composed(std::vector<tool_interceptor> all);

/// The tools of an agent and of its middleware, with the middleware's interceptors around the
/// node's own.
[[nodiscard]] agent_tools with_middleware(const agent_tools& own, const tool_list& more,
                                          std::vector<tool_interceptor> around);

/// Refuses limits of no tool, and limits that are none.
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
/// The value that the last answer is. Throws when it is none of the schema.
[[nodiscard]] json::value read_response(const message& answer, const answer_schema& schema);

} // namespace superstep::react
