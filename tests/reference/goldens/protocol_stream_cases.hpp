// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::conformance {

/// Read members that the inputs of all protocol cases have. @{
[[nodiscard]] std::string string_of(const json::object& o, std::string_view key);
[[nodiscard]] tool_protocol_ptr protocol_of(const json::object& input);
[[nodiscard]] std::vector<protocol_tool> tools_of(const json::object& input);
[[nodiscard]] json::value error_of(const protocol_error& e);
/// Adds arguments as JSON under `input`, or verbatim under `input_raw`.
void add_arguments(json::object& out, const std::string& arguments);
/// @}

[[nodiscard]] json::value stream_case(const json::object& input);
[[nodiscard]] json::value deltas_case(const json::object& input);

} // namespace superstep::conformance
