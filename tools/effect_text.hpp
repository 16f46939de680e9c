// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <string>
#include <string_view>

// The text form of a tool's result in an effect record.
namespace superstep::detail {

/// Converts a result to text.
[[nodiscard]] std::string written_output(const tool_output&);
/// Parses the text of written_output(). Throws std::runtime_error if it is invalid.
[[nodiscard]] tool_output read_output(std::string_view text);

} // namespace superstep::detail
