// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "activation.hpp"

#include <superstep/tools/tool.hpp>
#include <superstep/tools/tool_node.hpp>

#include <functional>
#include <string>

namespace superstep::python {

/// Returns the configuration of a call that does not know that of its run.
[[nodiscard]] const run_config& no_config() noexcept;

// What a call of a tool can see of its run. @{
/// Returns the configuration of the run. Valid as long as the context.
[[nodiscard]] const run_config& config_of(const tool_context& of);
/// Returns the state of the graph; an invalid object if there is none. Needs the GIL.
[[nodiscard]] nb::object state_of(const tool_context& of);
/// Returns the long-term store; null if there is none.
[[nodiscard]] store* memory_of(const tool_context& of);
/// Returns a function that returns the runtime of the calling node; empty if there is none.
[[nodiscard]] std::function<runtime()> runtime_of(const tool_context& of);
/// @}

/// Reads the result of the function of a tool: a str, a Command, a list with Commands, or a value
/// that becomes JSON, or a str if it has no JSON form. Needs the GIL.
/// @param tool name of the tool, for errors
[[nodiscard]] tool_output read_tool_output(nb::handle from, const std::string& tool);

/// Reads the result of a wrapper of a tool call: a tool message as a dict, or what a tool may
/// return. The message gets the id of the call and the name of its tool. Needs the GIL.
/// @throws nb::value_error for an answer to another call, or Commands without an answer
[[nodiscard]] tool_answer read_tool_answer(nb::handle from, const tool_call& call,
                                           tool_input_form form);

/// Returns an answer as read_tool_answer() accepts it: a tool message as a dict, a Command or a
/// list of these. Needs the GIL.
[[nodiscard]] nb::object handler_object(const tool_answer& from);

} // namespace superstep::python
