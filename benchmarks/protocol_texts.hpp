// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/protocols/tool_protocol.hpp>

#include <string>
#include <vector>

namespace superstep::bench {

/// Two tools: a small question, and a file to be written.
[[nodiscard]] std::vector<protocol_tool> parser_tools();

/// What a model might write, made by rule so that every reader gets the same bytes.
/// @param kind plain (prose and code without calls), small (short calls between lines of prose) or
/// large (calls with a text of 4 KiB in them)
[[nodiscard]] std::string parser_text(const tool_protocol& protocol, std::string_view kind,
                                      std::size_t bytes_min);

} // namespace superstep::bench
