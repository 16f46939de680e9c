// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_parts.hpp>
#include <superstep/agents/json_step.hpp>
#include <superstep/agents/react_agent.hpp>
#include <superstep/base/result.hpp>
#include <superstep/runtime/json_graph.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace superstep {

/// One key of the state of a JSON agent: a channel of json_graph, by a named rule or by a reducer.
/// The rule `messages` is add_json_messages.
struct json_state_key {
  std::string name;
  std::string rule = "last";
  json_reducer reduce{}; ///< instead of a rule
  std::optional<json::value> initial{};
};

/// Everything a ReAct agent with a JSON state is made of.
struct json_agent_options {
  std::string name; ///< of the graph and of the AI messages; empty: the messages have none
  agent_model<json::value> model;
  agent_tools tools;
  std::vector<std::string> return_direct; ///< tools whose answer ends the run
  agent_prompt<json::value> prompt;
  std::optional<response_format> response; ///< goes to the key structured_response
  /// Runs before each call of the model. Its `llm_input_messages` are what the model reads instead
  /// of the messages; they stay until the hook writes others, and are no part of the output.
  json_step pre_model_hook;
  /// Runs after each answer of the model, before its calls: may answer, change or drop them. v2.
  json_step post_model_hook;
  /// Instead of messages and remaining_steps, which it must have; with a response format also
  /// structured_response.
  std::optional<std::vector<json_state_key>> state;
  react_version version = react_version::v2;
  std::shared_ptr<saver> checkpointer;
  std::shared_ptr<superstep::store> store;
  std::vector<std::string> interrupt_before; ///< nodes of the agent; `*`: all
  std::vector<std::string> interrupt_after;
  bool debug = false; ///< see compile_options
  /// Names of tools whose calls may start while the model still speaks; see
  /// react_agent_options::early_tools. Their arguments are the model's alone, but for the id.
  std::vector<std::string> early_tools{};
};

/// "v1" or "v2"; an error for everything else.
[[nodiscard]] result<react_version> react_version_from(std::string_view text);

/// Builds the agent. Its nodes: `agent` asks the model; while its answer has tool calls, `tools`
/// runs them; and, when they are asked for, `pre_model_hook`, `post_model_hook` and
/// `generate_structured_response`.
/// Throws compile_error for whatever is wrong with the options.
/// @pre options.model is set
[[nodiscard]] compiled_json_graph create_react_agent(json_agent_options options);

} // namespace superstep
