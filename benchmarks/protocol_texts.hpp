// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <vector>

namespace superstep::bench {

/// Returns two tools: one with short arguments, and one with a long text as an argument.
[[nodiscard]] std::vector<protocol_tool> parser_tools();

/// Returns a text that a model could write. The text depends only on the arguments, so every parser
/// gets the same bytes.
/// @param kind plain (prose and code without calls), small (short calls between lines of prose) or
/// large (calls with a text of 4 KiB)
[[nodiscard]] std::string parser_text(const tool_protocol& protocol, std::string_view kind,
                                      std::size_t bytes_min);

} // namespace superstep::bench
