// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace superstep::qwen3_coder {

/// An element per tool, each line after a line end.
[[nodiscard]] std::string tool_elements(const std::vector<protocol_tool>& tools);
[[nodiscard]] std::string system_prompt(const std::vector<protocol_tool>& tools);
/// A call as the prompt shows it: unquoted names, values on lines of their own.
[[nodiscard]] std::string sample_call(std::string_view tool, const json::value& arguments);
/// A call of the history: quoted names, indented.
[[nodiscard]] std::string past_call(std::string_view tool, std::string_view arguments);

} // namespace superstep::qwen3_coder
