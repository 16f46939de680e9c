// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/message_list.hpp>

#include <string>

namespace superstep {

/// Formats a message for a terminal: a title line with the author, the text, and the tool calls
/// with their arguments. A block that is not text appears as its type in brackets. The format is
/// not meant to be parsed.
///
/// Source: `BaseMessage.pretty_repr` in langchain-core 1.7.2, messages/base.py.
[[nodiscard]] std::string pretty_text(const message& m);
/// Formats a conversation, with an empty line between two messages.
[[nodiscard]] std::string pretty_text(const message_list& messages);

} // namespace superstep
