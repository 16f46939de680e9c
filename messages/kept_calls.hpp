// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message.hpp>

namespace superstep {

/// Calls that an ai message has in additional_kwargs.tool_calls only, as a chat-completion server
/// sent them, become its calls. What is no JSON object becomes an invalid call.
void read_kept_calls(message&);

} // namespace superstep
