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

/// The arguments that select an agent file and override its keys.
struct inspect_arguments {
  std::string agent;
  std::vector<std::string> overrides;
};

/// Adds the argument AGENT and the option --set to a verb.
void add_agent_options(CLI::App& verb, inspect_arguments& into);

/// Builds the agent of a file. Prints warnings and errors to standard error. If there are errors,
/// the member `agent` of the result is null.
/// @param change modifies the content of the agent file before the agent is built; may be empty
[[nodiscard]] agent_building build(const inspect_arguments&, const std::shared_ptr<io_runtime>&,
                                   const std::function<void(agent_reading&)>& change = {});

/// Builds the agent of a file for a verb that only shows it; see agent_use::show. Prints warnings
/// and errors as build() does.
[[nodiscard]] agent_building build_to_show(const inspect_arguments&,
                                           const std::shared_ptr<io_runtime>&);

/// Returns the exit code for an agent that could not be built: 4 if the machine lacks memory or
/// another resource, else 1.
[[nodiscard]] int failure_code(const agent_building& built) noexcept;

/// Whether the programs that the agent's tools run can be started on this machine. Prints errors to
/// standard error.
[[nodiscard]] bool is_set_up(const agent& checked, io_runtime& io);

/// Prints warnings about a graph or an agent file to standard error. @{
void warn(const std::vector<fault>&);
void warn(const std::vector<agent_fault>&);
/// @}

} // namespace superstep::cli
