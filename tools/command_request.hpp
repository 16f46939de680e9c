// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/net/detail/child_process.hpp>
#include <superstep/tools/command.hpp>

#include <string>
#include <utility>
#include <vector>

namespace superstep {

/// The environment variables of a program: names and values.
using command_environment = std::vector<std::pair<std::string, std::string>>;

/// Sets a variable; replaces an earlier value.
void set_variable(command_environment& all, std::string name, std::string value);

/// Returns the environment for the program: some common variables and those that the options name.
/// Other variables are not passed, because they may contain the API keys of models.
[[nodiscard]] command_environment environment_of(const command_options& options);

/// Returns the command line of bwrap up to the program that it runs.
[[nodiscard]] std::vector<std::string> sandbox_of(const command_options& options);

/// Returns the parts of a process request that are the same in all calls.
[[nodiscard]] process_request request_of(const command_options& options);

/// Makes the tool of a program that serves many calls (command_protocol::jsonl).
/// @pre the options were checked by make_command()
[[nodiscard]] tool_ptr make_worker_tool(std::shared_ptr<io_runtime> io, tool_definition definition,
                                        const command_options& options);

} // namespace superstep
