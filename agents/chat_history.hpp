// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <superstep/messages/messages.hpp>

#include <optional>
#include <string>

namespace superstep {

/// Returns the latest message of type ai, or nullptr.
[[nodiscard]] const message* last_ai_message(const message_list& messages);

/// Returns a description of the tool calls without answers, which providers reject; nullopt if all
/// calls are answered.
/// @param whole whether to check the whole history. If not, only the part from the latest AI
/// message on is checked, at constant cost; sufficient if the earlier part was checked before.
[[nodiscard]] std::optional<std::string> unanswered_call(const message_list& messages, bool whole);

} // namespace superstep
