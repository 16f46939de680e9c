// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "case_model.hpp"

#include <superstep/actors/engine.hpp>
#include <superstep/agents/json_agent.hpp>
#include <superstep/checkpoint/checkpointer.hpp>
#include <superstep/checkpoint/store.hpp>

#include <memory>
#include <string_view>

namespace superstep::conformance {

/// The objects that all parts of one case share.
struct case_world {
  const json::object* input = nullptr; ///< input of the case
  engine* lanes = nullptr;             ///< engine that runs the case
  std::shared_ptr<start_counts> counts = std::make_shared<start_counts>();
  std::shared_ptr<model_log> models = std::make_shared<model_log>();
  std::shared_ptr<superstep::checkpointer> checkpointer;
  std::shared_ptr<superstep::store> store;
  bool exact = false;
};

/// Returns the tools that a spec names, or all tools of the case.
[[nodiscard]] tool_list case_tools(const json::object& spec, const case_world& world);

/// Returns the tools of a spec with its error handling and interceptor.
[[nodiscard]] tool_node case_tool_node(const json::object& spec, const case_world& world);

/// Converts a channel of a case to the description of a state key.
[[nodiscard]] json_state_key case_key(std::string_view name, const json::object& channel);

/// Builds the agent of a spec. Throws what create_react_agent throws.
[[nodiscard]] compiled_json_graph make_case_agent(const json::object& spec,
                                                  const case_world& world);

/// Executes the calls of a case's script and returns the trace.
[[nodiscard]] json::array run_script(const compiled_json_graph& graph, const case_world& world);

/// Creates the checkpointer and store, empty or with the rows of the case.
[[nodiscard]] case_world make_world(const json::object& input, engine& lanes);

/// Returns the output of a case: the trace, the model's requests, and the number of program starts.
[[nodiscard]] json::object case_output(json::array trace, const case_world& world);

} // namespace superstep::conformance
