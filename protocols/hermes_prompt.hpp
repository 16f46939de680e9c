// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <vector>

namespace superstep::hermes {

/// One line per tool.
[[nodiscard]] std::string tool_lines(const std::vector<protocol_tool>& tools);
[[nodiscard]] std::string system_prompt(const std::vector<protocol_tool>& tools);

} // namespace superstep::hermes
