// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_options.hpp>
#include <superstep/agents/detail/middleware_builder.hpp>
#include <superstep/agents/middleware.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace superstep {

/// Everything an agent with middleware is made of; see agent_options for what has the same name.
template <agent_state State>
struct create_agent_options {
  std::string name;
  agent_model<State> model;
  agent_tools tools;
  /// Tools whose answer ends the loop, when an answer of the model calls no others.
  std::vector<std::string> return_direct;
  /// How long a call of a tool may take, by name. The model reads about one that took longer.
  std::map<std::string, std::chrono::milliseconds> tool_timeouts;
  agent_prompt<State> prompt;
  /// What the model's last answer must be: asked for in each call, read from the one that ends the
  /// loop, and written to structured_response. Has no prompt of its own here.
  std::optional<response_format> response;
  std::vector<superstep::middleware<State>> middleware;
  std::shared_ptr<saver> checkpointer;
  std::shared_ptr<superstep::store> store;
  std::vector<std::string> interrupt_before; ///< nodes of the agent; `*`: all
  std::vector<std::string> interrupt_after;
  bool debug = false; ///< see compile_options
};

/// Builds an agent with middleware, the successor of create_react_agent(). Its nodes: `model`,
/// `tools` with an activation for each call, and those of the middleware's hooks. Without
/// middleware its loop is that of create_react_agent(); when its steps run out, the run fails.
///
/// Each hook is a step, so runs need a higher run_config::recursion_limit.
/// Throws compile_error for whatever is wrong with the options.
/// @pre options.model is set
template <agent_state State>
[[nodiscard]] compiled_graph<State> create_agent(create_agent_options<State> options) {
  return detail::middleware_builder<State>{options}.build();
}

} // namespace superstep
