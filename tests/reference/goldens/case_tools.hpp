// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool_node.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

// Builds tools and tool nodes from their descriptions in recorded cases, which have programs as
// bodies.
namespace superstep::conformance {

/// Counts a start of a program and returns the number of starts.
using count_start = std::function<std::int64_t(const std::string& name)>;

/// @param messages_key messages key of the node that runs the tool
[[nodiscard]] tool_ptr make_case_tool(const json::object& described, count_start count,
                                      std::string messages_key = "messages");
[[nodiscard]] std::vector<tool_ptr> make_case_tools(const json::object& input, count_start count,
                                                    const std::string& messages_key = "messages");
/// Reads error handling, messages key, name and interceptor.
/// @param exact whether texts keep values in Python notation
[[nodiscard]] tool_node_options make_node_options(const json::object& node, bool exact);

/// Returns a LangGraph text in the form of the cases: `<*>` replaces values in Python notation
/// unless `exact`.
[[nodiscard]] std::string canonical(std::string text, bool exact);
/// Returns a message without empty members; texts of tool messages are canonical.
[[nodiscard]] json::value printed_message(const message& m, bool exact);
/// Applies printed_message() to every message in a value, at any depth.
[[nodiscard]] json::value printed(const json::value& v, bool exact);
[[nodiscard]] json::value printed_command(const tool_command& c, std::string_view messages_key,
                                          bool exact);
/// Returns the failure of a call or a node.
[[nodiscard]] json::value printed_failure(const std::exception_ptr& failure, bool exact);

} // namespace superstep::conformance
