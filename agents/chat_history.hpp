// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <optional>
#include <string>

namespace superstep {

/// Returns the latest message of type ai, or nullptr.
[[nodiscard]] const message* last_ai_message(const message_list& messages);

/// Returns an error text for tool calls without answers, which providers reject; nullopt if all
/// calls are answered.
/// @param whole true checks the whole history. False checks only the messages from the latest AI
/// message on, which is enough if an earlier call has checked the rest.
[[nodiscard]] std::optional<std::string> unanswered_call(const message_list& messages, bool whole);

} // namespace superstep
