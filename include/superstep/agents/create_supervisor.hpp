// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/checkpoint/fwd.hpp>
#include <superstep/runtime/graph.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace superstep {

/// The messages of an agent that are added to those of its team.
enum class team_output : std::uint8_t {
  last_message, ///< only its last message
  full_history, ///< all its messages
};

/// The options of create_supervisor(). `model` and `agents` are required.
struct supervisor_options {
  agent_model<messages_state> model{}; ///< the supervisor's model
  /// The agents of the team, each with a unique name (agent_options::name).
  std::vector<compiled_graph<messages_state>> agents{};
  tool_list tools{}; ///< tools of the supervisor in addition to those that hand over
  agent_prompt<messages_state> prompt{}; ///< the supervisor's prompt
  std::string name = "supervisor";       ///< of the supervisor's node and its AI messages
  team_output output = team_output::last_message;
  /// Whether to record in the messages that an agent returns to the supervisor: an AI message that
  /// calls `transfer_back_to_NAME`, and the answer to that call.
  bool records_returns = true;
  std::shared_ptr<superstep::checkpointer>
      checkpointer{};                        ///< where threads of the team are saved; null: nowhere
  std::shared_ptr<superstep::store> store{}; ///< long-term memory; null: none
};

/// Builds a team: a supervisor agent with a tool `transfer_to_NAME` for each agent of the team. An
/// agent that the conversation is handed to reads all its messages and returns to the supervisor,
/// which gives the final answer.
///
///     auto team = create_supervisor({.model = "openai:gpt-4o", .agents = {mathematician, poet}});
///
/// Each handover takes two super-steps of the team. Agents have recursion limits of their own.
/// @throws compile_error if an agent has no name, two agents have the same name, or the model is
/// not valid
/// Source: `create_supervisor` in langgraph-supervisor 0.0.29, supervisor.py.
[[nodiscard]] compiled_graph<messages_state> create_supervisor(supervisor_options options);

} // namespace superstep
