// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <string>
#include <string_view>

// The text form in which effect records store the result of a tool.
namespace superstep::detail {

/// Converts a result to text.
[[nodiscard]] std::string written_output(const tool_output&);
/// Parses the text. Throws std::runtime_error if it is not valid.
[[nodiscard]] tool_output read_output(std::string_view text);

} // namespace superstep::detail
