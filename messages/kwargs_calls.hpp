// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <vector>

namespace superstep {

/// Parses the calls in additional_kwargs.tool_calls into the message's calls, unless it has calls
/// already. Arguments that are not a JSON object make an invalid call.
void read_kwargs_calls(message&);

/// Returns the calls in additional_kwargs.tool_calls as pieces of a stream. Their arguments are not
/// parsed. They keep the index by which the pieces of one call are joined.
[[nodiscard]] std::vector<tool_call_chunk> chunks_of_kwargs_calls(const json::object& kwargs);

} // namespace superstep
