// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool_node.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

// Tools and nodes of tools as recorded cases describe them: programs instead of code.
namespace superstep::conformance {

/// Counts one start of a program and says how many there were.
using count_start = std::function<std::int64_t(const std::string& name)>;

/// @param messages_key of the node that runs the tool
[[nodiscard]] tool_ptr make_case_tool(const json::object& described, count_start count,
                                      std::string messages_key = "messages");
[[nodiscard]] std::vector<tool_ptr> make_case_tools(const json::object& input, count_start count,
                                                    const std::string& messages_key = "messages");
/// Handling of errors, messages key, name and interceptor.
/// @param exact whether texts keep what is printed in the reference's notation
[[nodiscard]] tool_node_options make_node_options(const json::object& node, bool exact);

/// A text of the reference as cases hold it: with `<*>` for values in its notation, unless exact.
[[nodiscard]] std::string canonical(std::string text, bool exact);
/// Messages without members that say nothing; texts of tool messages are canonical.
[[nodiscard]] json::value printed_message(const message& m, bool exact);
/// The same for whatever message stands in a value, at any depth.
[[nodiscard]] json::value printed(const json::value& v, bool exact);
[[nodiscard]] json::value printed_command(const tool_command& c, std::string_view messages_key,
                                          bool exact);
/// What came out of a call or a node.
[[nodiscard]] json::value printed_failure(const std::exception_ptr& failure, bool exact);

} // namespace superstep::conformance
