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

/// Selects the messages that an agent adds to those of its team.
enum class team_output : std::uint8_t {
  last_message, ///< its last message
  full_history, ///< all its messages
};

/// Everything a supervisor is made of. `model` and `agents` are required.
struct supervisor_options {
  agent_model<messages_state> model{};
  /// The agents of the team, each with a name (agent_options::name) that no other has.
  std::vector<compiled_graph<messages_state>> agents{};
  tool_list tools{}; ///< of the supervisor, besides those that hand over
  agent_prompt<messages_state> prompt{};
  std::string name = "supervisor"; ///< of the supervisor's node and of its AI messages
  team_output output = team_output::last_message;
  /// Whether the messages record that an agent returns to the supervisor: an AI message that calls
  /// `transfer_back_to_NAME`, and its answer.
  bool records_returns = true;
  std::shared_ptr<superstep::checkpointer> checkpointer{};
  std::shared_ptr<superstep::store> store{};
};

/// Builds a team: an agent with a tool `transfer_to_NAME` for each agent of the team, and a node for
/// each of them. An agent that was handed the conversation sees all its messages, and returns to
/// the supervisor, which answers in the end. The rules are those of langgraph-supervisor 0.0.29.
///
///     auto team = create_supervisor({.model = "openai:gpt-4o", .agents = {mathematician, poet}});
///
/// Each handover costs two super-steps of the team; agents have limits of their own.
/// @throws compile_error if an agent has no name, two have one name, or the model is not valid
[[nodiscard]] compiled_graph<messages_state> create_supervisor(supervisor_options options);

} // namespace superstep
