// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/tools/tool.hpp>

#include <string>
#include <string_view>

// What a tool gave, as it is noted in a journal of effects.
namespace superstep::detail {

[[nodiscard]] std::string written_output(const tool_output&);
/// Throws std::runtime_error for what is no output.
[[nodiscard]] tool_output read_output(std::string_view text);

} // namespace superstep::detail
