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

/// Arguments of the verbs that read an agent without running it.
struct inspect_arguments {
  std::string agent;
  std::vector<std::string> overrides;
};

void add_agent_options(CLI::App& verb, inspect_arguments& into);

/// Builds the agent of a file; prints its errors to standard error and returns nullopt if there are
/// any.
/// @param change modifies the spec before the agent is built
[[nodiscard]] agent_building build(const inspect_arguments&, const std::shared_ptr<io_runtime>&,
                                   const std::function<void(agent_spec&)>& change = {});

/// Returns the exit code for an agent that was not built: 4 if the machine lacks something, else 1.
[[nodiscard]] int failure_code(const agent_building& built) noexcept;

/// Whether the programs of an agent can be started here; prints the errors to standard error.
[[nodiscard]] bool is_set_up(const agent& checked, io_runtime& io);

/// Prints warnings about a graph or an agent file to standard error. @{
void warn(const std::vector<fault>&);
void warn(const std::vector<agent_fault>&);
/// @}

} // namespace superstep::cli
