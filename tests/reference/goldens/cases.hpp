// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/base/json.hpp>

#include <functional>
#include <map>
#include <string>

namespace superstep::conformance {

/// Answers the input of one recorded case.
using case_function = std::function<json::value(const json::object& input)>;
using case_table = std::map<std::string, case_function, std::less<>>;

/// Each function adds the cases of one family of kinds. @{
void add_protocol_cases(case_table& table);
void add_message_cases(case_table& table);
void add_message_list_cases(case_table& table);
void add_message_provider_cases(case_table& table);
void add_prebuilt_cases(case_table& table);
void add_store_cases(case_table& table);
void add_tool_node_cases(case_table& table);
void add_agent_cases(case_table& table);
void add_agent_graph_cases(case_table& table);
/// @}

} // namespace superstep::conformance
