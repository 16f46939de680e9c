// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/agents/agent_file.hpp>
#include <superstep/runtime/graph_error.hpp>

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace superstep::cli {

/// What the verbs are told that look at an agent without running it.
struct inspect_arguments {
  std::string agent;
  std::vector<std::string> overrides;
};

void add_agent_options(CLI::App& verb, inspect_arguments& into);

/// The agent of a file; its faults, when it has any, go to standard error.
/// @param change modifies the specification that was read, before the agent is built
[[nodiscard]] agent_building build(const inspect_arguments&, const std::shared_ptr<io_runtime>&,
                                   const std::function<void(agent_spec&)>& change = {});

/// Whether the programs of an agent can be started here; what is wrong goes to standard error.
[[nodiscard]] bool is_set_up(const agent& checked, io_runtime& io);

/// Prints warnings about a graph or an agent file to standard error. @{
void warn(const std::vector<fault>&);
void warn(const std::vector<agent_fault>&);
/// @}

} // namespace superstep::cli
