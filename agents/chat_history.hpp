// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <optional>
#include <string>

namespace superstep {

/// The latest message of type ai, or nullptr.
[[nodiscard]] const message* last_ai_message(const message_list& messages);

/// What is wrong with a history that no provider would take: a tool call without its answer.
/// `whole` looks at all of it; otherwise only at the latest AI message, which is enough when what
/// stands before was looked at earlier, and costs the same however long the history is.
[[nodiscard]] std::optional<std::string> unanswered_call(const message_list& messages, bool whole);

} // namespace superstep
